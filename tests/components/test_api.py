"""A kubeconfig that holds nothing unusual is read without the library; any other one, and every fault of one, is the library's."""

import base64
import json
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.stacks import api
from interlock.stacks.api import NotUsableError, RefusedError, SilentError, open_reader


class Answers(BaseHTTPRequestHandler):
    """An API server with one namespace, for the bearer of one token or certificate."""

    def do_GET(self) -> None:
        asked_by = self.headers.get("Authorization") or (
            self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        )
        code, body = (401, {"kind": "Status"}) if not asked_by else (200, {"path": self.path, "accept": self.headers["Accept"]})
        if self.path.endswith("/absent"):
            code, body = 404, {"kind": "Status"}
        sent = b"<html>" if self.path.endswith("/html") else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()


def kubeconfig(cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    return {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}],
    }


def plain(server: ThreadingHTTPServer, user: dict[str, Any]) -> dict[str, Any]:
    return kubeconfig({"server": f"http://127.0.0.1:{server.server_port}"}, user)


@pytest.mark.parametrize("extra", [{}, {"username": "u", "password": "p"}], ids=["read here", "read by the library"])
def test_an_object_is_read_with_the_token_and_the_query(server: ThreadingHTTPServer, extra: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(plain(server, {"token": "t", **extra})))
    for given in (str(path), path.read_text()):
        reader = open_reader(given, "prod")
        assert type(reader).__name__ == ("_Library" if extra else "_Direct")
        assert reader.server == f"http://127.0.0.1:{server.server_port}"
        found = reader.get("/api/v1/pods", labelSelector="a!=b", limit="1")
        assert found == {"path": "/api/v1/pods?labelSelector=a%21%3Db&limit=1", "accept": "application/json"}
        with pytest.raises(RefusedError, match="404 Not Found"):
            reader.get("/api/v1/absent")


def test_whoever_shows_nothing_is_refused_and_what_is_no_api_server_is_silent(server: ThreadingHTTPServer) -> None:
    with pytest.raises(RefusedError, match="401 Unauthorized"):
        open_reader(yaml.safe_dump(plain(server, {})), "prod").get("/api/v1/pods")
    with pytest.raises(SilentError, match="JSONDecodeError"):
        open_reader(yaml.safe_dump(plain(server, {"token": "t"})), "prod").get("/html")
    with pytest.raises(SilentError, match="ConnectionRefusedError"):
        open_reader(yaml.safe_dump(kubeconfig({"server": "http://127.0.0.1:9"}, {"token": "t"})), "prod").get("/api")


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """A folder with a certificate that is its own authority, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on PATH")
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=test"]
    command = ["openssl", "req", "-x509", *made, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def secure(server: ThreadingHTTPServer, pair: Path) -> str:
    """Lets ``server`` speak TLS and ask for a certificate; its URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair / "cert.pem", pair / "key.pem")
    context.load_verify_locations(pair / "cert.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return f"https://127.0.0.1:{server.server_port}"


def test_a_client_certificate_opens_and_an_unknown_authority_is_not_trusted(server: ThreadingHTTPServer, pair: Path) -> None:
    url = secure(server, pair)
    data = {name: base64.b64encode((pair / f"{name}.pem").read_bytes()).decode() for name in ("cert", "key")}
    shown = {"client-certificate-data": data["cert"], "client-key-data": data["key"]}
    inline = kubeconfig({"server": url, "certificate-authority-data": data["cert"]}, shown)
    assert open_reader(yaml.safe_dump(inline), "prod").get("/api")["path"] == "/api"
    files = {"client-certificate": "cert.pem", "client-key": str(pair / "key.pem")}
    (pair / "kubeconfig").write_text(yaml.safe_dump(kubeconfig({"server": url, "certificate-authority": "cert.pem"}, files)))
    assert open_reader(str(pair / "kubeconfig"), "prod").get("/api")["path"] == "/api"
    with pytest.raises(SilentError, match="SSLCertVerificationError"):
        open_reader(yaml.safe_dump(kubeconfig({"server": url}, shown)), "prod").get("/api")
    unchecked = kubeconfig({"server": url, "insecure-skip-tls-verify": True}, shown)
    assert open_reader(yaml.safe_dump(unchecked), "prod").get("/api")["path"] == "/api"


UNUSUAL: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"exec": {"command": "get-token", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}}),
    ({}, {"auth-provider": {"name": "oidc"}}),
    ({}, {"tokenFile": "/var/run/token"}),
    ({"proxy-url": "http://proxy"}, {"token": "t"}),
    ({"tls-server-name": "api"}, {"token": "t"}),
]


@pytest.mark.parametrize(("cluster", "user"), UNUSUAL, ids=lambda each: next(iter(each), "token"))
def test_what_is_unusual_is_left_to_the_library(cluster: dict[str, Any], user: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "_Library", lambda given, context: f"library: {context}")
    given = yaml.safe_dump(kubeconfig({"server": "https://127.0.0.1:9", **cluster}, user))
    assert str(open_reader(given, "prod")) == "library: prod"


def test_a_proxy_of_the_environment_is_left_to_the_library(server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "_Library", lambda given, context: "library")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    assert str(open_reader(yaml.safe_dump(plain(server, {"token": "t"})), "prod")) == "library"


@pytest.mark.parametrize("given", ["/no/such/file", "a: 1\n", "[]\n", "contexts: [\n  \n]\nclusters: 3\n"])
def test_a_kubeconfig_without_the_context_is_not_usable(given: str) -> None:
    with pytest.raises(NotUsableError):
        open_reader(given, "prod")


def test_an_ordinary_kubeconfig_loads_nothing_of_the_library(server: ThreadingHTTPServer) -> None:
    given = yaml.safe_dump(plain(server, {"token": "t"}))
    read = f"from interlock.stacks.api import open_reader; open_reader({given!r}, 'prod').get('/api')"
    code = f"import sys; {read}; print('kubernetes' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
