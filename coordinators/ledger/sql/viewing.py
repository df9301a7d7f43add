"""A SQL ledger's view: what it says to people and their tools, without a lock, a write or a migration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Row, Table, func, select

from trident.base.errors import MismatchError
from trident.base.identity import Owner
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress
from trident.coordinators.ledger.rules.renaming import renamed_in_words
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.decision_reads import read_decisions, read_forgetting, read_reapplies, read_refusal
from trident.coordinators.ledger.sql.dialect import SecondsSince
from trident.coordinators.ledger.sql.reads import (
    plan_of,
    read_activity,
    read_birth_txid,
    read_births,
    read_chain,
    read_open_reset,
    read_progress,
    read_spec,
    read_starts,
)
from trident.coordinators.ledger.sql.reported import read_errors, recent
from trident.coordinators.ledger.sql.tables import (
    COMMAND,
    COMMIT,
    DEAD_LETTER,
    DECISION,
    DIVERTED,
    FENCE,
    HEARTBEAT,
    IS_LIVE,
    LOSS,
    PIN,
    PLAN,
    REFUSAL,
    TOPOLOGY,
)
from trident.coordinators.ledger.versions.migrations import LEDGER_TABLES
from trident.coordinators.ledger.view import (
    AttemptRow,
    BatchRow,
    CommandRow,
    DeadLetterRow,
    DecisionRow,
    DivertedRow,
    ErrorRow,
    LossRow,
    PartitionProgress,
    PinRow,
    RefusalRow,
    TopologyStatus,
    TxidStory,
    dropped_in_words,
    progress_of,
)
from trident.coordinators.planned import Plan
from trident.state.databases.base import SqlDatabase
from trident.state.kafka.outbox.tables import waiting_in

Shown = TypeVar("Shown")


class SqlLedgerView:
    """See `LedgerView`."""

    def __init__(self, database: SqlDatabase, where: str) -> None:
        self._database = database
        self._shown = where

    def topologies(self) -> tuple[str, ...]:
        """Return the names of all topologies."""
        with self._readable() as connection:
            return _names(connection)

    def status(self, topology: str) -> TopologyStatus:
        """Return where a topology stands."""
        with self._readable() as connection:
            return _status(connection, topology)

    def progress(self, topology: str) -> tuple[PartitionProgress, ...]:
        """Return how far every partition ever seen is read."""
        with self._readable() as connection:
            return _progress(connection, topology)

    def batches(self, topology: str, limit: int = 20) -> tuple[BatchRow, ...]:
        """Return the last txids that are done, newest first."""
        with self._readable_of(topology) as connection:
            return _batches(connection, topology, limit)

    def txid(self, topology: str, txid: int) -> TxidStory:
        """Return all that is kept of one txid."""
        with self._readable_of(topology) as connection:
            return _story(connection, topology, txid)

    def losses(self, topology: str) -> tuple[LossRow, ...]:
        """Return the losses of all attempts that are done."""
        with self._readable_of(topology) as connection:
            return _losses(connection, topology)

    def dead_letters(self, topology: str) -> tuple[DeadLetterRow, ...]:
        """Return all dead letters."""
        with self._readable_of(topology) as connection:
            return _dead_letters(connection, topology)

    def commands(self, topology: str, since: int = 1) -> tuple[CommandRow, ...]:
        """Return the life-cycle commands from a number on."""
        with self._readable_of(topology) as connection:
            return _commands(connection, topology, since)

    def errors(self, topology: str) -> tuple[ErrorRow, ...]:
        """Return what is kept of errors, the newest first."""
        with self._readable_of(topology) as connection:
            return read_errors(connection, topology)

    @contextmanager
    def _readable(self) -> Iterator[Connection]:
        with self._database.transaction() as transaction:
            check_readable(transaction.connection, self._shown)
            yield transaction.connection

    @contextmanager
    def _readable_of(self, topology: str) -> Iterator[Connection]:
        with self._readable() as connection:
            _known(connection, topology)
            yield connection


def check_readable(connection: Connection, where: str) -> None:
    """Raise MismatchError for tables of another version than this library's."""
    found, known = LEDGER_TABLES.version_of(connection), len(LEDGER_TABLES.steps)
    if found == known:
        return
    if found == 0:
        raise MismatchError(f"there is no ledger at {where}. Nothing was changed; check the address.")
    advice = (
        "start a topology with this version, which brings the tables up to date, and read then"
        if found < known
        else "use the newer library"
    )
    raise MismatchError(
        f"the ledger's tables at {where} are of version {found}, this library reads version {known}. Nothing "
        f"was changed: {advice}."
    )


