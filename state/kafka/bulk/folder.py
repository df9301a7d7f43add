"""The folder that driver and executors share: where staged files lie until their txid is sent."""

from __future__ import annotations

import os
import string
import uuid
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from trident.base.errors import ConfigurationError, RetryableError
from trident.base.identity import BatchId, Owner
from trident.state.staged import StagingLostError

_PROBE: Final = "trident-probe"
_SUFFIX: Final = ".parquet"
_ENCODED: Final = "." + string.ascii_uppercase
_DIGITS: Final = 19
_DEEP: Final = 5
"""How many folders a file is in, from that of its txid to the one that a user named."""
_OF_BYTES: Final = ("checksum", "corrupt", "decompress", "deserialize", "unexpected end of stream")
_OF_RIGHTS: Final = ("access denied", "access_denied", "forbidden", "not authorized")
_REFUSED: Final = (PermissionError, FileNotFoundError, NotADirectoryError, pa.ArrowException, ValueError)


@dataclass(frozen=True, slots=True)
class StagingFolder:
    """The staged files of one sink; can be pickled, keeps no connection.

    A file is written once, under a name that nobody had before; one that no manifest names is garbage. They lie by
    topology, sink, incarnation and txid: whoever shares the folder under the same names has another incarnation, unless
    its ledger is a copy: a copy needs a folder of its own.
    """

    address: str
    sink: str

    @property
    def shown(self) -> str:
        """The address for people: what follows its path may say how to log in."""
        return self.address.partition("?")[0]

    def shown_life(self, owner: Owner) -> str:
        """Return where the files of an incarnation lie, for people, as it is written there."""
        return f"{self.shown.rstrip('/')}/{self._life(owner)}"

    def prepare(self) -> None:
        """Make the folder, and see that files can be written to it and deleted; raises ConfigurationError."""
        try:
            files, root = fs.FileSystem.from_uri(self.address)
            files.create_dir(root)
            probe = f"{root}/{_PROBE}-{uuid.uuid4().hex}"
            with files.open_output_stream(probe) as file:
                file.write(b"")
            files.delete_file(probe)
        except _REFUSED as error:
            raise ConfigurationError(
                f"sink {self.sink!r} can't write to its staging_folder {self.shown!r} ({type(error).__name__}); "
                "nothing was changed. Tasks and the driver need to reach it under this address, and may write to it"
            ) from None
        except OSError as error:
            raise RetryableError(
                f"sink {self.sink!r} can't reach its staging_folder {self.shown!r} now ({type(error).__name__}); "
                "nothing was changed"
            ) from None

    @contextmanager
    def writing(self, batch: BatchId, name: str) -> Iterator[BinaryIO | pa.NativeFile]:
        """Yield a new file; when the block has ended its content lies there durably, and nothing where it failed."""
        try:
            files, path = self._of(batch, name)
            files.create_dir(path.rpartition("/")[0])
            with ExitStack() as unfinished:
                unfinished.callback(_delete, files, path)
                with _opened(files, path) as file:
                    yield file
                unfinished.pop_all()
        except OSError as error:
            raise RetryableError(
                f"{batch}: sink {self.sink!r} could not write a staged file in {self.shown!r} "
                f"({type(error).__name__}); nothing of it was sent"
            ) from None

    def read(self, batch: BatchId, name: str, column: str, value: int) -> pa.Table:
        """Return the rows of a file whose column has that value; raises StagingLostError where it is gone or broken."""
        try:
            files, path = self._of(batch, name)
            return pq.read_table(
                path,
                filesystem=files,
                filters=[(column, "=", value)],
                page_checksum_verification=True,
                partitioning=None,
            )
        except (OSError, pa.ArrowException) as error:
            if isinstance(error, OSError) and not _is_broken(error):
                raise RetryableError(
                    f"{batch}: sink {self.sink!r} could not read a staged file in {self.shown!r} "
                    f"({type(error).__name__}); what it has, was not sent yet, unless its marker says so"
                ) from None
            raise StagingLostError(
                f"{batch}: a file that was staged for sink {self.sink!r} is gone or broken ({type(error).__name__}): "
                f"{self.shown}/{self._place(batch, name)}; nothing of it was sent. Put the folder back as it was"
            ) from None

    def check(self, batch: BatchId, names: Collection[str]) -> None:
        """Raise StagingLostError unless files of these names are there; what is in them nobody looks at."""
        try:
            files, root = fs.FileSystem.from_uri(self.address)
            places = {f"{root}/{self._place(batch, name)}": self._place(batch, name) for name in sorted(names)}
            found = files.get_file_info(list(places))
        except (OSError, pa.ArrowException) as error:
            raise RetryableError(
                f"{batch}: sink {self.sink!r} could not look into its staging_folder {self.shown!r} "
                f"({type(error).__name__}); nothing was changed"
            ) from None
        gone = [place for place, info in zip(places.values(), found, strict=True) if not info.is_file]
        if gone:
            raise StagingLostError(
                f"{batch}: {len(gone)} of {len(places)} files that tasks have staged for sink {self.sink!r} are not in "
                f"{self.shown!r} as this process sees it: {gone[0]}; nothing of it was sent. Tasks and driver need to "
                "reach one folder under this address, and nobody else may delete there"
            )

    def lying(self, topology: str) -> tuple[int, int] | None:
        """Return how many files of the sink lie there, of any incarnation, and their bytes; None without the folder."""
        try:
            files, root = fs.FileSystem.from_uri(self.address)
            if files.get_file_info(root).type is not fs.FileType.Directory:
                return None
            place = f"{root}/{_plain(topology)}/{_plain(self.sink)}"
            found = files.get_file_info(fs.FileSelector(place, allow_not_found=True, recursive=True))
        except (OSError, pa.ArrowException) as error:
            raise RetryableError(
                f"sink {self.sink!r} could not look into its staging_folder {self.shown!r} ({type(error).__name__})"
            ) from None
        sizes = [each.size or 0 for each in found if each.is_file]
        return len(sizes), sum(sizes)

    def forget_attempts_before(self, batch: BatchId) -> None:
        """Delete what earlier attempts at a txid have left: none of it can be pinned any more."""
        with self._tidying() as (files, root):
            for found in self._listed(files, f"{root}/{self._txid(batch)}"):
                attempt = found.base_name.partition("-")[0]
                if attempt.isdigit() and int(attempt) < batch.attempt:
                    with _gone_is_well():
                        files.delete_file(found.path)

    def forget_life(self, owner: Owner) -> None:
        """Delete all files of an incarnation that has ended."""
        with self._tidying() as (files, root):
            _delete_folder(files, f"{root}/{self._life(owner)}")

    def files_of(self, owner: Owner) -> dict[str, int]:
        """Return where all files of an incarnation are, and the folders of its txids, each with its txid."""
        with self._tidying() as (files, root):
            life = f"{root}/{self._life(owner)}"
            found = [each for each in self._listed(files, life, below=True) if _is_of_ours(each)]
            below = {each.path: each.path[len(life) + 1 :].split("/") for each in found}
        return {path: int(parts[0]) for path, parts in below.items() if parts[0].isdigit()}

    def delete(self, places: Collection[str], *, are_sent: bool) -> None:
        """Delete these files, and of these folders and those that they were in the ones that are empty then.

        Only a local disk deletes an empty folder and no other one. Elsewhere those of txids that are sent go: nobody
        stages for these any more.
        """
        staged = {place for place in places if place.endswith(_SUFFIX)}
        with self._tidying() as (files, _):
            refused = [error for place in staged if (error := _refusal_of(files, place)) is not None]
            if refused:  # once all others are gone
                raise refused[0]
            for folder in {place.rpartition("/")[0] for place in staged} | (set(places) - staged):
                if _is_local(files):
                    with suppress(OSError):  # others have written there
                        Path(folder).rmdir()
                elif are_sent and not self._listed(files, folder):
                    _delete_folder(files, folder)

    def _listed(self, files: fs.FileSystem, folder: str, *, below: bool = False) -> list[fs.FileInfo]:
        return list(files.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=below)))

    @contextmanager
    def _tidying(self) -> Iterator[tuple[fs.FileSystem, str]]:
        try:
            yield fs.FileSystem.from_uri(self.address)
        except OSError as error:
            if not _is_refused(error):
                raise RetryableError(
                    f"sink {self.sink!r} could not look into {self.shown!r}, or delete old files there "
                    f"({type(error).__name__}); what is staged stays there"
                ) from None
            raise ConfigurationError(
                f"sink {self.sink!r} may not look into or delete what tasks have staged in {self.shown!r} "
                f"({type(error).__name__}); what is staged stays there. Let the driver's user delete there: tasks and "
                "driver under one user, or one group and umask 002, and the folders that are there given to it; in a "
                "bucket the rights to list and to delete"
            ) from None

    def _of(self, batch: BatchId, name: str) -> tuple[fs.FileSystem, str]:
        files, root = fs.FileSystem.from_uri(self.address)
        return files, f"{root}/{self._place(batch, name)}"

    def _place(self, batch: BatchId, name: str) -> str:
        return f"{self._txid(batch)}/{batch.attempt}-{name}{_SUFFIX}"

    def _txid(self, batch: BatchId) -> str:
        return f"{self._life(batch.owner)}/{batch.txid:0{_DIGITS}}"

    def _life(self, owner: Owner) -> str:
        return "/".join(map(_plain, (owner.topology, self.sink, owner.incarnation)))


