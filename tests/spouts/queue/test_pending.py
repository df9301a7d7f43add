"""The messages that are held and those that are done: every delivery has one end, and no message counts twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from trident.base.failure import Failure
from trident.spouts.queue.message import Message
from trident.spouts.queue.pending import Delivery, Known, PendingMessages


def message(id_: str | None, digest: str = "") -> Message:
    return Message((id_,), id_, digest=digest)


class Giver:
    """Numbers the deliveries of one instance."""

    def __init__(self) -> None:
        self.serial = 0

    def __call__(self) -> Delivery:
        self.serial += 1
        return Delivery(1, self.serial)


def test_a_message_stands_behind_all_others_and_is_acked_when_it_is_done() -> None:
    pending, give = PendingMessages(7), Giver()
    assert [pending.add(message(id_), give(), 0.0) for id_ in "abc"] == [Known.NEW] * 3
    assert (pending.first, pending.stop, pending.ids(7, 9)) == (7, 10, ("a", "b"))
    assert pending.between(8, 10) == (("b",), ("c",))
    assert pending.finish(9) == (Delivery(1, 1), Delivery(1, 2))
    assert (pending.first, pending.stop, pending.finish(9)) == (9, 10, ())
    assert pending.between(7, 10) is None


def test_what_is_given_again_is_known_by_its_id() -> None:
    pending, give = PendingMessages(), Giver()
    pending.add(message("a"), give(), 0.0)
    assert pending.add(message("a"), give(), 0.0) is Known.UNDER_WAY
    assert pending.stop == 1
    assert pending.finish(1) == (Delivery(1, 1), Delivery(1, 2)), "each delivery wants its ack"
    assert pending.add(message("a"), give(), 0.0) is Known.DONE
    assert pending.stop == 1


def test_ids_are_remembered_up_to_the_horizon_and_the_oldest_go() -> None:
    pending, give = PendingMessages(done=dict.fromkeys("abc", ""), horizon=3), Giver()
    pending.add(message("d"), give(), 0.0)
    pending.finish(1)
    assert pending.remembered == 3
    assert [pending.add(message(id_), give(), 0.0) for id_ in "abcd"] == [Known.NEW, *[Known.DONE] * 3]


def test_another_message_with_an_id_that_is_under_way_or_done_is_none_of_these() -> None:
    pending, give = PendingMessages(), Giver()
    assert pending.add(message("a", "1"), give(), 0.0) is Known.NEW
    assert pending.add(message("a", "2"), give(), 0.0) is Known.OTHER
    assert pending.add(message("a", "1"), give(), 0.0) is Known.UNDER_WAY
    assert (pending.ids(0, 1), pending.digests(0, 1)) == (("a",), ("1",))
    assert pending.finish(1) == (Delivery(1, 1), Delivery(1, 3)), "what is another message is not acked with it"
    assert pending.add(message("a", "2"), give(), 0.0) is Known.OTHER
    assert pending.add(message("a", "1"), give(), 0.0) is Known.DONE
    assert (pending.stop, pending.remembered) == (1, 1)


def test_another_message_is_told_from_those_that_an_earlier_process_had() -> None:
    pending, give = PendingMessages(2, done={"a": "1"}, pinned={"b": "1"}), Giver()
    assert [pending.add(message(id_, digest), give(), 0.0) for id_ in "ab" for digest in "12"] == [
        Known.DONE,
        Known.OTHER,
        Known.UNDER_WAY,
        Known.OTHER,
    ]


def test_where_a_digest_is_not_known_no_message_is_another_one() -> None:
    pending, give = PendingMessages(1, done={"a": "", "b": "1"}, pinned={"c": ""}), Giver()
    assert [pending.add(message(id_, digest), give(), 0.0) for id_, digest in (("a", "1"), ("b", ""), ("c", "1"))] == [
        Known.DONE,
        Known.DONE,
        Known.UNDER_WAY,
    ]
    pending.finish(2)
    assert pending.add(message("c", "2"), give(), 0.0) is Known.DONE, "a redelivery says nothing about the first one"


def test_an_id_that_was_given_back_is_free_for_another_message() -> None:
    pending, give = PendingMessages(), Giver()
    pending.add(message("a", "1"), give(), 0.0)
    pending.plan(0, 1)
    pending.fail({"a": Failure.OPERATION})
    pending.plan_from(0, 0.0)
    assert pending.add(message("a", "2"), give(), 0.0) is Known.NEW


def test_messages_without_an_id_are_others_than_those_that_are_pinned() -> None:
    before, give = PendingMessages(horizon=0), Giver()
    before.add(message(None), give(), 0.0)
    pending = PendingMessages(pinned=dict.fromkeys(before.ids(0, 1), ""), horizon=0)
    assert pending.add(message(None), give(), 0.0) is Known.NEW
    assert (pending.finish(1), pending.finish(2)) == ((), (Delivery(1, 2),))


def test_the_last_batch_is_remembered_whatever_the_horizon() -> None:
    pending, give = PendingMessages(horizon=0), Giver()
    for id_ in "abc":
        pending.add(message(id_), give(), 0.0)
    pending.finish(2)
    assert [pending.add(message(id_), give(), 0.0) for id_ in "abc"] == [*[Known.DONE] * 2, Known.UNDER_WAY]
    pending.finish(3)
    assert pending.add(message("a"), give(), 0.0) is Known.NEW
    assert not pending.remembers_all


def test_messages_without_an_id_are_each_a_new_one_and_are_not_remembered() -> None:
    pending, give = PendingMessages(horizon=0), Giver()
    assert [pending.add(message(None), give(), 0.0) for _ in range(3)] == [Known.NEW] * 3
    assert len(set(pending.ids(0, 3))) == 3
    assert len(pending.finish(3)) == 3
    assert pending.remembered == 0


def test_what_is_pinned_is_under_way_and_is_not_acked_before_it_is_done() -> None:
    pending, give = PendingMessages(4, pinned={"a": "", "b": ""}), Giver()
    assert pending.stop == 6
    assert pending.add(message("b"), give(), 0.0) is Known.UNDER_WAY
    assert pending.add(message("c"), give(), 0.0) is Known.NEW
    assert pending.between(4, 7) is None, "its rows ended with another process"
    assert pending.plan_from(6, 10.0) == ()
    assert pending.give_back() == (Delivery(1, 2),), "of what is pinned nothing is failed: it will be done"


def late(*ids: str) -> PendingMessages:
    """Return these messages in a batch, of which each has been there for too long at the moment 1."""
    pending, give = PendingMessages(), Giver()
    for id_ in ids:
        pending.add(message(id_), give(), 0.0)
    pending.plan(0, len(ids))
    return pending


def test_nothing_is_too_late_beside_a_message_that_has_failed_by_itself() -> None:
    """Beside a bad one that comes again at once it would come again itself, as late, and never be in a result."""
    pending = late("a", "bad", "b")
    pending.fail({"bad": Failure.OPERATION})
    assert [each.reason for each in pending.plan_from(0, 1.0)] == [Failure.OPERATION]
    assert (pending.ids(0, pending.stop), pending.is_closed) == (("a", "b"), True)
    pending.plan(0, 2)
    assert {each.reason for each in pending.plan_from(0, 1.0)} == {Failure.TIMED_OUT}, "another reason is one"


def test_nor_beside_one_of_another_stream() -> None:
    pending = late("a", "b")
    pending.fail({})
    assert pending.plan_from(0, 1.0) == ()
    assert (pending.ids(0, pending.stop), pending.is_closed) == (("a", "b"), False)
    pending.plan(0, 2)
    assert {each.reason for each in pending.plan_from(0, 1.0)} == {Failure.TIMED_OUT}, "it is said of one attempt"


def test_a_message_that_failed_in_a_later_batch_excuses_no_earlier_one() -> None:
    pending = late("a", "bad")
    pending.plan(0, 1)
    pending.plan(1, 2)
    pending.fail({"bad": Failure.OPERATION})
    assert [each.reason for each in pending.plan_from(0, 1.0)] == [Failure.TIMED_OUT, Failure.OPERATION]


def test_a_batch_that_failed_gives_back_what_has_been_there_for_too_long_and_keeps_the_rest() -> None:
    pending, give = PendingMessages(), Giver()
    assert pending.plan_from(0, 0.0) == ()
    for place, id_ in enumerate("abcdef"):
        pending.add(message(id_), give(), float(place))
    pending.plan(0, 4)
    assert pending.plan_from(4, 9.0) == (), "e and f are in no batch, and wait for one"
    pending.add(message("g"), give(), 6.0)
    given = pending.plan_from(0, 1.5)
    assert [each.delivery.serial for each in given] == [1, 2], "a and b waited too long"
    assert {each.reason for each in given} == {Failure.TIMED_OUT}
    assert pending.ids(0, pending.stop) == tuple("cdefg")
    assert pending.add(message("a"), give(), 9.0) is Known.NEW, "it was given back, and comes again"


def test_only_the_batch_that_failed_gives_back_those_behind_it_are_planned_again() -> None:
    pending, give = PendingMessages(), Giver()
    pending.plan_from(0, 0.0)
    for id_ in "abcdef":
        pending.add(message(id_), give(), 0.0)
    pending.plan(0, 2)
    pending.plan_from(2, 0.0)
    pending.plan(2, 4)
    pending.plan_from(4, 0.0)
    pending.plan(4, 6)
    assert [each.delivery.serial for each in pending.plan_from(2, 99.0)] == [3, 4]
    assert pending.ids(0, pending.stop) == tuple("abef")
    assert pending.plan_from(2, 99.0) == (), "they are in no batch yet"
    pending.plan(2, 4)
    assert [each.delivery.serial for each in pending.plan_from(2, 99.0)] == [5, 6], "now it is these that failed"


def test_what_is_failed_by_itself_goes_back_when_its_batch_is_planned_again_and_the_batch_has_nothing_new() -> None:
    pending, give = PendingMessages(), Giver()
    for id_ in "abcdef":
        pending.add(message(id_), give(), 5.0)
    pending.plan(0, 3)
    pending.plan(3, 5)
    pending.fail({"b": Failure.OPERATION, "d": Failure.NOT_ACKED, "f": Failure.OPERATION, "x": Failure.OPERATION})
    assert pending.ids(0, 6) == tuple("abcdef"), "what is planned stays where it is"
    given = pending.plan_from(0, 0.0)
    assert [(each.delivery.serial, str(each.reason)) for each in given] == [
        (2, "operation"),
        (4, "not_acked"),
        (6, "operation"),
    ]
    assert pending.add(message("b"), give(), 5.0) is Known.NEW, "it comes again at once"
    assert (pending.ids(0, pending.planned_to), pending.is_closed) == (("a", "c"), True)
    pending.plan(0, 2)
    assert pending.plan_from(2, 0.0) == ()
    assert (pending.ids(2, pending.planned_to), pending.is_closed) == (("e", "b"), False)
    pending.plan(2, 4)
    assert pending.plan_from(0, 0.0) == (), "it failed once more, for another reason"
    assert (pending.ids(0, pending.planned_to), pending.is_closed) == (("a", "c"), True), "and has nothing new still"
    pending.plan(0, 2)
    pending.finish(2)
    pending.plan_from(2, 0.0)
    assert not pending.is_closed


def test_a_batch_that_was_to_have_nothing_new_is_forgotten_when_one_before_it_fails() -> None:
    pending, give = PendingMessages(), Giver()
    for place, id_ in enumerate("abcdef"):
        pending.add(message(id_), give(), float(place))
    pending.plan(0, 2)
    pending.plan(2, 6)
    pending.fail({"c": Failure.OPERATION})
    pending.plan_from(2, 0.0)
    assert pending.planned_to == 5
    pending.plan_from(0, 2.0)
    assert (pending.ids(0, pending.planned_to), pending.is_closed) == (("d", "e", "f"), False)
    pending.plan(0, 2)
    pending.plan_from(2, 0.0)
    assert not pending.is_closed, "what stands there now is no batch of before"


def test_a_range_that_is_held_no_more_to_its_end_is_not_given_in_part() -> None:
    pending, give = PendingMessages(), Giver()
    for id_ in "ab":
        pending.add(message(id_), give(), 0.0)
    assert pending.between(0, 2) is not None
    assert pending.between(0, 3) is None
    pending.finish(1)
    assert (pending.between(0, 2), pending.between(2, 1)) == (None, None)


def test_batches_that_are_done_are_remembered_no_more() -> None:
    pending, give = PendingMessages(), Giver()
    for place in range(50):
        pending.add(message(str(place)), give(), 0.0)
        pending.plan_from(place, 0.0)
        pending.plan(place, place + 1)
        pending.finish(place + 1)
    assert len(pending._planned) <= 1


def test_a_batch_that_loses_more_while_it_has_nothing_new_has_nothing_new_still() -> None:
    pending, give = PendingMessages(), Giver()
    for id_, since in (("a", 1.0), ("b", 5.0), ("c", 9.0), ("d", 9.0)):
        pending.add(message(id_), give(), since)
    pending.plan(0, 3)
    pending.fail({"b": Failure.OPERATION})
    pending.plan_from(0, 0.0)
    pending.plan(0, 2)
    assert [each.delivery.serial for each in pending.plan_from(0, 5.0)] == [1], "it is too old"
    assert (pending.ids(0, pending.planned_to), pending.is_closed) == (("c",), True)


def test_a_batch_of_which_nothing_is_left_is_open_again() -> None:
    pending, give = PendingMessages(), Giver()
    pending.add(message("a"), give(), 5.0)
    pending.plan(0, 1)
    pending.fail({"a": Failure.OPERATION})
    pending.plan_from(0, 0.0)
    pending.add(message("a"), give(), 5.0)
    assert (pending.planned_to, pending.is_closed) == (1, False)


def test_what_is_pinned_can_t_be_failed() -> None:
    pending = PendingMessages(pinned={"a": ""})
    pending.fail({"a": Failure.OPERATION})
    assert (pending.plan_from(1, 9.0), pending.ids(0, 1)) == ((), ("a",))


def test_a_batch_that_may_be_pinned_is_not_failed_when_a_run_ends() -> None:
    """Its source gives it again by itself, when its process ends; a fail would say that it is in no result."""
    pending, give = PendingMessages(3), Giver()
    for id_ in "abcde":
        pending.add(message(id_), give(), 0.0)
    pending.plan(3, 5)
    pending.plan(5, 7)
    assert [each.serial for each in pending.give_back()] == [3, 4, 5]


def test_a_plan_that_follows_gives_nothing_back_however_old_it_is() -> None:
    pending, give = PendingMessages(), Giver()
    pending.plan_from(0, 0.0)
    pending.add(message("a"), give(), 0.0)
    pending.plan(0, 1)
    pending.plan_from(1, 99.0)
    pending.add(message("b"), give(), 0.0)
    pending.plan(1, 2)
    assert pending.plan_from(2, 99.0) == ()


@dataclass
class Model:
    """What a source and a coordinator would see, with nothing of the class's arithmetic."""

    live: list[list[str]] = field(default_factory=list)
    """The batches that are planned and not done, oldest first."""
    done: list[str] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    """What an operation has failed."""
    closed: tuple[int, int] | None = None
    """How many messages the plan from a position may have, where that is said."""
    open: Counter[str] = field(default_factory=Counter)
    """How many deliveries of each id have no end yet."""


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_lives(data: st.DataObject) -> None:
    """Each delivery is acked or failed once, no message is in two batches, none is acked that is not done."""
    pending, model = PendingMessages(horizon=1_000), Model()
    ids: dict[int, str] = {}
    give, now, done_to = Giver(), 0.0, 0

    def settle(deliveries: tuple[Delivery, ...], *, acked: bool) -> None:
        for each in deliveries:
            model.open[ids.pop(each.serial)] -= 1
        assert min(model.open.values(), default=0) >= 0
        assert acked or not deliveries or now > 0

    for _ in range(data.draw(st.integers(1, 40))):
        now += 1.0
        match data.draw(st.sampled_from(["give", "give", "plan", "done", "drop", "fail"])):
            case "give":
                id_ = data.draw(st.sampled_from("abcdefghij"))
                delivery = give()
                what = pending.add(message(id_), delivery, now)
                assert (what is Known.DONE) == (id_ in model.done)
                if what is not Known.DONE:
                    ids[delivery.serial] = id_
                    model.open[id_] += 1
            case "plan":
                position = done_to + sum(map(len, model.live))
                assert pending.plan_from(position, now + 1) == (), "what is in no batch waits for one"
                room = model.closed[1] if model.closed is not None and model.closed[0] == position else None
                assert pending.planned_to == (pending.stop if room is None else position + room)
                assert pending.is_closed == (room is not None)
                stop = data.draw(st.integers(position, pending.planned_to))
                batch = list(pending.ids(position, stop))
                assert not set(batch) & {*model.done, *(id_ for some in model.live for id_ in some)}
                assert pending.between(position, stop) == tuple((id_,) for id_ in batch)
                if batch:
                    pending.plan(position, stop)
                    model.live.append(batch)
            case "fail" if model.live:
                batch = data.draw(st.sampled_from(model.live))
                bad = data.draw(st.sets(st.sampled_from(batch)))
                pending.fail(dict.fromkeys(bad, Failure.OPERATION))
                model.failed |= bad
            case "done" if model.live and not model.failed & set(model.live[0]):
                batch = model.live.pop(0)
                done_to += len(batch)
                acked = pending.finish(done_to)
                assert {ids[each.serial] for each in acked} == set(batch)
                settle(acked, acked=True)
                model.done += batch
                if model.closed is not None and model.closed[0] < done_to:
                    model.closed = None
            case "drop" if model.live:
                at = data.draw(st.integers(0, len(model.live) - 1))
                failed_batch = model.live[at]
                kept = [id_ for batch in model.live[at + 1 :] for id_ in batch]
                del model.live[at:]
                late = data.draw(st.sampled_from([0.0, now / 2, now + 1]))
                failed = pending.plan_from(done_to + sum(map(len, model.live)), late)
                gone = {ids[each.delivery.serial] for each in failed}
                bad = model.failed & {*failed_batch, *kept}
                assert bad <= gone <= {*failed_batch, *bad}
                assert {str(each.reason) for each in failed} <= {"operation", "timed_out"}
                settle(tuple(each.delivery for each in failed), acked=False)
                held = pending.ids(pending.first, pending.stop)
                assert set(kept) - bad <= set(held)
                model.failed -= gone
                position = done_to + sum(map(len, model.live))
                was_closed = model.closed is not None and model.closed[0] == position
                if model.closed is not None and position < model.closed[0]:
                    model.closed = None
                if was_closed or bad & set(failed_batch):
                    kept_back = len(set(failed_batch) - gone)
                    model.closed = (position, kept_back) if kept_back else None
                assert len(held) == len(set(held))
    settle(pending.give_back(), acked=False)
    left = +model.open
    assert set(left) <= set(model.live[0] if model.live else ()), "but for a batch that may be pinned, each has its end"
