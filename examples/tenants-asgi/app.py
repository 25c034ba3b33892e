"""Tenants' keys in front of an application of your own: any ASGI server runs `app`, for example `uvicorn app:app`.

ACCESS_FOLDER holds access.json and keys.json, as a server with tenants mounts them (docs/tenants.md).
"""

import os
from typing import Any

from interlock.runtime.gate.library import guarded


async def answers(scope: Any, receive: Any, send: Any) -> None:
    """Stands for Ray Serve's ingress, a router, or whatever speaks the API."""
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}'})


app = guarded(answers, os.environ.get("ACCESS_FOLDER", "/etc/interlock/access"))