def _names(connection: Connection) -> tuple[str, ...]:
    return tuple(connection.execute(select(TOPOLOGY.c.name).order_by(TOPOLOGY.c.name)).scalars())


def _known(connection: Connection, topology: str) -> Progress:
    progress = read_progress(connection, topology)
    if progress is None:
        known = ", ".join(map(repr, _names(connection))) or "none"
        raise MismatchError(f"topology {topology!r} is not in this ledger; there are: {known}.")
    return progress


def _status(connection: Connection, topology: str) -> TopologyStatus:
    progress = _known(connection, topology)
    owner = Owner(topology, progress.incarnation)
    left = HEARTBEAT.c.lease_seconds - SecondsSince(HEARTBEAT.c.beat_at)
    held = connection.execute(
        select(FENCE.c.number, FENCE.c.holder, HEARTBEAT.c.released, HEARTBEAT.c.latencies, left.label("seconds_left"))
        .join_from(FENCE, HEARTBEAT, HEARTBEAT.c.topology == FENCE.c.topology)
        .where(FENCE.c.topology == topology)
    ).one()
    done_at = select(COMMIT.c.done_at).where(COMMIT.c.topology == topology, COMMIT.c.txid == progress.done)
    reset = read_open_reset(connection, topology)
    losses, lost_offsets = _lost(connection, topology)
    spec = read_spec(connection, topology)
    is_held = not held.released and held.seconds_left > 0
    recent_errors, last_error = recent(connection, topology)
    return TopologyStatus(
        name=topology,
        incarnation=progress.incarnation,
        birth_txid=read_birth_txid(connection, owner),
        done=progress.done,
        pinned=progress.pinned,
        live=_count_live(connection, owner),
        last_txid=progress.last_txid,
        last_attempt=progress.last_attempt,
        epoch=held.number,
        holder=held.holder,
        is_held=is_held,
        done_at=connection.execute(done_at).scalars().first(),
        refusal=read_refusal(connection, owner, progress.done),
        decisions=_decided(connection, owner, progress),
        open_reset=f"states={reset.states!r}, to incarnation {reset.incarnation}" if reset else None,
        losses=losses,
        lost_offsets=lost_offsets,
        dead_letters=_count(connection, DEAD_LETTER, topology),
        diverted_rows=_count(connection, DIVERTED, topology),
        births=read_births(connection, owner) or (),
        waiting=waiting_in(connection, topology),
        sinks=spec.sinks,
        dropped=dropped_in_words(spec),
        renamed=renamed_in_words(spec),
        received=spec.received,
        level=spec.level,
        activity=read_activity(connection, topology),
        commands=_waiting_commands(connection, topology),
        recent_errors=recent_errors,
        last_error=last_error,
        latencies=codec.LATENCIES.decode(held.latencies) if is_held and held.latencies else (),
    )


def _batches(connection: Connection, topology: str, limit: int) -> tuple[BatchRow, ...]:
    newest = select(COMMIT).where(COMMIT.c.topology == topology).order_by(COMMIT.c.txid.desc()).limit(limit)
    return tuple(_filled(BatchRow, row) for row in connection.execute(newest))


def _commands(connection: Connection, topology: str, since: int) -> tuple[CommandRow, ...]:
    kept = select(COMMAND).where(COMMAND.c.topology == topology, COMMAND.c.number >= since).order_by(COMMAND.c.number)
    return tuple(_filled(CommandRow, row) for row in connection.execute(kept))


def _waiting_commands(connection: Connection, topology: str) -> tuple[str, ...]:
    waiting = select(COMMAND.c.number, COMMAND.c.kind).where(
        COMMAND.c.topology == topology, COMMAND.c.verdict.is_(None)
    )
    return tuple(f"{row.number} {row.kind}" for row in connection.execute(waiting.order_by(COMMAND.c.number)))


def _progress(connection: Connection, topology: str) -> tuple[PartitionProgress, ...]:
    progress = _known(connection, topology)
    owner = Owner(topology, progress.incarnation)
    chain = read_chain(connection, owner, progress)
    done = next((stored.plan for stored in chain if stored.status is PlanStatus.DONE), None)
    last = chain[-1].plan if chain else None
    return progress_of(read_starts(connection, owner) or (), done, last)


