"""What every ledger's view must say: the same rows from each kind, moments aside; part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.ledger.decision_contract import RETRY, refusal_of
from tests.ledger.making import (
    LONG,
    SPEC,
    commit_of,
    dead_letter_of,
    loss_of,
    pin_of,
    plan_of,
    range_of,
    started,
    successor,
)
from trident.base.errors import MismatchError
from trident.base.identity import Owner
from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from trident.coordinators.ledger.view import BatchRow, PartitionProgress, record_of
from trident.coordinators.registered import Lease

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger


class ViewContract:
    """Reads only; says what was written."""

    def test_names_and_unknown_ones(self, ledger: AnyLedger) -> None:
        view = ledger.view()
        assert view.topologies() == ()
        with pytest.raises(MismatchError, match="'payments' is not in this ledger; there are: none"):
            view.status("payments")
        ledger.register(ledger.acquire("zebra", Lease("one", LONG)).epoch, replace(SPEC, name="zebra"))
        started(ledger)
        assert view.topologies() == ("payments", "zebra")
        for read in (view.status, view.progress, view.batches, view.losses, view.dead_letters):
            with pytest.raises(MismatchError, match="there are: 'payments', 'zebra'"):
                read("other")
        with pytest.raises(MismatchError, match="not in this ledger"):
            view.txid("other", 1)

    def test_status_is_where_it_stands(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = run.plan(), run.plan()
        run.together(first)
        found = ledger.view().status("payments")
        assert (found.name, found.incarnation, found.holder) == ("payments", run.owner.incarnation, "one")
        assert (found.done, found.pinned, found.live, found.last_txid, found.last_attempt) == (1, None, 1, 2, 2)
        assert (found.is_held, found.epoch, found.refusal, found.decisions) == (True, 1, None, ())
        ledger.refuse(run.owner, run.epoch, refusal_of(second))
        assert ledger.view().status("payments").needs_decision
        ledger.release("payments", run.epoch)
        assert not ledger.view().status("payments").is_held

    def test_progress_leads_from_the_starts_to_the_live_plans(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        view = ledger.view()
        assert view.progress("payments") == (_at(0, 5, 5), _at(1, 7, 7))
        first = run.plan()
        run.plan()
        assert view.progress("payments") == (_at(0, 5, 25), _at(1, 7, 27))
        run.together(first)
        assert view.progress("payments") == (_at(0, 15, 25), _at(1, 17, 27))
        ledger.plan(run.owner, run.epoch, None, drop_from=2)
        assert view.progress("payments") == (_at(0, 15, 15), _at(1, 17, 17))

    def test_batches_come_newest_first(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.finish(3)
        rows = ledger.view().batches("payments", 2)
        assert [(row.txid, row.attempt, row.records, row.commit_ms) for row in rows] == [(3, 3, 10, 3), (2, 2, 10, 3)]
        assert _without_moments(rows[0]) == BatchRow(
            "payments", run.owner.incarnation, 3, 3, 1, run.epoch.number, 10, 0, 2, 1, 2, 3, None
        )

    def test_a_batch_is_done_by_who_rolled_it_forward(self, ledger: AnyLedger) -> None:
        old = started(ledger)
        plan = old.plan()
        old.pin(plan)
        new = successor(old)
        new.done(plan)
        assert [row.epoch for row in ledger.view().batches("payments")] == [new.epoch.number]
        assert [row.epoch for row in ledger.view().txid("payments", 1).pin] == [old.epoch.number]

    def test_one_txid_with_all_that_is_kept(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.finish(1)
        dropped = plan_of(2, 2, 1, range_of(0, 20, 30), range_of(1, 17, 27), losses=[loss_of(0, 15, 20)])
        ledger.plan(run.owner, run.epoch, dropped)
        again = replace(dropped, attempt=3, tries=2)
        ledger.plan(run.owner, run.epoch, again, drop_from=2)
        pin = pin_of(again, dead_letter_of(21), dead_letter_of(20, None))
        ledger.commit_together(run.owner, run.epoch, pin, commit_of(again), (), ())
        story = ledger.view().txid("payments", 2)
        assert [(row.attempt, row.status, row.tries, row.ranges) for row in story.attempts] == [
            (2, "dropped", 1, dropped.ranges),
            (3, "done", 2, again.ranges),
        ]
        assert [(row.plan, row.manifests, row.states, row.attempt) for row in story.pin] == [
            (again, pin.manifests, pin.states, 3)
        ]
        assert [(row.attempt, row.status, row.start_offset, row.stop_offset, row.txid) for row in story.losses] == [
            (2, "dropped", 15, 20, 2),
            (3, "done", 15, 20, 2),
        ]
        assert [(row.record_offset, row.attempt, row.txid) for row in story.dead_letters] == [(20, 3, 2), (21, 3, 2)]
        assert [row.attempt for row in story.commit] == [3]
        assert (story.refusals, story.decisions, story.diverted) == ((), (), ())
        assert ledger.view().losses("payments") == story.losses[1:]
        assert ledger.view().dead_letters("payments") == story.dead_letters
        nothing = ledger.view().txid("payments", 9)
        assert all(getattr(nothing, field.name) == () for field in fields(nothing))

    def test_refusals_and_decisions(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        ledger.refuse(run.owner, run.epoch, refusal_of(run.plan()))
        before = ledger.view().txid("payments", 1)
        assert [(row.epoch, row.kind, row.state, row.settled_by) for row in before.refusals] == [
            (1, "refused", "balances", None)
        ]
        person = successor(run)
        ledger.decide(person.owner, person.epoch, replace(RETRY, txid=1, attempt=1, decided_by="me"))
        story = ledger.view().txid("payments", 1)
        assert [row.settled_by for row in story.refusals] == ["retry"]
        assert [(row.epoch, row.kind, row.decided_by, row.is_finished) for row in story.decisions] == [
            (2, "retry", "me", True)
        ]

    def test_rows_can_be_written_as_json(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        run.pin(plan)
        story = ledger.view().txid("payments", 1)
        attempt, pin = record_of(story.attempts[0]), record_of(story.pin[0])
        assert attempt["batch_time"] == plan.batch_time.isoformat()
        assert attempt["ranges"] == [
            {
                "spout": "in",
                "range": {
                    "id": {"topic": "t", "partition": number},
                    "topic_id": "id-t",
                    "start": start,
                    "stop": start + 10,
                    "epoch": None,
                },
            }
            for number, start in ((0, 5), (1, 7))
        ]
        assert isinstance(pin["plan"], dict)
        assert pin["plan"]["ranges"] == attempt["ranges"]

    def test_reading_changes_no_position(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.pin(run.plan())
        before = run.snapshot()
        view = ledger.view()
        view.status("payments")
        view.txid("payments", 1)
        view.progress("payments")
        assert run.snapshot() == before
        assert before.owner == Owner("payments", run.owner.incarnation)


def _at(partition: int, done: int, planned: int) -> PartitionProgress:
    return PartitionProgress("in", "t", partition, done, planned)


def _without_moments(row: BatchRow) -> BatchRow:
    return replace(row, done_at=None)
