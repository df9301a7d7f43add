"""Taking records of a done txid out of a sink that has not sent them; they are kept in the ledger."""

from __future__ import annotations

from functools import partial

from trident.base.errors import MismatchError
from trident.coordinators.decided import Decision, DecisionKind, Diverted
from trident.coordinators.holding.keeping import holder_name
from trident.coordinators.holding.takeover import TakeOver
from trident.state.capabilities import relaying_of
from trident.state.rows import json_rows


def set_aside(taking: TakeOver, txid: int, sink: str) -> Decision:
    """Keep the records that wait, then take them out; one that was cut off is done again by the same command.

    Raises MismatchError, and changes nothing, where nothing of the txid waits.
    """
    relaying, owner, epoch = relaying_of(taking.stores[sink]), taking.snapshot.owner, taking.epoch
    found = taking.repeater.call("reading what waits", partial(relaying.waiting, owner, epoch, txid))
    if found is None:
        raise MismatchError(
            f"nothing of txid {txid} waits in sink {sink!r}: it was sent, or had no records. Nothing was changed."
        )
    attempt, rows = found
    if rows.num_rows:  # else they were taken out already
        kept = Diverted(sink, json_rows(rows))
        keep = partial(taking.ledger.set_aside, owner, epoch, txid, attempt, kept)
        taking.repeater.call("keeping what is taken out", keep)
        taking.repeater.call("taking records out", partial(relaying.take_out, owner, epoch, txid))
    return Decision(DecisionKind.DIVERT, txid, attempt, sink, holder_name())
