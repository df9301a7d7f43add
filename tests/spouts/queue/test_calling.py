"""The thread that calls a spout, without a process around it: how much it asks for, and what it says of what lasts."""

from __future__ import annotations

import time
from multiprocessing import Pipe
from pathlib import Path
from typing import ClassVar

import pytest

from tests.spouts.queue.file_queue import FileQueueSpout
from trident.spouts.queue.acking import SpoutContext, StreamProgress
from trident.spouts.queue.message import Message
from trident.spouts.queue.process import calling
from trident.spouts.queue.process.calling import SpoutLoop
from trident.spouts.queue.process.lasting import Doubling, HeldBack
from trident.spouts.queue.process.wire import Ack, Hangs, Raised, SetActive, Stop
from trident.spouts.queue.process.writing import Writer


def test_what_lasts_is_told_whenever_twice_as_much_time_has_passed() -> None:
    telling = Doubling(10)
    assert [lasted for lasted in range(50) if telling.is_due(lasted)] == [10, 20, 40]


def test_a_spout_that_gives_nothing_though_there_is_something_is_told_of_again_and_again() -> None:
    held = HeldBack(10)
    said = [held.look("why" if now < 60 else "", float(now)) for now in range(80)]
    assert [each.seconds for each in said if each is not None] == [10, 20, 40]


def test_hangs_are_told_again_whenever_twice_as_much_time_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "LONG_S", 0.05)
    monkeypatch.setattr(calling, "_LOOK_S", 0.01)
    heard: list[object] = []

    class End:
        def send(self, said: object) -> None:
            if isinstance(said, Hangs):
                heard.append(said)
            if len(heard) == 3:
                raise SystemExit

    loop = SpoutLoop(FileQueueSpout(Path("unused")), SpoutContext("s", 1), Writer(End()))  # type: ignore[arg-type]
    with pytest.raises(SystemExit), loop._calling("ack()"):
        loop.tell_of_hangs()
    seconds = [said.seconds for said in heard if isinstance(said, Hangs)]
    assert len(seconds) == 3
    assert seconds[1] >= 0.1
    assert seconds[2] >= 0.2


def test_no_more_than_half_of_the_horizon_is_under_way(tmp_path: Path) -> None:
    here, _ = Pipe()
    spout = FileQueueSpout(tmp_path)
    spout.horizon = 7
    assert SpoutLoop(spout, SpoutContext("s", 1), Writer(here))._most == 3
    spout.horizon = 0
    assert SpoutLoop(spout, SpoutContext("s", 1), Writer(here))._most == spout.max_pending


class HoldsBackSpout(FileQueueSpout):
    """Gives one message again and again, and says why it gives no other."""

    def next_tuple(self) -> Message | None:
        return Message({"body": "x"}, "one", True)

    def holds_back(self) -> str:
        return "one fails"


def test_one_that_fails_again_and_again_is_no_reason_to_be_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "LONG_S", 0.05)
    sent: list[object] = []
    loop = SpoutLoop(HoldsBackSpout(tmp_path), SpoutContext("s", 1), Writer(Pipe()[0]))
    monkeypatch.setattr(loop._writer, "send", sent.append)
    monkeypatch.setattr(loop._writer, "emit", lambda _: 0)
    deadline = time.monotonic() + 10
    while not sent and time.monotonic() < deadline:
        loop._ask()
    assert [type(each).__name__ for each in sent] == ["HoldsBack"]


class NotesSpout(FileQueueSpout):
    """Notes what it hears, in order."""

    heard: ClassVar[list[object]] = []

    def reached(self, progress: StreamProgress) -> None:
        self.heard.append(progress)

    def ack(self, id_: str | None) -> None:
        self.heard.append(id_)


def test_a_spout_hears_how_far_its_stream_is_before_the_acks_that_belong_to_it(tmp_path: Path) -> None:
    loop = SpoutLoop(NotesSpout(tmp_path), SpoutContext("s", 1), Writer(Pipe()[0]))
    loop._pending = {1: ("a", 0.0), 2: ("b", 0.0), 3: ("c", 0.0)}
    for ack in (Ack((1, 2), StreamProgress("x", 0, 5)), Ack((3,))):
        loop._one(ack)
    assert NotesSpout.heard == [StreamProgress("x", 0, 5), "a", "b", "c"]


class FailingSpout(FileQueueSpout):
    """Raises as soon as it is asked, or opened, and notes what is called of it."""

    called: ClassVar[list[str]] = []

    def __init__(self, folder: Path, at: str) -> None:
        super().__init__(folder)
        self.at = at

    def _call(self, what: str) -> None:
        self.called.append(what)
        if what == self.at:
            raise ValueError

    def open(self, context: SpoutContext) -> None:
        self._call("open")

    def activate(self) -> None:
        self._call("activate")

    def next_tuple(self) -> Message | None:
        self._call("next_tuple")
        return None

    def deactivate(self) -> None:
        self._call("deactivate")

    def close(self) -> None:
        self._call("close")


@pytest.mark.parametrize(
    ("at", "called"),
    [
        ("open", ["open", "close"]),
        ("next_tuple", ["open", "activate", "next_tuple", "deactivate", "close"]),
        ("close", ["open", "activate", "deactivate", "close"]),
    ],
)
def test_a_spout_that_has_raised_is_closed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, called: list[str]
) -> None:
    FailingSpout.called.clear()
    loop = SpoutLoop(FailingSpout(tmp_path, at), SpoutContext("s", 1), Writer(Pipe()[0]))
    sent: list[object] = []
    monkeypatch.setattr(loop._writer, "send", sent.append)
    loop.hear(SetActive(True))
    if at == "close":
        loop.hear(Stop())
    loop.run()
    assert FailingSpout.called == called
    assert [each.what for each in sent if isinstance(each, Raised)] == [f"{at}()"]


def test_a_close_that_hangs_behind_an_error_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "_LOOK_S", 0.01)
    codes: list[int] = []

    def leave(code: int) -> None:
        codes.append(code)
        raise SystemExit

    monkeypatch.setattr("os._exit", leave)
    loop = SpoutLoop(FileQueueSpout(tmp_path), SpoutContext("s", 1), Writer(Pipe()[0]))
    loop._closes_until = time.monotonic() + 0.05
    with pytest.raises(SystemExit):
        loop.tell_of_hangs()
    assert codes == [1]
