"""Which engine a container starts, and with which words: plain lists, shell strings, scripts in ConfigMaps, the image's entrypoint."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from interlock.infra.catalog.tables import table
from interlock.infra.engine.words import Command, Word
from interlock.infra.facts import ArgProblem, Fact, known
from interlock.infra.recognise.env import Environment, expand, expand_known
from interlock.infra.recognise.images import Image
from interlock.infra.recognise.shell import Shell
from interlock.infra.recognise.supervised import after_supervisor

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh"})
_HOUSEKEEPING = frozenset({"set", "mkdir", "cd", "exit", "wait", "source", ".", "chmod", "rm", "mv", ""})
_DEPTH = 4
WHOLE = "not one of its words is known before the update"
"""Why a list of words cannot be read that is unknown as a whole: it may hold any number."""
_FILE = "launchers.json"
_SHELL_VARIABLE = re.compile(r"\$(?:\{([A-Z_][A-Z0-9_]*)[^}]*\}|([A-Z_][A-Z0-9_]+))")


@dataclass(frozen=True, slots=True)
class Launch:
    """What a container starts."""

    engine: str
    """``vllm``, another engine's name, ``ray`` for a bare Ray node, ``idle`` for what is not an engine, empty when it cannot be told."""
    entrypoint: str = ""
    words: tuple[Word, ...] = ()
    """The arguments after the launcher."""
    complete: bool = True
    listed: bool = False
    """All words of an image whose entrypoint is not known can be read."""
    problems: tuple[ArgProblem, ...] = ()
    assignments: Mapping[str, Word] = field(default_factory=dict)
    """Variables that the script sets for it."""
    ray: bool = False
    """The script also starts or joins a Ray node."""
    installs: str = ""
    """The package installation that the script runs before it."""


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What stands around a command."""

    environment: Environment
    files: Callable[[str], tuple[str, str] | None]
    """Text and path of a file that a ConfigMap of the set mounts, by its path in the container."""
    image: Image


def words_of(list_fact: Sequence[Fact[str]], environment: Environment) -> tuple[Word, ...]:
    """Arguments of a container with ``$(NAME)`` expanded; ``list_fact`` are raw texts."""
    words = []
    for fact in list_fact:
        if not fact.known:
            words.append(Word("", known=False, many=fact.why == WHOLE, path=fact.path, raw=fact.why))
            continue
        text = expand(fact.get(), environment, fact.path)
        whole = expand_known(fact.get(), environment)
        words.append(Word(text.get() if text.known else whole, text.known and "{{" not in whole, path=fact.path, raw=fact.get()))
    return tuple(words)


def _without_shell(words: Sequence[Word], environment: Environment) -> tuple[tuple[Word, ...], tuple[ArgProblem, ...]]:
    """Words that no shell reads: ``$NAME`` of the container's own environment stays as it is written, others are for a template."""
    read: list[Word] = []
    problems: list[ArgProblem] = []
    for word in words:
        names = [first or second for first, second in _SHELL_VARIABLE.findall(word.text)]
        own = next((name for name in names if name in environment.values), None)
        if own:
            text = f"no shell reads {word.text[:60]!r}, so the engine gets the text ${own} itself; Kubernetes expands $({own})"
            problems.append(ArgProblem("broken-arg", text, word.path))
        read.append(replace(word, known=False) if names else word)
    return tuple(read), tuple(problems)


def find_launch(command: Sequence[Word], args: Sequence[Word], context: CommandContext) -> Launch:
    """The engine that ``command`` and ``args`` start in an image."""
    words = (*command, *args)
    if not words:
        return _bare_image(context.image)
    supervised = after_supervisor([word.text for word in words])
    if supervised is not None:  # it starts what follows as the container itself would, and never the image's own entrypoint
        words = words[supervised:]
        return find_launch(words, (), context) if words else Launch("idle", "run")
    if command and _base(command[0].text) in table(_FILE)["idle"] and _base(command[0].text) not in table(_FILE)["runs"]:
        return Launch("idle", _base(command[0].text))  # what follows are its arguments, whatever they look like
    found = _direct(words, context, 0)
    image = context.image
    if not command and image.stock and found and found.engine == "vllm" and found.entrypoint in ("serve", "module", "shell"):
        text = f"the image already starts `vllm serve`, so {words[0].text[:40]!r} reaches it as an argument; set `command` instead"
        return _with(found, ArgProblem("broken-arg", text, words[0].path, "remove the launcher, so that args begin with the model"))
    if found:
        return found
    if command and command[0].text.startswith("-"):
        text = f"command replaces the image's entrypoint, so {command[0].text[:60]!r} is run as a program; move the flags to args"
        return Launch("vllm", "image", words, problems=(ArgProblem("entrypoint-replaced", text, command[0].path),))
    return _unlaunched(command, words, context)


