"""The order of a folder's files, kept beside them: each gets a number when it is found, and keeps it for ever.

It is a chain of small files, each of which lists the files of the numbers from its own name on. One is written under
another name, made durable, and linked into its place, which fails where somebody was first: so all who read the folder,
a coordinator that was replaced and does not know it included, agree about every number, and none needs a lock.

A file that is replaced under its name before anything of it counts gets a number of its own, behind all others. The one
that had the name keeps its number, and is read no more.
"""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from trident.base.errors import ConfigurationError, FatalError, RetryableError

_HEAD: Final = "catalogue"
_VERSION: Final = 1
_NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class Form(Protocol):
    """What tells a file from another one that had its name."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def modified(self) -> int:
        """Nanoseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as it was when it got its number."""

    name: str
    size: int
    modified: int
    """Nanoseconds since the epoch."""
    width: int
    """How many positions it has in its log: bytes of lines, or rows."""

    def is_same(self, other: Form) -> bool:
        """Tell whether what has its name is still this file: what was changed has another size or another time."""
        return (self.size, self.modified) == (other.size, other.modified)


class Catalogue:
    """The files of one folder that have numbers; used by one thread."""

    def __init__(self, folder: Path, meaning: str) -> None:
        """Take the place where it is kept, and what its numbers and widths depend on."""
        self.folder = folder
        self._meaning = meaning
        self.id = ""
        self.files: list[ListedFile] = []
        self.latest: dict[str, ListedFile] = {}
        """Of each name the file that got the last number under it: what had it before was replaced."""
        self._last: int | None = None
        """The number that the last part begins with."""

    def is_there(self) -> bool:
        """Tell whether one was begun, and not taken away since."""
        with self._trouble():
            return (self.folder / _HEAD).exists()

    def refresh(self) -> None:
        """Read what others have added, or begin it; raises `ConfigurationError` where it is of other files."""
        with self._trouble():
            if not self.id:
                self._begin()
                self.id = self._head()
            while (more := self._segment(len(self.files))) is not None:
                self._take(more)

    def add(self, files: Sequence[ListedFile]) -> bool:
        """Give the files the next numbers, durably; False, with nothing given, where somebody else has given these."""
        text = "".join(json.dumps([each.name, each.size, each.modified, each.width]) + "\n" for each in files)
        with self._trouble():
            self._require_same()
            if not self._link(_name(len(self.files)), f"{json.dumps(len(files))}\n{text}"):
                return False
        self._take(files)
        return True

    def _require_same(self) -> None:
        """Raise where it was put back, or made anew, since it was read: the next numbers would stand behind a gap."""
        if self._head() == self.id and (self._last is None or (self.folder / _name(self._last)).exists()):
            return
        raise FatalError(
            f"{_named(self.folder)} was put back as it was before, or made anew, while it was read. What is done "
            "stays, no file was given a number and nothing more was read. Run the topology again: it goes on where the "
            "files prove to be the same, and says what to do where they do not"
        )

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Say what became of the data where the catalogue can't be read or written, or is not what was written."""
        try:
            yield
        except OSError as error:
            raise _failed(self.folder, error) from error
        except (ValueError, KeyError, TypeError) as error:
            raise FatalError(
                f"{_named(self.folder)} is not as it was written ({type(error).__name__}); nothing more was "
                "read, what is done stays. Restore it"
            ) from None

    def _take(self, files: Sequence[ListedFile]) -> None:
        names = {file.name for file in files}
        again = [file for file in files if file.name in self.latest and file.is_same(self.latest[file.name])]
        if again or len(names) < len(files):
            raise ValueError  # a file with two numbers would be read twice
        self._last = len(self.files)
        self.files.extend(files)
        self.latest.update((file.name, file) for file in files)

    def _begin(self) -> None:
        if not (self.folder / _HEAD).exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            head = {"version": _VERSION, "id": uuid.uuid4().hex, "of": self._meaning}
            self._link(_HEAD, json.dumps(head))

    def _head(self) -> str:
        found = json.loads((self.folder / _HEAD).read_text("utf-8"))
        if found["version"] != _VERSION:
            raise ConfigurationError(f"{_named(self.folder)} is of another version; nothing was read")
        if found["of"] != self._meaning:
            raise ConfigurationError(
                f"{_named(self.folder)} is of {found['of']}, and not of {self._meaning}: files would get "
                "other numbers. Nothing was read. Read the folder as before, or give this spout a catalogue of its own"
            )
        return str(found["id"])

    def _segment(self, first: int) -> list[ListedFile] | None:
        try:
            text = (self.folder / _name(first)).read_text("utf-8")
        except FileNotFoundError:
            return None
        count, *lines = text.splitlines()
        if len(lines) != int(count):
            raise ValueError
        return [ListedFile(*json.loads(line)) for line in lines]

    def _link(self, name: str, text: str) -> bool:
        """Put a text into its place, whole and durable; False where there is one."""
        made = self.folder / f".{uuid.uuid4().hex}.tmp"
        try:
            with made.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.link(made, self.folder / name)
            _sync(self.folder)
        except FileExistsError:
            return False
        finally:
            made.unlink(missing_ok=True)
        return True


def _named(folder: Path) -> str:
    """Return how errors name it: bytes that are not UTF-8 are escaped, for no database records half of a character."""
    return f"the catalogue in {str(folder)!r}"


def _name(first: int) -> str:
    return f"{first:020d}"


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _failed(folder: Path, error: OSError) -> FatalError | RetryableError:
    name = errno.errorcode.get(error.errno or 0, type(error).__name__)
    if error.errno in _NO_LINKS:
        return FatalError(
            f"{_named(folder)} can't be written ({name}): its file system has no hard links, or refuses them. "
            "Nothing was planned. Give the spout a catalogue= on one that has"
        )
    if isinstance(error, PermissionError | FileNotFoundError | NotADirectoryError | FileExistsError):
        return FatalError(
            f"{_named(folder)} can't be read or written ({name}). Nothing was planned, what is done stays. "
            "The coordinator's user needs to write there; or give the spout a catalogue= elsewhere"
        )
    return RetryableError(f"{_named(folder)} could not be read or written ({name}); nothing was planned")
