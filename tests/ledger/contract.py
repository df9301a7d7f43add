"""What every ledger must do: inherited by one test class per kind, which gives the fixture `ledger`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from tests.ledger.decision_contract import RETRY, DecisionContract, refusal_of
from tests.ledger.error_contract import ErrorContract
from tests.ledger.evolution_contract import EvolutionContract
from tests.ledger.forgetting_contract import ForgettingLedgerContract
from tests.ledger.lifecycle_contract import LifeCycleContract
from tests.ledger.making import (
    LONG,
    SPEC,
    commit_of,
    dead_letter_of,
    loss_of,
    mark,
    marks_in,
    pin_of,
    plan_of,
    range_of,
    received_of,
    start_of,
    started,
    successor,
    taken_over,
    with_messages,
)
from tests.ledger.reapplying_contract import ReapplyingContract
from tests.ledger.renaming_contract import RenamingContract
from tests.ledger.taking_back_contract import TakingBackContract
from tests.ledger.view_contract import ViewContract
from trident.base.errors import FencedError, LeaseHeldError, MismatchError, RefusedError
from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import ResetDecision
from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from trident.coordinators.ledger.rules.progress import PlanStatus
from trident.coordinators.ledger.sql.tables import HEARTBEAT
from trident.coordinators.planned import ReceivedIds
from trident.coordinators.registered import Birth, Keep, Lease, TopologySpec

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger
NOTHING = Keep(0, timedelta(0))


class LifeContract:
    """The life of batches, and what a new owner reads of it."""

    def test_a_new_topology_is_at_its_birth(self, ledger: AnyLedger) -> None:
        epoch = ledger.acquire("payments", Lease("one", LONG)).epoch
        found = ledger.register(epoch, SPEC)
        assert (found.birth_txid, found.done, found.done_attempt, found.last_txid, found.last_attempt) == (
            0,
            0,
            0,
            0,
            0,
        )
        assert (found.done_plan, found.pin, found.live, found.starts, found.open_reset) == (None, None, (), None, None)
        assert ledger.register(epoch, SPEC) == found

    def test_plan_pin_done(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = run.plan(), run.plan()
        assert run.snapshot().live == (first, second)
        run.pin(first)
        found = run.snapshot()
        assert found.pin == pin_of(first)
        assert (found.done, found.live) == (0, (first, second))
        run.done(first)
        found = run.snapshot()
        assert (found.done, found.done_attempt, found.done_plan, found.pin) == (1, first.attempt, first, None)
        assert (found.live, found.last_txid, found.last_attempt) == ((second,), 2, second.attempt)

    def test_commit_together(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = run.plan(), run.plan()
        run.together(first)
        run.together(second)
        found = run.snapshot()
        assert (found.done, found.done_attempt, found.done_plan, found.pin, found.live) == (2, 2, second, None, ())

    def test_offsets_txids_and_attempts_are_wide(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        far = 2**40
        plan = plan_of(1, far, 0, range_of(0, 5, far), range_of(1, 7, far))
        ledger.plan(run.owner, run.epoch, plan)
        run.together(plan)
        decision = ResetDecision("far", far, "adopt", None)
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        owner = Owner("payments", "far")
        ledger.set_starts(owner, run.epoch, [start_of(0, far)])
        ledger.plan(owner, run.epoch, plan_of(far + 1, far + 1, 0, range_of(0, far, far * 2)))
        assert run.snapshot().last_txid == far + 1

    def test_losses_lead_from_the_stop_to_the_start_and_count_with_their_attempt(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first = run.plan()
        lossy = plan_of(2, 2, 1, range_of(0, 20, 30), range_of(1, 17, 27), losses=[loss_of(0, 15, 20)])
        ledger.plan(run.owner, run.epoch, lossy)
        assert ledger.losses("payments", PlanStatus.LIVE) == lossy.losses
        again = replace(lossy, attempt=3, tries=2)
        ledger.plan(run.owner, run.epoch, again, drop_from=2)
        assert ledger.losses("payments", PlanStatus.DROPPED) == lossy.losses
        run.together(first)
        run.pin(again)
        run.done(again)
        assert ledger.losses("payments") == lossy.losses
        assert ledger.losses("payments", PlanStatus.LIVE) == ()

    def test_dead_letters_are_part_of_the_pin_and_stay(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = run.plan(), run.plan()
        letters = (dead_letter_of(6), dead_letter_of(7, None))
        ledger.commit_together(run.owner, run.epoch, pin_of(first, *letters), commit_of(first), (), ())
        ledger.pin(run.owner, run.epoch, pin_of(second, dead_letter_of(16)))
        found = run.snapshot().pin
        assert found is not None
        assert found.dead_letters == (dead_letter_of(16),)
        assert ledger.dead_letters("payments") == (*letters, dead_letter_of(16))

    def test_last_plan_of_knows_dropped_attempts(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        assert ledger.last_plan_of(run.owner, 1) is None
        first = run.plan()
        ledger.plan(run.owner, run.epoch, None, drop_from=1)
        assert ledger.last_plan_of(run.owner, 1) == first
        other = plan_of(1, 2, 0, range_of(0, 5, 6), range_of(1, 7, 8), tries=2)
        ledger.plan(run.owner, run.epoch, other)
        assert ledger.last_plan_of(run.owner, 1) == other
        assert ledger.last_plan_of(Owner("payments", "other"), 1) is None

    def test_new_partitions_start_at_zero_or_after_a_loss(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        old = (range_of(0, 5, 15), range_of(1, 7, 17))
        with pytest.raises(MismatchError, match="instead of 0"):
            ledger.plan(run.owner, run.epoch, plan_of(1, 1, 0, *old, range_of(2, 3, 4)))
        found = plan_of(1, 1, 0, *old, range_of(2, 3, 4), losses=[loss_of(2, 0, 3)])
        ledger.plan(run.owner, run.epoch, found)
        run.together(found)

    def test_timers_and_received_ids_are_kept_with_the_plan(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        due = with_messages(with_messages(run.next_plan(0), 0, "a", "b"), 0, "ä", spout="other")
        due = replace(due, timers=("window", "day"))
        ledger.plan(run.owner, run.epoch, due)
        ledger.plan(run.owner, run.epoch, due)
        run.follow(due)
        assert run.snapshot().live == (due,)
        assert ledger.last_plan_of(run.owner, 1) == due
        (row,) = ledger.view().txid("payments", 1).attempts
        assert (row.timers, row.received) == (due.timers, due.received)
        run.pin(due)
        assert run.snapshot().pin == pin_of(due)
        run.done(due)
        assert run.snapshot().done_plan == due
        following = with_messages(with_messages(run.next_plan(), 2, "c"), 1, spout="other")
        ledger.plan(run.owner, run.epoch, following)
        run.together(following)
        assert run.snapshot().done_plan == following

    def test_a_plan_without_any_range_follows(self, ledger: AnyLedger) -> None:
        run = taken_over(ledger, "one")
        ledger.set_starts(run.owner, run.epoch, [])
        first = replace(plan_of(1, 1, 0), timers=("day",))
        second = replace(plan_of(2, 2, 1), timers=("day",))
        for plan in (first, second):
            ledger.plan(run.owner, run.epoch, plan)
            run.together(plan)
        assert run.snapshot().done_plan == second

    def test_the_messages_that_are_done_are_known_newest_last(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        assert ledger.done_ids("payments", "queue", 9) == {}
        for start, ids in ((0, ("a", "b")), (2, ()), (2, ("c", "d", "ä"))):
            plan = with_messages(run.next_plan(), start, *ids)
            ledger.plan(run.owner, run.epoch, plan)
            run.follow(plan)
            run.together(plan)
        dropped = with_messages(run.next_plan(), 5, "lost")
        ledger.plan(run.owner, run.epoch, dropped)
        ledger.plan(run.owner, run.epoch, None, drop_from=4)
        live = with_messages(run.next_plan(), 5, "e")
        ledger.plan(run.owner, run.epoch, live)
        run.pin(live)
        assert tuple(ledger.done_ids("payments", "queue", 99)) == ("a", "b", "c", "d", "ä"), (
            "what is only pinned is not done"
        )
        run.done(live)
        known = ("a", "b", "c", "d", "ä", "e")
        assert [tuple(ledger.done_ids("payments", "queue", most)) for most in range(8)] == [
            known[len(known) - min(most, len(known)) :] for most in range(8)
        ]
        assert ledger.done_ids("payments", "other", 9) == ledger.done_ids("orders", "queue", 9) == {}

    def test_the_digests_of_messages_are_known_with_their_ids(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        for start, ids, bodies in ((0, ("a", "b"), ("1", "")), (2, ("c",), ())):
            plan = with_messages(run.next_plan(), start, *ids)
            plan = replace(plan, received=(replace(plan.received[0], bodies=bodies),))
            ledger.plan(run.owner, run.epoch, plan)
            run.follow(plan)
            run.together(plan)
        assert run.snapshot().done_plan == plan
        assert list(ledger.done_ids("payments", "queue", 9).items()) == [("a", "1"), ("b", ""), ("c", "")]

    @pytest.mark.parametrize(
        ("resets", "known"),
        [
            (("adopt resume",), ("a", "b")),
            (("adopt earliest",), ()),
            (("clear resume",), ()),
            (("clear resume", "adopt resume"), ()),
            (("adopt resume", "adopt resume"), ("a", "b")),
        ],
    )
    def test_messages_are_known_as_long_as_the_rows_have_them(
        self, ledger: AnyLedger, resets: tuple[str, ...], known: tuple[str, ...]
    ) -> None:
        run = started(ledger)
        plan = with_messages(run.next_plan(), 0, "a", "b")
        ledger.plan(run.owner, run.epoch, plan)
        run.together(plan)
        for number, (states, start) in enumerate(map(str.split, resets)):
            decision = ResetDecision(f"life {number}", 2 + number, states, start, streams=("in", "queue"))
            ledger.decide_reset(run.epoch, "payments", decision)
            ledger.finish_reset(run.epoch, "payments", decision)
        assert tuple(ledger.done_ids("payments", "queue", 9)) == known


class GuardContract:
    """Each guard refuses, and a refused call changes nothing."""

    @pytest.mark.parametrize(
        ("wrong", "word"),
        [
            (plan_of(3, 2, 1, range_of(0, 15, 25), range_of(1, 17, 27)), "2 is the next"),
            (plan_of(2, 1, 1, range_of(0, 15, 25), range_of(1, 17, 27)), "used before"),
            (plan_of(2, 2, 7, range_of(0, 15, 25), range_of(1, 17, 27)), "predecessor"),
            (plan_of(2, 2, 1, range_of(0, 16, 25), range_of(1, 17, 27)), "instead of 15"),
            (plan_of(2, 2, 1, range_of(0, 14, 25), range_of(1, 17, 27)), "instead of 15"),
            (plan_of(2, 2, 1, range_of(0, 15, 25)), "leaves out partition 1"),
            (plan_of(2, 2, 1, range_of(0, 15, 25, "new"), range_of(1, 17, 27)), "topic id new"),
            (plan_of(2, 2, 1, range_of(0, 15, 14), range_of(1, 17, 27)), "no valid range"),
            (plan_of(2, 2, 1, range_of(0, 15, 25), range_of(0, 15, 25), range_of(1, 17, 27)), "twice"),
            (plan_of(2, 2, 1, range_of(0, 15, 25), range_of(1, 17, 27), losses=[loss_of(0, 15, 20)]), "instead of 20"),
            (
                plan_of(2, 2, 1, range_of(0, 20, 25), range_of(1, 17, 27), losses=[loss_of(0, 16, 20)]),
                "but it is at 15",
            ),
            (plan_of(2, 2, 1, range_of(0, 15, 25), range_of(1, 17, 27), losses=[loss_of(9, 0, 2)]), "no range of"),
        ],
    )
    def test_a_plan_that_does_not_follow_is_refused(self, ledger: AnyLedger, wrong: object, word: str) -> None:
        run = started(ledger)
        first = run.plan()
        with pytest.raises(MismatchError, match=word):
            ledger.plan(run.owner, run.epoch, wrong)  # type: ignore[arg-type]
        assert run.snapshot().live == (first,)
        assert run.snapshot().last_attempt == 1
        assert ledger.losses("payments", PlanStatus.LIVE) == ()

    @pytest.mark.parametrize(
        ("timers", "received", "word"),
        [
            (("day", "day"), (), "a timer twice"),
            ((), (received_of("b"), received_of("c")), "beside other ids"),
            ((), (received_of("b", spout="in"),), "1 ids of stream 'in' for 20 positions"),
            ((), (received_of("b"),), "1 ids of stream 'queue' for 2 positions"),
            ((), (), "messages of stream 'queue' without their ids"),
            ((), (received_of("b", "b"),), "has already"),
            ((), (received_of("b", "a"),), "has already"),
            ((), (replace(received_of("b"), ids=("b", "c")),), "2 ids of stream 'queue' and a digest of 1"),
        ],
    )
    def test_received_ids_that_do_not_follow_are_refused(
        self, ledger: AnyLedger, timers: tuple[str, ...], received: tuple[ReceivedIds, ...], word: str
    ) -> None:
        run = started(ledger)
        first = with_messages(run.next_plan(), 0, "a")
        ledger.plan(run.owner, run.epoch, first)
        run.follow(first)
        following = replace(with_messages(run.next_plan(), 1, "x", "y"), timers=timers, received=received)
        with pytest.raises(MismatchError, match=word):
            ledger.plan(run.owner, run.epoch, following)
        assert run.snapshot().live == (first,)

    def test_attempts_are_never_reused(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        ledger.plan(run.owner, run.epoch, None, drop_from=1)
        with pytest.raises(MismatchError, match="was dropped"):
            ledger.plan(run.owner, run.epoch, plan)
        with pytest.raises(MismatchError, match="never reused"):
            ledger.plan(run.owner, run.epoch, replace(plan, ranges=(range_of(0, 5, 6), range_of(1, 7, 8))))
        with pytest.raises(MismatchError, match="not above"):
            ledger.plan(run.owner, run.epoch, replace(plan, attempt=0))

    def test_nothing_is_planned_before_the_starts_are_stored(self, ledger: AnyLedger) -> None:
        epoch = ledger.acquire("payments", Lease("one", LONG)).epoch
        owner = ledger.register(epoch, SPEC).owner
        with pytest.raises(MismatchError, match="before the start positions"):
            ledger.plan(owner, epoch, plan_of(1, 1, 0, range_of(0, 0, 1)))
        assert ledger.register(epoch, SPEC).live == ()

    def test_the_first_plan_has_every_partition_at_its_start(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        with pytest.raises(MismatchError, match="leaves out"):
            ledger.plan(run.owner, run.epoch, plan_of(1, 1, 0, range_of(0, 5, 6)))
        with pytest.raises(MismatchError, match="instead of 7"):
            ledger.plan(run.owner, run.epoch, plan_of(1, 1, 0, range_of(0, 5, 6), range_of(1, 0, 6)))

    def test_a_drop_and_its_new_plan_are_one(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plans = (run.plan(), run.plan(), run.plan())
        with pytest.raises(MismatchError):
            ledger.plan(run.owner, run.epoch, plan_of(3, 4, 1, range_of(0, 15, 16), range_of(1, 17, 18)), drop_from=2)
        assert run.snapshot().live == plans
        new = plan_of(2, 4, 1, range_of(0, 15, 16), range_of(1, 17, 18), tries=2)
        ledger.plan(run.owner, run.epoch, new, drop_from=2)
        assert run.snapshot().live == (plans[0], new)

    def test_pinned_and_done_txids_are_not_dropped(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = run.plan(), run.plan()
        run.pin(first)
        with pytest.raises(MismatchError, match="is pinned"):
            ledger.plan(run.owner, run.epoch, None, drop_from=1)
        assert run.snapshot().live == (first, second)
        run.done(first)
        with pytest.raises(MismatchError, match="is done"):
            ledger.plan(run.owner, run.epoch, None, drop_from=1)
        ledger.plan(run.owner, run.epoch, None, drop_from=2)
        assert run.snapshot().live == ()

    def test_a_pin_needs_the_txid_before_to_be_done(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = run.plan(), run.plan()
        with pytest.raises(MismatchError, match="0 is done"):
            run.pin(second)
        with pytest.raises(MismatchError, match="0 is done"):
            run.together(second)
        run.pin(first)
        with pytest.raises(MismatchError, match="txid 1 is"):
            run.pin(second)
        with pytest.raises(MismatchError, match="txid 1 is"):
            run.together(second)
        assert run.snapshot().done == 0

    def test_a_pin_needs_the_live_attempt(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        old = run.plan()
        new = replace(old, attempt=2, tries=2)
        ledger.plan(run.owner, run.epoch, new, drop_from=1)
        for call in (run.pin, run.together):
            with pytest.raises(MismatchError, match="attempt 1 at txid 1 is not live"):
                call(old)
            with pytest.raises(MismatchError, match="attempt 9 at txid 1 is not live"):
                call(replace(old, attempt=9))
        run.pin(new)

    def test_a_pin_carries_the_stored_plan(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        other = replace(plan, ranges=(range_of(0, 5, 14), range_of(1, 7, 17)))
        for call in (run.pin, run.together):
            with pytest.raises(MismatchError, match="another plan"):
                call(other)
        assert run.snapshot().pin is None

    def test_a_pin_follows_what_is_done(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = run.plan(), run.plan()
        run.together(first)
        for call in (run.pin, run.together):
            with pytest.raises(MismatchError, match="another plan"):
                call(replace(second, predecessor=9))
        run.pin(second)

    def test_done_needs_the_pin_of_the_same_attempt(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        with pytest.raises(MismatchError, match="nothing is pinned"):
            run.done(plan)
        run.pin(plan)
        with pytest.raises(MismatchError, match="txid 1 attempt 1 is pinned"):
            run.done(replace(plan, attempt=2))
        with pytest.raises(MismatchError, match="txid 1 attempt 1 is pinned"):
            run.done(replace(plan, txid=2))
        assert run.snapshot().done == 0

    def test_pin_and_commit_speak_of_one_attempt(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first, second = run.plan(), run.plan()
        with pytest.raises(MismatchError, match="the commit of txid 2"):
            ledger.commit_together(run.owner, run.epoch, pin_of(first), commit_of(second), (), ())

    def test_another_incarnation_writes_nothing(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        stranger = Owner("payments", "other")
        calls: list[Callable[[], object]] = [
            lambda: ledger.plan(stranger, run.epoch, run.next_plan()),
            lambda: ledger.plan(stranger, run.epoch, None, 1),
            lambda: ledger.pin(stranger, run.epoch, pin_of(plan)),
            lambda: ledger.done(stranger, run.epoch, commit_of(plan)),
            lambda: ledger.commit_together(stranger, run.epoch, pin_of(plan), commit_of(plan), (), ()),
            lambda: ledger.set_starts(stranger, run.epoch, [start_of(2, 2)]),
            lambda: ledger.set_births(stranger, run.epoch, [Birth("new", 1)]),
            lambda: ledger.clean_up(stranger, run.epoch, NOTHING),
            lambda: ledger.refuse(stranger, run.epoch, refusal_of(plan)),
            lambda: ledger.decide(stranger, run.epoch, RETRY),
            lambda: ledger.divert(stranger, run.epoch, RETRY, ()),
            lambda: ledger.unpin(stranger, run.epoch, RETRY),
        ]
        for call in calls:
            with pytest.raises(MismatchError, match="reset meanwhile"):
                call()
        assert run.snapshot().live == (plan,)


class RepeatContract:
    """A call whose answer was lost is repeated, and changes nothing more."""

    def test_plans(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first = run.plan()
        second = run.next_plan()
        for _ in range(2):
            ledger.plan(run.owner, run.epoch, second)
        new = replace(second, attempt=3, tries=2)
        for _ in range(2):
            ledger.plan(run.owner, run.epoch, new, drop_from=2)
        for _ in range(2):
            ledger.plan(run.owner, run.epoch, None, drop_from=3)
        assert run.snapshot().live == (first, new)

    def test_pins_and_dones(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        pin = pin_of(plan, dead_letter_of(6))
        for _ in range(2):
            ledger.pin(run.owner, run.epoch, pin)
        for _ in range(2):
            run.done(plan)
        ledger.pin(run.owner, run.epoch, pin)
        found = run.snapshot()
        assert (found.done, found.pin) == (1, None)
        assert ledger.dead_letters("payments") == (dead_letter_of(6),)

    def test_a_repeat_with_other_contents_is_refused(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        run.pin(plan)
        for other in (
            replace(pin_of(plan), manifests=()),
            replace(pin_of(plan), states=()),
            pin_of(plan, dead_letter_of(5)),
        ):
            with pytest.raises(MismatchError, match="other manifests"):
                ledger.pin(run.owner, run.epoch, other)
        run.done(plan)
        with pytest.raises(MismatchError, match="is done with attempt 1"):
            run.done(replace(plan, attempt=2))
        with pytest.raises(MismatchError, match="is done with attempt 1"):
            run.pin(replace(plan, attempt=2))

    def test_commits_together_apply_once(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        applied: list[str] = []
        for _ in range(2):
            ledger.commit_together(
                run.owner,
                run.epoch,
                pin_of(plan),
                commit_of(plan),
                [lambda _: applied.append("copy")],
                [lambda _: applied.append("apply")],
            )
        assert applied == ["copy", "apply"]
        other = replace(plan, attempt=2)
        with pytest.raises(MismatchError, match="is done with attempt 1"):
            ledger.commit_together(
                run.owner, run.epoch, pin_of(other), commit_of(other), (), [lambda _: applied.append("again")]
            )
        assert applied == ["copy", "apply"]

    def test_an_apply_that_fails_leaves_nothing(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()

        def refuse(_: object) -> None:
            raise RefusedError("too large")

        with pytest.raises(RefusedError):
            ledger.commit_together(run.owner, run.epoch, pin_of(plan), commit_of(plan), (), [refuse])
        assert run.snapshot().done == 0
        run.together(plan)
        assert run.snapshot().done == 1

    def test_a_pin_applies_what_is_beside_it_once(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        said: list[str] = []

        def apply(transaction: object) -> None:
            said.append("apply")
            mark(transaction)

        for _ in range(2):
            ledger.pin(run.owner, run.epoch, pin_of(plan), [lambda _: said.append("copy")], [apply])
            assert run.snapshot().pin == pin_of(plan)
        assert said[:2] == ["copy", "apply"]
        assert marks_in(ledger) == 1
        run.done(plan)
        ledger.pin(run.owner, run.epoch, pin_of(plan), (), [apply])
        assert marks_in(ledger) == 1

    def test_a_pin_whose_apply_fails_is_none_and_leaves_nothing(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()

        def refuse(transaction: object) -> None:
            mark(transaction)
            raise RefusedError("too large")

        with pytest.raises(RefusedError):
            ledger.pin(run.owner, run.epoch, pin_of(plan), (), [refuse])
        assert run.snapshot().pin is None
        assert marks_in(ledger) == 0
        ledger.pin(run.owner, run.epoch, pin_of(plan), (), [mark])
        assert run.snapshot().pin == pin_of(plan)
        assert marks_in(ledger) == 1

    def test_a_pin_that_is_refused_rolls_back_what_was_applied_with_it(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        with pytest.raises(MismatchError, match="carries another plan"):
            ledger.pin(run.owner, run.epoch, replace(pin_of(plan), plan=replace(plan, tries=9)), (), [mark])
        assert marks_in(ledger) == 0
        new = successor(run)
        with pytest.raises(FencedError):
            ledger.pin(run.owner, run.epoch, pin_of(plan), (), [mark])
        assert marks_in(ledger) == 0
        assert new.snapshot().pin is None

    def test_births(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        assert run.snapshot().births == ()
        for _ in range(2):
            ledger.set_births(run.owner, run.epoch, [Birth("one", 3)])
        ledger.set_births(run.owner, run.epoch, [Birth("another", 5)])
        with pytest.raises(MismatchError, match="'one' was born at txid 3 already, not at 4"):
            ledger.set_births(run.owner, run.epoch, [Birth("one", 4)])
        assert run.snapshot().births == (Birth("another", 5), Birth("one", 3))
        assert ledger.view().status("payments").births == (Birth("another", 5), Birth("one", 3))

    def test_start_positions(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        starts = [start_of(1, 7), start_of(0, 5)]
        ledger.set_starts(run.owner, run.epoch, starts)
        for other in ([start_of(0, 5), start_of(1, 8)], [start_of(0, 5)], [*starts, start_of(2, 0)]):
            with pytest.raises(MismatchError, match="stored already"):
                ledger.set_starts(run.owner, run.epoch, other)
        ledger.set_starts(run.owner, run.epoch, [*starts, start_of(0, 9, "new")])
        found = run.snapshot().starts
        assert found == (start_of(0, 5), start_of(1, 7), start_of(0, 9, "new"))


class FencingContract:
    """A newer epoch refuses every write of an older one."""

    def test_every_write_of_an_old_epoch_is_refused(self, ledger: AnyLedger) -> None:
        old = started(ledger)
        old.finish(2)
        plan = old.plan()
        new = successor(old)
        before = new.snapshot()
        decision = ResetDecision("later", 9, "clear", None)
        applied: list[str] = []
        calls: list[Callable[[], object]] = [
            lambda: ledger.renew("payments", old.epoch),
            lambda: ledger.register(old.epoch, SPEC),
            lambda: ledger.set_starts(old.owner, old.epoch, [start_of(0, 0, "new")]),
            lambda: ledger.set_births(old.owner, old.epoch, [Birth("new", 1)]),
            lambda: ledger.plan(old.owner, old.epoch, old.next_plan()),
            lambda: ledger.plan(old.owner, old.epoch, None, drop_from=3),
            lambda: old.pin(plan),
            lambda: old.done(plan),
            lambda: ledger.commit_together(
                old.owner, old.epoch, pin_of(plan), commit_of(plan), (), [lambda _: applied.append("apply")]
            ),
            lambda: ledger.clean_up(old.owner, old.epoch, NOTHING),
            lambda: ledger.decide_reset(old.epoch, "payments", decision),
            lambda: ledger.finish_reset(old.epoch, "payments", decision),
            lambda: ledger.snapshot(old.epoch, "payments"),
            lambda: ledger.refuse(old.owner, old.epoch, refusal_of(plan)),
            lambda: ledger.decide(old.owner, old.epoch, RETRY),
            lambda: ledger.divert(old.owner, old.epoch, RETRY, ()),
            lambda: ledger.unpin(old.owner, old.epoch, RETRY),
            lambda: ledger.last_done(old.owner, old.epoch),
            lambda: ledger.take_back(old.owner, old.epoch, RETRY),
            lambda: ledger.divert_refused(old.owner, old.epoch, RETRY, (), pin_of(plan).states[0]),
            lambda: ledger.taken_out(old.owner, old.epoch, 1, ["new"]),
            lambda: ledger.drop(old.owner, old.epoch, RETRY),
            lambda: ledger.decide_forget(old.owner, old.epoch, RETRY),
            lambda: ledger.let_go_of(old.owner, old.epoch, RETRY, "new"),
            lambda: ledger.forget(old.owner, old.epoch, RETRY),
            lambda: ledger.described(old.epoch, "payments"),
            lambda: ledger.rename(old.owner, old.epoch, RETRY, {"new": "newer"}),
            lambda: ledger.take_commands(old.owner, old.epoch),
            lambda: ledger.report(old.owner, old.epoch, []),
        ]
        for call in calls:
            with pytest.raises(FencedError, match=r"epoch 1 is not the stored one \(2\)"):
                call()
        assert new.snapshot() == before

    def test_who_holds_a_topology_is_asked_and_kept_in_a_transaction_of_its_database(self, ledger: AnyLedger) -> None:
        old = started(ledger)
        ledger.require_held("payments", old.epoch)
        plan = old.plan()
        with ledger.database.transaction() as transaction:
            ledger.require_held("payments", old.epoch, transaction)
        successor(old)
        for epoch in (old.epoch, Epoch(2, "0" * 32)):
            with pytest.raises(FencedError):
                ledger.require_held("payments", epoch)
            with pytest.raises(FencedError), ledger.database.transaction() as transaction:
                ledger.require_held("payments", epoch, transaction)
        assert plan.txid == 1

    def test_the_token_counts_like_the_number(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        run.epoch = Epoch(run.epoch.number, "0" * 32)
        with pytest.raises(FencedError):
            run.pin(plan)
        with pytest.raises(FencedError):
            ledger.renew("payments", run.epoch)

    def test_what_an_older_epoch_left_unpinned_is_not_adopted(self, ledger: AnyLedger) -> None:
        old = started(ledger)
        first, second = old.plan(), old.plan()
        new = successor(old)
        for call in (new.pin, new.together):
            with pytest.raises(MismatchError, match="planned by epoch 1"):
                call(first)
        following = plan_of(3, 9, second.attempt, range_of(0, 25, 26), range_of(1, 27, 28))
        with pytest.raises(MismatchError, match="must drop it"):
            ledger.plan(new.owner, new.epoch, following)
        ledger.plan(new.owner, new.epoch, replace(first, attempt=3, tries=2), drop_from=1)
        new.together(replace(first, attempt=3, tries=2))

    def test_a_pin_of_an_older_epoch_is_rolled_forward(self, ledger: AnyLedger) -> None:
        old = started(ledger)
        first, second = old.plan(), old.plan()
        old.pin(first)
        new = successor(old)
        found = new.snapshot()
        assert (found.pin, found.live) == (pin_of(first), (first, second))
        ledger.plan(new.owner, new.epoch, replace(second, attempt=3, tries=2), drop_from=2)
        new.done(first)
        new.together(replace(second, attempt=3, tries=2))
        assert new.snapshot().done == 2


class LeaseContract:
    """One coordinator at a time."""

    def lapse(self, ledger: AnyLedger, seconds: float) -> None:
        """Let time pass without waiting: heartbeats are as if they had come earlier."""
        assert not isinstance(ledger, MemoryLedger)
        with ledger.database.transaction() as transaction:
            for row in transaction.connection.execute(select(HEARTBEAT)).all():
                earlier = row.beat_at - timedelta(seconds=seconds)
                transaction.connection.execute(
                    update(HEARTBEAT).where(HEARTBEAT.c.topology == row.topology).values(beat_at=earlier)
                )

    def test_a_fresh_lease_is_held(self, ledger: AnyLedger) -> None:
        first = ledger.acquire("payments", Lease("host-a", LONG))
        assert (first.epoch.number, first.previous_holder) == (1, None)
        with pytest.raises(LeaseHeldError, match=r"held by host-a, whose lease ends in \d+\.\d s"):
            ledger.acquire("payments", Lease("host-b", LONG))
        with pytest.raises(LeaseHeldError):
            ledger.acquire("payments", Lease("host-a", LONG))
        ledger.renew("payments", first.epoch)
        assert ledger.acquire("other", Lease("host-b", LONG)).epoch.number == 1

    def test_a_released_lease_is_free(self, ledger: AnyLedger) -> None:
        first = ledger.acquire("payments", Lease("host-a", LONG)).epoch
        ledger.release("payments", first)
        with pytest.raises(FencedError, match="released"):
            ledger.renew("payments", first)
        second = ledger.acquire("payments", Lease("host-b", LONG))
        assert (second.epoch.number, second.previous_holder) == (2, "host-a")
        assert second.epoch.token != first.token
        ledger.release("payments", first)
        with pytest.raises(LeaseHeldError, match="host-b"):
            ledger.acquire("payments", Lease("host-c", LONG))

    def test_a_lease_ends_unless_it_is_renewed(self, ledger: AnyLedger) -> None:
        first = ledger.acquire("payments", Lease("host-a", timedelta(seconds=300))).epoch
        self.lapse(ledger, 200)
        ledger.renew("payments", first)
        self.lapse(ledger, 200)
        with pytest.raises(LeaseHeldError):
            ledger.acquire("payments", Lease("host-b", LONG))
        self.lapse(ledger, 200)
        assert ledger.acquire("payments", Lease("host-b", LONG)).epoch.number == 2
        with pytest.raises(FencedError):
            ledger.renew("payments", first)

    def test_a_lease_that_ran_out_is_free_by_the_clock(self, ledger: AnyLedger) -> None:
        ledger.acquire("payments", Lease("host-a", timedelta(seconds=0.05)))
        self.wait(0.1)
        assert ledger.acquire("payments", Lease("host-b", LONG)).previous_holder == "host-a"

    @pytest.mark.parametrize("is_known", [True, False])
    def test_an_epoch_is_raised_above_what_is_known_elsewhere(self, ledger: AnyLedger, is_known: bool) -> None:
        far = 2**40
        if is_known:
            ledger.release("payments", ledger.acquire("payments", Lease("host-a", LONG)).epoch)
        first = ledger.acquire("payments", Lease("host-b", LONG), far).epoch
        assert first.number == far + 1
        with pytest.raises(LeaseHeldError, match="host-b"):
            ledger.acquire("payments", Lease("host-c", LONG), far * 2)
        ledger.renew("payments", first)
        ledger.release("payments", first)
        second = ledger.acquire("payments", Lease("host-c", LONG), 7).epoch
        assert (second.number, second.line) == (far + 2, first.line)
        with pytest.raises(FencedError):
            ledger.renew("payments", first)

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


class RegistryContract:
    """Names and kinds stay what they were."""

    @pytest.mark.parametrize(
        ("spec", "words"),
        [
            (TopologySpec("payments", {}, SPEC.states), ["stream 'in'", "topic: t", "gone"]),
            (TopologySpec("payments", {"renamed": SPEC.spouts["in"]}, SPEC.states), ["'in'", "gone", "'renamed'"]),
            (TopologySpec("payments", SPEC.spouts, {}), ["state 'balances'", "kind: opaque", "gone"]),
            (
                TopologySpec("payments", SPEC.spouts, {"balances": {"kind": "transactional"}}),
                ["stored as {kind: opaque}", "now {kind: transactional}"],
            ),
        ],
    )
    def test_a_changed_topology_is_refused_with_both_versions(
        self, ledger: AnyLedger, spec: TopologySpec, words: list[str]
    ) -> None:
        run = started(ledger)
        with pytest.raises(MismatchError) as caught:
            ledger.register(run.epoch, spec)
        for word in words:
            assert word in str(caught.value)
        assert run.snapshot().owner == run.owner

    def test_what_was_added_is_stored(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        more = TopologySpec("payments", {**SPEC.spouts, "new": {"kind": "opaque"}}, {**SPEC.states, "more": {}})
        assert ledger.register(run.epoch, more).owner == run.owner
        with pytest.raises(MismatchError, match="stream 'new'"):
            ledger.register(run.epoch, SPEC)

    def test_topologies_do_not_meet(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.plan()
        epoch = ledger.acquire("other", Lease("one", LONG)).epoch
        other = ledger.register(epoch, replace(SPEC, name="other"))
        assert (other.live, other.last_attempt) == ((), 0)
        assert other.owner.incarnation != run.owner.incarnation

    def test_an_unknown_topology_writes_nothing(self, ledger: AnyLedger) -> None:
        epoch = ledger.acquire("payments", Lease("one", LONG)).epoch
        with pytest.raises(MismatchError, match="not registered"):
            ledger.plan(Owner("payments", "x"), epoch, None, 1)
        with pytest.raises(FencedError):
            ledger.register(epoch, replace(SPEC, name="other"))


class RetentionContract:
    """History goes; what is needed to go on stays."""

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def test_the_last_done_plan_stays_whatever_keep_says(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.finish(4)
        live = run.plan()
        self.wait(0.01)
        assert ledger.clean_up(run.owner, run.epoch, NOTHING) == 9
        assert ledger.clean_up(run.owner, run.epoch, NOTHING) == 0
        found = successor(run).snapshot()
        assert found.done_plan is not None
        assert (found.done, found.done_plan.txid, found.live) == (4, 4, (live,))
        assert (found.starts, found.last_attempt) == ((start_of(0, 5), start_of(1, 7)), 5)
        assert ledger.last_plan_of(run.owner, 3) is None

    def test_count_and_age_both_keep(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.finish(5)
        self.wait(0.01)
        assert ledger.clean_up(run.owner, run.epoch, Keep(1, timedelta(hours=1))) == 0
        assert ledger.clean_up(run.owner, run.epoch, Keep(5, timedelta(0))) == 0
        assert ledger.clean_up(run.owner, run.epoch, Keep(3, timedelta(0))) == 6
        assert ledger.last_plan_of(run.owner, 2) is None
        assert ledger.last_plan_of(run.owner, 3) is not None

    def test_dropped_attempts_go_with_their_txid_and_losses_stay(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        lossy = plan_of(1, 1, 0, range_of(0, 9, 15), range_of(1, 7, 17), losses=[loss_of(0, 5, 9)])
        ledger.plan(run.owner, run.epoch, lossy)
        again = replace(lossy, attempt=2, tries=2)
        ledger.plan(run.owner, run.epoch, again, drop_from=1)
        ledger.commit_together(run.owner, run.epoch, pin_of(again, dead_letter_of(9)), commit_of(again), (), ())
        run.follow(again)
        run.finish(1)
        self.wait(0.01)
        assert ledger.clean_up(run.owner, run.epoch, NOTHING) == 4
        assert ledger.losses("payments") == lossy.losses
        assert ledger.losses("payments", PlanStatus.DROPPED) == lossy.losses
        assert ledger.dead_letters("payments") == (dead_letter_of(9),)
        run.finish(1)


class ResetContract:
    """A new incarnation is a decision first, then a fact."""

    def test_decide_and_finish(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.finish(2)
        run.plan()
        decision = ResetDecision("second", 3, "clear", "earliest")
        for _ in range(2):
            ledger.decide_reset(run.epoch, "payments", decision)
        found = run.snapshot()
        assert (found.open_reset, found.owner) == (decision, run.owner)
        with pytest.raises(MismatchError, match="is not finished"):
            run.plan()
        for _ in range(2):
            ledger.finish_reset(run.epoch, "payments", decision)
        found = run.snapshot()
        assert (found.owner.incarnation, found.birth_txid, found.done, found.done_attempt) == ("second", 3, 3, 0)
        assert (found.done_plan, found.live, found.starts, found.open_reset) == (None, (), None, None)
        assert (found.last_txid, found.last_attempt) == (3, 3)
        with pytest.raises(MismatchError, match="reset meanwhile"):
            ledger.plan(run.owner, run.epoch, None, 3)
        ledger.set_starts(found.owner, run.epoch, [start_of(0, 0)])
        first = plan_of(4, 4, 0, range_of(0, 0, 1))
        ledger.plan(found.owner, run.epoch, first)
        ledger.commit_together(found.owner, run.epoch, pin_of(first), commit_of(first), (), ())
        assert run.snapshot().done == 4

    def test_every_known_state_is_born_with_a_new_incarnation(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        ledger.set_births(run.owner, run.epoch, [Birth("balances", 0)])
        decision = ResetDecision("second", 3, "clear", "latest", ("in",))
        ledger.decide_reset(run.epoch, "payments", decision)
        new = successor(run)
        assert new.snapshot().open_reset == decision
        ledger.finish_reset(new.epoch, "payments", decision)
        found = new.snapshot()
        assert found.births == (Birth("balances", 3),)
        assert found.reset == decision
        assert (found.start_of("in"), found.start_of("added later")) == ("latest", None)

    def test_a_resumed_incarnation_starts_where_the_one_before_had_stopped(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        first = run.plan()
        run.together(first)
        run.plan()  # is dropped: nothing of it is done
        decision = ResetDecision("second", 2, "adopt", "resume", ("in",))
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        stops = {item.range.id: item.range.stop for item in first.ranges}
        starts = run.snapshot().starts
        assert starts is not None
        assert {item.id: item.start for item in starts} == stops
        assert {item.topic_id for item in starts} == {"id-t"}

    def test_an_incarnation_that_read_nothing_is_resumed_where_it_was_to_start(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        before = run.snapshot().starts
        decision = ResetDecision("second", 1, "adopt", "resume", ("in",))
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        assert run.snapshot().starts == before

    def test_a_reset_that_names_numbers_begins_there_and_keeps_where_it_stood(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.together(run.plan())
        stood = (replace(start_of(0, 3), epoch=9), start_of(1, 4))
        decision = ResetDecision("second", 2, "adopt", "earliest", ("in",), begins=(start_of(0, 1),), stood=stood)
        ledger.decide_reset(run.epoch, "payments", decision)
        new = successor(run)
        assert new.snapshot().open_reset == decision
        ledger.finish_reset(new.epoch, "payments", decision)
        assert (new.snapshot().starts, new.snapshot().reset) == (decision.begins, decision)

    def test_an_open_reset_is_finished_by_the_next_owner(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        decision = ResetDecision("second", 0, "adopt", None)
        ledger.decide_reset(run.epoch, "payments", decision)
        new = successor(run)
        assert new.snapshot().open_reset == decision
        ledger.finish_reset(new.epoch, "payments", decision)
        assert new.snapshot().owner.incarnation == "second"

    def test_clearing_takes_the_place_of_a_reset_that_keeps_rows(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        run.finish(2)
        kept, cleared = ResetDecision("second", 3, "adopt", "resume"), ResetDecision("third", 4, "clear", None)
        ledger.decide_reset(run.epoch, "payments", kept)
        wrong = {
            "below the birth of the one that is open": replace(cleared, birth_txid=2),
            "in its incarnation": replace(cleared, incarnation="second"),
            "keeps rows too": replace(cleared, states="adopt"),
        }
        for refused in wrong.values():
            with pytest.raises(MismatchError, match="another reset"):
                ledger.decide_reset(run.epoch, "payments", refused)
        new = successor(run)
        for _ in range(2):
            ledger.decide_reset(new.epoch, "payments", cleared)
        found = new.snapshot()
        assert found.open_reset == cleared
        assert found.incarnations >= {run.owner.incarnation, "second", "third"}, "states may stand in the second one"
        for late in (kept, replace(cleared, incarnation="fourth")):
            with pytest.raises(MismatchError, match="another reset"):
                ledger.decide_reset(new.epoch, "payments", late)
            with pytest.raises(MismatchError, match=r"another reset|no reset to"):
                ledger.finish_reset(new.epoch, "payments", late)
        for _ in range(2):
            ledger.finish_reset(new.epoch, "payments", cleared)
        found = new.snapshot()
        assert (found.owner.incarnation, found.done, found.open_reset, found.starts) == ("third", 4, None, None)
        assert found.incarnations >= {run.owner.incarnation, "second", "third"}

    def test_clearing_the_states_makes_a_pin_void(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        run.pin(plan)
        decision = ResetDecision("second", 1, "clear", None)
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        snapshot = successor(run).snapshot()
        assert (snapshot.done, snapshot.pin, snapshot.live) == (1, None, ())
        assert snapshot.owner.incarnation == "second"

    def test_a_reset_is_refused(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        plan = run.plan()
        decision = ResetDecision("second", 1, "clear", None)
        wrong = {
            "never reused": replace(decision, birth_txid=0),
            "no reset decision": replace(decision, states="keep"),
            "was there before": replace(decision, incarnation=run.owner.incarnation),
        }
        for word, refused in wrong.items():
            with pytest.raises(MismatchError, match=word):
                ledger.decide_reset(run.epoch, "payments", refused)
        with pytest.raises(MismatchError, match="no reset to"):
            ledger.finish_reset(run.epoch, "payments", decision)
        run.pin(plan)
        with pytest.raises(MismatchError, match="is pinned and not done"):
            ledger.decide_reset(run.epoch, "payments", replace(decision, states="adopt"))
        run.done(plan)
        ledger.decide_reset(run.epoch, "payments", decision)
        for other in (replace(decision, incarnation="third"), replace(decision, states="adopt")):
            with pytest.raises(MismatchError, match="another reset"):
                ledger.decide_reset(run.epoch, "payments", other)
            with pytest.raises(MismatchError, match="another reset"):
                ledger.finish_reset(run.epoch, "payments", other)


class LedgerContract(
    LifeContract,
    GuardContract,
    RepeatContract,
    FencingContract,
    LeaseContract,
    ErrorContract,
    EvolutionContract,
    RenamingContract,
    RegistryContract,
    RetentionContract,
    ResetContract,
    DecisionContract,
    ReapplyingContract,
    TakingBackContract,
    ForgettingLedgerContract,
    LifeCycleContract,
    ViewContract,
):
    """All of it."""
