"""What an undo of the last done txid is about to do, in words that a person says yes or no to."""

from __future__ import annotations

from collections.abc import Sequence

from trident.coordinators.decided import Decision
from trident.coordinators.decisions.taking_back import ReadAgain, UndoProspect
from trident.coordinators.ledger.view import TopologyStatus


def is_last_done(standing: TopologyStatus, txid: int) -> bool:
    """Tell whether an undo of that txid is about the last one that is done, with nothing else to be finished first."""
    is_open = standing.pinned is not None or bool(standing.decisions) or standing.open_reset is not None
    return txid == standing.done and not standing.level.is_plain and not is_open


def undo_question(topology: str, prospect: UndoProspect) -> str:
    """Return what a person is asked: what is read again of each partition, and how much of each state goes back."""
    states = ", ".join(f"{keys} keys of {state}" for state, keys in prospect.keys)
    before = prospect.txid - 1
    said = [f"Txid {prospect.txid} of {topology} is done. Back to txid {before} go {states}."]
    said += [f"Read again: {', '.join(map(_shown, prospect.ranges))}." if prospect.ranges else "It has read nothing."]
    if any(item.records is None for item in prospect.ranges):
        said += [f"Of stream {stream} that were {count} records." for stream, count in prospect.records]
    said += ["Who has read these results since has seen them; what was changed in them by hand goes with them."]
    return f"{' '.join(said)} Bring every state back to txid {before}?"


def undo_note(decision: Decision) -> str:
    """Return what a person is told once it is done."""
    return (
        f"every state is back at txid {decision.txid - 1}; the next start of the topology plans txid {decision.txid} "
        "again: start it before the topics let go of these records"
    )


def read_again(heard: Sequence[UndoProspect]) -> dict[str, object]:
    """Return what is read again and what goes back, as fields."""
    return {
        "read_again": [
            {
                "stream": item.stream,
                "topic": item.range.id.topic,
                "partition": item.range.id.partition,
                "start": item.range.start,
                "stop": item.range.stop,
                "records": item.records,
            }
            for prospect in heard
            for item in prospect.ranges
        ],
        "keys": {state: keys for prospect in heard for state, keys in prospect.keys},
    }


def _shown(item: ReadAgain) -> str:
    counted = "" if item.records is None else f" ({item.records} records)"
    return f"{item.range.id.topic}:{item.range.id.partition} from {item.range.start} to {item.range.stop}{counted}"
