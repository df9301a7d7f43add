"""The protocol's rules, and the full product of statuses and words."""

from __future__ import annotations

from itertools import product

import pytest

from tests.coordinators.diagram import PAGE, with_diagram
from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.protocol.messages import (
    Apply,
    Broken,
    Cancel,
    Command,
    CommitTogether,
    DecidePin,
    DropFrom,
    Due,
    EndRun,
    GiveUp,
    Happened,
    MakePlan,
    Process,
    RecordDone,
    StopRequested,
    TellSpouts,
    WorkInTurn,
)
from trident.coordinators.protocol.state import Live, Phase, ProtocolState
from trident.coordinators.protocol.step import step, take_over, wants_plan
from trident.coordinators.protocol.transitions import TRANSITIONS, IllegalTransitionError, Status, Word, move

OWNER = Owner("payments", "life-1")
EPOCH = Epoch(3, "token")
FRESH = ProtocolState(
    OWNER,
    EPOCH,
    frozenset({"balances", "totals"}),
    beside=frozenset(),
    max_pending=3,
    max_tries=3,
    done=10,
    last_attempt=20,
)
LIVE_STATUSES = [status for status in Status if status not in (Status.DONE, Status.DROPPED, Status.BLOCKED)]


def batch(txid: int, attempt: int) -> BatchId:
    return BatchId(OWNER, EPOCH, txid, attempt)


def run(state, *events):
    commands: list[Command] = []
    for event in events:
        state, some = step(state, event)
        commands.extend(some)
    return state, commands


def planned(state, txid, attempt):
    return run(state, Due(), Happened(batch(txid, attempt), Word.PLANNED))


def processed(state, txid, attempt):
    state, _ = planned(state, txid, attempt)
    return run(state, Happened(batch(txid, attempt), Word.PROCESSED))


def three_processing():
    state, _ = planned(FRESH, 11, 21)
    state, _ = planned(state, 12, 22)
    state, _ = planned(state, 13, 23)
    return state


def test_the_design_page_shows_the_table():
    page = PAGE.read_text()
    assert page == with_diagram(page), "renew it: python -m tests.coordinators.diagram"
    assert all(f"{before} --> {after}: {word}\n" in page for (before, word), after in TRANSITIONS.items())


@pytest.mark.parametrize(("status", "word"), list(product(Status, Word)))
def test_every_pair_of_status_and_word_is_listed_or_refused(status, word):
    if (status, word) in TRANSITIONS:
        assert move(status, word) in Status
    else:
        with pytest.raises(IllegalTransitionError):
            move(status, word)


@pytest.mark.parametrize(("status", "word"), list(product(LIVE_STATUSES, Word)))
def test_a_word_that_its_batch_does_not_allow_poisons_for_good(status, word):
    waiting = FRESH.states if status is Status.APPLYING else frozenset()
    state = FRESH._replace(live=(Live(batch(11, 21), 1, status, waiting),), last_attempt=21)
    legal = (status, word) in TRANSITIONS and word not in (Word.TURN, Word.TURN_BEGUN)
    event = Happened(batch(11, 21), word, state="balances")
    after, _ = step(state, event)
    if legal:
        assert after.phase is not Phase.POISONED
        return
    assert after.phase is Phase.POISONED
    for later in (Due(), StopRequested(), event):
        with pytest.raises(IllegalTransitionError) as error:
            step(after, later)
        assert error.value is after.error


def test_txids_are_planned_contiguously_and_one_at_a_time():
    state, commands = run(FRESH, Due(), Due())
    assert commands == [MakePlan(batch(11, 21), 1)]
    state, commands = run(state, Happened(batch(11, 21), Word.PLANNED), Due())
    assert commands == [Process(batch(11, 21)), MakePlan(batch(12, 22), 1)]


@pytest.mark.parametrize("only_full", [False, True])
def test_a_plan_is_asked_for_full_or_not_as_the_moment_says(only_full):
    assert step(FRESH, Due(only_full))[1] == (MakePlan(batch(11, 21), 1, only_full=only_full),)


def test_what_is_tried_again_never_waits_for_a_fuller_batch():
    state, _ = run(FRESH, Due(only_full=True), Happened(batch(11, 21), Word.PLANNED))
    _, commands = run(state, Happened(batch(11, 21), Word.FAILED))
    assert commands == [Cancel(batch(11, 21)), MakePlan(batch(11, 22), 2, drop_from=11)]


