"""``lora list | load NAME PATH | unload NAME | watch FILE``: adapters of the running engine, from inside its container.

What the engine would take in silence is refused here: more adapters than it has slots for (the least used would leave the memory with
every request), a rank above its own, and several API servers, of which only one would know a new adapter.
"""

import http.client
import json
import os
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from interlock.runtime import board, words
from interlock.runtime.gate.operator import read_word
from interlock.runtime.lora_argv import static, with_file
from interlock.runtime.supervise import command as commands
from interlock.runtime.supervise import servers
from interlock.runtime.words import RefusedError

USUAL_RANK, USUAL_SLOTS, USUAL_PORT = 16, 1, 8000
"""vLLM's defaults (vllm/config/lora.py, --port)."""
SECONDS = 120
"""What one adapter may take to load."""
PERIOD_SECONDS = 5.0
CONFIGURATION = 2
USAGE = "lora list | lora load NAME PATH | lora unload NAME | lora watch FILE"


class Engine:
    """The engine of this container, asked over its own port."""

    def __init__(self, argv: Sequence[str], at: str = "") -> None:
        self.argv, self.at = with_file(argv), at
        self.port = servers.number(self.argv, "--port") or USUAL_PORT
        self.static = static(self.argv)

    def word(self) -> str:
        """What the engine's own lock, or ours, asks for. Ours is made by the first process of the API server that starts."""
        own = os.environ.get("VLLM_API_KEY") or _last(self.argv, "--api-key")
        return own or read_word(self.at).decode()

    def connection(self) -> http.client.HTTPConnection:
        """To the engine's own port; by TLS where it has a certificate, which names another host than this one."""
        certificate, key = (_last(self.argv, name) for name in ("--ssl-certfile", "--ssl-keyfile"))
        if not certificate:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        import ssl  # noqa: PLC0415 - few engines have a certificate of their own

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            context.load_cert_chain(certificate, key or None)  # it is shown to an engine that asks its clients for one
        except OSError as error:
            raise RefusedError(f"{certificate}: {error.strerror or 'is not a certificate with its key'}") from None
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=SECONDS, context=context)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        """Status and answer. Raises RefusedError when nobody answers."""
        connection = self.connection()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.word()}"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise RefusedError(f"the engine does not answer on port {self.port} ({type(error).__name__})") from None
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode("utf-8", "replace")

    def adapters(self) -> dict[str, str]:
        """Path by name of the adapters that are registered."""
        status, found = self.ask("GET", "/v1/models")
        if status != 200 or not isinstance(found, dict):
            raise RefusedError(f"the engine answers {status} when it is asked for its models")
        return {each["id"]: each.get("root", "") for each in found.get("data", ()) if each.get("parent")}

    def load(self, name: str, path: str) -> None:
        """Loads one adapter. Raises RefusedError where it does not fit, or the engine says no."""
        if why := refusal(self.argv, self.adapters(), name, rank_of(path)):
            raise RefusedError(f"{name}: {why}")
        self.done(name, *self.ask("POST", "/v1/load_lora_adapter", {"lora_name": name, "lora_path": path}))

    def unload(self, name: str) -> None:
        """Unloads one adapter. Raises RefusedError when the engine says no, or it stands in the engine's arguments."""
        if name in self.static:
            raise RefusedError(
                f"{name}: stands in the engine's arguments (--lora-modules), and a restart would load it again: remove it there"
            )
        if servers := several(self.argv):
            raise RefusedError(servers)
        self.done(name, *self.ask("POST", "/v1/unload_lora_adapter", {"lora_name": name}))

    @staticmethod
    def done(name: str, status: int, said: Any) -> None:
        """Raises RefusedError for an answer that is not one."""
        if status == 404 and not (isinstance(said, dict) and "error" in said):
            raise RefusedError(f"{name}: this engine changes no adapters while it runs: set VLLM_ALLOW_RUNTIME_LORA_UPDATING=1")
        if status != 200:
            inner = said.get("error", said) if isinstance(said, dict) else said
            raise RefusedError(f"{name}: the engine answers {status}: {inner.get('message', inner) if isinstance(inner, dict) else inner}")


def _last(argv: Sequence[str], option: str) -> str:
    return next(reversed(commands.values(list(argv), option)), "")


def several(argv: Sequence[str]) -> str:
    """Why no adapter can be changed with several API servers; empty with one."""
    count = servers.api_servers(list(argv))
    return f"{count} API servers: only one of them would know of the change; keep one (--api-server-count 1)" if count > 1 else ""


