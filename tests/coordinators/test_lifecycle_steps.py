"""Life-cycle commands in the protocol: each at every moment that a batch can be at when it comes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.coordinators.test_protocol import EPOCH, FRESH, OWNER, batch, planned, processed, run, three_processing
from trident.base.errors import ConfigurationError, FencedError
from trident.coordinators.lifecycle import (
    Activate,
    Activity,
    Deactivate,
    Given,
    Kill,
    LifeCycleCommand,
    Rebalance,
    Verdict,
    reply_at_rest,
)
from trident.coordinators.protocol.messages import (
    AnswerCommand,
    AnswerWritten,
    Apply,
    Broken,
    Cancel,
    Command,
    CommandGiven,
    DecidePin,
    DropFrom,
    Due,
    EndWithin,
    GiveUp,
    Happened,
    MakePlan,
    Process,
    RecordDone,
    ShareWork,
    StopRequested,
    TellSpouts,
    WaitOver,
)
from trident.coordinators.protocol.state import Phase, ProtocolState
from trident.coordinators.protocol.step import step, wants_plan
from trident.coordinators.protocol.transitions import Word

WAIT = timedelta(seconds=9)


def given(command: LifeCycleCommand, number: int = 1) -> CommandGiven:
    return CommandGiven(Given(number, command))


def answers(commands: list[Command]) -> list[tuple[int, Verdict, Activity | None]]:
    return [
        (each.number, each.reply.verdict, each.reply.activity) for each in commands if isinstance(each, AnswerCommand)
    ]


def acting(commands: list[Command]) -> list[Command]:
    return [each for each in commands if not isinstance(each, AnswerCommand)]


def inactive(state: ProtocolState) -> ProtocolState:
    return step(state, given(Deactivate()))[0]


def test_a_plan_that_is_being_made_is_no_batch_in_flight() -> None:
    """As the ledger has it, and so what status says."""
    _, commands = run(FRESH, Due(), given(Kill(WAIT)))
    (answer,) = [each for each in commands if isinstance(each, AnswerCommand)]
    assert "it ends: 0 batches in flight behind txid" in answer.reply.text


def test_deactivated_it_plans_nothing_and_goes_on_when_it_is_activated() -> None:
    state, commands = run(FRESH, given(Deactivate()), Due())
    assert answers(commands) == [(1, Verdict.DONE, Activity.INACTIVE)]
    assert (acting(commands), wants_plan(state), state.phase) == ([], False, Phase.INACTIVE)
    state, commands = run(state, given(Activate(), 2), Due())
    assert (answers(commands), acting(commands)) == ([(2, Verdict.DONE, Activity.ACTIVE)], []), (
        "not before it is durable"
    )
    _, commands = run(state, AnswerWritten(2), Due())
    assert commands == [MakePlan(batch(11, 21), 1)]


def test_an_activation_that_another_command_takes_back_is_none() -> None:
    state, _ = run(inactive(FRESH), given(Activate(), 2), given(Deactivate(), 3), AnswerWritten(2), AnswerWritten(3))
    assert state.phase is Phase.INACTIVE
    state, _ = run(inactive(FRESH), given(Activate(), 2), given(Kill(WAIT), 3), AnswerWritten(2))
    assert state.phase is Phase.STOPPED


def test_what_is_in_flight_is_finished_while_it_is_inactive() -> None:
    state, commands = run(
        inactive(three_processing()),
        *(Happened(batch(10 + n, 20 + n), Word.PROCESSED) for n in (1, 2, 3)),
        *(Happened(batch(10 + n, 20 + n), word) for n in (1, 2, 3) for word in (Word.COMMITTED,)),
    )
    assert [type(each) for each in commands] == [DecidePin, TellSpouts, DecidePin, TellSpouts, DecidePin, TellSpouts]
    assert (state.done, state.live, state.phase) == (13, (), Phase.INACTIVE)


def test_a_plan_that_was_asked_for_before_is_in_flight_too() -> None:
    state, _ = run(FRESH, Due(), given(Deactivate()))
    state, commands = run(state, Happened(batch(11, 21), Word.PLANNED))
    assert commands == [Process(batch(11, 21))]
    state, _ = run(FRESH, Due(), given(Deactivate()), Happened(batch(11, 21), Word.NOTHING_TO_PLAN))
    assert (state.live, state.phase) == ((), Phase.INACTIVE)


def test_an_attempt_that_fails_while_it_is_inactive_is_dropped_and_planned_again_when_it_is_activated() -> None:
    state, commands = run(inactive(three_processing()), Happened(batch(11, 21), Word.FAILED))
    cancelled = {each for each in commands if isinstance(each, Cancel)}
    assert cancelled == {Cancel(batch(11, 21)), Cancel(batch(12, 22)), Cancel(batch(13, 23))}
    assert commands[-1] == DropFrom(11)
    _, commands = run(state, given(Activate(), 2), AnswerWritten(2), Due())
    assert acting(commands) == [MakePlan(batch(11, 24), 2)]


def test_rows_that_are_in_this_process_only_are_tried_again_while_it_is_inactive() -> None:
    state = inactive(three_processing()._replace(keeps_rows=True))
    _, commands = run(state, Happened(batch(12, 22), Word.FAILED))
    assert commands[-1] == MakePlan(batch(12, 24), 2, drop_from=12, is_last=True)


def test_the_last_try_is_told_while_it_is_inactive() -> None:
    state = inactive(planned(FRESH._replace(max_tries=1), 11, 21)[0])
    _, commands = run(state, Happened(batch(11, 21), Word.FAILED, reason="no"))
    assert GiveUp(batch(11, 21), 1, "no") in commands


def test_what_is_pinned_is_rolled_forward_whatever_is_commanded() -> None:
    for command in (Deactivate(), Kill(timedelta(0))):
        state, _ = run(processed(FRESH, 11, 21)[0], Happened(batch(11, 21), Word.PINNED), given(command), WaitOver())
        state, commands = run(
            state, *(Happened(batch(11, 21), Word.APPLIED, state=name) for name in sorted(FRESH.states))
        )
        assert commands == [RecordDone(batch(11, 21))]
        state, _ = run(state, Happened(batch(11, 21), Word.FINISHED))
        assert state.done == 11
        assert state.phase is (Phase.INACTIVE if command == Deactivate() else Phase.STOPPED)


def test_killed_it_finishes_what_is_in_flight_and_stops() -> None:
    state, commands = run(processed(FRESH, 11, 21)[0], given(Kill(WAIT)), Due())
    assert (answers(commands), acting(commands)) == ([(1, Verdict.DONE, Activity.KILLED)], [EndWithin(WAIT)])
    state, commands = run(state, Happened(batch(11, 21), Word.COMMITTED))
    assert (commands, state.phase) == ([TellSpouts(batch(11, 21))], Phase.STOPPED)


def test_killed_with_nothing_in_flight_it_stops_at_once() -> None:
    assert run(FRESH, given(Kill(WAIT)))[0].phase is Phase.STOPPED


def test_when_the_wait_is_over_what_nobody_decides_is_dropped() -> None:
    state, _ = run(three_processing(), Happened(batch(11, 21), Word.PROCESSED), given(Kill(WAIT)))
    state, commands = run(state, WaitOver())
    assert commands == [Cancel(batch(12, 22)), Cancel(batch(13, 23)), DropFrom(12)]
    assert [item.batch for item in state.live] == [batch(11, 21)], "it is being pinned: nobody may drop it"
    state, _ = run(state, Happened(batch(12, 22), Word.PROCESSED), Happened(batch(11, 21), Word.COMMITTED))
    assert (state.done, state.phase) == (11, Phase.STOPPED)


@pytest.mark.parametrize("turn_work", [False, True])
def test_when_the_wait_is_over_processing_and_turn_work_are_dropped_and_have_not_failed(turn_work: bool) -> None:
    fresh = FRESH._replace(turn_work=turn_work)
    state = processed(fresh, 11, 21)[0] if turn_work else planned(fresh, 11, 21)[0]
    state, commands = run(state, given(Kill(WAIT)), WaitOver())
    assert acting(commands) == [EndWithin(WAIT), Cancel(batch(11, 21)), DropFrom(11)]
    assert (state.live, state.tries, state.phase) == ((), (), Phase.STOPPED)


def test_a_wait_that_is_over_late_changes_nothing() -> None:
    state = three_processing()
    assert step(state, WaitOver()) == (state, ())
    assert step(inactive(state), WaitOver()) == (inactive(state), ())


def test_a_command_during_a_retry_leaves_the_retry_as_it_is() -> None:
    state, _ = run(planned(FRESH, 11, 21)[0], Happened(batch(11, 21), Word.FAILED))
    state, commands = run(state, given(Deactivate()), Happened(batch(11, 22), Word.PLANNED))
    assert acting(commands) == [Process(batch(11, 22))]
    assert state.live[0].tries == 2


def test_a_command_is_carried_out_once_and_in_order() -> None:
    state, commands = run(FRESH, given(Deactivate(), 4), given(Deactivate(), 4), given(Activate(), 3))
    assert (answers(commands), state.phase) == ([(4, Verdict.DONE, Activity.INACTIVE)], Phase.INACTIVE)


@pytest.mark.parametrize("twice", [Activate(), Deactivate()])
def test_one_that_is_given_twice_is_answered_twice(twice: LifeCycleCommand) -> None:
    state, commands = run(FRESH, given(twice, 1), given(twice, 2))
    assert [(number, verdict) for number, verdict, _ in answers(commands)] == [(1, Verdict.DONE), (2, Verdict.DONE)]
    assert "already" in [each.reply.text for each in commands if isinstance(each, AnswerCommand)][1]
    assert state.phase is (Phase.RUNNING if twice == Activate() else Phase.INACTIVE)


@pytest.mark.parametrize("ending", [StopRequested(), given(Kill(WAIT), 1)])
def test_what_comes_to_a_run_that_ends_is_left_to_whoever_comes_next(ending: StopRequested | CommandGiven) -> None:
    state, _ = run(planned(FRESH, 11, 21)[0], ending)
    assert step(state, given(Activate(), 2)) == (state, ())
    stopped, _ = run(FRESH, ending)
    assert step(stopped, given(Deactivate(), 2)) == (stopped, ())


def test_a_stop_ends_an_inactive_run() -> None:
    assert run(inactive(FRESH), StopRequested())[0].phase is Phase.STOPPED


def test_who_is_fenced_obeys_nothing() -> None:
    state, _ = run(FRESH, Broken(FencedError("another one")))
    with pytest.raises(FencedError):
        step(state, given(Activate()))


def test_fewer_at_once_count_from_the_next_plan_on_and_nothing_is_dropped() -> None:
    state, commands = run(three_processing(), given(Rebalance(max_pending=1)))
    assert (len(state.live), wants_plan(state), acting(commands)) == (3, False, [])
    state, _ = run(state, *(Happened(batch(10 + n, 20 + n), Word.PROCESSED) for n in (1, 2, 3)))
    for n in (1, 2):
        state, _ = run(state, Happened(batch(10 + n, 20 + n), Word.COMMITTED))
        assert not wants_plan(state)
    state, _ = run(state, Happened(batch(13, 23), Word.COMMITTED))
    assert wants_plan(state)
    assert answers(commands) == [(1, Verdict.DONE, None)], "a rebalance changes nothing durable"


def test_more_at_once_are_planned_at_once() -> None:
    state, _ = run(three_processing(), given(Rebalance(max_pending=4)))
    assert wants_plan(state)


def test_a_number_of_tasks_is_for_an_engine_that_has_some() -> None:
    state, commands = run(FRESH, given(Rebalance(max_pending=1, parallelism=7)))
    assert (answers(commands), state.max_pending) == ([(1, Verdict.REFUSED, None)], FRESH.max_pending)
    state, commands = run(FRESH._replace(shares_work=True), given(Rebalance(parallelism=7)))
    assert (acting(commands), answers(commands)) == ([ShareWork(7)], [(1, Verdict.DONE, None)])


def test_an_inactive_topology_is_rebalanced_too() -> None:
    state, _ = run(inactive(FRESH), given(Rebalance(max_pending=9), 2))
    assert (state.max_pending, state.phase) == (9, Phase.INACTIVE)


def test_answers_name_who_gives_them() -> None:
    (answer,) = run(FRESH, given(Deactivate(), 6))[1]
    assert isinstance(answer, AnswerCommand)
    assert (answer.owner, answer.epoch, answer.number) == (OWNER, EPOCH, 6)


def test_a_pin_is_still_applied_by_a_killed_run() -> None:
    state, _ = run(processed(FRESH, 11, 21)[0], given(Kill(timedelta(0))), WaitOver())
    _, commands = run(state, Happened(batch(11, 21), Word.PINNED))
    assert commands == [Apply(batch(11, 21), "balances"), Apply(batch(11, 21), "totals")]


ON, OFF, OUT = Activity.ACTIVE, Activity.INACTIVE, Activity.KILLED


@pytest.mark.parametrize(
    ("before", "command", "verdict", "after"),
    [
        (ON, Activate(), Verdict.DONE, None),
        (OFF, Activate(), Verdict.DONE, ON),
        (OUT, Activate(), Verdict.DONE, ON),
        (ON, Deactivate(), Verdict.DONE, OFF),
        (OFF, Deactivate(), Verdict.DONE, None),
        (OUT, Deactivate(), Verdict.REFUSED, None),
        (ON, Kill(WAIT), Verdict.DONE, OUT),
        (OFF, Kill(WAIT), Verdict.DONE, OUT),
        (OUT, Kill(WAIT), Verdict.DONE, None),
        (ON, Rebalance(max_pending=2), Verdict.REFUSED, None),
        (OUT, Rebalance(max_pending=2), Verdict.REFUSED, None),
    ],
)
def test_what_is_answered_where_nobody_runs_it(
    before: Activity, command: LifeCycleCommand, verdict: Verdict, after: Activity | None
) -> None:
    reply = reply_at_rest(before, command)
    assert (reply.verdict, reply.activity) == (verdict, after)


def test_a_rebalance_that_changes_nothing_or_to_nothing_is_refused() -> None:
    for wrong in ({}, {"max_pending": 0}, {"parallelism": -1}):
        with pytest.raises(ConfigurationError):
            Rebalance(**wrong)
    with pytest.raises(ConfigurationError):
        Kill(timedelta(seconds=-1))