def test_no_more_than_max_pending_batches_are_live():
    state = three_processing()
    assert not wants_plan(state)
    assert run(state, Due())[1] == []


def test_an_empty_plan_takes_no_txid_no_try_and_no_attempt():
    state, _ = run(FRESH, Due(), Happened(batch(11, 21), Word.NOTHING_TO_PLAN))
    assert state.live == ()
    state, commands = run(state, Due())
    assert commands == [MakePlan(batch(11, 21), 1)]


def test_only_the_lowest_live_txid_gets_the_commit_turn():
    state = three_processing()
    state, commands = run(state, Happened(batch(12, 22), Word.PROCESSED), Happened(batch(13, 23), Word.PROCESSED))
    assert commands == []
    state, commands = run(state, Happened(batch(11, 21), Word.PROCESSED))
    assert commands == [DecidePin(batch(11, 21))]


def test_the_next_txid_gets_its_turn_only_after_done():
    state = three_processing()
    state, _ = run(state, *(Happened(batch(10 + n, 20 + n), Word.PROCESSED) for n in (1, 2, 3)))
    state, commands = run(state, Happened(batch(11, 21), Word.PINNED))
    assert commands == [Apply(batch(11, 21), "balances"), Apply(batch(11, 21), "totals")]
    state, commands = run(state, Happened(batch(11, 21), Word.APPLIED, state="totals"))
    assert commands == []
    state, commands = run(state, Happened(batch(11, 21), Word.APPLIED, state="balances"))
    assert commands == [RecordDone(batch(11, 21))]
    assert state.done == 10
    state, commands = run(state, Happened(batch(11, 21), Word.FINISHED))
    assert commands == [TellSpouts(batch(11, 21)), DecidePin(batch(12, 22))]
    assert state.done == 11


def test_the_shortcut_is_one_command():
    together = FRESH._replace(beside=FRESH.states)
    state, commands = processed(together, 11, 21)
    assert commands == [CommitTogether(batch(11, 21))]
    state, commands = run(state, Happened(batch(11, 21), Word.COMMITTED))
    assert commands == [TellSpouts(batch(11, 21))]
    assert (state.done, state.live) == (11, ())


def test_states_beside_the_ledger_are_applied_with_the_pin_and_only_the_others_after_it():
    state, commands = processed(FRESH._replace(beside=frozenset({"totals"})), 11, 21)
    assert commands == [DecidePin(batch(11, 21))]
    state, commands = run(state, Happened(batch(11, 21), Word.PINNED))
    assert commands == [Apply(batch(11, 21), "balances")]
    again, _ = step(state, Happened(batch(11, 21), Word.APPLIED, state="totals"))
    assert again.phase is Phase.POISONED
    state, commands = run(state, Happened(batch(11, 21), Word.APPLIED, state="balances"))
    assert commands == [RecordDone(batch(11, 21))]


def test_a_pin_that_no_state_waits_for_is_finished_at_once():
    state, _ = processed(FRESH, 11, 21)
    state, commands = run(state._replace(beside=state.states), Happened(batch(11, 21), Word.PINNED))
    assert commands == [RecordDone(batch(11, 21))]
    assert state.live[0].status is Status.FINISHING


@pytest.mark.parametrize(("together", "decision"), [(True, CommitTogether), (False, DecidePin)])
def test_work_in_the_turn_comes_between_done_of_the_txid_before_and_the_pin(together, decision):
    state, _ = planned(FRESH._replace(turn_work=True, beside=FRESH.states if together else frozenset()), 11, 21)
    state, _ = planned(state, 12, 22)
    state, commands = run(state, Happened(batch(12, 22), Word.PROCESSED), Happened(batch(11, 21), Word.PROCESSED))
    assert commands == [WorkInTurn(batch(11, 21))]
    state, commands = run(state, Happened(batch(11, 21), Word.TURN_WORKED))
    assert commands == [decision(batch(11, 21))]
    assert [item.status for item in state.live] == [Status.PINNING, Status.READY]
    finished = [Happened(batch(11, 21), Word.COMMITTED)]
    if not together:
        applied = [Happened(batch(11, 21), Word.APPLIED, state=name) for name in ("balances", "totals")]
        finished = [Happened(batch(11, 21), Word.PINNED), *applied, Happened(batch(11, 21), Word.FINISHED)]
    state, commands = run(state, *finished)
    assert commands[-2:] == [TellSpouts(batch(11, 21)), WorkInTurn(batch(12, 22))]


