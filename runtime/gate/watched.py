"""The mounted files, read again when they change. Trouble is said once.

A file that cannot be understood leaves the former content in force: whoever wrote it half writes it again. One that is not there any
more does so for five minutes, which is longer than any swap of a volume; then it counts as one that lets nobody in.
"""

import os
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from interlock.runtime import words
from interlock.runtime.gate.access import AccessError, Keys, Policy, read_keys, read_policy

Content = TypeVar("Content")

PERIOD_SECONDS = 1.0
"""How often a file is looked at, at most: with the next request after that time."""
KEPT_SECONDS = 300.0
"""How long the content of a file that is gone stays in force."""
MOST_BYTES = 16 << 20
POLICY, KEYS = "access.json", "keys.json"


class Watched(Generic[Content]):
    """One file. Without content so far it holds ``nothing``, which lets nobody in."""

    def __init__(self, path: str, read: Callable[[bytes], Content], nothing: Content) -> None:
        self.path, self.read, self.content, self.nothing = path, read, nothing, nothing
        self.looked, self.stamp, self.trouble = time.monotonic(), (0, 0, 0), ""
        self.seen = self.looked
        self.look()

    def now(self) -> Content:
        """The content in force."""
        moment = time.monotonic()
        if moment - self.looked >= PERIOD_SECONDS:
            self.looked = moment
            self.look()
        return self.content

    def look(self) -> None:
        """Reads the file when it is another than before."""
        try:
            there = os.stat(self.path)  # through the links by which a kubelet swaps a volume
            self.seen = time.monotonic()
            stamp = (there.st_ino, there.st_mtime_ns, there.st_size)
            if stamp == self.stamp:
                return None
            with open(self.path, "rb") as file:
                content = self.read(file.read(MOST_BYTES))
        except OSError as error:
            return self.gone(error.strerror or type(error).__name__)
        except AccessError as error:
            return self.say(f"{self.path}: {error}; what was read before stays in force")
        self.content, self.stamp, self.trouble = content, stamp, ""
        return words.say(f"{self.path} was read")

    def gone(self, why: str) -> None:
        """The file cannot be opened."""
        if time.monotonic() - self.seen < KEPT_SECONDS:
            return self.say(f"{self.path}: {why}; what was read before stays in force for {KEPT_SECONDS:.0f} s")
        self.content, self.stamp = self.nothing, (0, 0, 0)
        return self.say(f"{self.path}: {why}; nobody is let in until it is there again")

    def say(self, text: str) -> None:
        """Says it, once."""
        if text != self.trouble:
            self.trouble = text
            words.say(text)


class Files:
    """Both files of a folder."""

    def __init__(self, folder: str) -> None:
        self.policies = Watched(os.path.join(folder, POLICY), read_policy, Policy())
        self.keyrings = Watched(os.path.join(folder, KEYS), read_keys, Keys(bytes(32)))

    @property
    def policy(self) -> Policy:
        """Tenants, and what they may use."""
        return self.policies.now()

    @property
    def keys(self) -> Keys:
        """Hashes of their keys."""
        return self.keyrings.now()


_folders: dict[str, Files] = {}


def files(folder: str) -> Files:
    """The files of a folder, one for all classes of a process."""
    if folder not in _folders:
        _folders[folder] = Files(folder)
    return _folders[folder]
