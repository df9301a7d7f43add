"""A topology run on rows that a test gives it, batch by batch, with deaths and replays where the test says."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from trident.base.checks import check_able, check_count, check_instance, refused
from trident.base.crash_points import CrashPoint
from trident.base.errors import ConfigurationError, TridentError
from trident.base.levels import Level
from trident.base.policies import policy_of
from trident.spouts.base import Spout, SpoutKind, takes_messages_back
from trident.spouts.row_logs import Row
from trident.state.kafka.records import Record
from trident.testing.coordinators import Coordinators
from trident.testing.lives import Death, Life
from trident.testing.mapped import MapPlace
from trident.testing.places import HasRows, ReadRow, TablePlace, TopicPlace, place_of, sorted_by_key
from trident.testing.scripted import Given, Script, ScriptedSpout
from trident.testing.scripted_messages import FailedRecord, MessageScript, ScriptedMessages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from trident.language.topology import Topology

Rows = Mapping[str, Sequence[Row]]
"""Rows by the name of their stream or table."""
Deaths = Death | CrashPoint | str | Sequence[Death | CrashPoint | str]
"""Where coordinators die, one after the other."""

_DEATHS: Final = "a CrashPoint, a Death, or several of them, one for each coordinator; the points are " + ", ".join(
    repr(point.value) for point in CrashPoint
)


@dataclass(frozen=True, slots=True)
class PlayedBatch:
    """What became of the rows that a test gave as one batch."""

    txid: int | None
    """None where there was nothing to read: such a batch takes no txid."""
    tries: int
    """How many attempts it took, those that died included, and not those in which messages failed; 0 without a txid."""
    records: Mapping[str, tuple[Row, ...]]
    """By stream, the rows that the txid holds: those given, or those that it was retried with, without `failed`."""
    failed: Mapping[str, tuple[FailedRecord, ...]]
    """By stream, the messages that `process` has failed or left without an ack: in no result, and not given again."""
    passed: tuple[Death, ...] = field(repr=False)
    """Every border between two effects that the last coordinator came to with it, in order: each can be died at."""


class TopologyTest:
    """Runs a topology on rows that a test gives it, batch by batch, without Kafka, PostgreSQL or waiting.

    The compiled graph runs on the given session, under the coordinator, the ledger's rules and the states' rules that
    run in production. Exchanged, by name, is only what stands outside: each spout gives the rows of the test, with the
    fields that the stream has and of the kind that the spout is; each state lives in memory, of the kind that it is;
    each table in a SQLite file, written in the way that it is; each Kafka sink sends to topics in memory. States and
    sinks named in `keep` are used as they are. `tables` are rows that tables of sinks hold before the first batch.
    A record of an `AckingSpout`'s stream is a message: what `process` fails is left out, and told in `PlayedBatch`.
    An attempt that fails is tried again up to `max_tries` times, then its error is raised and the test is over.
    Used by one thread, one at a time in a process; a context manager, or `close` it.
    """

    def __init__(
        self,
        topology: Topology,
        spark: SparkSession,
        *,
        keep: Sequence[str] = (),
        tables: Rows | None = None,
        max_tries: int = 1,
    ) -> None:
        check_able("topology", topology, ("compile", "run"), "a Topology", has=("name",))
        check_able("spark", spark, ("sql", "createDataFrame"), "a SparkSession", has=("conf",))
        check_count("max_tries", max_tries)
        compiled = topology.compile()
        self._level = compiled.level
        if compiled.level.is_plain:
            _check_playable(compiled.level, "keep" if keep else "")
            compiled = replace(compiled, level=Level.EXACTLY_ONCE)
        kept = _names("keep", keep, [end.name for end in compiled.ends])
        spouts = {name: _scripted(name, schema, compiled.spouts[name]) for name, schema in compiled.samples.items()}
        self._scripts: dict[str, Script] = {name: spout.script for name, spout in spouts.items()}
        self._kinds = {name: spout.kind for name, spout in compiled.spouts.items()}
        self._folder = tempfile.TemporaryDirectory(prefix="trident-test-")
        targets = compiled.targets
        self._places = {
            end.name: place_of(end, targets[end.name] if end.name in kept else None, self._file(number))
            for number, end in enumerate(compiled.ends)
        }
        # at most once each message is acked before its batch is processed, so production gives none back either
        ackers = 0 if self._level is Level.AT_MOST_ONCE else 1
        self._coordinators = Coordinators(compiled, spark, spouts, self._places, max_tries, ackers)
        self._over = ""
        self._fill({} if tables is None else tables)

    def batch(
        self,
        rows: Rows,
        *,
        dies_at: Deaths = (),
        retried_with: Rows | None = None,
        at: datetime | None = None,
    ) -> PlayedBatch:
        """Run the rows, by stream, as one batch up to its end, and return what became of them.

        `dies_at` names borders between two effects: the coordinator dies at the first, another one takes over and dies
        at the next, and so on; the last one finishes. A death that the batch does not come to is an error, and the
        batch is done by then. With `retried_with` a batch that was not decided when its first coordinator died is tried
        again with these rows of these streams, which must be opaque; what it does not have is never read. `at` is the
        batch's time (`batch_time()`), one second after the one before unless it is said; a replay has the same.
        """
        self._require_open()
        deaths = _deaths(dies_at)
        _check_playable(self._level, "dies_at" if deaths else "")
        given = self._tables_of("rows", rows)
        other = self._tables_of("retried_with", retried_with or {})
        self._check_retried(retried_with, deaths)
        self._check_one_txid([name for each in (given, other) for name, table in each.items() if table.rows])
        self._advance(at)
        before = self._coordinators.done
        for name, script in self._scripts.items():
            script.offer(given.get(name, script.checked(())))
        named = list(rows)
        for number, death in enumerate(deaths):
            self._die(death)
            if number == 0 and retried_with is not None and not self._coordinators.is_decided(before + 1):
                for name, each in other.items():
                    self._scripts[name].replace(each)
                named += retried_with
        life = Life()
        self._live(life)
        return self._played(before, named, life)

    def rows(self, name: str) -> list[ReadRow]:
        """Return what a reader sees of a state, in the order of its keys, or of a table, in the order of arrival.

        By column, as it is stored: a mean has its sum and its count, as in the table.
        """
        place = self._places.get(name) if isinstance(name, str) else None
        if not isinstance(place, HasRows):
            raise refused("name", f"the name of a state or table ({self._named(HasRows)})", name)
        found = place.rows(self._coordinators.database)
        return sorted_by_key(place.end, found) if isinstance(place, MapPlace) else found

    def sent(self, name: str) -> list[Record]:
        """Return what readers of committed records have seen of a Kafka sink, in order: topic, key, value, headers."""
        place = self._places.get(name) if isinstance(name, str) else None
        if not isinstance(place, TopicPlace):
            raise refused("name", f"the name of a Kafka sink ({self._named(TopicPlace)})", name)
        return list(place.cluster.seen)

    def _given(self, name: str) -> tuple[Row, ...]:
        """Return what the last batch was given of a stream, or was retried with, and whatever of it has failed."""
        return self._scripts[name].given

    def _commits(self, name: str) -> list[tuple[Record, ...]]:
        """Return the same, transaction by transaction: those of one txid each."""
        place = self._places[name]
        assert isinstance(place, TopicPlace)
        return list(place.cluster.commits)

    def close(self) -> None:
        """Forget everything; may be called again."""
        self._over = self._over or "it is closed"
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _die(self, death: Death) -> None:
        life = Life(death)
        if not self._live(life):
            came = ", ".join(dict.fromkeys(f"{str(each.point)!r}" for each in life.passed))
            raise ConfigurationError(
                f"dies_at: the batch did not come to {str(death)!r}, and is done without that death. It came to {came}"
            )

    def _live(self, life: Life) -> bool:
        try:
            return self._coordinators.live(life)
        except TridentError as error:
            self._over = f"its topology stopped ({type(error).__name__})"
            raise

    def _played(self, before: int, named: Sequence[str], life: Life) -> PlayedBatch:
        holds = {name: self._scripts[name].rows for name in named}
        messages = {name: script.failed for name, script in self._scripts.items() if isinstance(script, MessageScript)}
        failed = {name: records for name, records in messages.items() if records}
        if self._coordinators.done == before:
            return PlayedBatch(None, 0, holds, failed, life.passed)
        done = self._coordinators.last_batch()
        return PlayedBatch(done.txid, done.tries, holds, failed, life.passed)

    def _tables_of(self, what: str, rows: Rows) -> dict[str, Given]:
        if not isinstance(rows, Mapping):
            raise refused(what, "a mapping of streams to lists of rows", rows, secret=True)
        _names(what, list(rows), list(self._scripts))
        return {name: self._scripts[name].checked(_checked(what, each)) for name, each in rows.items()}

    def _check_retried(self, retried_with: Rows | None, deaths: Sequence[Death]) -> None:
        if retried_with is None:
            return
        if not deaths:
            raise ConfigurationError("retried_with needs dies_at: a batch that does not die is not tried again")
        fixed = [name for name in retried_with if self._kinds[name] is SpoutKind.TRANSACTIONAL]
        if fixed:
            raise ConfigurationError(
                f"retried_with: stream {fixed[0]!r} is transactional, so a batch of it always holds the same records; "
                "only those of opaque streams may be others"
            )

    def _check_one_txid(self, names: Sequence[str]) -> None:
        """Refuse what would become two txids: one that is planned has its transactional records, none here."""
        fixed = [name for name in names if self._kinds[name] is SpoutKind.TRANSACTIONAL]
        if fixed and len(set(names)) > len(set(fixed)) and self._coordinators.is_planned:
            raise ConfigurationError(
                "rows: nothing was left of the batch before, so its txid is still planned, without records of "
                f"stream {fixed[0]!r}, which is transactional: rows of it and of opaque ones would become two txids. "
                "Give those of opaque streams as a batch of their own first; nothing was run"
            )

    def _advance(self, at: datetime | None) -> None:
        clock = self._coordinators.clock
        if at is not None:
            check_instance("at", at, datetime, allowed="a moment with a time zone, or None")
            if at.tzinfo is None or (clock.batch_time is not None and at < clock.batch_time):
                raise refused("at", "a moment with a time zone, not before the batch before", at)
        clock.advance(at)

    def _require_open(self) -> None:
        if self._over:
            raise ConfigurationError(f"this TopologyTest runs no more batches: {self._over}; make another one")

    def _fill(self, tables: Rows) -> None:
        if not isinstance(tables, Mapping):
            raise refused("tables", "a mapping of tables to lists of rows, or None", tables, secret=True)
        for name, rows in tables.items():
            place = self._places.get(name)
            if not isinstance(place, TablePlace):
                raise refused("tables", f"rows by the name of a sink's table ({self._named(TablePlace)})", name)
            place.fill(_checked("tables", rows))

    def _named(self, kind: type[object]) -> str:
        found = [repr(name) for name, place in self._places.items() if isinstance(place, kind)]
        return ", ".join(found) or "there is none"

    def _file(self, number: int) -> Path:
        return Path(self._folder.name) / f"{number}.sqlite"


def _scripted(name: str, schema: StructType, spout: Spout) -> ScriptedSpout:
    if takes_messages_back(spout):
        return ScriptedMessages(MessageScript(name, schema), spout.kind)
    return ScriptedSpout(Script(name, schema), spout.kind)


def _check_playable(level: Level, given: str) -> None:
    """Refuse what would not do here what it does at a weaker level: batches are played exactly once."""
    if given and level.is_plain:
        raise ConfigurationError(
            f"{given}: the topology runs at level {level}, and a test plays batches exactly once, so it can't show "
            "what becomes of them there: play it with level exactly_once, or without deaths. Nothing was run"
        )


def _names(what: str, given: object, known: Sequence[str]) -> list[str]:
    allowed = f"names out of {', '.join(map(repr, known))}"
    if not isinstance(given, list | tuple):
        raise refused(what, allowed, given)
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise refused(what, allowed, name)
    return list(given)


def _checked(what: str, rows: object) -> Sequence[Row]:
    if not isinstance(rows, list | tuple):
        raise refused(what, "lists of rows by name", rows, secret=True)
    return rows


def _deaths(given: Deaths) -> list[Death]:
    several = given if isinstance(given, list | tuple) else [given]
    deaths = []
    for each in several:
        if not isinstance(each, Death | str):
            raise refused("dies_at", _DEATHS, each)
        deaths.append(each if isinstance(each, Death) else Death(policy_of(CrashPoint, each, "dies_at")))
    return deaths