def test_work_in_the_turn_that_fails_drops_the_attempt_and_all_later_ones_and_plans_again():
    state, _ = processed(FRESH._replace(turn_work=True), 11, 21)
    state, _ = planned(state, 12, 22)
    state, commands = run(state, Happened(batch(11, 21), Word.FAILED, reason="lost"))
    assert commands == [Cancel(batch(11, 21)), Cancel(batch(12, 22)), MakePlan(batch(11, 23), 2, drop_from=11)]
    assert step(state, Happened(batch(11, 21), Word.TURN_WORKED)) == (state, ())


def test_a_failure_drops_the_attempt_and_all_later_ones_and_plans_again():
    state = three_processing()
    state, commands = run(state, Happened(batch(12, 22), Word.FAILED, reason="lost"))
    assert commands == [Cancel(batch(12, 22)), Cancel(batch(13, 23)), MakePlan(batch(12, 24), 2, drop_from=12)]
    assert [item.batch.attempt for item in state.live] == [21, 24]


def test_a_batch_that_was_dropped_with_the_one_before_it_has_not_used_up_a_try():
    state = three_processing()._replace(max_tries=99)
    for attempt in (21, 24, 26):
        state, _ = run(state, Happened(batch(11, attempt), Word.FAILED))
        state, _ = run(state, Happened(batch(11, state.last_attempt), Word.PLANNED))
        state, commands = run(state, Due())
        assert commands == [MakePlan(batch(12, state.last_attempt), 1)]
    state, _ = run(state, Happened(batch(12, state.last_attempt), Word.PLANNED))
    _, commands = run(state, Happened(batch(12, state.last_attempt), Word.FAILED))
    assert commands[-1] == MakePlan(batch(12, state.last_attempt + 1), 2, drop_from=12)


def test_a_txid_whose_coordinator_died_in_its_last_try_is_given_up():
    exhausted = Live(batch(11, 20), 3, Status.PROCESSING)
    state, commands = take_over(FRESH, None, live_in_ledger=True, exhausted=exhausted)
    assert commands == (
        GiveUp(batch(11, 20), 3, "its coordinator died, or ended without saying why"),
        EndRun(batch(11, 20)),
    )
    assert not wants_plan(state)


def test_what_is_pinned_is_finished_before_the_next_is_given_up():
    pinned = Live(batch(11, 20), 1, Status.APPLYING, frozenset({"totals"}))
    exhausted = Live(batch(12, 21), 3, Status.PROCESSING)
    state, commands = take_over(FRESH, pinned, live_in_ledger=True, exhausted=exhausted)
    assert commands == (
        Apply(batch(11, 20), "totals"),
        GiveUp(batch(12, 21), 3, "its coordinator died, or ended without saying why"),
    )
    state, commands = run(state, Happened(batch(11, 20), Word.APPLIED, state="totals"))
    assert commands == [RecordDone(batch(11, 20))]
    _, commands = run(state, Happened(batch(11, 20), Word.FINISHED))
    assert commands == [TellSpouts(batch(11, 20)), EndRun(batch(12, 21))]


def test_batches_that_coordinators_died_with_go_one_by_one():
    state = FRESH._replace(alone_until=12)
    for txid, attempt in ((11, 21), (12, 22)):
        state, _ = planned(state, txid, attempt)
        assert not wants_plan(state)
        finished = (Word.PROCESSED, Word.PINNED)
        state, _ = run(state, *(Happened(batch(txid, attempt), word) for word in finished))
        applied = (Happened(batch(txid, attempt), Word.APPLIED, state=name) for name in sorted(FRESH.states))
        state, _ = run(state, *applied, Happened(batch(txid, attempt), Word.FINISHED))
    state, _ = planned(state, 13, 23)
    assert wants_plan(state)


def test_words_about_an_old_attempt_change_nothing():
    state = three_processing()
    state, _ = run(state, Happened(batch(12, 22), Word.FAILED))
    for word in Word:
        assert step(state, Happened(batch(12, 22), word)) == (state, ())


def test_words_of_another_epoch_or_incarnation_change_nothing():
    state = three_processing()
    strangers = [
        BatchId(OWNER, Epoch(3, "other"), 11, 21),
        BatchId(OWNER, Epoch(2, "token"), 11, 21),
        BatchId(Owner("payments", "life-0"), EPOCH, 11, 21),
    ]
    for stranger in strangers:
        assert step(state, Happened(stranger, Word.FAILED)) == (state, ())


