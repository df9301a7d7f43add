"""What a person's decision does to records of done txids that sinks have not sent: they leave first, or are kept."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.coordinators.decided import Decision, DecisionKind, Diverted
from trident.coordinators.holding.keeping import holder_name
from trident.coordinators.holding.takeover import TakeOver
from trident.state.capabilities import SentInPartError, Transaction, names_relaying, relaying_of
from trident.state.rows import json_rows

_log = logging.getLogger("trident.coordinator")


def divert_waiting(taking: TakeOver, txid: int, sink: str, *, rows_lost: bool) -> Decision:
    """Take the records that wait out and keep them, in one transaction; the same command again finds nothing to do.

    Raises MismatchError, and changes nothing, where nothing of the txid waits, or where rows of it are gone; with
    `rows_lost` those that are left are kept, and the log says how many were given up.
    """
    relaying, owner, epoch = relaying_of(taking.stores[sink]), taking.snapshot.owner, taking.epoch
    look = partial(relaying.waiting, owner, epoch, txid, rows_lost)
    found = taking.repeater.call("reading what waits", look)
    if found is None:
        raise MismatchError(
            f"nothing of txid {txid} waits in sink {sink!r}: it was sent, or had no records. Nothing was changed."
        )
    if found.rows.num_rows or found.lost:  # else they were taken out already
        kept = Diverted(sink, json_rows(found.rows))

        def divert_in(transaction: Transaction) -> None:
            relaying.divert_in(transaction, owner, epoch, txid)
            reached(CrashPoint.IN_DIVERTING_WAITING, txid)

        move = partial(taking.ledger.divert_waiting, owner, epoch, txid, found.attempt, kept, divert_in)
        taking.repeater.call("taking out what waits", move)
        reached(CrashPoint.AFTER_DIVERTING_WAITING, txid)
    if found.lost:
        _log.warning("sink %r: %d records of txid %d were gone, and are given up for good", sink, found.lost, txid)
    return Decision(DecisionKind.DIVERT, txid, found.attempt, sink, holder_name())


def nothing_is_lost(txid: int, state: str) -> MismatchError:
    """Return what is said to a person who gives up rows of a txid that no sink has waiting."""
    return MismatchError(
        f"nothing of txid {txid} waits in {state!r} as files that could be lost (rows_lost); nothing was changed"
    )


def send_what_waits(taking: TakeOver, sinks: Iterable[str], *, must_all: bool) -> None:
    """Have these sinks send what is done before a reset, or a drop, is recorded; what is no outbox has sent it.

    Raises RefusedError for what can never be sent: a person takes it out first, so that it is kept. What can't be taken
    out, and what nobody knows whether it was sent (a marker is gone, or of another moment), is refused too if all must
    be sent; else that is said, and the reset begins behind whatever was.
    """
    snapshot = taking.snapshot
    for name in sorted(names_relaying(taking.stores).intersection(sinks)):
        store = taking.stores[name]
        relay = partial(relaying_of(store).relay, snapshot.owner, taking.epoch, snapshot.done)
        try:
            if must_all and store.capabilities.counting is not None:
                store.capabilities.counting.check_rows(snapshot.owner, taking.epoch)
            while taking.repeater.call(f"sending what waits in sink {name!r}", relay) < snapshot.done:
                pass  # the oldest part of it at a time
        except (MismatchError, SentInPartError) as error:
            if must_all:
                raise
            _log.warning("what waits in sink %r is not sent: %s", name, error)
