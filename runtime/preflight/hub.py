"""The hub, for a model that is downloaded at the start: reachable, and the token opens the model."""

import http.client
import urllib.parse
from collections.abc import Callable
from typing import Any

from interlock.runtime import weights
from interlock.runtime.preflight import model
from interlock.runtime.preflight.look import Result, World, fine, problem, unseen

HUB, TOKEN = "hub", "hub-token"
DEFAULT = "https://huggingface.co"
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
MODELSCOPE = "VLLM_USE_MODELSCOPE"


def offline(world: World) -> bool:
    """Whether the engine will not ask the hub."""
    return any(world.environment.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in OFFLINE)


def elsewhere(world: World) -> bool:
    """Whether the engine asks another hub than this look would (vllm/envs.py reads the variable so)."""
    return world.environment.get(MODELSCOPE, "").strip().lower() in ("1", "true")


def token(world: World) -> str:
    """The token as the hub's client finds it (huggingface_hub/utils/_auth.py): a variable, else a file; empty when there is none."""
    stated = next((world.environment[name] for name in TOKENS if world.environment.get(name)), "").strip()
    if stated:
        return stated
    try:
        return world.at(world.environment.get("HF_TOKEN_PATH") or f"{model.home(world)}/token").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def look(plan: dict[str, Any], world: World, cached: bool = False) -> Result:
    """Asks for the revision's file list with the engine's token. The hub answers 401 for a token that it does not
    know (and for a repository that is hidden from everybody), 403 for a known one without access to a gated model.
    With ``cached`` files the hub's client returns them whatever it answers, except that the revision is unknown
    (huggingface_hub/_snapshot_download.py): any other answer stops nothing then.
    """
    endpoint = (world.environment.get("HF_ENDPOINT") or DEFAULT).rstrip("/")
    name, revision = str(plan["name"]), str(plan.get("revision") or "main")
    sent, trouble = token(world), unseen if cached else problem
    url = f"{endpoint}/api/models/{urllib.parse.quote(name)}/revision/{urllib.parse.quote(revision, '')}"
    try:
        with weights.request(url, {}, sent) as answer:
            answer.read(1)
    except weights.StopError as error:
        return _refused(error, f"{name} at {revision}", bool(sent), trouble)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return trouble(HUB, f"HF_ENDPOINT is {endpoint} and does not answer as a hub does: {error}")
    return fine(HUB, f"{urllib.parse.urlsplit(endpoint).netloc} has {name} at {revision}")


def _refused(error: weights.StopError, what: str, sent: bool, trouble: Callable[[str, str], Result]) -> Result:
    if error.status == 401:
        had = "the hub does not accept HF_TOKEN: it is wrong or has expired" if sent else "the hub wants a token and HF_TOKEN is not set"
        return trouble(TOKEN, f"401 for {what}: {had}, or the model does not exist")
    if error.status == 403:
        return trouble(TOKEN, f"403 for {what}: HF_TOKEN is valid but has no access; accept the model's terms with its account")
    if error.status == 404:
        return problem(HUB, f"404: the hub has no {what}")
    return trouble(HUB, str(error))
