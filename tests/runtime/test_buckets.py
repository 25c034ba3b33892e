"""The weights loader against a bucket that speaks S3 and checks signatures (moto), and against ModelScope's protocol."""

import datetime as dt
import hashlib
import http.server
import io
import json
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.runtime import weights
from interlock.runtime.fetch.bucket import Bucket, tag_matches
from interlock.runtime.fetch.identity import google_token, s3_keys
from interlock.runtime.fetch.sign import Keys, signed

pytest.importorskip("moto.server")
Cloud = tuple[str, list[tuple[str, str]]]
REVISION = "v1"
FILES = {"config.json": b"{}", "model-1.safetensors": bytes(range(256)) * 4096, "deep/a b+c.json": b"[1]"}
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    made = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def bucket(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """(its client, the address of the server): a bucket `models` with one model below `qwen/`."""
    boto3 = pytest.importorskip("boto3")
    for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}.items():
        monkeypatch.setenv(name, value)
    host, port = server.get_host_and_port()
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1")
    client.create_bucket(Bucket="models")
    for name, data in FILES.items():
        client.put_object(Bucket="models", Key=f"qwen/{name}", Body=data)
    client.put_object(Bucket="models", Key="other/model.safetensors", Body=b"x")
    yield client, f"http://{host}:{port}"
    for row in client.list_objects_v2(Bucket="models").get("Contents", []):
        client.delete_object(Bucket="models", Key=row["Key"])
    client.delete_bucket(Bucket="models")


def fetch(endpoint: str, target: Path, source: str = "s3://models/qwen", *more: str) -> int:
    return weights.main(
        [
            "fetch",
            "--source",
            source,
            "--endpoint",
            endpoint,
            "--model",
            "org/model",
            "--revision",
            REVISION,
            "--target",
            str(target),
            *more,
        ]
    )


