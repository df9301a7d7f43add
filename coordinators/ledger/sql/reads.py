"""What the SQL ledgers read: the locked rows first, then plans and pins of a topology."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Row, and_, bindparam, outerjoin, select, union_all

from trident.base.errors import FatalError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision, ResetDecision
from trident.coordinators.ledger.rules.changes import chained
from trident.coordinators.ledger.rules.fencing import check_epoch
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress, StoredPlan
from trident.coordinators.ledger.rules.specs import births_before
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.decision_reads import (
    read_decisions,
    read_forgetting,
    read_refusal,
    read_told,
)
from trident.coordinators.ledger.sql.exclusions import read_dead_letters
from trident.coordinators.ledger.sql.tables import (
    DONE_PLAN,
    FENCE,
    INCARNATION,
    IS_LIVE,
    PIN,
    PLAN,
    PROGRESS,
    RESET,
    TOPOLOGY,
)
from trident.coordinators.lifecycle import Activity
from trident.coordinators.pinned import Pin
from trident.coordinators.planned import Plan, StartPosition
from trident.coordinators.registered import Birth, Snapshot, TopologySpec

_EPOCH = select(FENCE.c.number, FENCE.c.token).where(FENCE.c.topology == bindparam("topology"))
_EPOCH_LOCKED = _EPOCH.with_for_update(read=True)
# Both locks in one round trip. The fence row's is shared, the progress row's is not.
_LOCK = (
    select(FENCE.c.number, FENCE.c.token, PROGRESS)
    .join_from(FENCE, PROGRESS, PROGRESS.c.topology == FENCE.c.topology)
    .where(FENCE.c.topology == bindparam("topology"))
    .with_for_update(of=PROGRESS)
    .suffix_with("FOR SHARE OF trident_fence", dialect="postgresql")
)
_PROGRESS = select(PROGRESS).where(PROGRESS.c.topology == bindparam("topology"))
# A plan's row with, for the one that is done, the ranges of every partition.
_WITH_ALL = select(PLAN, DONE_PLAN.c.ranges.label("all_ranges")).select_from(
    outerjoin(PLAN, DONE_PLAN, and_(DONE_PLAN.c.topology == PLAN.c.topology, DONE_PLAN.c.attempt == PLAN.c.attempt))
)
_PLANS = _WITH_ALL.where(
    PLAN.c.topology == bindparam("topology"), PLAN.c.attempt.in_(bindparam("attempts", expanding=True))
)
_LIVE = _WITH_ALL.where(
    PLAN.c.topology == bindparam("topology"),
    PLAN.c.incarnation == bindparam("incarnation"),
    PLAN.c.status == IS_LIVE,
)
# Two reads, each by an index of its own, in one round trip.
_CHAIN = union_all(
    _LIVE, _WITH_ALL.where(PLAN.c.topology == bindparam("topology"), PLAN.c.attempt == bindparam("done_attempt"))
)
_LATEST = (
    _WITH_ALL.where(
        PLAN.c.topology == bindparam("topology"),
        PLAN.c.incarnation == bindparam("incarnation"),
        PLAN.c.txid == bindparam("txid"),
    )
    .order_by(PLAN.c.attempt.desc())
    .limit(1)
)
_INCARNATION = select(INCARNATION).where(
    INCARNATION.c.topology == bindparam("topology"), INCARNATION.c.id == bindparam("incarnation")
)
_PIN = select(PIN).where(
    PIN.c.topology == bindparam("topology"),
    PIN.c.incarnation == bindparam("incarnation"),
    PIN.c.txid == bindparam("txid"),
)
_OWN_RESET = select(RESET).where(
    RESET.c.topology == bindparam("topology"), RESET.c.incarnation == bindparam("incarnation")
)
_OPEN_RESET = select(RESET).where(RESET.c.topology == bindparam("topology"), RESET.c.finished_at.is_(None))

StoredRow = Row[tuple[object, ...]]


def read_epoch(connection: Connection, topology: str) -> Epoch | None:
    """Return the stored epoch, without locking its row."""
    row = connection.execute(_EPOCH, {"topology": topology}).one_or_none()
    return Epoch(row.number, row.token) if row else None


def check_fence(connection: Connection, topology: str, epoch: Epoch) -> None:
    """Raise FencedError for another epoch than the stored one, of this moment."""
    check_epoch(topology, read_epoch(connection, topology), epoch)


def lock_fence(connection: Connection, topology: str, epoch: Epoch) -> None:
    """Hold the fence row as it is until the transaction ends; raises FencedError for another epoch."""
    row = connection.execute(_EPOCH_LOCKED, {"topology": topology}).one_or_none()
    check_epoch(topology, Epoch(row.number, row.token) if row else None, epoch)


def lock_progress(connection: Connection, topology: str, epoch: Epoch) -> Progress:
    """Lock fence (shared) and progress until the transaction ends; raises FencedError for another epoch."""
    row = connection.execute(_LOCK, {"topology": topology}).one_or_none()
    if row is None or not row.incarnation:
        lock_fence(connection, topology, epoch)
        raise MismatchError(f"topology {topology!r} is not registered in this ledger. Nothing was written.")
    check_epoch(topology, Epoch(row.number, row.token), epoch)
    return _progress(row)


def read_progress(connection: Connection, topology: str) -> Progress | None:
    """Return where a topology stands, without a lock: a hint, to be asked again under the lock.

    None of one that was let go of: its row only says what it has used up.
    """
    row = connection.execute(_PROGRESS, {"topology": topology}).one_or_none()
    return _progress(row) if row is not None and row.incarnation else None


def read_used_up(connection: Connection, topology: str) -> tuple[int, int] | None:
    """Return the highest txid of a topology of this name that was let go of, and in which epoch; None: none was."""
    row = connection.execute(_PROGRESS, {"topology": topology}).one_or_none()
    return None if row is None or row.incarnation else (int(row.last_txid), int(row.done_attempt))


def read_plans(connection: Connection, topology: str, *attempts: int) -> dict[int, StoredPlan]:
    """Return the stored plans by attempt; other than the done one they may have only what they change."""
    rows = connection.execute(_PLANS, {"topology": topology, "attempts": attempts})
    return {row.attempt: _stored_plan(row) for row in rows}


def read_chain(connection: Connection, owner: Owner, progress: Progress) -> tuple[StoredPlan, ...]:
    """Return the plan of the last done txid, unless nothing is done, and the live ones, with every partition ever seen.

    A pinned plan is live until it is done.
    """
    parameters = {
        "topology": owner.topology,
        "incarnation": owner.incarnation,
        "done_attempt": progress.done_attempt,
    }
    plans = {row.attempt: _stored_plan(row) for row in connection.execute(_CHAIN, parameters)}
    done_plan_of(plans, progress)
    return chained(sorted(plans.values(), key=lambda stored: stored.plan.txid))


def read_pinned_plan(connection: Connection, owner: Owner, progress: Progress, txid: int, attempt: int) -> Plan:
    """Return the plan of a pinned attempt; a missing one raises FatalError."""
    for stored in read_chain(connection, owner, progress):
        if stored.plan.attempt == attempt:
            return stored.plan
    raise FatalError(
        f"the ledger is damaged: the plan of txid {txid} attempt {attempt}, which is pinned, is not there. Nothing was "
        "written; restore the ledger from a backup together with the states beside it."
    )


def read_latest_plan(connection: Connection, owner: Owner, txid: int) -> Plan | None:
    """Return what the plan of the latest attempt at a txid changes, whatever became of it."""
    parameters = {"topology": owner.topology, "incarnation": owner.incarnation, "txid": txid}
    row = connection.execute(_LATEST, parameters).one_or_none()
    return _stored_plan(row).plan if row else None


def read_starts(connection: Connection, owner: Owner) -> tuple[StartPosition, ...] | None:
    """Return the start positions of an incarnation, None while they are not stored."""
    row = _incarnation(connection, owner)
    return None if row.starts is None else codec.STARTS.decode(row.starts)


def read_births(connection: Connection, owner: Owner) -> tuple[Birth, ...] | None:
    """Return since when an incarnation has its states, None where an older version kept the ledger."""
    row = _incarnation(connection, owner)
    return None if row.births is None else codec.BIRTHS.decode(row.births)


def read_birth_txid(connection: Connection, owner: Owner) -> int:
    """Return the txid after which an incarnation begins."""
    birth: int = _incarnation(connection, owner).birth_txid
    return birth


def known_births(connection: Connection, owner: Owner) -> tuple[Birth, ...]:
    """Return what is known of an incarnation's states: where nobody recorded their births, that they are there."""
    return _known_births(connection, owner, _incarnation(connection, owner).births)


