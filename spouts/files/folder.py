"""What is in a folder: which of its files count, which are new, and which are not what they were."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from trident.base.errors import FatalError, RetryableError
from trident.spouts.files.catalogue import ListedFile

_NOT_READY: Final = ("_", ".")
_BEING_WRITTEN: Final = ".tmp"
_LOOK_SECONDS: Final = 1.0
"""How long what was seen stands: a folder may have very many files."""
_IN_TURNS: Final = 1_000
"""How many of the files that have numbers are looked at again with each look; all of them with the first."""


def counts(name: str, pattern: str) -> bool:
    """Tell whether a file of this name is to be read: it matches, and its name says that it is whole."""
    return not name.startswith(_NOT_READY) and not name.endswith(_BEING_WRITTEN) and fnmatchcase(name, pattern)


@dataclass(frozen=True, slots=True)
class SeenFile:
    """What the file system says of a file."""

    size: int
    modified: int

    @classmethod
    def of(cls, found: os.stat_result) -> SeenFile:
        """Take what counts: a file that has changed has another size or another time."""
        return cls(found.st_size, found.st_mtime_ns)

    def is_as(self, listed: ListedFile) -> bool:
        """Tell whether it is still the file that got a number."""
        return (self.size, self.modified) == (listed.size, listed.modified)


@dataclass(slots=True)
class Folder:
    """The files of a folder that count; used by the thread that plans."""

    path: Path
    pattern: str
    names: frozenset[str] = frozenset()
    """All that were there at the last look."""
    _until: float = field(default=float("-inf"))
    _next: int | None = None

    def look(self) -> bool:
        """Read the folder's list of names; False where the last one is new enough."""
        if time.monotonic() < self._until:
            return False
        try:
            with os.scandir(self.path) as entries:
                self.names = frozenset(
                    entry.name for entry in entries if counts(entry.name, self.pattern) and entry.is_file()
                )
        except OSError as error:
            raise _unreadable(self.path, error) from error
        self._until = time.monotonic() + _LOOK_SECONDS
        return True

    def seen(self, name: str) -> SeenFile | None:
        """Return what a file is now; None for one that has gone."""
        try:
            return SeenFile.of((self.path / name).stat())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(self.path / name, error) from error

    def new(self, known: Collection[str]) -> list[tuple[str, SeenFile]]:
        """Return the files without a number that have something in them, by name.

        An empty one may be one that somebody is about to write: with a number it would be taken for read.
        """
        found = ((name, self.seen(name)) for name in sorted(self.names.difference(known)))
        return [(name, seen) for name, seen in found if seen is not None and seen.size]

    def require_unchanged(self, files: list[ListedFile]) -> None:
        """Look at files that have numbers, at some more each time; raises `FatalError` for one that was changed."""
        for file in self._turn(files):
            seen = self.seen(file.name) if file.name in self.names else None
            if seen is not None and not seen.is_as(file):
                raise changed(self.path, file, seen)

    def _turn(self, files: list[ListedFile]) -> Iterable[ListedFile]:
        if self._next is None:
            self._next = 0
            return list(files)
        start = self._next if self._next < len(files) else 0
        self._next = start + _IN_TURNS
        return files[start : self._next]


def changed(folder: Path, file: ListedFile, seen: SeenFile) -> FatalError:
    """Return what is said of a file that is not what it was when it was found."""
    return FatalError(
        f"the file {str(folder / file.name)!r} is not what it was when it was found: it had {_said(file)} and has "
        f"{_said(seen)}. What is done of it stays, and nothing more was read. A file is put into the folder whole "
        f"(write it elsewhere, or under a name that ends with {_BEING_WRITTEN}, and rename it), and stays as it is. "
        "Put it back as it was, with its time, and give what is new another name; one that was read to its end may be "
        "taken away"
    )


def vanished(folder: Path, file: ListedFile) -> FatalError:
    """Return what is said of a file that is gone before it was read."""
    return FatalError(
        f"the file {str(folder / file.name)!r} is gone before it was read to its end: it had {_said(file)} when it was "
        "found. What is done stays, and nothing more was read or skipped. Put it back as it was, with its time"
    )


def _said(file: ListedFile | SeenFile) -> str:
    moment = datetime.fromtimestamp(file.modified // 10**9, UTC)
    return f"{file.size} bytes, last changed {moment:%Y-%m-%d %H:%M:%S}.{file.modified % 10**9:09d} UTC"


def _unreadable(path: Path, error: OSError) -> FatalError | RetryableError:
    if isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
        return FatalError(
            f"the folder or file {str(path)!r} can't be read ({type(error).__name__}); nothing was planned, what is "
            "done stays. Create it, correct the path, or let the coordinator's user read it"
        )
    return RetryableError(f"{str(path)!r} could not be read now ({type(error).__name__}); nothing was planned")