def test_a_pinned_batch_can_only_be_rolled_forward():
    state, _ = processed(FRESH, 11, 21)
    state, _ = run(state, Happened(batch(11, 21), Word.PINNED))
    after, _ = step(state, Happened(batch(11, 21), Word.FAILED))
    assert after.phase is Phase.POISONED


def test_the_same_apply_is_not_counted_twice():
    state, _ = processed(FRESH, 11, 21)
    applied = Happened(batch(11, 21), Word.APPLIED, state="totals")
    state, _ = run(state, Happened(batch(11, 21), Word.PINNED), applied)
    after, _ = step(state, applied)
    assert after.phase is Phase.POISONED


def test_after_max_tries_a_person_decides():
    state, _ = planned(FRESH, 11, 21)
    for attempt in (21, 22):
        state, _ = run(
            state,
            Happened(batch(11, attempt), Word.FAILED),
            Happened(batch(11, attempt + 1), Word.PLANNED),
        )
    _, commands = run(state, Happened(batch(11, 23), Word.FAILED, reason="poison"))
    assert commands == [Cancel(batch(11, 23)), GiveUp(batch(11, 23), 3, "poison"), EndRun(batch(11, 23))]


def blocked_behind() -> ProtocolState:
    """Return a state in which txid 12 can't go on while the one before it is processed."""
    state, _ = step(three_processing(), Happened(batch(12, 22), Word.STOPPED))
    return state


def test_bad_news_waits_until_everything_before_it_is_done():
    state, commands = run(three_processing(), Happened(batch(12, 22), Word.STOPPED))
    assert commands == [Cancel(batch(13, 23))]
    assert [(item.batch.txid, item.status) for item in state.live] == [
        (11, Status.PROCESSING),
        (12, Status.BLOCKED),
    ]
    state, commands = run(state, Due(), Happened(batch(11, 21), Word.PROCESSED), Happened(batch(11, 21), Word.PINNED))
    assert EndRun(batch(12, 22)) not in commands
    state, _ = run(state, *(Happened(batch(11, 21), Word.APPLIED, state=name) for name in sorted(FRESH.states)))
    state, commands = run(state, Happened(batch(11, 21), Word.FINISHED))
    assert (state.done, commands) == (11, [TellSpouts(batch(11, 21)), EndRun(batch(12, 22))])


def test_a_failure_before_it_makes_bad_news_void():
    state, commands = run(blocked_behind(), Happened(batch(11, 21), Word.FAILED))
    assert commands == [Cancel(batch(11, 21)), Cancel(batch(12, 22)), MakePlan(batch(11, 24), 2, drop_from=11)]
    assert [item.batch.txid for item in state.live] == [11]


def test_what_was_cancelled_behind_bad_news_has_not_used_up_a_try():
    state, _ = run(blocked_behind(), Happened(batch(11, 21), Word.FAILED))
    tries = []
    for txid in (11, 12, 13):
        state, commands = run(state, Happened(batch(txid, state.last_attempt), Word.PLANNED), Due())
        tries += [command.tries for command in commands if isinstance(command, MakePlan)]
    assert tries == [1, 1]
    assert [item.tries for item in state.live] == [2, 1, 1]


def test_nothing_is_planned_behind_bad_news_and_nothing_more_is_heard_of_it():
    state = blocked_behind()
    assert not wants_plan(state)
    for word in Word:
        assert step(state, Happened(batch(12, 22), word)) == (state, ())


def test_the_last_try_of_a_later_batch_waits_as_well():
    state = three_processing()._replace(max_tries=1)
    state, commands = run(state, Happened(batch(12, 22), Word.FAILED, reason="poison"))
    assert commands == [Cancel(batch(12, 22)), Cancel(batch(13, 23)), GiveUp(batch(12, 22), 1, "poison")]
    assert (state.live[-1].status, wants_plan(state)) == (Status.BLOCKED, False)


def test_bad_news_of_the_next_batch_ends_the_run_at_once_also_while_draining():
    for state in (three_processing(), run(three_processing(), StopRequested())[0]):
        _, commands = run(state, Happened(batch(11, 21), Word.STOPPED))
        assert commands == [Cancel(batch(12, 22)), Cancel(batch(13, 23)), EndRun(batch(11, 21))]