def refusal(argv: Sequence[str], registered: Iterable[str], name: str, rank: int | None) -> str:
    """Why an adapter cannot be loaded beside those that are registered; empty when it can. ``rank``: None when it is not known."""
    given, present = list(argv), set(registered) | {name}
    if why := several(given):
        return why
    if "--enable-lora" not in commands.names(given):
        return "the engine was started without --enable-lora"
    slots = max(servers.number(given, option) or USUAL_SLOTS for option in ("--max-loras", "--max-cpu-loras"))
    if len(present) > slots:
        held = f"{len(present)} adapters need as many slots, and the engine has {slots}"
        return f"{held} (--max-loras, --max-cpu-loras): the least used would be loaded again and again; unload one or plan more"
    most = servers.number(given, "--max-lora-rank") or USUAL_RANK
    if rank is not None and rank > most:
        return f"rank {rank} is more than {most} (--max-lora-rank), which the engine's memory was planned for"
    return ""


def rank_of(path: str) -> int | None:
    """The rank in an adapter's config. Raises RefusedError when the folder is not an adapter; None for a repository's name."""
    if not path.startswith("/"):
        return None
    try:
        with open(os.path.join(path, "adapter_config.json"), "rb") as file:
            found = json.load(file)
    except OSError as error:
        raise RefusedError(f"{path}: adapter_config.json: {error.strerror}") from None
    except ValueError:
        raise RefusedError(f"{path}: adapter_config.json is not whole JSON") from None
    rank = found.get("r") if isinstance(found, dict) else None
    return rank if isinstance(rank, int) else None


def wanted_of(path: str) -> dict[str, str]:
    """Path by name in a mounted list: ``{"sql": "/adapters/sql"}``. Raises RefusedError when it cannot be read."""
    try:
        with open(path, "rb") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        raise RefusedError(f"{path}: {getattr(error, 'strerror', None) or 'is not whole JSON'}") from None
    if not isinstance(found, dict) or not all(isinstance(each, str) and each for pair in found.items() for each in pair):
        raise RefusedError(f"{path}: must be an object of paths by the names of adapters")
    return found


def changes(there: Mapping[str, str], wanted: Mapping[str, str], static: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """(names to unload, names to load) that make ``there`` equal to ``wanted``; another path is another adapter. Unloads come first.

    ``static``: those of the engine's own arguments, which stay as they are.
    """
    gone = [name for name, path in there.items() if wanted.get(name) != path and name not in static]
    return gone, [name for name, path in wanted.items() if there.get(name) != path and name not in static]


def follow(engine: Engine, path: str) -> list[str]:
    """One look at the list: makes the engine's adapters equal to it. What went wrong, each in a sentence."""
    try:
        wanted = wanted_of(path)
        gone, new = changes(engine.adapters(), wanted, engine.static)
    except RefusedError as error:
        return [str(error)]
    troubles = []
    for act, name in (*(("unload", each) for each in gone), *(("load", each) for each in new)):
        try:
            engine.unload(name) if act == "unload" else engine.load(name, wanted[name])
            words.say(f"adapter {name}: {act}ed")
        except RefusedError as error:
            troubles.append(str(error))
    return troubles


def watch(engine: Engine, path: str) -> int:
    """Follows the list until it is ended; says each trouble once. An engine that still loads is waited for."""
    said: list[str] = []
    while True:
        troubles = follow(engine, path)
        for each in troubles:
            if each not in said:
                words.say(each)
        said = troubles
        time.sleep(PERIOD_SECONDS)


def engine_argv(at: str = "") -> list[str]:
    """The command line of the engine that the supervisor of this container started. Raises RefusedError when there is none."""
    try:
        with open(os.path.join(at or board.folder(), board.CONTROL), "rb") as file:
            pid = memoryview(file.read(16)).cast("q")[board.SUPERVISOR]
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            found = [word.decode("utf-8", "replace") for word in file.read().split(b"\0") if word]
    except (OSError, TypeError, IndexError):
        raise RefusedError("no supervisor runs here: the command belongs into the engine's container") from None
    return found[found.index("run") + 1 :] if "run" in found else found


def main(arguments: list[str]) -> int:
    """Runs one command."""
    counts = {"list": 1, "load": 3, "unload": 2, "watch": 2}
    if not arguments or counts.get(arguments[0]) != len(arguments):
        words.say(USAGE)
        return CONFIGURATION
    try:
        engine = Engine(engine_argv())
        if arguments[0] == "watch":
            return watch(engine, arguments[1])
        if arguments[0] == "list":
            for name, path in sorted(engine.adapters().items()):
                sys.stdout.write(f"{name}\t{path}\n")
        elif arguments[0] == "load":
            engine.load(*arguments[1:])
        else:
            engine.unload(arguments[1])
    except RefusedError as error:
        words.say(str(error))
        return 1
    return 0
