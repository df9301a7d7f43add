"""The process of a spout: what it is asked, told and does when it, or its coordinator, dies."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, fields
from multiprocessing import Pipe
from pathlib import Path
from typing import cast

import pytest

from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout, Misbehaviour
from tests.spouts.queue.processes import LONGEST_S, is_gone, running, taken, until
from trident.base.errors import FatalError, RetryableError
from trident.base.failure import Failure
from trident.spouts import HttpPushSpout
from trident.spouts.queue.acking import SpoutContext, SpoutHook
from trident.spouts.queue.message import Message
from trident.spouts.queue.process import calling, child, instance
from trident.spouts.queue.process.calling import SpoutLoop
from trident.spouts.queue.process.pickling import pickled, unpickled
from trident.spouts.queue.process.wire import Beat, Hangs

ROOT = Path(__file__).parents[3]


@pytest.fixture
def queue(tmp_path: Path) -> FileQueue:
    return FileQueue(tmp_path / "queue.sqlite")


def test_messages_come_in_order_and_each_is_acked_or_failed_by_its_own_process(queue: FileQueue) -> None:
    queue.put(["a", "b", "c"])
    with running(FileQueueSpout(queue.path)) as started:
        started.wait_for_first(LONGEST_S)
        given = taken(started, 3)
        assert [each.id for each, _ in given] == ["a", "b", "c"]
        assert [each.instance for _, each in given] == [1, 1, 1]
        started.ack((given[0][1].serial, given[2][1].serial))
        started.fail((given[1][1].serial,), Failure.TIMED_OUT)
        [(again, delivery)] = taken(started, 1)
        assert (again.id, again.is_redelivered) == ("b", True)
        started.ack((delivery.serial,))
        assert started.close()
    assert (queue.said("ack"), queue.said("fail"), queue.left()) == (["a", "c", "b"], ["b"], [])
    assert len(queue.said("close")) == len(queue.said("deactivate")) == 1


def test_no_more_are_taken_than_may_be_pending(queue: FileQueue) -> None:
    queue.put(map(str, range(10)))
    spout = FileQueueSpout(queue.path)
    spout.max_pending = 3
    with running(spout) as started:
        first = taken(started, 3)
        time.sleep(0.3)
        assert started.take(10) == []
        started.ack((first[0][1].serial,))
        assert len(taken(started, 1)) == 1
        assert started.take(10) == []


def test_who_is_not_active_is_not_asked_and_hears_acks_all_the_same(queue: FileQueue) -> None:
    queue.put(["a", "b"])
    spout = FileQueueSpout(queue.path)
    spout.max_pending = 1
    with running(spout) as started:
        [(_, delivery)] = taken(started, 1)
        started.set_active(False)
        started.ack((delivery.serial,))
        until(lambda: queue.said("ack") == ["a"])
        time.sleep(0.3)
        assert started.take(1) == []
        started.set_active(True)
        assert len(taken(started, 1)) == 1
    assert len(queue.said("activate")) == 2


@pytest.mark.parametrize(
    ("what", "kind", "text"),
    [
        ("open is refused", FatalError, "open.. the queue is not there"),
        ("next is refused", FatalError, "next_tuple.. the queue is not there"),
        ("next is wrong", FatalError, "next_tuple.. raised KeyError at .*file_queue.py:.* in _do"),
        ("open loses its connection", RetryableError, "the queue's server has gone away. Another process takes"),
        ("next dies", RetryableError, r"ended by itself \(exit code -9\)"),
    ],
)
def test_what_a_spout_raises_is_said_behind_what_it_gave(
    queue: FileQueue, what: str, kind: type[Exception], text: str
) -> None:
    queue.put(["a", "b"])
    with running(FileQueueSpout(queue.path, Misbehaviour(0 if "open" in what else 2, what))) as started:
        if "next" in what and "dies" not in what:
            until(started._is_gone.is_set)
            started.check()  # what it has given is to be taken first
            assert [each.id for each, _ in taken(started, 1)] == ["a"]
        until(started._is_gone.is_set)
        started.take(9)
        with pytest.raises(kind, match=text) as raised:
            started.check()
        assert "4711" not in str(raised.value), "what a user's code says may hold a message"


@dataclass
class GivesWait:
    """Gives as a pause what it is made with, or raises it."""

    pause_s: object

    def pause(self, streak: int) -> float:
        if isinstance(self.pause_s, Exception):
            raise self.pause_s
        return self.pause_s  # type: ignore[return-value]  # what a user may do


@pytest.mark.parametrize(
    ("pause_s", "text"),
    [
        (KeyError("4711"), r"wait.pause\(\) raised KeyError at .*test_process.py:\d+ in pause. Mend it"),
        (-0.5, r"wait.pause\(\) of GivesWait has returned -0.5, which is no number of seconds"),
        (float("nan"), "has returned nan"),
        (float("inf"), "has returned inf"),
        (None, "has returned a value of type NoneType"),
        ("4711", "has returned a value of type str"),
    ],
)
def test_a_wait_that_is_none_ends_the_run_as_what_the_spout_raises_does(
    queue: FileQueue, pause_s: object, text: str
) -> None:
    spout = FileQueueSpout(queue.path)
    spout.wait = GivesWait(pause_s)
    with running(spout) as started:
        until(started._is_gone.is_set)
        with pytest.raises(FatalError, match=text) as raised:
            started.check()
        assert "4711" not in str(raised.value)


def test_a_long_wait_is_over_when_the_coordinator_says_something(queue: FileQueue) -> None:
    spout = FileQueueSpout(queue.path)
    spout.wait = GivesWait(1e300)
    with running(spout) as started:
        until(lambda: started.has_begun)
        time.sleep(0.3)
        assert started.close(LONGEST_S)


def test_a_large_spout_whose_process_dies_at_its_start_is_one_that_has_ended(
    queue: FileQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    spout = FileQueueSpout(queue.path)
    spout.model = b"x" * 5_000_000
    with running(spout) as started:
        until(started._is_gone.is_set)
        with pytest.raises(RetryableError, match=r"ended by itself \(exit code 1\)"):
            started.check()


class WithoutIds(FileQueueSpout):
    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        return message and Message(message.values, None)


class WrongType(FileQueueSpout):
    def next_tuple(self) -> Message | None:
        return ("a",) if super().next_tuple() else None  # type: ignore[return-value]  # what a user may do


class NumberedIds(FileQueueSpout):
    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        return message and Message(message.values, 7)  # type: ignore[arg-type]  # what a user may do


class LongDigests(FileQueueSpout):
    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        return message and Message(message.values, message.id, digest="0" * 65)


class WithoutValues(FileQueueSpout):
    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        return message and Message(None, message.id)  # type: ignore[arg-type]  # what a user may do


class Unpicklable(FileQueueSpout):
    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        return message and Message((lambda: 4711,), message.id)


class _Broken:
    def __reduce__(self) -> tuple[object, ...]:
        return int, ("4711x",)


class UnpicklableHere(FileQueueSpout):
    def next_tuple(self) -> Message | None:
        message = super().next_tuple()
        return message and Message((_Broken(),), message.id)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (WithoutValues, "the message 'a' without values"),
        (Unpicklable, "the message 'a' with values that can't be pickled"),
        (UnpicklableHere, "gave values that can't be unpickled: ValueError"),
        (WithoutIds, "without an id: if it were given again, nobody could tell"),
        (WrongType, "a value of the type tuple, where a Message or None is wanted"),
        (NumberedIds, "whose id is no text of 1 to 500 characters"),
        (LongDigests, "whose digest is no text of up to 64 characters"),
    ],
)
def test_a_message_that_could_not_be_known_again_is_refused(
    queue: FileQueue, kind: type[FileQueueSpout], text: str
) -> None:
    queue.put(["a"])
    with running(kind(queue.path)) as started:
        until(started._is_gone.is_set)
        with pytest.raises(FatalError, match=text):
            started.check()
    assert (queue.said("ack"), queue.left()) == ([], ["a"])


def test_a_message_that_is_refused_ends_the_process_and_stays_at_its_source(queue: FileQueue) -> None:
    queue.put(["a"])
    with running(FileQueueSpout(queue.path)) as started:
        [(_, delivery)] = taken(started, 1)
        started.refuse((delivery.serial,))
        until(started._is_gone.is_set)
        with pytest.raises(FatalError, match=r"refuse\(\) FileQueueSpout: a message with the id 'a' is not the one"):
            started.check()
    assert (queue.said("ack"), queue.said("fail"), queue.left()) == ([], [], ["a"])


def test_what_is_refused_ends_the_process_when_all_else_is_done(queue: FileQueue) -> None:
    queue.put(["a", "b", "c"])
    with running(FileQueueSpout(queue.path)) as started:
        deliveries = [delivery for _, delivery in taken(started, 3)]
        started.refuse((deliveries[1].serial,))
        queue.put(["d"])
        until(lambda: queue.said("deactivate") != [])
        started.ack((deliveries[0].serial,))
        until(lambda: queue.said("ack") == ["a"])
        assert not started._is_gone.is_set(), "the third one is under way"
        assert not started.is_idle, "a run that ends when it is caught up would end without a word"
        started.fail((deliveries[2].serial,), Failure.TIMED_OUT)
        until(started._is_gone.is_set)
        with pytest.raises(FatalError, match=r"refuse\(\) FileQueueSpout: a message with the id 'b' is not the one"):
            started.check()
    assert (queue.said("ack"), queue.said("fail"), queue.left()) == (["a"], ["c"], ["b", "c", "d"])
    assert len(queue.said("close")) == 1, "what sends its acks when it is closed sends them"


@pytest.mark.parametrize("is_done", [True, False])
def test_of_two_messages_with_one_id_none_is_settled_behind_a_refusal(queue: FileQueue, is_done: bool) -> None:
    queue.put(["a", "a"])
    with running(FileQueueSpout(queue.path)) as started:
        first, second = (delivery for _, delivery in taken(started, 2))
        started.refuse((second.serial,))
        if is_done:
            started.ack((first.serial,))
        else:
            started.fail((first.serial,), Failure.TIMED_OUT)
        until(started._is_gone.is_set)
    assert (queue.said("ack"), queue.said("fail"), queue.left()) == ([], [], ["a", "a"])


class PutsAside(FileQueueSpout):
    """Says of a message that is refused what becomes of it."""

    def refuse(self, id_: str | None) -> None:
        self._say("refuse", id_)


def test_a_spout_that_puts_aside_what_is_refused_goes_on(queue: FileQueue) -> None:
    queue.put(["a", "b"])
    spout = PutsAside(queue.path)
    spout.max_pending = 1
    with running(spout) as started:
        [(_, first)] = taken(started, 1)
        started.refuse((first.serial,))
        [(message, second)] = taken(started, 1)
        assert message.id == "b"
        started.ack((second.serial,))
        assert started.close()
    assert (queue.said("refuse"), queue.said("ack"), queue.left()) == (["a"], ["b"], ["a"])


class Threaded(FileQueueSpout):
    """Leaves a thread behind that would keep its process."""

    def open(self, context: SpoutContext) -> None:
        super().open(context)
        threading.Thread(target=time.sleep, args=(3_600,)).start()


@pytest.mark.parametrize("raises", [True, False])
def test_a_thread_that_a_spout_leaves_behind_keeps_nobody(queue: FileQueue, raises: bool) -> None:
    queue.put(["a"])
    spout = Threaded(queue.path, *([Misbehaviour(1, "next is refused")] if raises else []))
    with running(spout) as started:
        started.wait_for_first(LONGEST_S)
        if raises:
            until(started._is_gone.is_set)
            with pytest.raises(FatalError, match="the queue is not there"):
                started.check()
        else:
            assert started.close(LONGEST_S)
            assert is_gone(started.pid)


class Forking(FileQueueSpout):
    """Has forked a process, which keeps the pipe, before it dies."""

    def open(self, context: SpoutContext) -> None:
        super().open(context)
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)


def test_the_end_of_a_process_is_noticed_though_one_that_it_has_forked_lives(queue: FileQueue) -> None:
    queue.put(["a", "b"])
    with running(Forking(queue.path, Misbehaviour(2, "next dies"))) as started:
        until(started._is_gone.is_set)
        started.take(9)
        with pytest.raises(RetryableError, match=r"exit code -9"):
            started.check()


def test_a_message_needs_no_id_where_none_is_remembered(queue: FileQueue) -> None:
    queue.put(["a", "b"])
    spout = WithoutIds(queue.path)
    spout.horizon = 0
    with running(spout) as started:
        assert [each.id for each, _ in taken(started, 2)] == [None, None]


class Noting(SpoutHook):
    def __init__(self, path: Path) -> None:
        self.path = path

    def emitted(self, message: Message) -> None:
        self._note(f"emitted {message.id}")

    def acked(self, id_: str | None, latency_s: float) -> None:
        self._note(f"acked {id_} {0 < latency_s < LONGEST_S}")

    def failed(self, id_: str | None, reason: Failure) -> None:
        self._note(f"failed {id_} {reason}")

    def _note(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{text}\n")


def test_hooks_hear_what_becomes_of_messages(queue: FileQueue, tmp_path: Path) -> None:
    queue.put(["a", "b"])
    spout = FileQueueSpout(queue.path)
    spout.hooks = (Noting(tmp_path / "noted"),)
    with running(spout) as started:
        given = taken(started, 2)
        started.ack((given[0][1].serial,))
        started.fail((given[1][1].serial,), Failure.RUN_ENDED)
        assert started.close()
    noted = (tmp_path / "noted").read_text().splitlines()
    assert noted[:4] == ["emitted a", "emitted b", "acked a True", "failed b run_ended"]


def test_a_call_that_does_not_return_is_named_and_ends_with_the_run(
    queue: FileQueue, caplog: pytest.LogCaptureFixture
) -> None:
    queue.put(["a", "b"])
    spout = FileQueueSpout(queue.path, Misbehaviour(2, "next hangs"))
    with caplog.at_level(logging.WARNING, "trident.coordinator"), running(spout) as started:
        started._take_in(Hangs("next_tuple()", 10.0))
        assert len(taken(started, 1)) == 1
        assert not started.close(0.5), "it was told, and does not answer"
        assert is_gone(started.pid)
    assert "next_tuple() of its spout has not returned for 10 s" in caplog.text
    assert "does not end" in caplog.text


def test_a_process_that_is_stopped_is_named(
    queue: FileQueue, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "_SILENT_LOOKS", 2)
    with caplog.at_level(logging.WARNING, "trident.coordinator"), running(FileQueueSpout(queue.path)) as started:
        started.wait_for_first(LONGEST_S)
        os.kill(started.pid, signal.SIGSTOP)
        until(lambda: f"the process {started.pid} of its spout has said nothing for 2 s" in caplog.text)
        os.kill(started.pid, signal.SIGCONT)
        assert started.close()


def test_a_process_that_is_only_starting_is_not_said_to_be_stopped(
    queue: FileQueue, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "_STARTING_LOOKS", 1)
    monkeypatch.setattr(instance, "_SILENT_LOOKS", 1)
    monkeypatch.setattr(instance, "_LOOK_S", 0.05)
    with caplog.at_level(logging.WARNING, "trident.coordinator"), running(FileQueueSpout(queue.path)) as started:
        assert not started.has_begun
        until(lambda: f"the process {started.pid} of its spout is still starting after 0 s" in caplog.text)
        assert "said nothing" not in caplog.text
        assert "end it" not in caplog.text
        until(lambda: started.has_begun)
        assert started.wait_for_first(LONGEST_S)


def test_what_the_library_logs_there_is_in_the_log_here(caplog: pytest.LogCaptureFixture) -> None:
    def said() -> list[str]:
        return [each.getMessage() for each in caplog.records if each.name == "trident.queues"]

    with caplog.at_level(logging.INFO, "trident.queues"), running(HttpPushSpout(port=0)):
        until(lambda: said() != [])
        (text,) = said()
        assert text.startswith("stream s: messages may be posted to 127.0.0.1:")
        port = int(text.rpartition(":")[2].removesuffix("/"))
        with socket.create_connection(("127.0.0.1", port), timeout=LONGEST_S):
            pass


COORDINATOR = """
import os, sys, time
from pathlib import Path
from pyspark import cloudpickle
from tests.spouts.queue.file_queue import FileQueueSpout, Misbehaviour
from trident.spouts.queue.acking import SpoutContext
from trident.spouts.queue.process.instance import SpoutInstance
started = SpoutInstance(cloudpickle.dumps(FileQueueSpout(Path(sys.argv[1]))), SpoutContext("s", 1))
started.set_active(True)
started.wait_for_first(30)
if os.fork() == 0:  # which keeps the pipe open, and outlives it
    os.close(1)
    time.sleep(20)
    os._exit(0)