def _is_local(files: fs.FileSystem) -> bool:
    return isinstance(files, fs.LocalFileSystem)


def _gone_is_well() -> AbstractContextManager[None]:
    """Pass over what somebody else has deleted by now; what comes after it is deleted all the same."""
    return suppress(FileNotFoundError)


def _is_refused(error: OSError) -> bool:
    """Whether a right is missing: an object store's refusal is no class of its own."""
    return isinstance(error, PermissionError) or any(word in str(error).lower() for word in _OF_RIGHTS)


def _refusal_of(files: fs.FileSystem, place: str) -> OSError | None:
    """Delete a file; return why we may not."""
    try:
        with _gone_is_well():
            files.delete_file(place)
    except OSError as error:
        if not _is_refused(error):
            raise
        return error
    return None


def _delete_folder(files: fs.FileSystem, folder: str) -> None:
    """Delete a folder with all that is in it; one that somebody else has deleted is well, whatever the client says."""
    try:
        if files.get_file_info(folder).type is fs.FileType.Directory:
            files.delete_dir(folder)
    except OSError:
        if files.get_file_info(folder).type is not fs.FileType.NotFound:
            raise


def _is_of_ours(found: fs.FileInfo) -> bool:
    return not found.is_file or found.base_name.endswith(_SUFFIX)


def _plain(name: str) -> str:
    """Return a name as a folder's: no two of them are one, on a file system that folds case neither."""
    return "".join(f"%{ord(letter):02X}" if letter in _ENCODED else quote(letter, safe="") for letter in name)


@contextmanager
def _kept(path: Path) -> Iterator[BinaryIO]:
    """Yield a new local file that a power cut does not take away again, nor the folders that it is in."""
    with path.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    for folder in list(path.parents)[:_DEEP]:
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _opened(files: fs.FileSystem, path: str) -> AbstractContextManager[BinaryIO | pa.NativeFile]:
    return _kept(Path(path)) if _is_local(files) else files.open_output_stream(path)


def _delete(files: fs.FileSystem, path: str) -> None:
    with suppress(OSError):  # what ended it is to be raised
        files.delete_file(path)


def _is_broken(error: OSError) -> bool:
    """Whether reading it again would not help: Arrow has no class of its own for bytes that are not what they were."""
    return isinstance(error, FileNotFoundError) or any(word in str(error).lower() for word in _OF_BYTES)