def _with(launch: Launch, problem: ArgProblem) -> Launch:
    return replace(launch, problems=(*launch.problems, problem))


def _bare_image(image: Image) -> Launch:
    if image.engine == "vllm" and image.entrypoint in ("serve", "module"):
        return Launch("vllm", "image")
    return Launch(image.engine or "", image.entrypoint or "image", complete=False)


def _unlaunched(command: Sequence[Word], words: Sequence[Word], context: CommandContext) -> Launch:
    image = context.image
    if not command:
        if words[0].text == "serve" and image.engine in ("vllm", ""):
            text = "the image already starts `vllm serve`, so `serve` stands there twice and becomes the model"
            twice = (ArgProblem("broken-arg", text, words[0].path, "remove `serve`: args begin with the model"),) if image.stock else ()
            return Launch("vllm", "image", tuple(words[1:]), problems=twice)
        entrypoint = "image" if image.entrypoint in ("serve", "module", "") else image.entrypoint
        complete = image.engine == "vllm" and image.entrypoint in ("serve", "module", "huggingfaceserver")
        read, problems = _without_shell(words, context.environment)
        return Launch(image.engine, entrypoint, read, complete, all(word.known for word in read), problems if complete else ())
    name = _base(command[0].text)
    rest = [_base(word.text) for word in words[1:3]]
    if name in table(_FILE)["idle"] or (name == "vllm" and rest[:1] != ["serve"]) or (name.startswith("python") and rest[:1] == ["-c"]):
        return Launch("idle", name)
    return Launch(image.engine, "script", tuple(words[1:]), complete=False)


def _base(text: str) -> str:
    return text.rstrip("/").rsplit("/", 1)[-1]


def _direct(words: Sequence[Word], context: CommandContext, depth: int) -> Launch | None:
    """The launch in one argument vector, through shells, wrappers and scripts."""
    script = _script(words, context)
    if script is not None and depth < _DEPTH:
        return _in_shell(*script, context, depth + 1)
    found = _launcher(words)
    if found:
        engine, entrypoint, index = found
        if depth:
            return Launch(engine, entrypoint, tuple(words[index:]))
        read, problems = _without_shell(words[index:], context.environment)
        return Launch(engine, entrypoint, read, problems=problems)
    return None


def _script(words: Sequence[Word], context: CommandContext) -> tuple[str, str, tuple[ArgProblem, ...]] | None:
    """Text, path and problems of the script that these words run, when they run one that can be read."""
    names = [_base(word.text) for word in words]
    start = next((index for index, name in enumerate(names[:12]) if name in _SHELLS), None)
    if start is not None and (start == 0 or all(not _launcher([word]) for word in words[:start])):
        for index in range(start + 1, len(words)):
            text = words[index].text
            if text.startswith("-") and not text.startswith("--") and "c" in text and not text.endswith("o"):
                return _inline(words, index + 1)
            if not text.startswith(("-", "+")) and text != "pipefail":
                found = context.files(text)
                return (*found, ()) if found else None
        return None
    found = context.files(words[0].text) if words[0].text.startswith("/") else None
    return (*found, ()) if found else None


def _inline(words: Sequence[Word], index: int) -> tuple[str, str, tuple[ArgProblem, ...]] | None:
    while index < len(words) and words[index].text in ("--", "-"):
        index += 1
    if index >= len(words):
        return None
    script, rest = words[index], words[index + 1 :]
    text = script.text
    problems: tuple[ArgProblem, ...] = ()
    if any(word.text.startswith("-") for word in rest) and "$@" not in text and "$1" not in text and _looks_launch(text):
        first = next(word for word in rest if word.text)
        note = f"the shell runs only {text[:60]!r}; {first.text[:60]!r} and what follows become $0, $1, ... and are lost"
        problems = (ArgProblem("broken-arg", note, first.path),)
        # What was meant is still worth judging: the words are read as if they belonged to the command.
        text = " ".join([text, *(_quoted(word.text) for word in rest)])
    return text, script.path, problems


def _looks_launch(text: str) -> bool:
    return "vllm" in text and "\n" not in text.strip()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'" if any(mark in text for mark in " \"{}()'") else text


