"""What is in a folder: which of its files count, which are new, and which are not what they were."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from trident.base.errors import FatalError, RetryableError
from trident.spouts.files.catalogue import ListedFile

_NOT_READY: Final = ("_", ".")
BEING_WRITTEN: Final = ".tmp"
"""What ends the name of a file that is not whole yet."""
_LOOK_SECONDS: Final = 1.0
"""How long what was seen stands: a folder may have very many files."""
_IN_TURNS: Final = 1_000
"""How many of the files that have numbers are looked at again with each look; all of them with the first."""


def counts(name: str, pattern: str) -> bool:
    """Tell whether a file of this name is to be read: it matches, and its name says that it is whole."""
    return not name.startswith(_NOT_READY) and not name.endswith(BEING_WRITTEN) and fnmatchcase(name, pattern)


@dataclass(frozen=True, slots=True)
class SeenFile:
    """What the file system says of a file."""

    size: int
    modified: int

    @classmethod
    def of(cls, found: os.stat_result) -> SeenFile:
        """Take what counts: a file that has changed has another size or another time."""
        return cls(found.st_size, found.st_mtime_ns)


@dataclass(slots=True)
class Folder:
    """The files of a folder that count; used by the thread that plans."""

    path: Path
    pattern: str
    names: frozenset[str] = frozenset()
    """All that were there at the last look."""
    _until: float = field(default=float("-inf"))
    _next: int = 0

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

    def changed(
        self, files: Sequence[ListedFile], latest: Mapping[str, ListedFile], *, all_of_them: bool
    ) -> list[tuple[ListedFile, SeenFile]]:
        """Look at files that have numbers, at all or at some more each time; return those that are not what they were.

        Of each name only the latest counts.
        """
        found = []
        for file in files if all_of_them else self._turn(files):
            seen = self.seen(file.name) if file.name in self.names and file == latest[file.name] else None
            if seen is not None and not file.is_same(seen):
                found.append((file, seen))
        return found

    def _turn(self, files: Sequence[ListedFile]) -> Sequence[ListedFile]:
        start = self._next if self._next < len(files) else 0
        self._next = start + _IN_TURNS
        return files[start : self._next]

    def require_settled(self, replaced: Sequence[tuple[ListedFile, SeenFile]]) -> None:
        """Raise `RetryableError` unless files that are not what they were stay as they are for a while.

        Who mends a file often writes it where it lies, while a supervisor starts the topology again and again.
        """
        time.sleep(_LOOK_SECONDS)
        for file, seen in replaced:
            if self.seen(file.name) != seen:
                raise RetryableError(
                    f"the file {str(self.path / file.name)!r} is being written in the place of another one; it got no "
                    "number, and nothing was planned"
                )


def _unreadable(path: Path, error: OSError) -> FatalError | RetryableError:
    if isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
        return FatalError(
            f"the folder or file {str(path)!r} can't be read ({type(error).__name__}); nothing was planned, what is "
            "done stays. Create it, correct the path, or let the coordinator's user read it"
        )
    return RetryableError(f"{str(path)!r} could not be read now ({type(error).__name__}); nothing was planned")
