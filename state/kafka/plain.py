"""A sink in Kafka at one of the weaker levels: no markers, no transactions, sent as it comes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from trident.base.control import encode
from trident.base.crash_points import CrashPoint, reached
from trident.base.identity import BatchId
from trident.base.secrets import Secret
from trident.base.writes import WriteManifest, digest_of
from trident.state.kafka.bulk.reach import KafkaReach
from trident.state.kafka.clients.cluster import Cluster
from trident.state.kafka.clients.limits import MessageLimits
from trident.state.kafka.clients.plain import PlainProducers
from trident.state.kafka.records import ROWS, in_order, records_of
from trident.state.plainly import Holds, PlainTarget
from trident.state.rows import blocks_of, conform

_ROWS = 100_000
_BYTES = 32 << 20
"""From how many rows or bytes on a task sends a block, and waits for the brokers' answers."""


class PlainKafka(PlainTarget):
    """See `PlainTarget`."""

    def __init__(self, reach: KafkaReach, *, lineage: bool) -> None:
        super().__init__(reach.sink, KafkaPlainWriting(reach, lineage), beside=False, keeps_what_left=True)
        self._sending = Sending(reach, lineage=lineage)

    def check(self) -> None:
        """Make a producer: what its options are worth nobody else says. Topics are asked for before a run reads."""
        self._sending.check()

    def prepare(self) -> None:
        """Look once more; topics are the user's."""
        self.check()

    def write(self, batch: BatchId, rows: pa.Table, holds: Holds | None = None) -> None:
        """Send the rows; all are looked at before the first one leaves."""
        self._sending.send(batch, rows)

    def close(self) -> None:
        """Let go of connections."""
        self._sending.close()


class Sending:
    """Sends rows of one sink from this process; may be called from several threads."""

    def __init__(self, reach: KafkaReach, *, lineage: bool) -> None:
        self._lineage = lineage
        self._cluster: Cluster = reach.cluster()
        self._limits: MessageLimits = reach.limits(self._cluster, lineage=lineage)
        self._producers: PlainProducers = reach.plain()

    def check(self) -> None:
        """Raise ConfigurationError for options that no producer can be made with; connects to nothing."""
        self._producers.check()

    def send(self, batch: BatchId, rows: pa.Table) -> None:
        """Send rows in the order of the records that they are of."""
        rows = conform(rows, ROWS)
        self._limits.check(rows, batch)
        records = records_of(in_order(rows), batch, lineage=self._lineage)
        self._producers.send(records, self._limits.of([rows]))

    def close(self) -> None:
        """Let go of connections."""
        self._producers.close()
        self._cluster.close()


@dataclass(frozen=True, slots=True)
class KafkaPlainWriting:
    """See `WritableByTasks`: each task sends what it has."""

    reach: KafkaReach
    lineage: bool

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """How the cluster lets one in."""
        return self.reach.secrets

    def writer(self, batch: BatchId) -> KafkaPlainWriter:
        """Return what a task sends with."""
        return KafkaPlainWriter(self.reach, self.lineage, batch)

    def check_written(self, batch: BatchId, writes: Sequence[WriteManifest]) -> None:
        """Ask nothing: what was sent is where it belongs."""


@dataclass(frozen=True, slots=True)
class KafkaPlainWriter:
    """Sends a task's rows, block by block; can be pickled. A task that Spark runs again sends again."""

    reach: KafkaReach
    lineage: bool
    batch: BatchId

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
        """Send all rows, then yield a manifest that says how many; nothing for a task without rows."""
        count = 0
        for block in blocks_of(batches, _ROWS, _BYTES):
            _sending_of(self.reach, self.lineage).send(self.batch, block)
            count += block.num_rows
        reached(CrashPoint.AFTER_COPY, self.batch.txid)
        if count:
            write_id = uuid.uuid4().hex
            yield encode(WriteManifest(self.reach.sink, write_id, digest_of(write_id, count)))


@lru_cache(maxsize=8)
def _sending_of(reach: KafkaReach, lineage: bool) -> Sending:
    """Return what this process sends with: tasks follow one another in it."""
    return Sending(reach, lineage=lineage)
