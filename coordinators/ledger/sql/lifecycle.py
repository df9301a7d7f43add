"""Life-cycle commands in a SQL ledger: given without a lease, read and answered under the fence."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, exists, func, select, update

from trident.base.errors import MismatchError, RetryableError
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.rules.lifecycle import KeptCommand, check_answered, kept_of, sort_out
from trident.coordinators.ledger.sql.asserted import write_one
from trident.coordinators.ledger.sql.dialect import SecondsSince, insert_new
from trident.coordinators.ledger.sql.moments import DatabaseNow
from trident.coordinators.ledger.sql.reads import lock_fence, read_progress
from trident.coordinators.ledger.sql.tables import COMMAND, TOPOLOGY
from trident.coordinators.lifecycle import Given, Reply, Sent, Verdict

_LEFT = COMMAND.c.within_seconds - SecondsSince(COMMAND.c.given_at)
_COMMANDS = select(COMMAND, _LEFT.label("seconds_left")).where(COMMAND.c.topology == bindparam("topology"))
_OPEN = _COMMANDS.where(COMMAND.c.verdict.is_(None)).order_by(COMMAND.c.number).with_for_update()
_ONE = _COMMANDS.where(COMMAND.c.number == bindparam("number")).with_for_update()


def commands_wait(topology: str) -> ColumnElement[bool]:
    """Return the condition that commands wait, for a statement with that parameter: one look at a partial index."""
    return exists().where(COMMAND.c.topology == bindparam(topology), COMMAND.c.verdict.is_(None))


def send(connection: Connection, topology: str, sent: Sent) -> int:
    """Add a command and return its number; see `Ledger.send`."""
    known = select(COMMAND.c.number).where(COMMAND.c.topology == topology, COMMAND.c.id == sent.id)
    number: int | None = connection.execute(known).scalar_one_or_none()
    if number is not None:
        return number
    progress = read_progress(connection, topology)
    if progress is None:
        raise MismatchError(f"topology {topology!r} is not in this ledger; nothing was written.")
    newest = select(func.coalesce(func.max(COMMAND.c.number), 0)).where(COMMAND.c.topology == topology)
    number = int(connection.execute(newest).scalar_one()) + 1
    kept = kept_of(number, progress.incarnation, sent)
    row = {
        "topology": topology,
        "number": kept.number,
        "id": kept.id,
        "incarnation": kept.incarnation,
        "kind": kept.kind,
        "arguments": kept.arguments,
        "given_by": kept.given_by,
        "given_at": DatabaseNow(),
        "within_seconds": kept.within_seconds,
    }
    if not insert_new(connection, COMMAND, row):
        raise RetryableError(f"another command was given to topology {topology!r} at this moment; nothing was written")
    return number


def take(connection: Connection, owner: Owner, epoch: Epoch) -> tuple[Given, ...]:
    """Read the commands that wait; see `Ledger.take_commands`."""
    lock_fence(connection, owner.topology, epoch)
    rows = connection.execute(_OPEN, {"topology": owner.topology}).all()
    found = sort_out([(_kept(row._mapping), row.seconds_left <= 0) for row in rows], owner)
    for number, reply in found.settled:
        _settle(connection, owner.topology, number, epoch, reply)
    if found.due:
        numbers = [given.number for given in found.due]
        mine = update(COMMAND).where(COMMAND.c.topology == owner.topology, COMMAND.c.number.in_(numbers))
        connection.execute(mine.values(epoch=epoch.number))
    return found.due


def answer(connection: Connection, owner: Owner, epoch: Epoch, number: int, reply: Reply) -> None:
    """Answer a command, with what the topology is from then on; see `Ledger.answer`."""
    lock_fence(connection, owner.topology, epoch)
    row = connection.execute(_ONE, {"topology": owner.topology, "number": number}).one_or_none()
    if check_answered(number, _kept(row._mapping) if row else None, epoch, reply):
        return
    _settle(connection, owner.topology, number, epoch, reply)
    if reply.activity is not None:
        changed = update(TOPOLOGY).where(TOPOLOGY.c.name == owner.topology).values(activity=reply.activity.value)
        write_one(connection, changed)


def withdraw(connection: Connection, topology: str, number: int, text: str) -> None:
    """Make a command void that nobody has read; see `Ledger.withdraw`."""
    connection.execute(
        update(COMMAND)
        .where(
            COMMAND.c.topology == topology,
            COMMAND.c.number == number,
            COMMAND.c.verdict.is_(None),
            COMMAND.c.epoch.is_(None),
        )
        .values(verdict=Verdict.VOID.value, answer=text, answered_at=DatabaseNow())
    )


def _settle(connection: Connection, topology: str, number: int, epoch: Epoch, reply: Reply) -> None:
    write_one(
        connection,
        update(COMMAND)
        .where(COMMAND.c.topology == topology, COMMAND.c.number == number, COMMAND.c.verdict.is_(None))
        .values(epoch=epoch.number, verdict=reply.verdict.value, answer=reply.text, answered_at=DatabaseNow()),
    )


def _kept(row: RowMapping) -> KeptCommand:
    return KeptCommand(
        number=row["number"],
        id=row["id"],
        incarnation=row["incarnation"],
        kind=row["kind"],
        arguments=row["arguments"],
        given_by=row["given_by"],
        within_seconds=row["within_seconds"],
        epoch=row["epoch"],
        verdict=None if row["verdict"] is None else Verdict(row["verdict"]),
        answer=row["answer"],
    )
