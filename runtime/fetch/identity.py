"""Who the loader is: keys from the environment, or those that a cloud gives to the pod's service account."""

import json
import os
import urllib.parse
import xml.etree.ElementTree as ET
from pathlib import Path

from interlock.runtime.fetch.sign import Keys
from interlock.runtime.fetch.web import AGAIN, StopError, opened

ROLE, TOKEN = "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"
CONTAINER, CONTAINER_TOKEN = "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
METADATA = "GCE_METADATA_HOST"


def s3_keys(region: str) -> Keys | None:
    """Keys for S3: those of the environment, of a role by web identity (IRSA), or of the node's agent (EKS Pod Identity); else None."""
    given = os.environ
    if given.get("AWS_ACCESS_KEY_ID"):
        return Keys(given["AWS_ACCESS_KEY_ID"], given.get("AWS_SECRET_ACCESS_KEY", ""), given.get("AWS_SESSION_TOKEN", ""))
    if given.get(ROLE) and given.get(TOKEN):
        return _by_role(given[ROLE], _read(given[TOKEN]), region)
    if given.get(CONTAINER):
        token = _read(given[CONTAINER_TOKEN]) if given.get(CONTAINER_TOKEN) else ""
        with opened(given[CONTAINER], {"Authorization": token} if token else {}) as answer:
            data = json.load(answer)
        return Keys(data["AccessKeyId"], data["SecretAccessKey"], data.get("Token", ""))
    return None


def google_token() -> str:
    """The token of the pod's Google service account, from the metadata server; empty where there is none."""
    host = os.environ.get(METADATA, "metadata.google.internal")
    url = f"http://{host}/computeMetadata/v1/instance/service-accounts/default/token"
    try:
        with opened(url, {"Metadata-Flavor": "Google"}) as answer:
            return str(json.load(answer)["access_token"])
    except StopError as error:
        if error.status:
            raise
        return ""  # not on that cloud: a public bucket needs no token


def _by_role(role: str, token: str, region: str) -> Keys:
    asked = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": role, "RoleSessionName": "interlock-weights"}
    server = os.environ.get("AWS_ENDPOINT_URL_STS", f"https://sts.{region}.amazonaws.com")
    with opened(f"{server.rstrip('/')}/?{urllib.parse.urlencode({**asked, 'WebIdentityToken': token})}", {}) as answer:
        found = {each.tag.rpartition("}")[2]: each.text or "" for each in ET.fromstring(answer.read()).iter()}
    return Keys(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError as error:
        raise StopError(AGAIN, f"the token {path} cannot be read: {error.strerror}") from None
