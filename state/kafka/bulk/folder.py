"""The folder that driver and executors share: where staged files lie until their txid is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from trident.base.checks import refused
from trident.base.errors import ConfigurationError, RetryableError
from trident.base.identity import BatchId
from trident.state.staged import StagingLostError

_PROBE: Final = "trident-probe"
_ALLOWED: Final = (
    "a folder that driver and executors share: an absolute path, or an address that Arrow knows (file://, hdfs://, "
    "s3://, gs://, abfs://) without a password in it"
)
_DIGITS: Final = 19
_OF_BYTES: Final = ("checksum", "corrupt", "decompress", "deserialize", "unexpected end of stream")


def check_folder(what: str, given: object) -> str:
    """Return a folder's address; raises ConfigurationError for one that can't be the same everywhere."""
    text = str(given) if isinstance(given, Path) else given
    if not isinstance(text, str) or not text.isprintable():
        raise refused(what, _ALLOWED, given)
    if Path(text).is_absolute():
        return Path(text).as_uri()
    parts = urlsplit(text)
    if not parts.scheme or not parts.path or parts.username or parts.password:
        raise ConfigurationError(f"{what} must be {_ALLOWED}; nothing was changed")
    return text.rstrip("/")


@dataclass(frozen=True, slots=True)
class StagingFolder:
    """The staged files of one sink; can be pickled, keeps no connection.

    A file is written once, under a name that nobody had before; one that no manifest names is garbage.
    """

    address: str
    sink: str

    def prepare(self) -> None:
        """Make the folder, and see that files can be written to it and deleted; raises ConfigurationError."""
        try:
            files, root = fs.FileSystem.from_uri(self.address)
            files.create_dir(root)
            with files.open_output_stream(f"{root}/{_PROBE}-{os.getpid()}") as probe:
                probe.write(b"")
            files.delete_file(f"{root}/{_PROBE}-{os.getpid()}")
        except (OSError, pa.ArrowException, ValueError) as error:
            raise ConfigurationError(
                f"sink {self.sink!r} can't write to its staging_folder {self.address!r} ({type(error).__name__}); "
                "nothing was changed. Tasks and the driver need to reach it under this address, and may write to it"
            ) from None

    @contextmanager
    def writing(self, batch: BatchId, name: str) -> Iterator[BinaryIO | pa.NativeFile]:
        """Yield a new file; when the block has ended its content lies there durably."""
        try:
            files, path = self._of(batch, name)
            files.create_dir(path.rpartition("/")[0])
            if isinstance(files, fs.LocalFileSystem):
                with _kept(Path(path)) as local:
                    yield local
            else:
                with files.open_output_stream(path) as remote:
                    yield remote
        except OSError as error:
            raise self._away(batch, "could not write", error) from None

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
                raise self._away(batch, "could not read", error) from None
            raise StagingLostError(
                f"{batch}: a file that was staged for sink {self.sink!r} is gone or broken ({type(error).__name__}): "
                f"{self.address}/{self._place(batch, name)}; nothing more was sent. Put the folder back as it was"
            ) from None

    def forget(self, topology: str, txid: int) -> None:
        """Delete all files of txids up to one; whether they were accepted or not."""
        try:
            files, root = fs.FileSystem.from_uri(self.address)
            mine = fs.FileSelector(f"{root}/{self._home(topology)}", allow_not_found=True)
            for found in files.get_file_info(mine):
                if found.base_name.isdigit() and int(found.base_name) <= txid:
                    files.delete_dir(found.path)
        except OSError as error:
            raise RetryableError(
                f"sink {self.sink!r} could not delete old files in {self.address!r} ({type(error).__name__})"
            ) from None

    def _of(self, batch: BatchId, name: str) -> tuple[fs.FileSystem, str]:
        files, root = fs.FileSystem.from_uri(self.address)
        return files, f"{root}/{self._place(batch, name)}"

    def _place(self, batch: BatchId, name: str) -> str:
        return f"{self._home(batch.owner.topology)}/{batch.txid:0{_DIGITS}}/{batch.attempt}-{name}.parquet"

    def _home(self, topology: str) -> str:
        return "/".join(quote(name, safe="").replace(".", "%2E") for name in (topology, self.sink))

    def _away(self, batch: BatchId, problem: str, error: OSError) -> RetryableError:
        return RetryableError(
            f"{batch}: sink {self.sink!r} {problem} a staged file in {self.address!r} ({type(error).__name__}); "
            "nothing of it was sent"
        )


def _is_broken(error: OSError) -> bool:
    """Whether reading it again would not help: Arrow has no class of its own for bytes that are not what they were."""
    return isinstance(error, FileNotFoundError) or any(word in str(error).lower() for word in _OF_BYTES)


@contextmanager
def _kept(path: Path) -> Iterator[BinaryIO]:
    """Yield a new local file that a power cut does not take away again, nor the folders that it is in."""
    with path.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