def read_spec(connection: Connection, topology: str) -> TopologySpec:
    """Return what must stay the same of a topology that is in the ledger."""
    spec = connection.execute(select(TOPOLOGY.c.spec).where(TOPOLOGY.c.name == topology)).scalar_one_or_none()
    if spec is None:
        raise FatalError(
            f"the ledger is damaged: the row of topology {topology!r} is not there. Nothing was written; restore the "
            "ledger from a backup together with the states beside it."
        )
    return codec.SPEC.decode(spec)


def read_pin(connection: Connection, owner: Owner, progress: Progress, txid: int) -> Pin | None:
    """Return the pin of the txid that is done, or of the one after it, with its dead letters."""
    parameters = {"topology": owner.topology, "incarnation": owner.incarnation, "txid": txid}
    row = connection.execute(_PIN, parameters).one_or_none()
    if row is None:
        return None
    is_written_out = row.plan != codec.PLAN_OF_THE_ATTEMPT
    return Pin(
        plan=codec.PLAN.decode(row.plan)
        if is_written_out
        else read_pinned_plan(connection, owner, progress, txid, row.attempt),
        manifests=codec.MANIFESTS.decode(row.manifests),
        states=codec.STATES.decode(row.states),
        dead_letters=read_dead_letters(connection, owner.topology, txid=txid, incarnation=owner.incarnation),
    )