def test_a_folder_of_a_bucket_is_fetched_whole_and_checked_by_its_entity_tags(
    bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch(bucket[1], tmp_path) == 0
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == FILES
    assert "3 files (3 by entity tag)" in capsys.readouterr().out
    assert not (tmp_path / "model.safetensors").exists()


def test_a_model_is_fetched_once_however_many_ask(bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(10):
        assert fetch(bucket[1], tmp_path) == 0
    said = capsys.readouterr().out
    assert said.count("fetched in") == 1
    assert said.count("is complete already") == 9


def test_more_objects_than_one_page_are_listed(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.runtime.fetch.bucket.PAGE", 2)
    assert {each.name for each in Bucket("s3://models/qwen", bucket[1], "").listing()} == FILES.keys()


def test_an_object_of_several_parts_is_checked(bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client, endpoint = bucket
    parts = pytest.importorskip("boto3.s3.transfer").TransferConfig(5 * MIB, multipart_chunksize=5 * MIB)
    data = bytes(range(256)) * (12 * MIB // 256)
    client.upload_fileobj(io.BytesIO(data), "models", "big/model.safetensors", Config=parts)
    assert fetch(endpoint, tmp_path, "s3://models/big") == 0
    assert "1 by entity tag" in capsys.readouterr().out
    (tag,) = (each.etag for each in Bucket("s3://models/big", endpoint, "").listing())
    assert tag.endswith("-3")
    (tmp_path / "model.safetensors").write_bytes(data[:-1] + b"x")
    assert tag_matches(tmp_path / "model.safetensors", tag) is None  # of parts whose size is only guessed: never a refusal


def test_wrong_content_is_thrown_away(bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = FILES["model-1.safetensors"]
    (tmp_path / "model-1.safetensors.interlock-part").write_bytes(b"x" * len(data))
    assert fetch(bucket[1], tmp_path) == weights.AGAIN
    assert "is not what its entity tag" in capsys.readouterr().out
    assert fetch(bucket[1], tmp_path) == 0
    assert (tmp_path / "model-1.safetensors").read_bytes() == data


def test_a_list_of_hashes_beside_the_files_counts_for_more(bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client, endpoint = bucket
    good = {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
    listed = "".join(f"{digest}  ./{name}\n" for name, digest in good.items())
    client.put_object(Bucket="models", Key="qwen/SHA256SUMS", Body=listed.encode())
    assert fetch(endpoint, tmp_path / "a") == 0
    assert "3 by SHA-256" in capsys.readouterr().out
    client.put_object(Bucket="models", Key="qwen/SHA256SUMS", Body=listed.replace(good["config.json"], "0" * 64).encode())
    assert fetch(endpoint, tmp_path / "b") == weights.AGAIN
    assert "config.json has SHA-256" in capsys.readouterr().out


def test_a_broken_transfer_goes_on_where_it_stopped(bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = FILES["model-1.safetensors"]
    (tmp_path / "model-1.safetensors.interlock-part").write_bytes(data[:1_000_000])
    assert fetch(bucket[1], tmp_path) == 0
    assert f"{sum(map(len, FILES.values()))} bytes, {sum(map(len, FILES.values())) - 1_000_000} fetched" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "text"), [("s3://absent/qwen", "answers 404"), ("s3://models/absent", "s3://models/absent/ holds nothing")]
)
def test_a_bucket_or_folder_that_is_not_there_is_told_and_not_retried(
    bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, text: str
) -> None:
    assert fetch(bucket[1], tmp_path, source) == weights.NEVER
    assert text in capsys.readouterr().out


def test_a_folder_without_weights_is_told_with_what_was_ignored(bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch(bucket[1], tmp_path, "s3://models/qwen", "--ignore", "*.safetensors") == weights.NEVER
    assert "ignored are model-1.safetensors: state other patterns" in capsys.readouterr().out


def test_the_server_accepts_the_signature_and_refuses_another(
    server: Any, bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, endpoint = bucket
    iam = pytest.importorskip("boto3").client("iam", endpoint_url=endpoint, region_name="us-east-1")
    iam.create_user(UserName="loader")
    rules = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="loader", PolicyName="read", PolicyDocument=json.dumps(rules))
    key = iam.create_access_key(UserName="loader")["AccessKey"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
    auth = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", method="POST", headers={"Content-Type": "text/plain"})
    urllib.request.urlopen(auth, b"0", timeout=5).close()  # from now on every request is checked
    try:
        assert fetch(endpoint, tmp_path / "a") == 0
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
        assert fetch(endpoint, tmp_path / "b") == weights.NEVER
    finally:
        urllib.request.urlopen(auth, b"inf", timeout=5).close()


def test_a_signature_is_that_of_the_documentation() -> None:
    # AWS documentation, 'Signature Calculations for the Authorization Header', example "GET Bucket Lifecycle", without its host's extras.
    keys = Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    now = dt.datetime(2013, 5, 24, tzinfo=dt.UTC)
    made = signed("https://examplebucket.s3.amazonaws.com/?lifecycle=", keys, "us-east-1", now)["Authorization"]
    assert made.endswith("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")


@pytest.mark.parametrize(
    ("source", "endpoint", "region", "url"),
    [
        ("s3://models/q", "", "eu-west-1", "https://models.s3.eu-west-1.amazonaws.com/q/a%20b"),
        ("oss://models/q", "https://oss-cn-hangzhou.aliyuncs.com", "", "https://models.oss-cn-hangzhou.aliyuncs.com/q/a%20b"),
        ("gs://models/q", "", "", "https://storage.googleapis.com/models/q/a%20b"),
        ("s3://models", "http://minio:9000/", "", "http://minio:9000/models/a%20b"),
    ],
)
def test_a_bucket_is_asked_where_its_cloud_has_it(
    source: str, endpoint: str, region: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setattr("interlock.runtime.fetch.bucket.opened", lambda *each: asked.append(each))
    Bucket(source, endpoint, region).get("a b", {"Range": "bytes=1-"})
    ((where, headers),) = asked
    assert (where, headers["Range"], headers["Authorization"].split()[0]) == (url, "bytes=1-", "AWS4-HMAC-SHA256")


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """What answers for a cloud's identity services and for ModelScope: (its address, path and Authorization of what it was asked)."""
    asked: list[tuple[str, str]] = []
    rows = [{"Path": name, "Size": len(data), "Sha256": hashlib.sha256(data).hexdigest(), "Type": "blob"} for name, data in FILES.items()]
    role = (
        "<R><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken></Credentials></R>"
    )
    answers = {
        "/computeMetadata": json.dumps({"access_token": "google"}),
        "/agent": json.dumps({"AccessKeyId": "A", "SecretAccessKey": "S", "Token": "T"}),
        "/api/v1/models/org/model/repo/files": json.dumps({"Code": 200, "Data": {"Files": [*rows, {"Path": "deep", "Type": "tree"}]}}),
        "/?Action=AssumeRoleWithWebIdentity": role,
    }

    class Answers(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Authorization", "")))
            known = next((text.encode() for path, text in answers.items() if self.path.startswith(path)), None)
            name = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("FilePath", [""])[0]
            body = FILES.get(name, b"") if known is None else known
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()


def test_a_pod_is_known_by_its_service_account(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, asked = cloud
    (tmp_path / "token").write_text("of-the-pod\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        monkeypatch.delenv(name, raising=False)
    assert s3_keys("eu-west-1") is None
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://{address}/agent")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
    assert s3_keys("eu-west-1") == Keys("A", "S", "T")
    assert asked[-1] == ("/agent", "of-the-pod")
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/models")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://{address}")
    assert s3_keys("eu-west-1") == Keys("A", "S", "T")
    assert "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fmodels" in asked[-1][0]
    monkeypatch.setenv("GCE_METADATA_HOST", address)
    assert google_token() == "google"


def test_modelscope_is_fetched_and_checked(cloud: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch(f"http://{cloud[0]}", tmp_path, "modelscope://org/model") == 0
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == FILES
    assert "3 files (3 by SHA-256)" in capsys.readouterr().out
