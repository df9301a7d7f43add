"""Life-cycle commands in a ledger in memory: the rules of a SQL ledger's, over one immutable entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.memory.rows import Commanded, Entry
from trident.coordinators.ledger.rules.lifecycle import KeptCommand, check_answered, kept_of, sort_out
from trident.coordinators.lifecycle import Given, Reply, Sent, Verdict


def sent_to(entry: Entry | None, topology: str, sent: Sent, now: float) -> tuple[Entry, int]:
    """Return the entry with a command, and its number; see `Ledger.send`."""
    if entry is None:
        raise MismatchError(f"topology {topology!r} is not in this ledger; nothing was written.")
    known = next((each.kept.number for each in entry.commands if each.kept.id == sent.id), None)
    if known is not None:
        return entry, known
    kept = kept_of(len(entry.commands) + 1, entry.progress.incarnation, sent)
    return entry._replace(commands=(*entry.commands, Commanded(kept, now + kept.within_seconds))), kept.number


def withdrawn(entry: Entry, number: int, text: str) -> Entry:
    """Return the entry with a command void that nobody has read; see `Ledger.withdraw`."""
    kept = _kept(entry, number)
    if kept is None or kept.verdict is not None or kept.epoch is not None:
        return entry
    return _with(entry, {number: replace(kept, verdict=Verdict.VOID, answer=text)})


def taken_by(entry: Entry, owner: Owner, epoch: Epoch, now: float) -> tuple[Entry, tuple[Given, ...]]:
    """Return the entry with the commands that wait as this epoch's, and these; see `Ledger.take_commands`."""
    waiting = [(each.kept, now >= each.until) for each in entry.commands if each.kept.verdict is None]
    found = sort_out(waiting, owner)
    changed = {kept.number: replace(kept, epoch=epoch.number) for kept, _ in waiting}
    for number, reply in found.settled:
        changed[number] = replace(changed[number], verdict=reply.verdict, answer=reply.text)
    return _with(entry, changed), found.due


def answered(entry: Entry, epoch: Epoch, number: int, reply: Reply) -> Entry:
    """Return the entry with a command answered; see `Ledger.answer`."""
    kept = _kept(entry, number)
    if check_answered(number, kept, epoch, reply):
        return entry
    assert kept is not None, "what is answered was read"
    changed = _with(entry, {number: replace(kept, verdict=reply.verdict, answer=reply.text)})
    return changed if reply.activity is None else changed._replace(activity=reply.activity)


def wait_in(entry: Entry | None) -> bool:
    """Tell whether commands wait."""
    return entry is not None and any(each.kept.verdict is None for each in entry.commands)


def _kept(entry: Entry, number: int) -> KeptCommand | None:
    return next((each.kept for each in entry.commands if each.kept.number == number), None)


def _with(entry: Entry, changed: Mapping[int, KeptCommand]) -> Entry:
    commands = tuple(replace(each, kept=changed.get(each.kept.number, each.kept)) for each in entry.commands)
    return entry._replace(commands=commands)
