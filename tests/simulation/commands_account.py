"""What follows from a life-cycle command, held to what was answered."""

from __future__ import annotations

from dataclasses import dataclass

from tests.simulation.accounts import ViolationError
from trident.coordinators.ledger.memory.rows import Entry
from trident.coordinators.lifecycle import Activity, Verdict

_MAKES = {"activate": Activity.ACTIVE, "deactivate": Activity.INACTIVE, "kill": Activity.KILLED}


@dataclass
class CommandsAccount:
    """What may be planned from the last answer on."""

    most: int | None = None
    """The highest txid that may be planned while the topology is not active."""

    def changed(self, old: Entry, entry: Entry) -> None:
        """Hold a transaction of the ledger to what was answered; raises ViolationError."""
        answered = [
            now.kept
            for before, now in zip(old.commands, entry.commands, strict=False)
            if now.kept.verdict != before.kept.verdict
        ]
        for kept in answered:
            waiting = [each.kept.number for each in entry.commands if each.kept.verdict is None]
            if kept.verdict is not Verdict.VOID and any(number < kept.number for number in waiting):
                raise ViolationError(f"command {kept.number} was answered while {waiting} wait")
        for before, now in zip(old.commands, entry.commands, strict=False):
            if before.kept.verdict is not None and before.kept != now.kept:
                raise ViolationError(f"{before.kept} has got another answer: {now.kept}")
        self._check_activity(old, entry, [kept.kind for kept in answered if kept.verdict is Verdict.DONE])
        if entry.activity is not Activity.ACTIVE and self.most is not None and entry.progress.last_txid > self.most:
            raise ViolationError(f"txid {entry.progress.last_txid} was planned while it is {entry.activity}")

    def _check_activity(self, old: Entry, entry: Entry, done: list[str]) -> None:
        if entry.activity is old.activity:
            return
        if [_MAKES.get(kind) for kind in done] != [entry.activity]:
            raise ViolationError(f"{old.activity} became {entry.activity}, and was told by {done}")
        # one plan may be on its way
        self.most = None if entry.activity is Activity.ACTIVE else entry.progress.last_txid + 1


def is_only_given(old: Entry, entry: Entry) -> bool:
    """Tell whether nothing was written but a command, which anybody may."""
    if entry.commands is old.commands or len(entry.commands) != len(old.commands) + 1:
        return False
    return entry.commands[:-1] == old.commands and entry._replace(commands=old.commands) == old
