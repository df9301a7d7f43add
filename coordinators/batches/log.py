"""One log line per finished batch, with structured fields beside the text."""

from __future__ import annotations

import logging
from dataclasses import asdict

from trident.base.identity import BatchId
from trident.coordinators.pinned import Commit

_log = logging.getLogger("trident.batch")


def log_batch(batch: BatchId, commit: Commit, lag: int) -> None:
    """Log a finished txid at INFO; the record carries the fields as a dict in its attribute `batch`."""
    if not _log.isEnabledFor(logging.INFO):
        return
    fields = {"topology": batch.owner.topology, **asdict(commit), "epoch": batch.epoch.number, "lag": lag}
    _log.info(
        "topology=%s txid=%d try=%d records=%d keys=%d dead_letters=%d plan_ms=%d process_ms=%d commit_ms=%d lag=%d",
        batch.owner.topology,
        commit.txid,
        commit.tries,
        commit.records,
        commit.keys,
        commit.dead_letters,
        commit.plan_ms,
        commit.process_ms,
        commit.commit_ms,
        lag,
        extra={"batch": fields},
    )
