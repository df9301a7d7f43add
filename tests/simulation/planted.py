"""Known bugs, each the removal of one guard or the wrong order of two steps: both searches have to find them.

Patched is the product's own code, in this process and for the length of a block. Some are found by a search alone:
`python -m tests.simulation.proving` plants these for a whole run of all quicker tests, which must not notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from unittest.mock import patch

from tests.mutants.mutant import Layer
from tests.simulation import message_mistakes, mistakes, sink_mistakes
from tests.simulation.brokers import SimulatedKafka
from tests.simulation.scene import Scope
from tests.simulation.stores import SimulatedDatabase
from trident.base.identity import BatchId
from trident.coordinators.batches import runner as batch_runner
from trident.coordinators.batches import steps
from trident.coordinators.batches.loop import Loop
from trident.coordinators.batches.requests import CleanUp, Tell
from trident.coordinators.batches.runner import BatchRunner
from trident.coordinators.batches.work import Work
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions import deciding
from trident.coordinators.holding import carrying_out, standing, taken, takeover
from trident.coordinators.ledger.memory import beginnings as memory_beginnings
from trident.coordinators.ledger.memory import decisions as memory_decisions
from trident.coordinators.ledger.memory import rows as memory_rows
from trident.coordinators.ledger.rules import attempts
from trident.coordinators.ledger.rules import decisions as decision_rules
from trident.coordinators.plans import maker as planning
from trident.coordinators.plans import receiving
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.plans.ranges import plan_ranges
from trident.coordinators.protocol import step as protocol
from trident.coordinators.protocol.messages import Broken, CommitTogether, DecidePin, DropFrom, RecordDone, TellSpouts
from trident.coordinators.protocol.transitions import Status, Word
from trident.spouts.queue.pending import PendingMessages
from trident.spouts.queue.source import AckingSource
from trident.state.kafka import target as kafka_target
from trident.state.kafka import undoing as kafka_undoing
from trident.state.kafka.markers import Markers
from trident.state.kafka.outbox.relaying import OutboxRelay
from trident.state.layout import StateKind
from trident.state.memory import place as memory_place
from trident.state.memory import target as memory_target
from trident.state.positions import Position, is_in


@dataclass(frozen=True)
class PlantedBug:
    """A bug by its name; `plant` makes the block that has it.

    `scope` is a small one in which the exploration meets it; None where it needs what is not explored:
    late words, short reads, metadata answers, restores, backends still at work.
    """

    name: str
    plant: Callable[[], AbstractContextManager[object]]
    scope: Scope | None = None
    first_seed: int = 0
    """Where a search begins; most are met soon from anywhere, and one that needs much at once only here and there."""
    layer: Layer = Layer.TESTS
    """The quickest tests that notice it; shown for those that only a search notices."""


def _nothing(*arguments: object, **named: object) -> None:
    """Stand for a check that has been taken out."""


def _is_never_in(position: Position | None, batch: BatchId, name: str) -> bool:
    return position is None and _IS_IN(position, batch, name)


def _fences_after_reading(taking):
    """Read what is open before the states' fences are raised, and never again."""
    taking.read()
    for store in taking.stores.values():
        taking.repeater.call("preparing", store.prepare)


def _waits_for_no_state(state, item, event):
    """Call it done with the pin, whoever still has to apply it."""
    finishing = item._replace(status=Status.FINISHING)
    return protocol._replace_live(state, finishing), (RecordDone(item.batch),)


def _drops_the_pinned(fresh, pinned, live_in_ledger, exhausted):
    """Drop from the pinned txid on instead of from the one behind it."""
    first, commands = _TAKE_OVER(fresh, pinned, live_in_ledger, exhausted)
    return first, tuple(DropFrom(fresh.done + 1) if type(one) is DropFrom else one for one in commands)


def _any_word_of_that_txid(state, event):
    """Take a word for the live attempt although it is about an older one."""
    item = next((item for item in state.live if item.batch.txid == event.batch.txid), None)
    return _HAPPENED(state, event if item is None else replace(event, batch=item.batch))


def _forgets_hidden_partitions(*views):
    ranges, losses = _PLAN_RANGES(*views)
    shown = {bound.id for view in views for bound in view.bounds}
    return tuple(item for item in ranges if item.range.id in shown), losses


def _skips_losses(*views):
    ranges, _ = _PLAN_RANGES(*views)
    return ranges, ()


def _believes_every_task(edges, result):
    return tuple(edge.id for items in edges.values() for edge in items)


def _unpins_only(ledger, stores, pinned, decision):
    """Take a decided txid back in the ledger, and leave the states as they are."""
    ledger.unpin(pinned.batch.owner, pinned.batch.epoch, decision)