print(started.pid, flush=True)
time.sleep(3600)
"""


def test_the_process_ends_with_its_coordinator_and_the_source_gives_again_what_it_had(queue: FileQueue) -> None:
    queue.put(["a"])
    with subprocess.Popen(
        [sys.executable, "-c", COORDINATOR, str(queue.path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as coordinator:
        assert coordinator.stdout is not None
        pid = int(coordinator.stdout.readline())
        assert queue.said("open") == ["s"]
        coordinator.send_signal(signal.SIGKILL)
    until(lambda: is_gone(pid))
    with running(FileQueueSpout(queue.path)) as started:
        [(message, _)] = taken(started, 1)
        assert (message.id, message.is_redelivered) == ("a", True)


@pytest.mark.parametrize("speaks", [True, False])
def test_a_coordinator_that_says_nothing_stands_still(speaks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_LOOK_S", 0.01)
    monkeypatch.setattr(child, "_STILL_LOOKS", 20)
    ended = threading.Event()
    monkeypatch.setattr(child, "_end", lambda _: ended.set())
    ours, theirs = Pipe()
    listening = child._Listening(theirs, cast(SpoutLoop, None))
    runs = (listening.listen, lambda: listening.watch(os.getppid()))
    threads = [threading.Thread(target=run, daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    latest = time.monotonic() + 1
    while speaks and time.monotonic() < latest:
        ours.send(Beat())
        assert not ended.is_set()
        time.sleep(0.01)
    assert ended.wait(LONGEST_S)
    ours.close()
    for thread in threads:
        thread.join(LONGEST_S)


@pytest.mark.verify
def test_the_process_of_a_coordinator_that_stands_still_ends(queue: FileQueue) -> None:
    queue.put(["a"])
    with subprocess.Popen(
        [sys.executable, "-c", COORDINATOR, str(queue.path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as coordinator:
        assert coordinator.stdout is not None
        pid = int(coordinator.stdout.readline())
        coordinator.send_signal(signal.SIGSTOP)
        try:
            until(lambda: is_gone(pid), 3 * child._STILL_LOOKS)
            with running(FileQueueSpout(queue.path)) as started:
                [(message, _)] = taken(started, 1)
                assert (message.id, message.is_redelivered) == ("a", True)
        finally:
            coordinator.kill()


def test_one_that_says_nothing_else_is_known_to_run(queue: FileQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance, "_LOOK_S", 0.01)
    with running(FileQueueSpout(queue.path)) as started:
        said: list[object] = []
        monkeypatch.setattr(started._end, "send", said.append)
        until(lambda: said.count(Beat()) > 2)


def test_closing_has_its_time() -> None:
    assert child.GRACE_S < instance.CLOSING_S


class LateSpout(FileQueueSpout):
    """A source that gives nothing before a file is there, and says so."""

    def next_tuple(self) -> Message | None:
        return None if self.is_waiting() else super().next_tuple()

    def is_waiting(self) -> bool:
        return not self.path.with_name("joined").exists()


def test_who_waits_for_its_source_has_not_said_that_there_is_nothing(queue: FileQueue) -> None:
    queue.put(["a"])
    with running(LateSpout(queue.path)) as started:
        started.wait_for_first(LONGEST_S)
        time.sleep(5 * calling.QUIET_S)
        assert not started.is_idle
        queue.path.with_name("joined").touch()
        [(_, delivery)] = taken(started, 1)
        started.ack((delivery.serial,))
        until(lambda: started.is_idle)


def test_it_is_known_how_much_a_process_has_given_that_nobody_took(queue: FileQueue) -> None:
    queue.put(["a", "b", "c", "d"])
    with running(FileQueueSpout(queue.path)) as started:
        until(lambda: started.waiting == 4)
        assert len(started.take(1)) + started.waiting == 4
        taken(started, started.waiting)
        assert started.waiting == 0


def test_every_field_of_a_message_arrives() -> None:
    sent = Message({"a": [1]}, "id", is_redelivered=True, digest="d")
    assert unpickled(pickled(sent)) == sent
    assert all(getattr(sent, each.name) != each.default for each in fields(Message)), "each is tried"
