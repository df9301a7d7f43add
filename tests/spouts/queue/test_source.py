"""A source over processes of a spout that come and go: who gave a message hears what becomes of it, and nobody else."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.spouts.queue.file_queue import FileQueueSpout
from trident.base.errors import RetryableError
from trident.base.failure import Failure
from trident.base.latency import CompleteLatency
from trident.base.ranges import OffsetRange, PartitionId
from trident.spouts.queue.acking import SpoutContext, StreamProgress
from trident.spouts.queue.message import Message
from trident.spouts.queue.pending import Delivery
from trident.spouts.queue.source import AckingSource

LOG = PartitionId("messages", 0)


class FakeInstance:
    """Gives each message of a list once, numbered from 0 as each process numbers its own."""

    def __init__(self, context: SpoutContext, *ids: str) -> None:
        self.number = context.instance
        self.ids = list(ids)
        self.serial = 0
        self.acked: list[int] = []
        self.failed: list[tuple[int, Failure]] = []
        self.refused: list[int] = []
        self.context = context
        self.heard: list[StreamProgress | None] = []
        self.is_gone = False
        self.is_idle = False
        self.has_answered = True
        self.has_begun = True
        self.is_closed = False

    def set_active(self, active: bool) -> None: ...

    def wait_for_first(self, seconds: float) -> bool:
        return self.has_answered

    @property
    def waiting(self) -> int:
        return len(self.ids)

    def take(self, most: int) -> list[tuple[Message, Delivery]]:
        taken = [
            (Message((id_,), id_), Delivery(self.number, self.serial + n)) for n, id_ in enumerate(self.ids[:most])
        ]
        self.serial += len(taken)
        del self.ids[:most]
        return taken

    def ack(self, serials: tuple[int, ...], progress: StreamProgress | None = None) -> None:
        self.acked += serials
        self.heard.append(progress)

    def fail(self, serials: tuple[int, ...], reason: Failure) -> None:
        self.failed += [(serial, reason) for serial in serials]

    def refuse(self, serials: tuple[int, ...]) -> None:
        self.refused += serials

    def check(self) -> None:
        if self.is_gone:
            raise RetryableError("its process is gone")

    def latency(self) -> CompleteLatency | None:
        return None

    def close(self) -> bool:
        self.is_closed = True
        return True


def opened(*gives: tuple[str, ...]) -> tuple[AckingSource, list[FakeInstance]]:
    """Return a source, and its processes as they are started, each with what it gives."""
    instances: list[FakeInstance] = []

    def begin(context: SpoutContext) -> FakeInstance:
        instances.append(FakeInstance(context, *gives[len(instances)]))
        return instances[-1]

    source = AckingSource("messages", FileQueueSpout(Path("unused")), begin)
    source.begin_from({}, {}, {})
    return source, instances


def plan(source: AckingSource, start: int = 0) -> tuple[OffsetRange, tuple[str, ...]]:
    source.receive({LOG: start})
    (bounds,) = source.bounds()
    planned = OffsetRange(LOG, "messages", start, bounds.stop)
    source.planned(planned)
    return planned, source.ids(planned)


def test_only_who_has_given_a_message_hears_of_its_end() -> None:
    source, instances = opened(("a", "b"), ("c", "d", "e"))
    first, _ = plan(source)
    instances[0].is_gone = True
    with pytest.raises(RetryableError):
        source.receive({LOG: first.stop})
    _, ids = plan(source, first.stop)
    assert ids == ("c", "d", "e")
    source.committed(1, [first])
    assert instances[1].acked == [], "its emissions have the same numbers, and are others"
    source.committed(2, [OffsetRange(LOG, "messages", first.stop, first.stop + 3)])
    assert (instances[0].acked, instances[1].acked) == ([], [0, 1, 2])


def test_messages_that_failed_by_themselves_go_back_and_the_next_plan_takes_nothing_new() -> None:
    source, (instance,) = opened(("a", "b", "c"))
    _, ids = plan(source)
    instance.ids = ["new"]
    source.fail_messages({"b": Failure.OPERATION})
    assert source.ids(OffsetRange(LOG, "messages", 0, 3)) == ids, (
        "an attempt that is under way has them where they were"
    )
    again, ids = plan(source)
    assert (ids, instance.failed) == (("a", "c"), [(1, Failure.OPERATION)])
    assert plan(source, again.stop)[1] == ("new",)


def test_one_that_opens_for_long_behind_one_that_failed_is_no_answer() -> None:
    source, instances = opened((), ("a",))
    instances[0].is_gone = True
    with pytest.raises(RetryableError, match="its process is gone"):
        source.receive({LOG: 0})
    begin = source._begin

    def slow(context: SpoutContext) -> FakeInstance:
        instance = begin(context)
        assert isinstance(instance, FakeInstance)
        instance.has_answered = False
        return instance

    source._begin = slow
    for _ in range(2):  # or whoever asks would have the patience of the first time
        with pytest.raises(RetryableError, match=r"open\(\) of the one behind it has not returned for"):
            source.receive({LOG: 0})
    instances[1].has_begun = False  # open() has nothing to do with that
    with pytest.raises(RetryableError, match=r"failed, and the one behind it is still starting after 10 s: it imports"):
        source.receive({LOG: 0})
    instances[1].has_answered = True
    assert plan(source)[1] == ("a",)
    assert len(instances) == 2


def test_who_is_asked_where_it_starts_opens_once() -> None:
    instances: list[FakeInstance] = []

    def begin(context: SpoutContext) -> FakeInstance:
        instances.append(FakeInstance(context, "a"))
        return instances[-1]

    source = AckingSource("messages", FileQueueSpout(Path("unused")), begin)
    (start,) = source.starts()
    assert (start.earliest, start.stop) == (0, 0)
    source.begin_from({}, {}, {})
    assert plan(source)[1] == ("a",)
    assert len(instances) == 1


def test_one_that_can_not_be_opened_has_no_start() -> None:
    def begin(context: SpoutContext) -> FakeInstance:
        instance = FakeInstance(context)
        instance.is_gone = True
        return instance

    source = AckingSource("messages", FileQueueSpout(Path("unused")), begin)
    for _ in range(2):
        with pytest.raises(RetryableError):
            source.starts()


def test_a_process_is_told_what_is_remembered_and_held_in_the_order_in_which_it_is_done() -> None:
    told: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    def begin(context: SpoutContext) -> FakeInstance:
        told.append((tuple(context.known), tuple(context.held)))
        return FakeInstance(context, "d", "e")

    source = AckingSource("messages", FileQueueSpout(Path("unused")), begin)
    source.begin_from({LOG: 2}, {"a": "", "b": ""}, {"c": ""})
    plan(source, 3)
    source._instance.is_gone = True  # type: ignore[union-attr]
    with pytest.raises(RetryableError):
        source.receive({LOG: 5})
    plan(source, 5)
    assert told == [(("a", "b", "c"), ()), (("a", "b", "c", "d", "e"), ("d", "e"))], "what is pinned will be done"


@pytest.mark.parametrize("is_new", [True, False])
def test_a_process_is_told_whether_its_stream_has_begun_in_this_run(is_new: bool) -> None:
    told: list[bool] = []

    def begin(context: SpoutContext) -> FakeInstance:
        told.append(context.is_new)
        return FakeInstance(context, "a")

    source = AckingSource("messages", FileQueueSpout(Path("unused")), begin)
    if is_new:
        source.starts()
    source.begin_from({LOG: 0}, {}, {})
    plan(source, 0)
    source._instance.is_gone = True  # type: ignore[union-attr]
    with pytest.raises(RetryableError):
        source.receive({LOG: 1})
    plan(source, 1)
    assert told == [is_new, is_new], "whoever takes the place of one that has died is told the same"


def test_a_process_that_follows_a_failed_one_has_nothing_to_say_while_nothing_is_to_be_asked() -> None:
    """It is deactivated meanwhile, so that it gives nothing and does not say that there is nothing."""
    instances: list[FakeInstance] = []

    def begin(context: SpoutContext) -> FakeInstance:
        instances.append(FakeInstance(context))
        instances[-1].has_answered = len(instances) == 1
        return instances[-1]

    source = AckingSource("messages", FileQueueSpout(Path("unused")), begin)
    source.begin_from({LOG: 0}, {}, {})
    instances[0].is_gone = True
    for _ in range(2):
        with pytest.raises(RetryableError):
            source.receive({LOG: 0})
    source.set_active(False)
    source.receive({LOG: 0})
    assert len(instances) == 2


class Giving(FakeInstance):
    """Gives messages as they are."""

    def __init__(self, context: SpoutContext, messages: list[Message]) -> None:
        super().__init__(context)
        self.messages = messages

    def take(self, most: int) -> list[tuple[Message, Delivery]]:
        taken = [(message, Delivery(self.number, self.serial + n)) for n, message in enumerate(self.messages)]
        self.serial += len(taken)
        self.messages = []
        return taken


class Telling(Giving):
    """Tells what it hears, in order."""

    def __init__(self, context: SpoutContext, messages: list[Message], told: list[str]) -> None:
        super().__init__(context, messages)
        self._told = told

    def ack(self, serials: tuple[int, ...], progress: StreamProgress | None = None) -> None:
        self._told.append(f"ack {serials}")

    def refuse(self, serials: tuple[int, ...]) -> None:
        self._told.append(f"refuse {serials}")


def given(*messages: Message, done: dict[str, str]) -> tuple[AckingSource, Giving]:
    """Return a source, and its process, which gives these messages at once."""
    instances: list[Giving] = []

    def begin(context: SpoutContext) -> Giving:
        instances.append(Giving(context, list(messages)))
        return instances[-1]

    source = AckingSource("messages", FileQueueSpout(Path("unused")), begin)
    source.begin_from({LOG: len(done)}, done, {})
    source.receive({LOG: len(done)})
    return source, instances[0]


def test_another_message_with_the_id_of_one_that_is_done_is_refused_before_anything_is_acked() -> None:
    told: list[str] = []
    messages = [Message(("x",), "a", digest="1"), Message(("y",), "a", digest="2"), Message(("z",), "b", digest="3")]
    source = AckingSource("messages", FileQueueSpout(Path("unused")), lambda context: Telling(context, messages, told))
    source.begin_from({LOG: 1}, {"a": "1"}, {})
    planned, ids = plan(source, 1)
    assert told == ["refuse (1,)", "ack (0,)"]
    assert (ids, source.digests(planned)) == (("b",), ("3",))
    assert source.given_again == 1, "what was refused has not come again"


def test_another_message_is_refused_before_its_twin_can_be_acked_by_who_finishes_its_batch() -> None:
    told: list[str] = []
    # as a queue gives them that has put the later one in front of the one that an earlier process had
    messages = [Message(("y",), "a", digest="2"), Message(("x",), "a", True, digest="1")]
    source = AckingSource("messages", FileQueueSpout(Path("unused")), lambda context: Telling(context, messages, told))
    source.begin_from({}, {}, {"a": "1"})
    free = source._lock

    class FinishedMeanwhile:
        """The lock, behind which the batch is finished by another thread as soon as it is free."""

        def __enter__(self) -> None:
            free.acquire()

        def __exit__(self, *_: object) -> None:
            was_given_again = bool(source._pending._by_id["a"].deliveries)
            free.release()
            if was_given_again:
                source._lock = free
                source.committed(1, [OffsetRange(LOG, "messages", 0, 1)])

    source._lock = FinishedMeanwhile()  # type: ignore[assignment]  # all that is asked of it
    source.receive({LOG: 1})
    assert told == ["refuse (0,)", "ack (1,)"], "who keeps deliveries by id acks the oldest"


def test_what_came_again_is_counted_and_said_when_there_is_twice_as_much(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "trident.coordinator")
    done = {f"m{n}": "" for n in range(9)}
    source, instance = given(Message((), "m0", True), done=done)
    for n in range(1, 9):
        instance.messages = [Message((), f"m{n}", True if n % 2 else None)]
        source.receive({LOG: len(done)})
    assert (source.given_again, instance.acked) == (9, list(range(9)))
    assert [record.getMessage().partition(" messages")[0] for record in caplog.records] == [
        f"stream 'messages': {count}" for count in (1, 2, 4, 8)
    ]
    assert {record.levelno for record in caplog.records} == {logging.INFO}
    source.close()
    assert "in all 9 messages of the run came again" in caplog.records[-1].getMessage()


def test_one_that_is_done_and_that_its_source_says_to_be_new_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    given(Message((), "a", False), Message((), "b", True), Message((), "c"), done={"a": "", "b": "", "c": ""})
    (warned,) = (record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)
    assert "1 messages of this run have ids of messages that are done (the last one 'a')" in warned


def test_a_run_in_which_nothing_came_again_says_nothing_of_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "trident.coordinator")
    source, _ = given(Message((), "new", False), done={})
    source.receive({LOG: 0})
    planned = OffsetRange(LOG, "messages", 0, 1)
    source.committed(1, [planned])
    source.close()
    assert (source.given_again, caplog.records) == (0, [])


def test_a_process_hears_how_far_its_stream_is_with_each_ack() -> None:
    source, instances = opened(("a", "b", "c"), ("d",))
    source.belong_to("one", 3)
    first, _ = plan(source)
    source.committed(7, [OffsetRange(LOG, "messages", 0, 2)])
    life = instances[0].heard[0].life if instances[0].heard[0] else ""
    source.committed(8, [OffsetRange(LOG, "messages", 2, 3)])
    source.committed(9, [])
    assert instances[0].heard == [StreamProgress(life, 3, 2, 7), StreamProgress(life, 3, 3, 8)]
    assert instances[0].context.progress is None, "it was started before anybody said in which life"
    instances[0].is_gone = True
    with pytest.raises(RetryableError):
        source.receive({LOG: first.stop})
    plan(source, first.stop)
    assert instances[1].context.progress == StreamProgress(life, 3, 3, 8), "what is held is not done"


def test_what_is_done_already_is_acked_with_what_is_done_now() -> None:
    contexts: list[SpoutContext] = []

    def begin(context: SpoutContext) -> FakeInstance:
        contexts.append(context)
        return instance

    instance = FakeInstance(SpoutContext("messages", 1), "a")
    source = AckingSource("messages", FileQueueSpout(Path("unused")), begin)
    source.belong_to("one", 3)
    source.begin_from({LOG: 7}, {"a": ""}, {"b": ""})
    source.receive({LOG: 8})
    (progress,) = instance.heard
    assert progress == contexts[0].progress
    assert progress is not None
    assert progress.done == 7, "what is pinned is not done"
    assert progress.txid == 0, "which txid has done them is not known"


def test_each_stream_has_a_life_of_its_own_in_each_ledger() -> None:
    def life(name: str, line: str) -> str:
        source = AckingSource(name, FileQueueSpout(Path("unused")), lambda context: FakeInstance(context))
        source.belong_to(line, 0)
        progress = source._progress()
        assert progress is not None
        return progress.life

    assert life("a", "one") == life("a", "one")
    assert len({life("a", "one"), life("b", "one"), life("a", "two")}) == 3


def test_a_full_batch_is_seen_before_anything_of_it_is_received() -> None:
    """A batch of this spout has five messages: what is held behind a plan, and what its process has emitted."""
    source, instances = opened(("a", "b", "c", "d"))
    assert not source.fills_a_batch({}), "no process was started"
    assert plan(source)[1] == ("a", "b", "c", "d")
    instances[0].ids += ["e", "f", "g", "h", "i"]
    assert (source.fills_a_batch({}), source.fills_a_batch({LOG: 4}), source.fills_a_batch({LOG: 5})) == (
        True,
        True,
        False,
    )
    assert source.bounds()[0].stop == 4, "nothing was received"


def test_as_many_as_may_be_under_way_are_a_full_batch_where_they_are_fewer() -> None:
    source, instances = opened(("a",))
    source._spout.max_pending = 3
    plan(source)
    instances[0].ids += ["b", "c"]
    assert not source.fills_a_batch({LOG: 1})
    instances[0].ids.append("d")
    assert source.fills_a_batch({LOG: 1})
