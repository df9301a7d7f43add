"""What the SQL ledgers write, made once: each write asserts how many rows it touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, bindparam, insert, null, update

from trident.base.errors import FatalError
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.rules.changes import changed_ranges
from trident.coordinators.ledger.rules.progress import PlanStatus
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.dialect import Upsert, Writes
from trident.coordinators.ledger.sql.many_rows import database_now, insert_many
from trident.coordinators.ledger.sql.moments import DatabaseNow
from trident.coordinators.ledger.sql.tables import COMMIT, DEAD_LETTER, DONE_PLAN, IS_LIVE, LOSS, PIN, PLAN, PROGRESS
from trident.coordinators.pinned import Commit, DeadLetter, Pin
from trident.coordinators.planned import Loss, Plan

# Parameters have names of their own: SQLAlchemy keeps the columns' names for itself.
_OWNER: dict[str, object] = {"topology": bindparam("in_topology"), "incarnation": bindparam("in_incarnation")}
_BATCH: dict[str, object] = {
    **_OWNER,
    "txid": bindparam("in_txid"),
    "attempt": bindparam("in_attempt"),
    "epoch": bindparam("in_epoch"),
}


def _named(*columns: str) -> dict[str, object]:
    return {column: bindparam(f"in_{column}") for column in columns}


_INSERT_PLAN = insert(PLAN).values(
    **_BATCH,
    **_named("tries", "predecessor", "batch_time", "ranges", "losses", "timers", "received", "diverts"),
    status=PlanStatus.LIVE.value,
    created_at=DatabaseNow(),
)
_COUNT_PLAN = (
    update(PROGRESS)
    .where(PROGRESS.c.topology == bindparam("in_topology"), PROGRESS.c.last_attempt < bindparam("in_attempt"))
    .values(last_attempt=bindparam("in_attempt"), last_txid=bindparam("in_last_txid"))
)
_INSERT_PIN = insert(PIN).values(**_BATCH, **_named("plan", "manifests", "states"), pinned_at=DatabaseNow())
_MARK_PINNED = (
    update(PROGRESS)
    .where(
        PROGRESS.c.topology == bindparam("in_topology"),
        PROGRESS.c.done == bindparam("in_before"),
        PROGRESS.c.pinned.is_(None),
    )
    .values(pinned=bindparam("in_txid"), pinned_attempt=bindparam("in_attempt"))
)
_INSERT_COMMIT = insert(COMMIT).values(
    **_BATCH,
    **_named("tries", "records", "dead_letters", "keys", "plan_ms", "process_ms", "commit_ms"),
    done_at=DatabaseNow(),
)
_MARK_PLAN_DONE = (
    update(PLAN)
    .where(
        PLAN.c.topology == bindparam("in_topology"),
        PLAN.c.attempt == bindparam("in_attempt"),
        PLAN.c.txid == bindparam("in_txid"),
        PLAN.c.status == IS_LIVE,
    )
    .values(status=PlanStatus.DONE.value)
)
_MARK_DONE = (
    update(PROGRESS)
    .where(PROGRESS.c.topology == bindparam("in_topology"), PROGRESS.c.done == bindparam("in_before"))
    .values(done=bindparam("in_txid"), done_attempt=bindparam("in_attempt"), pinned=null(), pinned_attempt=null())
)
_PUT_DONE_PLAN = Upsert(DONE_PLAN, {**_OWNER, **_named("txid", "attempt"), "ranges": bindparam("in_all_ranges")})
_PLANNED = Writes(_INSERT_PLAN, _COUNT_PLAN)
_PINNED = Writes(_INSERT_PIN, _MARK_PINNED)
_DONE = Writes(_INSERT_COMMIT, _MARK_PLAN_DONE, _PUT_DONE_PLAN, _MARK_DONE)
_DONE_PLAN_ALONE = Writes(_PUT_DONE_PLAN)
_TOGETHER = Writes(_INSERT_PIN, _INSERT_COMMIT, _MARK_PLAN_DONE, _PUT_DONE_PLAN, _MARK_DONE)

_DROP = (
    update(PLAN)
    .where(
        PLAN.c.topology == bindparam("in_topology"),
        PLAN.c.incarnation == bindparam("in_incarnation"),
        PLAN.c.txid >= bindparam("in_txid"),
        PLAN.c.status == IS_LIVE,
    )
    .values(status=PlanStatus.DROPPED.value)
)
_DROP_LOSSES = (
    update(LOSS)
    .where(
        LOSS.c.topology == bindparam("in_topology"),
        LOSS.c.incarnation == bindparam("in_incarnation"),
        LOSS.c.txid >= bindparam("in_txid"),
        LOSS.c.status == PlanStatus.LIVE.value,
    )
    .values(status=PlanStatus.DROPPED.value)
)
_DROPPED = Writes(_DROP, _DROP_LOSSES)
_LOSSES_DONE = (
    update(LOSS)
    .where(
        LOSS.c.topology == bindparam("in_topology"),
        LOSS.c.attempt == bindparam("in_attempt"),
        LOSS.c.status == PlanStatus.LIVE.value,
    )
    .values(status=PlanStatus.DONE.value)
)
_INSERT_LOSS = insert(LOSS).values(
    **_OWNER,
    **_named("attempt", "txid", "spout", "topic", "partition", "start_offset", "stop_offset", "reason"),
    status=PlanStatus.LIVE.value,
    recorded_at=DatabaseNow(),
)
_DEAD_LETTER_COLUMNS = (
    *("topology", "incarnation", "attempt", "txid", "pinned_at", "spout", "topic", "partition", "record_offset"),
    *("record_timestamp", "reason", "record_key", "record_value"),
)


def write_drop(connection: Connection, owner: Owner, drop_from: int) -> None:
    """Mark the live attempts from a txid on as dropped, and their losses with them."""
    parameters = {"in_topology": owner.topology, "in_incarnation": owner.incarnation, "in_txid": drop_from}
    _DROPPED.execute(connection, parameters)


def write_plan(
    connection: Connection, owner: Owner, epoch: Epoch, plan: Plan, before: Plan | None, last_txid: int
) -> None:
    """Insert a plan with its losses and count its attempt.

    `before` is the plan that it follows on, `last_txid` the highest txid ever planned before.
    """
    parameters = {
        **_of_batch(owner, epoch, plan.txid, plan.attempt),
        "in_tries": plan.tries,
        "in_predecessor": plan.predecessor,
        "in_batch_time": plan.batch_time,
        "in_ranges": codec.RANGES.encode(changed_ranges(plan, before)),
        "in_losses": codec.LOSSES.encode(plan.losses),
        "in_timers": codec.TIMERS.encode(plan.timers),
        "in_received": codec.RECEIVED.encode(plan.received),
        "in_diverts": codec.DIVERTS.encode(plan.diverts),
        "in_last_txid": max(last_txid, plan.txid),
    }
    _assert_one_each(_PLANNED.execute(connection, parameters))
    if plan.losses:
        connection.execute(_INSERT_LOSS, [_of_loss(owner, plan, loss) for loss in plan.losses])


def write_pin(connection: Connection, owner: Owner, epoch: Epoch, pin: Pin) -> None:
    """Insert a pin with its dead letters and mark its txid as pinned."""
    _assert_one_each(_PINNED.execute(connection, _of_pin(owner, epoch, pin)))
    _write_dead_letters(connection, owner, pin)


def write_done(connection: Connection, owner: Owner, epoch: Epoch, commit: Commit, plan: Plan) -> None:
    """Insert a commit and mark its txid, which has that plan, as done."""
    parameters = {**_of_commit(owner, epoch, commit), **_of_all(plan)}
    _assert_one_each(_DONE.execute(connection, parameters))
    _write_losses_done(connection, owner, commit.attempt)


def write_together(connection: Connection, owner: Owner, epoch: Epoch, pin: Pin, commit: Commit) -> None:
    """Insert pin and commit and mark the txid as done, in one round trip where the dialect can."""
    parameters = {**_of_commit(owner, epoch, commit), **_of_pin(owner, epoch, pin), **_of_all(pin.plan)}
    _assert_one_each(_TOGETHER.execute(connection, parameters))
    _write_dead_letters(connection, owner, pin)
    if pin.plan.losses:
        _write_losses_done(connection, owner, pin.attempt)


def _write_losses_done(connection: Connection, owner: Owner, attempt: int) -> None:
    connection.execute(_LOSSES_DONE, {"in_topology": owner.topology, "in_attempt": attempt})


def _write_dead_letters(connection: Connection, owner: Owner, pin: Pin) -> None:
    if not pin.dead_letters:
        return
    of_all = (owner.topology, owner.incarnation, pin.attempt, pin.txid, database_now(connection))
    rows = ((*of_all, *_of_dead_letter(letter)) for letter in pin.dead_letters)
    insert_many(connection, DEAD_LETTER, _DEAD_LETTER_COLUMNS, rows)


def _assert_one_each(counts: Sequence[int]) -> None:
    if any(count != 1 for count in counts):
        raise FatalError(
            f"the ledger changed under its locks: the parts of one write touched {', '.join(map(str, counts))} rows "
            "instead of one each. The transaction is rolled back, nothing was written; find out who else writes there."
        )


def _of_batch(owner: Owner, epoch: Epoch, txid: int, attempt: int) -> dict[str, object]:
    return {
        "in_topology": owner.topology,
        "in_incarnation": owner.incarnation,
        "in_epoch": epoch.number,
        "in_txid": txid,
        "in_attempt": attempt,
        "in_before": txid - 1,
    }


def write_done_plan(connection: Connection, owner: Owner, epoch: Epoch, plan: Plan) -> None:
    """Put the one plan that is kept with every partition to that of another done txid; an older version kept none."""
    _DONE_PLAN_ALONE.execute(connection, {**_of_batch(owner, epoch, plan.txid, plan.attempt), **_of_all(plan)})


def _of_pin(owner: Owner, epoch: Epoch, pin: Pin) -> dict[str, object]:
    return {
        **_of_batch(owner, epoch, pin.txid, pin.attempt),
        "in_plan": codec.PLAN_OF_THE_ATTEMPT,
        "in_manifests": codec.MANIFESTS.encode(pin.manifests),
        "in_states": codec.STATES.encode(pin.states),
    }


def _of_all(plan: Plan) -> dict[str, object]:
    return {"in_all_ranges": codec.RANGES.encode(plan.ranges)}


def _of_commit(owner: Owner, epoch: Epoch, commit: Commit) -> dict[str, object]:
    return {
        **_of_batch(owner, epoch, commit.txid, commit.attempt),
        "in_tries": commit.tries,
        "in_records": commit.records,
        "in_dead_letters": commit.dead_letters,
        "in_keys": commit.keys,
        "in_plan_ms": commit.plan_ms,
        "in_process_ms": commit.process_ms,
        "in_commit_ms": commit.commit_ms,
    }


def _of_loss(owner: Owner, plan: Plan, loss: Loss) -> Mapping[str, object]:
    return {
        "in_topology": owner.topology,
        "in_incarnation": owner.incarnation,
        "in_attempt": plan.attempt,
        "in_txid": plan.txid,
        "in_spout": loss.spout,
        "in_topic": loss.id.topic,
        "in_partition": loss.id.partition,
        "in_start_offset": loss.start,
        "in_stop_offset": loss.stop,
        "in_reason": loss.reason,
    }


def _of_dead_letter(letter: DeadLetter) -> tuple[object, ...]:
    record = letter.record
    where = (letter.spout, record.id.topic, record.id.partition, record.offset)
    return (*where, record.timestamp, record.reason, record.key, record.value)