def _never_locked(database):
    """Enter a transaction without waiting for a backend that is still at work."""
    opened, database.open_transactions = database.open_transactions, []
    try:
        return _ENTER(database)
    finally:
        database.open_transactions = opened


def _keeps_outcomes(loop, batch, processed, now):
    """Keep what the first attempt at a txid has brought, and commit it for whichever attempt gets the turn."""
    kept = dict(vars(loop).get("kept", ()))
    first = kept.setdefault(batch.txid, processed.outcome)
    vars(loop)["kept"] = tuple(kept.items())
    _PROCESSED(loop, batch, processed._replace(outcome=first), now)


def _believes_late_turn_work(loop, batch, outcome, now):
    """Take the answer of work in the turn for the live attempt although it is about an older one."""
    live = next((flight.batch for flight in loop.flights.values() if flight.batch.txid == batch.txid), batch)
    _TURN_WORKED(loop, live, outcome, now)


def _tells_bad_news_at_once(loop, batch, error, now):
    """Let bad news of a later batch end the run while an earlier one is at work."""
    loop._advance(Broken(error), now)


def _held_by_number(plan, decisions, refused):
    """Take rows out of whatever has the txid that was decided about."""
    return tuple(item for item in decisions if item.kind is DecisionKind.DIVERT and item.txid == plan.txid)


def _runs_without_diverting(runner, batch, plan, edges, plan_ms):
    """Forget what a person decided about the records that are read."""
    return _RUN(runner, batch, replace(plan, diverts=()), edges, plan_ms)


def _plans_anew_whatever_is_held(*views):
    return _PLAN_RANGES(*(replace(view, is_held=False) for view in views))


def _cleans_up_at_the_pin(loop, command, now):
    """Clean up what a txid makes superfluous when it is decided, not when it is done."""
    if type(command) is DecidePin and command.batch.txid % loop._pace.clean_up_every == 0:
        for state in sorted(loop.state.states):
            loop._ask(CleanUp(command.batch, state))
    _PERFORM(loop, command, now)


def _tells_at_the_commit(loop, command, now):
    """Tell the sources when the commit is asked for."""
    _PERFORM(loop, command, now)
    if type(command) in (DecidePin, CommitTogether):
        loop._ask(Tell(command.batch, loop._outcome(command.batch).plan))
    elif type(command) is TellSpouts:
        loop._requests.pop()


_TWO_OWNERS = Scope(records=1, crashes=0, take_overs=1, losses=0)
_TWO_OWNERS_TWO_BATCHES = Scope(records=2, crashes=0, take_overs=1, losses=0)
_A_LOST_ANSWER = Scope(records=1, crashes=0, take_overs=0, losses=0, unheard=1, state=StateKind.NON_TRANSACTIONAL)
_ALONE = Scope(records=1, crashes=0, take_overs=0, losses=0)
_A_LOSS = Scope(records=3, crashes=0, take_overs=0, losses=1)
_A_LOSS_AND_A_FAILURE = Scope(records=3, crashes=0, take_overs=0, losses=1, failures=1)
_LATE = Scope(records=1, crashes=0, take_overs=0, losses=0, late=1)
_LATE_TURN = Scope(records=1, crashes=0, take_overs=0, losses=0, late=1, turn=True)
_CLEANED = Scope(records=1, crashes=0, take_overs=0, losses=0, clean_up_every=1)
_CLEANED_TWO_BATCHES = Scope(records=2, crashes=0, take_overs=0, losses=0, clean_up_every=1)
_SINK = Scope(records=1, crashes=0, take_overs=1, losses=0, sink=True)
_SINK_LOST_END = Scope(records=1, crashes=0, take_overs=0, losses=0, sink=True, ends=1)
_SINK_LATE_END = Scope(records=2, crashes=0, take_overs=0, losses=0, sink=True, ends=1)
_PERFORM = Loop._perform
_RUN = BatchRunner.run
_PROCESSED, _TURN_WORKED = Loop._processed, Loop._turn_worked
_HAPPENED = protocol._happened
_IS_IN = is_in
_PLAN_RANGES = plan_ranges
_TAKE_OVER = protocol.take_over
_ENTER = SimulatedDatabase.__enter__


def _patched(target: object, name: str, new: object) -> Callable[[], AbstractContextManager[object]]:
    return lambda: patch.object(target, name, new)


def _both(*plants: Callable[[], AbstractContextManager[object]]) -> Callable[[], AbstractContextManager[object]]:
    @contextmanager
    def planted() -> Iterator[None]:
        with ExitStack() as stack:
            for plant in plants:
                stack.enter_context(plant())
            yield

    return planted