def test_a_plan_that_can_not_be_made_waits_for_what_is_before_it():
    state, _ = planned(FRESH, 11, 21)
    state, commands = run(state, Due(), Happened(batch(12, 22), Word.STOPPED))
    assert commands == [MakePlan(batch(12, 22), 1)]
    assert state.live[-1].status is Status.BLOCKED


def test_draining_finishes_what_is_live_and_plans_nothing():
    state, _ = processed(FRESH._replace(beside=FRESH.states), 11, 21)
    state, commands = run(state, StopRequested(), Due())
    assert (commands, state.phase) == ([], Phase.DRAINING)
    state, _ = run(state, Happened(batch(11, 21), Word.COMMITTED))
    assert state.phase is Phase.STOPPED


def test_draining_drops_what_fails():
    state = three_processing()
    state, commands = run(state, StopRequested(), Happened(batch(11, 21), Word.FAILED))
    assert commands[-1] == DropFrom(11)
    assert state.phase is Phase.STOPPED


def test_draining_tries_again_what_fails_where_its_rows_would_end_with_the_run():
    """All behind it is dropped as ever: its rows are planned with it."""
    state = three_processing()._replace(keeps_rows=True, max_tries=9)
    state, commands = run(state, StopRequested(), Happened(batch(11, 21), Word.FAILED))
    assert commands[-1] == MakePlan(batch(11, 24), 2, drop_from=11, is_last=True)
    assert [item.batch.txid for item in state.live] == [11]
    state, commands = run(state, Happened(batch(11, 24), Word.PLANNED), Happened(batch(11, 24), Word.FAILED))
    assert commands[-1] == MakePlan(batch(11, 25), 3, drop_from=11, is_last=True)
    state, commands = run(state, Happened(batch(11, 25), Word.PLANNED), Happened(batch(11, 25), Word.FAILED))
    assert commands[-1] == DropFrom(11)
    assert state.phase is Phase.STOPPED


def test_draining_gives_up_what_failed_too_often():
    state = three_processing()._replace(keeps_rows=True, max_tries=1)
    state, commands = run(state, StopRequested(), Happened(batch(11, 21), Word.FAILED, reason="no engine"))
    assert GiveUp(batch(11, 21), 1, "no engine") in commands


def test_a_failure_while_running_asks_for_more_as_ever():
    _, commands = run(three_processing()._replace(keeps_rows=True), Happened(batch(11, 21), Word.FAILED))
    assert commands[-1] == MakePlan(batch(11, 24), 2, drop_from=11)


def test_an_idle_coordinator_stops_at_once():
    state, _ = step(FRESH, StopRequested())
    assert state.phase is Phase.STOPPED


def test_broken_cancels_what_is_live_and_stays_broken():
    error = ValueError("gone")
    state, commands = step(three_processing(), Broken(error))
    assert commands == tuple(Cancel(batch(10 + n, 20 + n)) for n in (1, 2, 3))
    with pytest.raises(ValueError, match="gone"):
        step(state, Due())


def test_take_over_drops_every_attempt_that_is_not_pinned():
    assert take_over(FRESH, None, live_in_ledger=True) == (FRESH, (DropFrom(11),))
    assert take_over(FRESH, None, live_in_ledger=False) == (FRESH, ())


def test_take_over_rolls_a_pin_forward_and_drops_what_is_behind_it():
    pinned = Live(batch(11, 19), 2, Status.APPLYING, frozenset({"totals"}))
    state, commands = take_over(FRESH, pinned, live_in_ledger=True)
    assert commands == (DropFrom(12), Apply(batch(11, 19), "totals"))
    state, commands = step(state, Happened(batch(11, 19), Word.APPLIED, state="totals"))
    assert commands == (RecordDone(batch(11, 19)),)


def test_take_over_finishes_a_pin_that_every_state_has():
    pinned = Live(batch(11, 19), 2, Status.APPLYING)
    state, commands = take_over(FRESH, pinned, live_in_ledger=False)
    assert commands == (RecordDone(batch(11, 19)),)
    state, _ = step(state, Happened(batch(11, 19), Word.FINISHED))
    assert state.done == 11


def test_take_over_refuses_a_pin_that_does_not_follow_done():
    with pytest.raises(IllegalTransitionError):
        take_over(FRESH, Live(batch(12, 19), 1, Status.APPLYING), live_in_ledger=False)
