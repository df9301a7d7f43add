"""What a user builds a topology with, to read a folder of files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final

from trident.base.checks import check_count, check_flag, check_limit, check_path, check_text, refused
from trident.base.errors import ConfigurationError
from trident.base.policies import policy_of
from trident.spouts.base import BadRecord, Limits, LostOffsets, SpoutKind
from trident.spouts.files.catalogue import Catalogue
from trident.spouts.files.folder import Folder
from trident.spouts.files.formats import CsvFormat, Format, JsonFormat, ParquetFormat
from trident.spouts.files.source import FileSource

_CATALOGUE: Final = "_trident"
_MOST_PARTITIONS: Final = 10_000


class FileFormat(StrEnum):
    """What the files of a folder hold."""

    JSON = "json"
    """An object on each line, as `Json` decodes it."""
    CSV = "csv"
    """Values between delimiters, a record on each line."""
    PARQUET = "parquet"


_FORMATS: Final[Mapping[FileFormat, type[Format]]] = {
    FileFormat.JSON: JsonFormat,
    FileFormat.CSV: CsvFormat,
    FileFormat.PARQUET: ParquetFormat,
}


@dataclass(frozen=True, slots=True)
class FileSpout:
    """A folder of files, each of which is read once; a txid always holds the same records.

    New files are found within a second and get the next numbers, those that are found together by their names. Numbers
    are kept in a catalogue, by default in `_trident` in the folder, so that they never change. Records come in the
    order of the files' numbers and of their places in them, in each partition: files are dealt to the partitions in
    turns, and with one, which is the default, all records come in that order.

    A file counts once its name matches `files`, and does not begin with `_` or `.` or end with `.tmp`: write it under
    such a name, or elsewhere, and rename it. From then on it stays as it is: one that has another size or time, or is
    gone before it was read, stops the topology. One that is wrong is corrected in its place: the next run reads it as
    it is then, as long as nothing of it is done. Every machine sees the folder under the same path.
    """

    has_moments: ClassVar[bool] = False

    folder: str | Path
    schema: str
    _: KW_ONLY
    format: FileFormat | str
    files: str = "*"
    partitions: int = 1
    max_bytes_per_batch: int | None = None
    """Of lines; the last one of a batch may begin before the limit and end behind it.

    Of a file that has a header a batch has that and a line, or nothing.
    """
    max_records_per_batch: int | None = None
    """Of rows in Parquet."""
    on_bad_record: BadRecord = BadRecord.FAIL
    delimiter: str | None = None
    header: bool | None = None
    """Whether the first line of each file names the columns, in whatever order."""
    catalogue: str | Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(check_path("folder", self.folder)).absolute())
        object.__setattr__(self, "format", policy_of(FileFormat, self.format, "format"))
        object.__setattr__(self, "on_bad_record", policy_of(BadRecord, self.on_bad_record, "on_bad_record"))
        check_text("schema", self.schema, allowed="the fields of a record, say 'account string, amount bigint'")
        check_text("files", self.files, allowed="what names of files match, say '*.json'")
        check_count("partitions", self.partitions, most=_MOST_PARTITIONS)
        check_limit("max_bytes_per_batch", self.max_bytes_per_batch)
        check_limit("max_records_per_batch", self.max_records_per_batch)
        if self.catalogue is not None:
            object.__setattr__(self, "catalogue", Path(check_path("catalogue", self.catalogue)).absolute())
        self._check_form()

    def _check_form(self) -> None:
        if self.header is not None:
            check_flag("header", self.header)
        if self.delimiter is not None and (
            not isinstance(self.delimiter, str)
            or len(self.delimiter) != 1
            or not self.delimiter.isascii()
            or self.delimiter in '"\r\n'
        ):
            raise refused("delimiter", "one ASCII character, and no quote or end of a line", self.delimiter)
        is_parquet, is_csv = self.format is FileFormat.PARQUET, self.format is FileFormat.CSV
        useless = {
            "max_bytes_per_batch": is_parquet and self.max_bytes_per_batch is not None,
            "max_records_per_batch": not is_parquet and self.max_records_per_batch is not None,
            "delimiter": not is_csv and self.delimiter is not None,
            "header": not is_csv and self.header is not None,
        }
        for name in (name for name, given in useless.items() if given):
            raise ConfigurationError(f"{name} means nothing for {self.format} files; nothing was started")

    @property
    def kind(self) -> SpoutKind:
        """Transactional: a file that was found stays as it is, or nothing of it counts."""
        return SpoutKind.TRANSACTIONAL

    @property
    def limits(self) -> Limits:
        """Say how much one batch may take, in positions: bytes of lines, or rows."""
        is_parquet = self.format is FileFormat.PARQUET
        return Limits(max_records=self.max_records_per_batch if is_parquet else self.max_bytes_per_batch)

    @property
    def on_lost_offsets(self) -> LostOffsets:
        """Stop: a file that is gone was never counted."""
        return LostOffsets.STOP

    def description(self) -> dict[str, str]:
        """Return what the ledger holds a restart to; which files there are the catalogue says, by its own id."""
        return {
            "spout": "files",
            "kind": self.kind.value,
            "format": str(self.format),
            "partitions": str(self.partitions),
        }

    def open(self, name: str) -> FileSource:
        """Return the source over it; nothing is looked at before it is asked."""
        folder = Path(self.folder)
        place = folder / _CATALOGUE if self.catalogue is None else Path(self.catalogue)
        format_ = _FORMATS[FileFormat(self.format)](name, self.schema, self.delimiter or ",", self.header is not False)
        meaning = f"{format_.counted} in files that match {self.files!r}"
        return FileSource(name, Folder(folder, self.files), Catalogue(place, meaning), self.partitions, format_)
