"""What the SQL ledgers read: the locked rows first, then plans and pins of a topology."""

from __future__ import annotations

from sqlalchemy import Connection, Row, bindparam, select

from trident.base.errors import FatalError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import ResetDecision
from trident.coordinators.ledger.rules.fencing import check_epoch
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress, StoredPlan
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.decision_reads import read_decisions, read_refusal
from trident.coordinators.ledger.sql.exclusions import read_dead_letters
from trident.coordinators.ledger.sql.tables import FENCE, INCARNATION, IS_LIVE, PIN, PLAN, PROGRESS, RESET
from trident.coordinators.pinned import Pin
from trident.coordinators.planned import Plan
from trident.coordinators.registered import Snapshot, StartPosition

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
_PLANS = select(PLAN).where(
    PLAN.c.topology == bindparam("topology"), PLAN.c.attempt.in_(bindparam("attempts", expanding=True))
)
_LIVE = (
    select(PLAN)
    .where(
        PLAN.c.topology == bindparam("topology"),
        PLAN.c.incarnation == bindparam("incarnation"),
        PLAN.c.status == IS_LIVE,
    )
    .order_by(PLAN.c.txid)
)
_LAST_LIVE = _LIVE.order_by(None).order_by(PLAN.c.txid.desc()).limit(1)
_LATEST = (
    select(PLAN)
    .where(
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
_OWN_RESET = select(RESET.c.start).where(
    RESET.c.topology == bindparam("topology"), RESET.c.incarnation == bindparam("incarnation")
)
_OPEN_RESET = select(RESET).where(RESET.c.topology == bindparam("topology"), RESET.c.finished_at.is_(None))

StoredRow = Row[tuple[object, ...]]


def read_epoch(connection: Connection, topology: str) -> Epoch | None:
    """Return the stored epoch, without locking its row."""
    row = connection.execute(_EPOCH, {"topology": topology}).one_or_none()
    return Epoch(row.number, row.token) if row else None


def lock_fence(connection: Connection, topology: str, epoch: Epoch) -> None:
    """Hold the fence row as it is until the transaction ends; raises FencedError for another epoch."""
    row = connection.execute(_EPOCH_LOCKED, {"topology": topology}).one_or_none()
    check_epoch(topology, Epoch(row.number, row.token) if row else None, epoch)


def lock_progress(connection: Connection, topology: str, epoch: Epoch) -> Progress:
    """Lock fence (shared) and progress until the transaction ends; raises FencedError for another epoch."""
    row = connection.execute(_LOCK, {"topology": topology}).one_or_none()
    if row is None:
        lock_fence(connection, topology, epoch)
        raise MismatchError(f"topology {topology!r} is not registered in this ledger. Nothing was written.")
    check_epoch(topology, Epoch(row.number, row.token), epoch)
    return _progress(row)


def read_progress(connection: Connection, topology: str) -> Progress | None:
    """Return where a topology stands, without a lock: a hint, to be asked again under the lock."""
    row = connection.execute(_PROGRESS, {"topology": topology}).one_or_none()
    return _progress(row) if row else None


def read_plans(connection: Connection, topology: str, *attempts: int) -> dict[int, StoredPlan]:
    """Return the stored plans by attempt."""
    rows = connection.execute(_PLANS, {"topology": topology, "attempts": attempts})
    return {row.attempt: _stored_plan(row) for row in rows}


def read_live(connection: Connection, owner: Owner) -> tuple[StoredPlan, ...]:
    """Return the live plans of an incarnation by txid; a pinned one is live until it is done."""
    rows = connection.execute(_LIVE, {"topology": owner.topology, "incarnation": owner.incarnation})
    return tuple(_stored_plan(row) for row in rows)


def read_last_live(connection: Connection, owner: Owner) -> StoredPlan | None:
    """Return the live plan with the highest txid of an incarnation."""
    row = connection.execute(_LAST_LIVE, {"topology": owner.topology, "incarnation": owner.incarnation}).one_or_none()
    return _stored_plan(row) if row else None


def read_latest_plan(connection: Connection, owner: Owner, txid: int) -> Plan | None:
    """Return the plan of the latest attempt at a txid, whatever became of it."""
    parameters = {"topology": owner.topology, "incarnation": owner.incarnation, "txid": txid}
    row = connection.execute(_LATEST, parameters).one_or_none()
    return _stored_plan(row).plan if row else None


def read_starts(connection: Connection, owner: Owner) -> tuple[StartPosition, ...] | None:
    """Return the start positions of an incarnation, None while they are not stored."""
    row = _incarnation(connection, owner)
    return None if row.starts is None else codec.STARTS.decode(row.starts)


def read_pin(connection: Connection, owner: Owner, txid: int) -> Pin | None:
    """Return the pin of a txid with its dead letters."""
    parameters = {"topology": owner.topology, "incarnation": owner.incarnation, "txid": txid}
    row = connection.execute(_PIN, parameters).one_or_none()
    if row is None:
        return None
    return Pin(
        plan=codec.PLAN.decode(row.plan),
        manifests=codec.MANIFESTS.decode(row.manifests),
        states=codec.STATES.decode(row.states),
        dead_letters=read_dead_letters(connection, owner.topology, txid=txid, incarnation=owner.incarnation),
    )


def read_open_reset(connection: Connection, topology: str) -> ResetDecision | None:
    """Return the reset that was decided and not finished."""
    row = connection.execute(_OPEN_RESET, {"topology": topology}).one_or_none()
    return None if row is None else ResetDecision(row.incarnation, row.birth_txid, row.states, row.start)


def read_snapshot(connection: Connection, topology: str, progress: Progress) -> Snapshot:
    """Return all that is durable and not done; the caller holds the locks."""
    owner = Owner(topology, progress.incarnation)
    incarnation = _incarnation(connection, owner)
    return Snapshot(
        owner=owner,
        birth_txid=incarnation.birth_txid,
        done=progress.done,
        done_attempt=progress.done_attempt,
        done_plan=read_done_plan(connection, owner, progress),
        pin=read_pin(connection, owner, progress.pinned) if progress.pinned is not None else None,
        live=tuple(stored.plan for stored in read_live(connection, owner)),
        starts=None if incarnation.starts is None else codec.STARTS.decode(incarnation.starts),
        last_txid=progress.last_txid,
        last_attempt=progress.last_attempt,
        open_reset=read_open_reset(connection, topology),
        start=_start_named_by_reset(connection, owner),
        refusal=read_refusal(connection, owner, progress.done),
        decisions=read_decisions(connection, owner, progress.done),
    )


def _start_named_by_reset(connection: Connection, owner: Owner) -> str | None:
    row = connection.execute(_OWN_RESET, {"topology": owner.topology, "incarnation": owner.incarnation}).one_or_none()
    return None if row is None else row.start


def read_done_plan(connection: Connection, owner: Owner, progress: Progress) -> Plan | None:
    """Return the plan of the last done txid, None at birth; a missing one raises FatalError."""
    plans = read_plans(connection, owner.topology, progress.done_attempt) if progress.done_attempt else {}
    return done_plan_of(plans, progress)


def done_plan_of(plans: dict[int, StoredPlan], progress: Progress) -> Plan | None:
    """Pick the plan of the last done txid, None at birth; a missing one is never read as a birth."""
    if progress.done_attempt == 0:
        return None
    stored = plans.get(progress.done_attempt)
    if stored is None or stored.status is not PlanStatus.DONE:
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
    plan = Plan(
        txid=row.txid,
        attempt=row.attempt,
        tries=row.tries,
        predecessor=row.predecessor,
        batch_time=row.batch_time,
        ranges=codec.RANGES.decode(row.ranges),
        losses=codec.LOSSES.decode(row.losses),
        timers=codec.TIMERS.decode(row.timers),
        received=codec.RECEIVED.decode(row.received),
    )
    return StoredPlan(row.incarnation, row.epoch, PlanStatus(row.status), plan)