def _story(connection: Connection, topology: str, txid: int) -> TxidStory:
    def kept(table: Table) -> list[Row[tuple[object, ...]]]:
        # ordered here: for the sake of an order SQLite would take the index of the key, and go through all history
        rows = connection.execute(select(table).where(table.c.topology == topology, table.c.txid == txid))
        return sorted(rows, key=lambda row: tuple(row._mapping[column.name] for column in table.primary_key))

    attempts = kept(PLAN)
    plans = {row.attempt: plan_of(row, row.ranges) for row in attempts}
    return TxidStory(
        attempts=tuple(_attempt(row) for row in attempts),
        pin=tuple(_pin(row, plans) for row in kept(PIN)),
        commit=tuple(_filled(BatchRow, row) for row in kept(COMMIT)),
        losses=tuple(_filled(LossRow, row) for row in kept(LOSS)),
        dead_letters=tuple(_filled(DeadLetterRow, row) for row in kept(DEAD_LETTER)),
        refusals=tuple(_filled(RefusalRow, row) for row in kept(REFUSAL)),
        decisions=tuple(_decision(row) for row in (*kept(DECISION), *read_reapplies(connection, topology, txid))),
        diverted=tuple(_filled(DivertedRow, row) for row in kept(DIVERTED)),
    )


def _decision(row: Row[tuple[object, ...]]) -> DecisionRow:
    return _filled(DecisionRow, row, is_finished=row.finished_at is not None)


def _losses(connection: Connection, topology: str) -> tuple[LossRow, ...]:
    counted = select(LOSS).where(LOSS.c.topology == topology, LOSS.c.status == PlanStatus.DONE.value)
    return tuple(_filled(LossRow, row) for row in connection.execute(counted.order_by(*LOSS.primary_key)))


def _dead_letters(connection: Connection, topology: str) -> tuple[DeadLetterRow, ...]:
    letter = DEAD_LETTER.c
    in_order = (letter.txid, letter.spout, letter.topic, letter.partition, letter.record_offset)
    kept = select(DEAD_LETTER).where(letter.topology == topology).order_by(*in_order)
    return tuple(_filled(DeadLetterRow, row) for row in connection.execute(kept))


def _attempt(row: Row[tuple[object, ...]]) -> AttemptRow:
    return _filled(
        AttemptRow,
        row,
        ranges=codec.RANGES.decode(row.ranges),
        losses=codec.LOSSES.decode(row.losses),
        timers=codec.TIMERS.decode(row.timers),
        received=codec.RECEIVED.decode(row.received),
        diverts=codec.DIVERTS.decode(row.diverts),
    )


def _pin(row: Row[tuple[object, ...]], plans: Mapping[int, Plan]) -> PinRow:
    return _filled(
        PinRow,
        row,
        plan=plans[row.attempt] if row.plan == codec.PLAN_OF_THE_ATTEMPT else codec.PLAN.decode(row.plan),
        manifests=codec.MANIFESTS.decode(row.manifests),
        states=codec.STATES.decode(row.states),
    )


def _filled(kind: Callable[..., Shown], row: Row[tuple[object, ...]], **decoded: object) -> Shown:
    """Return a row of the view with the columns of its names, those that were decoded as they are given."""
    columns = row._mapping
    return kind(**{name: columns[name] for name in kind.__annotations__ if name not in decoded}, **decoded)


def _lost(connection: Connection, topology: str) -> tuple[int, int]:
    """Return how many losses are done, and how many offsets they have together."""
    offsets = func.coalesce(func.sum(LOSS.c.stop_offset - LOSS.c.start_offset), 0)
    counted = LOSS.c.topology == topology, LOSS.c.status == PlanStatus.DONE.value
    losses, lost = connection.execute(select(func.count(), offsets).where(*counted)).one()
    return losses, int(lost)


def _count(connection: Connection, table: Table, topology: str) -> int:
    rows = select(func.count()).select_from(table).where(table.c.topology == topology)
    count: int = connection.execute(rows).scalar_one()
    return count


def _count_live(connection: Connection, owner: Owner) -> int:
    live = [PLAN.c.topology == owner.topology, PLAN.c.incarnation == owner.incarnation, PLAN.c.status == IS_LIVE]
    count: int = connection.execute(select(func.count()).select_from(PLAN).where(*live)).scalar_one()
    return count


def _decided(connection: Connection, owner: Owner, progress: Progress) -> tuple[str, ...]:
    begun = read_forgetting(connection, owner.topology)
    return tuple(str(each) for each in (*read_decisions(connection, owner, progress.done), begun) if each)
