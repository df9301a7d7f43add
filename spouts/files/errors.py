"""What is said of files that are not what they should be, and what a person does then."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from trident.base.advice import RESET, RESET_CLEARING, RESET_FROM_THE_BEGINNING
from trident.base.errors import FatalError
from trident.base.ranges import OffsetRange
from trident.spouts.files.catalogue import ListedFile
from trident.spouts.files.folder import BEING_WRITTEN, SeenFile

WAY_TO_CORRECT: Final = (
    "put a corrected one in its place, under its name, and run the topology again: as long as nothing of it is done it "
    f"is read as it is then (write it under a name that ends with {BEING_WRITTEN}, and rename it; one without a record "
    "leaves it out)"
)
"""The way on where what a file holds is wrong."""


def changed(folder: Path, file: ListedFile, seen: SeenFile) -> FatalError:
    """Return what is said of a file that is not what it was when it was found, while it is not known what is done."""
    return FatalError(
        f"{_not_as_it_was(folder, file, seen)}. What is done of it stays, and nothing more was read. Run the topology "
        "again: where nothing of it is done it is read as it is now, and else that start says what to do"
    )


def changed_when_read(folder: Path, file: ListedFile, seen: SeenFile) -> FatalError:
    """Return what is said of one of which something is done."""
    return FatalError(
        f"{_not_as_it_was(folder, file, seen)}. What is done of it stays, and nothing more was read: what it holds now "
        "would be left out, or counted twice. A file is put into the folder whole (write it elsewhere, or under a name "
        f"that ends with {BEING_WRITTEN}, and rename it), and stays as it is. Put it back as it was, with its time, "
        "and give what is new another name (one that was read to its end may be taken away), which leads on as long as "
        "no other topology has begun to read the folder since, and given a number to what it holds now; or, to count "
        f"what it holds now, {RESET_CLEARING}"
    )


def emptied(folder: Path, file: ListedFile) -> FatalError:
    """Return what is said of one of which nothing is done, and that may be about to be written."""
    return FatalError(
        f"the file {str(folder / file.name)!r} is empty: it had {said(file)} when it was found. Nothing of it is done, "
        "and nothing more was read. Write what it is to hold, or to leave it out something without a record (of lines "
        "the end of one), and run the topology again"
    )


def vanished(folder: Path, file: ListedFile) -> FatalError:
    """Return what is said of a file that is gone before it was read."""
    return FatalError(
        f"the file {str(folder / file.name)!r} is gone before it was read to its end: it had {said(file)} when it was "
        "found. What is done stays, and nothing more was read or skipped. Put it back as it was, with its time; or "
        f"{WAY_TO_CORRECT}"
    )


def compressed(path: Path, kind: str, *, is_known: bool) -> FatalError:
    """Return what is said of a file whose first bytes are those of a compressed one.

    Where its name has a number already, what it was made of goes there: elsewhere it would be read beside what follows.
    """
    way = (
        "Put what it was made of in its place, under its name, and run the topology again"
        if is_known
        else "Take it away, and put what it was made of into the folder"
    )
    return FatalError(
        f"the file {str(path)!r} is compressed: it begins as {kind} does. Such files are not read. It got no number, "
        f"nothing was planned, and what is done stays. {way}"
    )


def replaced_when_read(stream: str, catalogue: Path, known: OffsetRange) -> FatalError:
    """Return what is said where another topology of the folder goes on with what a file was replaced by."""
    return FatalError(
        f"stream {stream!r}: of what partition {known.id.partition} was planned by up to position {known.stop} a file "
        f"was replaced since, and the catalogue in {str(catalogue)!r} has it under a number of its own now: another "
        "topology that reads it had nothing done of the file. What is done stays; nothing more was read or skipped. "
        "Run the topology again: it goes on where nothing of the file is done. Where something is, what the file held "
        f"is counted, and what it holds now would be counted beside it: to count that in its place {RESET_CLEARING}"
    )


def lost_numbers(stream: str, catalogue: Path, known: OffsetRange, *, is_read: bool) -> FatalError:
    """Return what is said of a catalogue that has other files where something was read, or planned to be."""
    was, way = ("read", RESET_CLEARING) if is_read else ("planned to be read", RESET)
    return FatalError(
        f"stream {stream!r}: partition {known.id.partition} was {was} up to position {known.stop}, and the catalogue "
        f"in {str(catalogue)!r} has other files there now, or none: it was put back as it was before, or changed. What "
        "is done stays. Nothing more was read or skipped: files that came since would be left out, or counted twice. "
        "Put the catalogue back as it was, with the files that it lists and that are not read yet; or "
        f"{way}"
    )


def lost_catalogue(stream: str, catalogue: Path, known: OffsetRange) -> FatalError:
    """Return what is said where something was read by another catalogue than the one that is there, if there is any."""
    return FatalError(
        f"stream {stream!r}: partition {known.id.partition} was read up to position {known.stop} by a catalogue of its "
        f"folder's files that is not the one in {str(catalogue)!r}: that was deleted, or made anew, or the folder, or "
        "catalogue=, is another one now. Without it nobody knows which files are read. What is done stays; nothing "
        "more was read or skipped. Correct the path, or put the catalogue back as it was, with all its files; or "
        f"{RESET_CLEARING}; or, where you know which files were read, take these away and {RESET_FROM_THE_BEGINNING}"
    )


def _not_as_it_was(folder: Path, file: ListedFile, seen: SeenFile) -> str:
    return (
        f"the file {str(folder / file.name)!r} is not what it was when it was found: it had {said(file)} and has "
        f"{said(seen)}"
    )


def said(file: ListedFile | SeenFile) -> str:
    """Return how texts tell one file from another of its name."""
    moment = datetime.fromtimestamp(file.modified // 10**9, UTC)
    return f"{file.size} bytes, last changed {moment:%Y-%m-%d %H:%M:%S}.{file.modified % 10**9:09d} UTC"
