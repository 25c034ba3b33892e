"""A stack's file as it was at a revision of the repository that holds it."""

import subprocess
import tempfile
from pathlib import Path

from interlock.cli.stackfile import StackFile, cluster_data, read_stack
from interlock.infra.errors import ConfigError, Problem
from interlock.stacks.model_files import named_files

OPTION = "--against"


def stack_at(revision: str, file: Path) -> StackFile | None:
    """The configuration that ``file`` held at ``revision``, with the files that it names; None where it was not there yet.

    Raises ConfigError without git, a repository or the revision, and for a file that cannot be read.
    """
    folder = file.parent
    _git(
        folder, "rev-parse", "--is-inside-work-tree", wrong=f"{folder.resolve()} is not in a git repository; name another file with --from"
    )
    found = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", wrong=_unknown(revision))
    commit = found.decode().splitlines()[-1]
    text = _shown(folder, commit, file.name)
    if text is None:
        return None
    with tempfile.TemporaryDirectory(prefix="interlock-") as made:
        copy = Path(made, "a", "b", "c", "d", file.name)  # a config.json may lie some folders up
        copy.parent.mkdir(parents=True)
        copy.write_bytes(text)
        try:
            for named in named_files(cluster_data(copy)):
                _copied(folder, commit, named, copy.parent, Path(made).resolve())
            return read_stack(None, copy)
        except ConfigError as error:
            raise ConfigError([Problem(each.path, each.message, f"{file.name} at {revision}") for each in error.problems]) from None


def _copied(folder: Path, commit: str, named: str, to: Path, inside: Path) -> None:
    """The file of that name, or the config.json of a folder of that name, as ``read_config`` takes them; nothing outside of ``inside``."""
    for name in (f"{named}/config.json", named):
        content, target = _shown(folder, commit, name), (to / name).resolve()
        if content is not None and target.is_relative_to(inside):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            return


def _unknown(revision: str) -> str:
    return f"{revision!r} is not a revision of this repository: name a commit, a branch or a tag; a shallow clone has few of them"


def _shown(folder: Path, commit: str, name: str) -> bytes | None:
    try:
        done = subprocess.run(["git", "show", f"{commit}:./{name}"], cwd=folder, capture_output=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _git(folder: Path, *words: str, wrong: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    except FileNotFoundError:
        raise ConfigError([Problem(OPTION, "git is not on PATH; name another file with --from")]) from None
    if done.returncode:
        raise ConfigError([Problem(OPTION, wrong)])
    return done.stdout
