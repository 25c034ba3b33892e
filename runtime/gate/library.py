"""The classes in front of any ASGI application: Ray Serve's ingress, a gateway, another server. Standard library only."""

from interlock.runtime.asgi import App
from interlock.runtime.gate.account import Account
from interlock.runtime.gate.governor import Governor
from interlock.runtime.gate.keys import Keys
from interlock.runtime.gate.limits import Limits
from interlock.runtime.gate.priority import Priority


def guarded(app: App, folder: str, *, ordered: bool = False, cooling: bool = False) -> App:
    """``app`` behind keys, limits and accounting, in the order in which the engine has them.

    ``folder`` holds access.json and keys.json. ``ordered``: requests get priorities, for an engine that schedules by them.
    ``cooling``: hot cards let fewer in. Adding and removing tenants needs no restart.
    """
    inner = Priority(app, folder) if ordered else app
    inner = Governor(inner, folder) if cooling else inner
    return Account(Keys(Limits(inner, folder), folder), folder)