BUGS = (
    PlantedBug(
        "no epoch check in the ledger",
        _patched(memory_rows, "check_epoch", _nothing),
        _TWO_OWNERS,
    ),
    PlantedBug(
        "no epoch check in the state",
        _both(_patched(memory_place, "check_epoch", _nothing), _patched(memory_target, "check_epoch", _nothing)),
        _TWO_OWNERS,
        first_seed=100,
    ),
    PlantedBug(
        "no comparison of txids before an apply",
        _patched(memory_target, "is_in", _is_never_in),
        _A_LOST_ANSWER,
        first_seed=100,
    ),
    PlantedBug(
        "a take-over drops the pinned txid",
        _both(_patched(taken, "take_over", _drops_the_pinned), _patched(attempts, "check_drop", _nothing)),
        _TWO_OWNERS_TWO_BATCHES,
    ),
    PlantedBug(
        "the states' fences are not raised before reading",
        _patched(takeover.TakeOver, "raise_fences", _fences_after_reading),
        _TWO_OWNERS,
    ),
    PlantedBug(
        "done before the last apply", lambda: patch.dict(protocol._HANDLERS, {Word.PINNED: _waits_for_no_state}), _ALONE
    ),
    PlantedBug("a pin leaves out the states beside the ledger", _patched(steps, "names_beside", lambda _: ()), _ALONE),
    PlantedBug("words are compared by txid only", _patched(protocol, "_happened", _any_word_of_that_txid)),
    PlantedBug(
        "a partition missing from an answer is forgotten", _patched(planning, "plan_ranges", _forgets_hidden_partitions)
    ),
    PlantedBug(
        "a loss is skipped without a record",
        _patched(planning, "plan_ranges", _skips_losses),
        _A_LOSS,
    ),
    PlantedBug(
        "a task's word is taken for the end of its range",
        _patched(batch_runner, "complete_edges", _believes_every_task),
    ),
    PlantedBug(
        "a raised fence does not wait for a backend at work",
        _patched(SimulatedDatabase, "__enter__", _never_locked),
        layer=Layer.SIMULATION,
    ),
    PlantedBug("an undo leaves the states behind", _patched(carrying_out, "undo", _unpins_only), first_seed=140),
    PlantedBug("diverted rows are not kept", _patched(memory_rows.Rows, "add_diverted", _nothing)),
    PlantedBug(
        "a divert is forgotten by the attempt that commits",
        _patched(BatchRunner, "run", _runs_without_diverting),
        first_seed=100,
    ),
    PlantedBug(
        "a held divert is about a number, not about records",
        _both(
            _patched(decision_rules, "held_for", _held_by_number),
            _patched(planning, "held_for", _held_by_number),
            _patched(planning, "plan_ranges", _plans_anew_whatever_is_held),
        ),
        first_seed=960,
    ),
    PlantedBug(
        "bad news of a later batch is told at once, and recorded",
        _both(
            _patched(Loop, "_hold_back", _tells_bad_news_at_once),
            _patched(memory_decisions, "check_refusal", _nothing),
        ),
    ),
    PlantedBug(
        "a state that holds nothing is taken for a new one",
        _patched(standing, "_check_nothing_is_lost", _nothing),
        first_seed=80,
    ),
    PlantedBug(
        "a new state is born without a recorded birth",
        _patched(takeover.TakeOver, "_bear", mistakes.bears_without_recording),
        _ALONE,
    ),
    PlantedBug(
        "a state that is born late is taken to be born at the beginning",
        _patched(takeover.TakeOver, "_bear", mistakes.bears_at_the_beginning),
    ),
    PlantedBug(
        "a state is born while a txid is pinned without it",
        _both(
            _patched(standing, "_is_for_later", lambda *_: False),
            _patched(takeover.TakeOver, "_has_unborn", lambda _: False),
        ),
    ),
    PlantedBug(
        "a version that is refused is stored",
        _patched(memory_beginnings, "merged_spec", lambda stored, given: given),
    ),
    PlantedBug(
        "a version is registered before its states are looked at",
        _patched(takeover.TakeOver, "_look_at_all", mistakes.registers_first),
    ),
    PlantedBug(
        "who was overtaken while it looked finds a mismatch",
        _patched(takeover.TakeOver, "unless_fenced", lambda _, check: check()),
        _TWO_OWNERS,
        first_seed=660,
    ),
    PlantedBug(
        "a reset is born at the ledger's last txid only",
        _patched(deciding, "_birth_txid", lambda snapshot, _: snapshot.last_txid),
        first_seed=200,
    ),
    PlantedBug(
        "the outcome of a dropped attempt is kept and used", _patched(Loop, "_processed", _keeps_outcomes), _LATE
    ),
    PlantedBug(
        "the late answer of work in the turn is believed",
        _patched(Loop, "_turn_worked", _believes_late_turn_work),
        _LATE_TURN,
    ),
    PlantedBug(
        "what a txid needs is cleaned up at its pin",
        _patched(Loop, "_perform", _cleans_up_at_the_pin),
        _CLEANED,
        layer=Layer.EXPLORATION,
    ),
    PlantedBug("sources are told before done", _patched(Loop, "_perform", _tells_at_the_commit), _ALONE),
    PlantedBug(
        "what is staged is cleaned up to the last planned txid",
        _patched(Work, "_clean_up", mistakes.cleans_up_all_that_was_planned),
        _CLEANED_TWO_BATCHES,
        layer=Layer.EXPLORATION,
    ),
    PlantedBug(
        "a loss is recorded with the first attempt only",
        _both(
            _patched(PlanMaker, "_build", mistakes.builds_without_known_losses),
            _patched(PlanMaker, "store", mistakes.remembers_losses),
        ),
        _A_LOSS_AND_A_FAILURE,
        first_seed=1240,
        layer=Layer.EXPLORATION,
    ),
    PlantedBug(
        "a process puts what it receives behind what is done",
        _patched(receiving, "_plans", mistakes.forgets_what_was_planned),
    ),
    PlantedBug(
        "a source that can't be read again is asked for what may not be planned",
        _patched(PlanMaker, "_build", mistakes.receives_for_every_plan),
    ),
    PlantedBug(
        "a message that is done and given again is read again",
        _patched(PendingMessages, "add", message_mistakes.reads_what_is_done),
    ),
    PlantedBug(
        "a message is acked when it is planned",
        _patched(AckingSource, "planned", message_mistakes.acks_what_is_planned),
    ),
    PlantedBug(
        "the messages of what is pinned are forgotten by the next process",
        _patched(AckingSource, "begin_from", message_mistakes.begins_without_the_pinned),
    ),
    PlantedBug(
        "the messages that are done are forgotten by the next process",
        _patched(AckingSource, "begin_from", message_mistakes.begins_without_the_done),
    ),
    PlantedBug(
        "the messages of what may be pinned are failed when a run ends",
        _patched(PendingMessages, "give_back", message_mistakes.gives_all_back),
    ),
    PlantedBug(
        "an ack is passed on to whichever process of a spout is there",
        message_mistakes.tells_whichever_process_is_there,
    ),
    PlantedBug(
        "a reset opens the new life in the ledger first",
        _patched(takeover, "carry_out_reset", mistakes.opens_the_new_life_first),
        layer=Layer.SIMULATION,
    ),
    PlantedBug(
        "a reset that was cut off stops at the first state that it had reached",
        _patched(takeover, "carry_out_reset", mistakes.stops_at_a_state_that_was_reset),
        first_seed=6000,
        layer=Layer.SIMULATION,
    ),
    PlantedBug(
        "a reset that keeps rows leaves a pin as it is",
        _patched(deciding, "_roll_forward", mistakes.leaves_the_pin_as_it_is),
        first_seed=100,
        layer=Layer.SIMULATION,
    ),
    PlantedBug(
        "a take-over checks the states before it finishes a reset",
        _patched(takeover.TakeOver, "finish_reset", mistakes.checks_before_a_reset_is_finished),
        first_seed=360,
        layer=Layer.SIMULATION,
    ),
    PlantedBug(
        "a sink's marker is not read after an unclear outcome",
        _both(
            _patched(Markers, "_find", sink_mistakes.remembers_the_marker),
            _patched(Markers, "change", sink_mistakes.forgets_when_confirmed),
        ),
    ),
    PlantedBug(
        "a session is kept over two transactions",
        _patched(SimulatedKafka, "begun", sink_mistakes.keeps_the_session),
        _SINK_LATE_END,
    ),
    PlantedBug(
        "a marker is sent after its records",
        _patched(Markers, "change", sink_mistakes.sends_the_marker_afterwards),
        _SINK_LOST_END,
    ),
    PlantedBug(
        "a sink's fence is not checked before sending",
        _both(
            _patched(kafka_target, "owned", sink_mistakes.is_of_any_epoch),
            _patched(kafka_undoing, "owned", sink_mistakes.is_of_any_epoch),
        ),
        _SINK,
        first_seed=1480,
    ),
    PlantedBug(
        "what a sink has sent is sent again",
        _patched(kafka_target, "is_in", sink_mistakes.is_not_in),
        _SINK_LOST_END,
        first_seed=160,
    ),
    PlantedBug("an outbox sends before done", _patched(OutboxRelay, "relay", sink_mistakes.sends_what_is_pinned)),
    PlantedBug("an entry is trimmed before its marker", _patched(OutboxRelay, "_send", sink_mistakes.trims_first)),
    PlantedBug(
        "what an outbox has sent and not trimmed is sent again",
        _patched(OutboxRelay, "_following", sink_mistakes.sends_all_that_lies_there),
    ),
)
