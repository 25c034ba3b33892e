"""What the engine's command line says of adapters, also where a part of it stands in a file."""

import json
from collections.abc import Sequence

from interlock.runtime.supervise import command as commands
from interlock.runtime.words import RefusedError


def with_file(argv: Sequence[str]) -> list[str]:
    """The arguments with those of ``--config FILE`` before the options, as vLLM reads them. Raises RefusedError when it cannot be read."""
    path = next(iter(commands.values(list(argv), "--config")), "")
    if not path:
        return list(argv)
    try:
        import yaml  # noqa: PLC0415 - the image has it; the archive does not
    except ImportError:
        raise RefusedError(f"{path} (--config) cannot be read by this Python, which has no yaml") from None
    try:
        with open(path, encoding="utf-8") as file:
            found = yaml.safe_load(file)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RefusedError(f"{path} (--config): {getattr(error, 'strerror', None) or 'is not YAML'}") from None
    words = list[str]()
    for name, value in found.items() if isinstance(found, dict) else ():
        listed = value if isinstance(value, list) else [] if value is True else [value]
        words += [] if value is False else [f"--{name}", *(each if isinstance(each, str) else json.dumps(each) for each in listed)]
    first = next(at for at, word in enumerate(argv) if word.startswith("-"))
    return [*argv[:first], *words, *argv[first:]]


def static(argv: Sequence[str]) -> frozenset[str]:
    """Names of the adapters among the arguments: ``--lora-modules a=/a b=/b`` or ``'{"name": "c", "path": "/c"}'``."""
    found, inside = set[str](), False
    for word in argv:
        value = word
        if word.startswith("-"):
            name, _, value = word.partition("=")
            inside = name.replace("_", "-") == "--lora-modules"
        if inside and value:
            found |= _names_of(value)
    return frozenset(found)


def _names_of(word: str) -> set[str]:
    if not word.startswith(("{", "[")):
        return {word.partition("=")[0]}
    try:
        read = json.loads(word)
    except ValueError:
        return set()
    return {str(each.get("name", "")) for each in (read if isinstance(read, list) else [read]) if isinstance(each, dict)}
