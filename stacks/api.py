"""Reads objects of the cluster that a kubeconfig's context names.

Importing the library ``kubernetes`` and making its client takes longer than everything else a program with ten servers does. A
kubeconfig that holds no more than a server, an authority, a token or a client certificate is read here; everything else (commands that
fetch credentials, proxies, several files) is left to the library.
"""

import base64
import http.client
import json
import os
import ssl
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

TIMEOUT = 10
"""Seconds that the cluster gets to answer."""
_CLUSTER = frozenset({"server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify"})
_USER = frozenset({"token", "client-certificate", "client-certificate-data", "client-key", "client-key-data"})


class NotUsableError(Exception):
    """The kubeconfig is not there, or has no such context."""


class ApiError(Exception):
    """The cluster did not give what was asked for."""


class RefusedError(ApiError):
    """The API server answered with an error."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{status} {reason}")
        self.status = status


class SilentError(ApiError):
    """Nothing answered as an API server does; the message is the kind of fault."""


class Reader(Protocol):
    """Reads from one API server."""

    @property
    def server(self) -> str:
        """Its URL."""

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """The object at ``path``. Raises RefusedError and SilentError."""


def open_reader(kubeconfig: str, context: str) -> Reader:
    """A reader for ``context`` of a kubeconfig, given as its path or its content. Raises NotUsableError."""
    return _direct(kubeconfig, context) or _Library(kubeconfig, context)


@dataclass(frozen=True, slots=True)
class _Direct:
    server: str
    opener: urllib.request.OpenerDirector
    headers: Mapping[str, str]

    def get(self, path: str, **query: str) -> dict[str, Any]:
        request = urllib.request.Request(_url(self.server, path, query), headers=dict(self.headers))
        try:
            with self.opener.open(request, timeout=TIMEOUT) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise RefusedError(error.code, str(error.reason)) from None
        except urllib.error.URLError as error:
            raise SilentError(type(error.reason).__name__) from None
        except (OSError, http.client.HTTPException) as error:
            raise SilentError(type(error).__name__) from None
        return _parsed(text)


class _Library:
    def __init__(self, kubeconfig: str, context: str) -> None:
        from kubernetes import config  # noqa: PLC0415

        try:
            if "\n" in kubeconfig:
                self.client = config.new_client_from_config_dict(yaml.safe_load(kubeconfig), context=context)
            else:
                self.client = config.new_client_from_config(kubeconfig, context=context)
        except (config.ConfigException, AttributeError, TypeError) as error:  # what it raises for a file of another shape
            raise NotUsableError(str(error)) from None
        self.server = str(self.client.configuration.host)

    def get(self, path: str, **query: str) -> dict[str, Any]:
        from kubernetes.client import ApiException  # noqa: PLC0415
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        shown = self.client.configuration.auth_settings().values()
        headers = {"Accept": "application/json"} | {each["key"]: each["value"] for each in shown if each["in"] == "header"}
        # What lies below the library's typed calls, which differ in what they return from one of its versions to the next.
        try:
            answer = self.client.rest_client.request("GET", _url(self.server, path, query), headers=headers, _request_timeout=TIMEOUT)
            text = answer.read() if hasattr(answer, "read") else answer.data
        except ApiException as error:
            raise RefusedError(error.status, error.reason) from None
        except HTTPError as error:
            raise SilentError(type(error).__name__) from None
        if answer.status >= 400:
            raise RefusedError(answer.status, answer.reason)
        return _parsed(text)


def _url(server: str, path: str, query: Mapping[str, str]) -> str:
    return f"{server}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")


def _parsed(text: str | bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise SilentError(type(error).__name__) from None
    return found


def _direct(kubeconfig: str, context: str) -> _Direct | None:
    """A reader for a kubeconfig that holds nothing unusual; None for any other, also a broken one, whose faults the library names."""
    inline = "\n" in kubeconfig
    try:
        read = yaml.load(
            kubeconfig if inline else Path(kubeconfig).read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
        chosen = _named(read["contexts"], context, "context")
        cluster = _named(read["clusters"], chosen["cluster"], "cluster")
        user = _named(read["users"], chosen["user"], "user")
        if not (set(cluster) <= _CLUSTER and set(user) <= _USER) or urllib.request.getproxies():
            return None
        base = Path() if inline else Path(kubeconfig).parent
        tls = _tls(cluster, user, base) if cluster["server"].startswith("https://") else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration, yaml.YAMLError):
        return None
    handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=tls)] if tls else []
    bearer = {"Authorization": f"Bearer {user['token']}"} if user.get("token") else {}
    return _Direct(cluster["server"].rstrip("/"), urllib.request.build_opener(*handlers), {"Accept": "application/json", **bearer})


def _named(items: Any, name: str, key: str) -> dict[str, Any]:
    return dict(next(each for each in items if each["name"] == name)[key])


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any], base: Path) -> ssl.SSLContext:
    """Verifies the server by the cluster's authority, and shows the user's certificate. Raises OSError and ValueError."""
    authority = _bytes(cluster, "certificate-authority", base)
    made = ssl.create_default_context(cadata=authority.decode("ascii") if authority else None)
    # From Python 3.13 on the default asks for extensions that authorities of clusters do not have.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if cluster.get("insecure-skip-tls-verify"):
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    certificate, key = _bytes(user, "client-certificate", base), _bytes(user, "client-key", base)
    if certificate and key:
        # Only a file can be loaded; this one is readable by its owner alone and gone at once.
        with tempfile.NamedTemporaryFile(prefix="interlock-") as pair:
            pair.write(certificate + b"\n" + key)
            pair.flush()
            made.load_cert_chain(pair.name)
    return made


def _bytes(holder: Mapping[str, Any], name: str, base: Path) -> bytes | None:
    """What stands under ``name-data`` in Base64, or in the file under ``name``."""
    if holder.get(f"{name}-data"):
        return base64.b64decode(holder[f"{name}-data"], validate=True)
    return Path(os.path.join(base, holder[name])).read_bytes() if holder.get(name) else None
