"""What a task does with rows of a sink: checked, shared out by key, and written to one file."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from trident.base.control import encode
from trident.base.crash_points import CrashPoint, reached
from trident.base.digest import Digest
from trident.base.errors import ConfigurationError, RetryableError
from trident.base.identity import BatchId
from trident.base.secrets import Secret
from trident.base.writes import WriteManifest, digest_of
from trident.state.kafka.bulk.folder import StagingFolder
from trident.state.kafka.bulk.reach import Reach
from trident.state.kafka.clients.limits import MessageLimits
from trident.state.kafka.records import KEY, ROWS, TOPIC, VALUE
from trident.state.rows import blocks_of, conform
from trident.state.staged import StagingLostError

SHARE: Final = "trident_share"
_OF_A_FILE: Final = "file:"
"""How the id of a write begins that is a share of a file: a blob's is hexadecimal."""
_FILE: Final = ROWS.append(pa.field(SHARE, pa.int32()))
_NUMBERS: Final = ("count", "low", "high", "xor")
_LISTED: Final = pa.schema({"write_id": pa.string()} | dict.fromkeys(_NUMBERS, pa.int64()))
_LARGE: Final = pa.schema(
    [field.with_type(pa.large_binary()) if field.name in (KEY, VALUE) else field for field in ROWS]
)
"""What a share is read as: a whole one may have more than two gigabytes, which Arrow's small types don't hold."""
_ROWS: Final = 200_000
_BYTES: Final = 64 << 20
"""From how many rows or bytes on a block is written: what a task holds."""


@dataclass(frozen=True, slots=True)
class BulkWriting:
    """See `WritableByTasks`."""

    folder: StagingFolder
    reach: Reach
    producers: int
    lineage: bool

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """How the cluster lets one in: topics are asked for their limits."""
        return self.reach.secrets

    def writer(self, batch: BatchId) -> BulkWriter:
        """Return a writer of one file per task; what earlier attempts have left is deleted, as far as it can be."""
        with suppress(RetryableError, ConfigurationError):
            self.folder.forget_attempts_before(batch)
        return BulkWriter(self.folder, self.reach, self.producers, self.lineage, batch)

    def check_written(self, batch: BatchId, writes: Sequence[WriteManifest]) -> None:
        """Look whether the files are there: a folder that only tasks see, is none that is shared."""
        self.folder.check(batch, {file_of(write) for write in writes})


@dataclass(frozen=True, slots=True)
class BulkWriter:
    """Writes a task's rows to one file, a row group per share and block; can be pickled.

    Each call takes a fresh name, so a run that dies before its manifests are returned leaves a file that nobody reads.
    """

    folder: StagingFolder
    reach: Reach
    producers: int
    lineage: bool
    batch: BatchId

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
        """Write all rows durably, then yield a manifest per share; nothing for a task without rows."""
        name = uuid.uuid4().hex
        counts = [0] * self.producers
        with ExitStack() as stack:
            file: pq.ParquetWriter | None = None
            for block in blocks_of(batches, _ROWS, _BYTES):
                rows = conform(block, ROWS)
                _limits_of(self.reach, self.lineage).check(rows, self.batch)
                if file is None:
                    place = stack.enter_context(self.folder.writing(self.batch, name))
                    file = stack.enter_context(
                        pq.ParquetWriter(place, _FILE, compression="lz4", write_page_checksum=True)
                    )
                for share, part in _shared_out(rows, self.producers):
                    counts[share] += part.num_rows
                    file.write_table(part)
        reached(CrashPoint.AFTER_COPY, self.batch.txid)
        for share, count in enumerate(counts):
            if count:
                yield encode(_manifest(self.folder.sink, name, share, count))


def listed(writes: Sequence[WriteManifest]) -> pa.Table:
    """Return manifests as rows, so that they can lie where rows do."""
    digests = [write.digest for write in writes]
    columns: list[list[object]] = [
        [write.write_id for write in writes],
        [digest.count for digest in digests],
        [digest.low for digest in digests],
        [digest.high for digest in digests],
        [digest.xor for digest in digests],
    ]
    return pa.table(dict(zip(_LISTED.names, columns, strict=True)), schema=_LISTED)


def unlisted(sink: str, table: pa.Table) -> tuple[WriteManifest, ...] | None:
    """Return the manifests that were listed; None for rows."""
    if table.schema != _LISTED:
        return None
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return tuple(WriteManifest(sink, write_id, Digest(*digest)) for write_id, *digest in rows)


def is_bulk(writes: Sequence[WriteManifest]) -> bool:
    """Tell whether these lie in files, for several producers."""
    return any(write.write_id.startswith(_OF_A_FILE) for write in writes)


def share_of(write: WriteManifest) -> int:
    """Return which producer sends it."""
    return int(write.write_id.rpartition(".")[2])


def file_of(write: WriteManifest) -> str:
    """Return the name of the file that it is a share of."""
    return write.write_id.removeprefix(_OF_A_FILE).rpartition(".")[0]


def read_share(folder: StagingFolder, batch: BatchId, write: WriteManifest) -> pa.Table:
    """Return the rows of an accepted write; raises StagingLostError when they are not what was accepted."""
    rows = folder.read(batch, file_of(write), SHARE, share_of(write)).select(ROWS.names).cast(_LARGE)
    if digest_of(write.write_id, rows.num_rows) != write.digest:
        raise StagingLostError(
            f"{batch}: {rows.num_rows} rows are staged for write {write.write_id}, {write.rows} rows were accepted; "
            "nothing of them was sent"
        )
    return rows


def _manifest(sink: str, name: str, share: int, count: int) -> WriteManifest:
    write_id = f"{_OF_A_FILE}{name}.{share}"
    return WriteManifest(sink, write_id, digest_of(write_id, count))


def _shared_out(rows: pa.Table, producers: int) -> Iterator[tuple[int, pa.Table]]:
    shares = _shares(rows, producers)
    marked = rows.append_column(_FILE.field(SHARE), pa.array(shares, pa.int32()))
    for share in range(producers):
        of_share = np.flatnonzero(shares == share)
        if len(of_share):
            yield share, marked.take(of_share)


def _shares(rows: pa.Table, producers: int) -> npt.NDArray[np.int32]:
    """Give each row to a producer: those of one key and topic to the same one, in every txid; those without in turn."""
    shares = np.arange(rows.num_rows, dtype=np.int32) % producers
    seeds: dict[str, int] = {}
    keys, topics = rows.column(KEY).to_pylist(), rows.column(TOPIC).to_pylist()
    for number, (key, topic) in enumerate(zip(keys, topics, strict=True)):
        if key is not None and topic is not None:
            seed = seeds.get(topic)
            if seed is None:
                seed = seeds[topic] = zlib.crc32(topic.encode())
            shares[number] = zlib.crc32(key, seed) % producers
    return shares


@lru_cache(maxsize=8)
def _limits_of(reach: Reach, lineage: bool) -> MessageLimits:
    """Return what this process knows of a sink's topics: tasks follow one another in it."""
    return reach.limits(reach.cluster(), lineage=lineage)