def read_open_reset(connection: Connection, topology: str) -> ResetDecision | None:
    """Return the reset that was decided and not finished."""
    row = connection.execute(_OPEN_RESET, {"topology": topology}).one_or_none()
    return None if row is None else _reset(row)


def read_snapshot(connection: Connection, topology: str, progress: Progress) -> Snapshot:
    """Return all that is durable and not done; the caller holds the locks."""
    owner = Owner(topology, progress.incarnation)
    incarnation = _incarnation(connection, owner)
    decisions = read_decisions(connection, owner, progress.done)
    chain = read_chain(connection, owner, progress)
    return Snapshot(
        owner=owner,
        birth_txid=incarnation.birth_txid,
        done=progress.done,
        done_attempt=progress.done_attempt,
        done_plan=next((stored.plan for stored in chain if stored.status is PlanStatus.DONE), None),
        pin=read_pin(connection, owner, progress, progress.pinned) if progress.pinned is not None else None,
        live=tuple(stored.plan for stored in chain if stored.status is PlanStatus.LIVE),
        starts=None if incarnation.starts is None else codec.STARTS.decode(incarnation.starts),
        last_txid=progress.last_txid,
        last_attempt=progress.last_attempt,
        incarnations=_incarnations(connection, topology),
        births=_known_births(connection, owner, incarnation.births),
        open_reset=read_open_reset(connection, topology),
        reset=_own_reset(connection, owner),
        refusal=read_refusal(connection, owner, progress.done),
        told=read_told(connection, owner, progress.done),
        decisions=decisions,
        forgetting=read_forgetting(connection, topology),
        refused=read_refused(connection, owner, decisions),
        renamed=read_spec(connection, topology).renamed,
        activity=read_activity(connection, topology),
    )


def read_activity(connection: Connection, topology: str) -> Activity:
    """Return what a topology is to do."""
    return Activity(connection.execute(select(TOPOLOGY.c.activity).where(TOPOLOGY.c.name == topology)).scalar_one())


def _known_births(connection: Connection, owner: Owner, stored: str | None) -> tuple[Birth, ...]:
    return births_before(read_spec(connection, owner.topology)) if stored is None else codec.BIRTHS.decode(stored)


