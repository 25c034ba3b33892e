"""The hub, for a model that is downloaded at the start: reachable, and the token opens the model."""

import http.client
import urllib.parse
from typing import Any

from interlock.runtime import weights
from interlock.runtime.preflight.look import Result, World, fine, problem

HUB, TOKEN = "hub", "hub-token"
DEFAULT = "https://huggingface.co"
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def offline(world: World) -> bool:
    """Whether the engine will not ask the hub."""
    return any(world.environment.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in OFFLINE)


def look(plan: dict[str, Any], world: World) -> Result:
    """Asks for the revision's file list with the token of the environment. The hub answers 401 for a token that it does not
    know (and for a repository that is hidden from everybody), 403 for a known one without access to a gated model.
    """
    endpoint = (world.environment.get("HF_ENDPOINT") or DEFAULT).rstrip("/")
    name, revision = str(plan["name"]), str(plan.get("revision") or "main")
    token = bool(world.environment.get("HF_TOKEN"))
    try:
        with weights.request(f"{endpoint}/api/models/{urllib.parse.quote(name)}/revision/{urllib.parse.quote(revision, '')}", {}) as answer:
            answer.read(1)
    except weights.StopError as error:
        return _refused(error, f"{name} at {revision}", token)
    except (ValueError, http.client.HTTPException) as error:
        return problem(HUB, f"HF_ENDPOINT is {endpoint} and does not answer as a hub does: {error}")
    return fine(HUB, f"{urllib.parse.urlsplit(endpoint).netloc} has {name} at {revision}")


def _refused(error: weights.StopError, what: str, token: bool) -> Result:
    if error.status == 401:
        had = "the hub does not accept HF_TOKEN: it is wrong or has expired" if token else "the hub wants a token and HF_TOKEN is not set"
        return problem(TOKEN, f"401 for {what}: {had}, or the model does not exist")
    if error.status == 403:
        return problem(TOKEN, f"403 for {what}: HF_TOKEN is valid but has no access; accept the model's terms with its account")
    if error.status == 404:
        return problem(HUB, f"404: the hub has no {what}")
    return problem(HUB, str(error))
