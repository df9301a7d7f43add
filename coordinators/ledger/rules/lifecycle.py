"""What is kept of life-cycle commands, and which of those that wait are carried out; pure.

A row is written by anybody who can write to the ledger, so it is read with suspicion: what is no command is refused,
and holds up none that comes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from trident.base.errors import ConfigurationError, FatalError
from trident.base.identity import Epoch, Owner
from trident.coordinators.lifecycle import KINDS, CommandKind, Given, LifeCycleCommand, Reply, Sent, Verdict, kind_of


@dataclass(frozen=True, slots=True)
class KeptCommand:
    """A command as it is kept."""

    number: int
    id: str
    incarnation: str
    kind: str
    arguments: str
    given_by: str
    within_seconds: float
    epoch: int | None = None
    """Whoever has read it; another owner reads it anew."""
    verdict: Verdict | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class SortedOut:
    """The commands that wait: those that are carried out, and those that are answered at once."""

    due: tuple[Given, ...]
    settled: tuple[tuple[int, Reply], ...]


def kept_of(number: int, incarnation: str, sent: Sent) -> KeptCommand:
    """Return a command as it is kept."""
    arguments = msgspec.json.encode(sent.command).decode()
    seconds = sent.within.total_seconds()
    return KeptCommand(number, sent.id, incarnation, kind_of(sent.command), arguments, sent.given_by, seconds)


def sort_out(kept: Sequence[tuple[KeptCommand, bool]], owner: Owner) -> SortedOut:
    """Tell what becomes of the commands that wait, in their order; each comes with whether its time is over.

    One that somebody has read is carried out, however long ago that was: its answer is on its way, or its owner has
    ended, and the sender was told that the next one does it.
    """
    due, settled = list[Given](), list[tuple[int, Reply]]()
    for row, is_late in sorted(kept, key=lambda item: item[0].number):
        reply = _void(row, owner, is_late=is_late and row.epoch is None)
        if reply is None:
            try:
                due.append(Given(row.number, _command_of(row)))
                continue
            except (ValueError, RecursionError, msgspec.DecodeError, ConfigurationError):
                reply = Reply(Verdict.REFUSED, f"its row is no command ({row.kind!r}); nothing was changed")
        settled.append((row.number, reply))
    return SortedOut(tuple(due), tuple(settled))


def check_answered(number: int, kept: KeptCommand | None, epoch: Epoch, reply: Reply) -> bool:
    """Tell whether a command has this answer of this epoch already; raises FatalError where it can't be given."""
    if kept is not None and kept.epoch == epoch.number:
        if kept.verdict is None:
            return False
        if (kept.verdict, kept.answer) == (reply.verdict, reply.text):
            return True
    raise FatalError(
        f"command {number} was not read by epoch {epoch.number}, or has another answer: somebody else has written to "
        "the ledger's trident_command. Nothing was written by this; find out who writes there."
    )


def _void(row: KeptCommand, owner: Owner, *, is_late: bool) -> Reply | None:
    if row.incarnation != owner.incarnation:
        text = f"a reset has ended incarnation {row.incarnation}, which it was for; nothing was changed"
        return Reply(Verdict.VOID, text)
    if is_late:
        return Reply(Verdict.VOID, f"nobody had begun with it within {row.within_seconds:g} s; nothing was changed")
    return None


def _command_of(row: KeptCommand) -> LifeCycleCommand:
    return msgspec.json.decode(row.arguments, type=KINDS[CommandKind(row.kind)])
