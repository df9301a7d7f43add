"""One log line per finished batch, with structured fields beside the text; warnings of what it lost or left out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from trident.base.identity import BatchId
from trident.coordinators.pinned import Commit, DeadLetter
from trident.coordinators.planned import Plan

_log = logging.getLogger("trident.batch")


def log_batch(batch: BatchId, plan: Plan, commit: Commit, lag: int, turn_ms: int, expired: int = 0) -> None:
    """Log a finished txid at INFO; the record carries the fields as a dict in its attribute `batch`.

    `turn_ms` is how long its work in the turn took, `expired` how many keys had expired before it; the ledger has no
    column for them. What it lost is a warning before that, also where nobody listens to INFO.
    """
    log_losses(batch.owner.topology, plan)
    if not _log.isEnabledFor(logging.INFO):
        return
    lost = sum(loss.count for loss in plan.losses)
    known = {"lost_offsets": lost, "epoch": batch.epoch.number, "lag": lag, "turn_ms": turn_ms, "expired_keys": expired}
    fields = {"topology": batch.owner.topology, **asdict(commit), **known}
    _log.info(
        "topology=%s txid=%d try=%d records=%d keys=%d expired_keys=%d dead_letters=%d lost_offsets=%d plan_ms=%d "
        "process_ms=%d turn_ms=%d commit_ms=%d lag=%d",
        batch.owner.topology,
        commit.txid,
        commit.tries,
        commit.records,
        commit.keys,
        expired,
        commit.dead_letters,
        lost,
        commit.plan_ms,
        commit.process_ms,
        turn_ms,
        commit.commit_ms,
        lag,
        extra={"batch": fields},
    )


def log_dead_letters(topology: str, txid: int, letters: Sequence[DeadLetter]) -> None:
    """Warn of the records of a finished txid that did not decode: how many of each stream, and where the first was."""
    for spout, group in groupby(letters, lambda letter: letter.spout):
        of_it = list(group)
        first = of_it[0].record
        _log.warning(
            "topology=%s txid=%d: %d records of stream %r did not decode and are kept as dead letters; the first at %d "
            "of %s: %s",
            topology,
            txid,
            len(of_it),
            spout,
            first.offset,
            f"{first.id.topic}/{first.id.partition}",
            first.reason,
        )


def log_losses(topology: str, plan: Plan) -> None:
    """Warn of every loss of a txid that is done."""
    for loss in plan.losses:
        _log.warning(
            "topology=%s txid=%d: of stream %r the offsets from %d to before %d (%d) of %s are gone and in no "
            "result, now or later: %s",
            topology,
            plan.txid,
            loss.spout,
            loss.start,
            loss.stop,
            loss.count,
            f"{loss.id.topic}/{loss.id.partition}",
            loss.reason,
        )