def read_refused(connection: Connection, owner: Owner, decisions: Sequence[Decision]) -> tuple[Plan, ...]:
    """Return the plans that decisions are about."""
    attempts = {item.attempt for item in decisions}
    stored = read_plans(connection, owner.topology, *attempts) if attempts else {}
    return tuple(item.plan for item in stored.values() if item.incarnation == owner.incarnation)


def _incarnations(connection: Connection, topology: str) -> frozenset[str]:
    opened = connection.execute(select(INCARNATION.c.id).where(INCARNATION.c.topology == topology)).scalars()
    # those that resets were to open: states may have followed one that another took the place of
    decided = connection.execute(select(RESET.c.incarnation).where(RESET.c.topology == topology)).scalars()
    return frozenset([*opened, *decided])


def _own_reset(connection: Connection, owner: Owner) -> ResetDecision | None:
    row = connection.execute(_OWN_RESET, {"topology": owner.topology, "incarnation": owner.incarnation}).one_or_none()
    return None if row is None else _reset(row)


def _reset(row: StoredRow) -> ResetDecision:
    streams = None if row.streams is None else codec.STREAMS.decode(row.streams)
    begins = None if row.begins is None else codec.STARTS.decode(row.begins)
    stood = None if row.stood is None else codec.STARTS.decode(row.stood)
    foreign = () if row.foreign_incarnations is None else codec.STREAMS.decode(row.foreign_incarnations)
    return ResetDecision(row.incarnation, row.birth_txid, row.states, row.start, streams, begins, stood, foreign)


def read_done_plan(connection: Connection, owner: Owner, progress: Progress) -> Plan | None:
    """Return the plan of the last done txid, None at birth; a missing one raises FatalError."""
    plans = read_plans(connection, owner.topology, progress.done_attempt) if progress.done_attempt else {}
    return done_plan_of(plans, progress)


def done_plan_of(plans: dict[int, StoredPlan], progress: Progress) -> Plan | None:
    """Pick the plan of the last done txid, None at birth; a missing one is never read as a birth."""
    if progress.done_attempt == 0:
        return None
    stored = plans.get(progress.done_attempt)
    if stored is None or stored.status is not PlanStatus.DONE or not stored.is_whole:
        raise FatalError(
            f"the ledger is damaged: the plan of txid {progress.done} attempt {progress.done_attempt}, which is done, "
            "is not there. Nothing was written; restore the ledger from a backup together with the states beside it."
        )
    return stored.plan


def _incarnation(connection: Connection, owner: Owner) -> StoredRow:
    parameters = {"topology": owner.topology, "incarnation": owner.incarnation}
    row: StoredRow | None = connection.execute(_INCARNATION, parameters).one_or_none()
    if row is None:
        raise FatalError(
            f"the ledger is damaged: incarnation {owner.incarnation} of topology {owner.topology!r} is not there. "
            "Nothing was written; restore the ledger from a backup together with the states beside it."
        )
    return row


def _progress(row: StoredRow) -> Progress:
    return Progress(
        incarnation=row.incarnation,
        done=row.done,
        done_attempt=row.done_attempt,
        pinned=row.pinned,
        pinned_attempt=row.pinned_attempt,
        last_txid=row.last_txid,
        last_attempt=row.last_attempt,
        reset_to=row.reset_to,
        undoing=row.undoing,
        held=row.held,
    )


def _stored_plan(row: StoredRow) -> StoredPlan:
    plan = plan_of(row, row.ranges if row.all_ranges is None else row.all_ranges)
    is_whole = row.all_ranges is not None or codec.RANGES.is_of_all(row.ranges) or not row.predecessor
    return StoredPlan(row.incarnation, row.epoch, PlanStatus(row.status), plan, is_whole)


def plan_of(row: StoredRow, ranges: str) -> Plan:
    """Return the plan that a row holds, with these ranges."""
    return Plan(
        txid=row.txid,
        attempt=row.attempt,
        tries=row.tries,
        predecessor=row.predecessor,
        batch_time=row.batch_time,
        ranges=codec.RANGES.decode(ranges),
        losses=codec.LOSSES.decode(row.losses),
        timers=codec.TIMERS.decode(row.timers),
        received=codec.RECEIVED.decode(row.received),
        diverts=codec.DIVERTS.decode(row.diverts),
    )