def _in_shell(text: str, path: str, problems: tuple[ArgProblem, ...], context: CommandContext, depth: int) -> Launch | None:
    commands = Shell(text, context.environment.lookup, path).read()
    written = {command.target: command.here for command in commands if command.target and command.here}

    def files(name: str) -> tuple[str, str] | None:
        return (written[name], path) if name in written else context.files(name)

    inner = CommandContext(context.environment, files, context.image)
    starts_ray = any(_joins_ray(command) for command in commands)
    installs = next((" ".join(word.text for word in command.words)[:200] for command in commands if _installs(command)), "")
    found = [launch for command in commands if (launch := _command(command, inner, depth))]
    chosen = _best(found)
    if chosen:
        entry = chosen.entrypoint if chosen.entrypoint != "serve" else "shell"
        return replace(
            chosen,
            entrypoint=entry,
            problems=(*problems, *chosen.problems),
            ray=chosen.ray or starts_ray,
            installs=chosen.installs or installs,
        )
    if starts_ray:
        return Launch("ray", "shell", ray=True)
    return _no_launch(commands, context)


def _best(found: Sequence[Launch]) -> Launch | None:
    """The serving launch among several: branches for workers run headless or only join."""
    engines = [launch for launch in found if launch.engine == "vllm"] or list(found)
    serving = [launch for launch in engines if not any(word.text == "--headless" for word in launch.words)]
    return next(iter(serving or engines), None)


def _no_launch(commands: Sequence[Command], context: CommandContext) -> Launch | None:
    names = {_base(command.words[0].text) for command in commands if not _client(command)}
    busy = names - set(table(_FILE)["idle"]) - set(table(_FILE)["talk"]) - _HOUSEKEEPING
    if busy and context.image.engine == "vllm":
        return Launch("vllm", "script", complete=False)
    return Launch("idle", "shell")


def _client(command: Command) -> bool:
    """``vllm bench``, ``python -c ...``: something that uses an engine or prepares for one."""
    names = [_base(word.text) for word in command.words[:3]]
    return names[0] == "vllm" or (names[0].startswith("python") and names[1:2] == ["-c"])


def _joins_ray(command: Command) -> bool:
    names = [_base(word.text) for word in command.words[:4]]
    # KubeRay hands its own start command to containers that replace the command.
    handed = names[:1] == ["eval"] and "KUBERAY_GEN_RAY_START_CMD" in command.words[-1].raw
    joins = handed or names[:2] == ["ray", "start"] or (names[:1] == ["exec"] and names[1:3] == ["ray", "start"])
    # vLLM ships multi-node-serving.sh (examples/online_serving), which starts or joins a Ray cluster.
    return joins or any("multi-node-serving.sh" in name for name in names)


def _installs(command: Command) -> bool:
    names = [_base(word.text) for word in command.words[:4]]
    return ("pip" in names or "pip3" in names or "uv" in names or "apt-get" in names) and "install" in names


def _command(command: Command, context: CommandContext, depth: int) -> Launch | None:
    words = command.words
    first = _base(words[0].text)
    if first in table(_FILE)["talk"]:
        return None
    if command.here and first in _SHELLS and len(words) == 1:
        return _in_shell(command.here, words[0].path, (), context, depth + 1) if depth < _DEPTH else None
    found = _direct(words, context, depth)
    if found is None or found.engine == "idle":
        return None
    return replace(found, assignments={**command.assignments, **found.assignments})


def _launcher(words: Sequence[Word]) -> tuple[str, str, int] | None:
    """Engine, entrypoint and index of its first argument, wherever in the vector the launcher stands (after env, numactl, ...)."""
    launchers = table(_FILE)
    for index, word in enumerate(words[:40]):
        name = _base(word.text)
        following = words[index + 1].text if index + 1 < len(words) else ""
        if name == "vllm" and following == "serve":
            return "vllm", "serve", index + 2
        if word.text == "-m" and following in launchers["modules"]:
            engine, entrypoint = launchers["modules"][following]
            return engine, entrypoint, index + 2 + (index + 2 < len(words) and words[index + 2].text == "serve")
        if word.text.endswith("vllm/entrypoints/openai/api_server.py"):
            return "vllm", "module", index + 1
        if name in launchers["programs"] and (index == 0 or _wrapper(words[index - 1].text)):
            return launchers["programs"][name], "program", index + 1
    return None


def _wrapper(text: str) -> bool:
    return text in ("exec", "--", "tini", "dumb-init", "nohup", "env") or "=" in text


def environment_with(environment: Environment, assignments: Mapping[str, Word]) -> Environment:
    """The container's environment as the launched process sees it, with what its script exports."""
    values = dict(environment.values)
    for name, word in assignments.items():
        values[name] = known(word.text, word.path) if word.known else Fact(why="set by the script")
    return Environment(values, environment.sources, environment.open)
