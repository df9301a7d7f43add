"""A spout of a user's own whose methods can't be called is refused where it is given to a stream."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spouts.queue.file_queue import FileQueueSpout
from trident.base.errors import ConfigurationError, FatalError
from trident.spouts.queue.acking import AckingSpout, SpoutHook
from trident.spouts.queue.message import Message
from trident.spouts.queue.process import methods
from trident.spouts.queue.process.pickling import checked
from trident.spouts.queue.spout import QueueSpout


class OpensAlone(FileQueueSpout):
    def open(self) -> None:  # type: ignore[override]  # what a user may do
        return None


class AcksNothing(FileQueueSpout):
    def ack(self) -> None:  # type: ignore[override]  # as above
        return None


class AcksLater(FileQueueSpout):
    async def ack(self, id_: str | None) -> None:  # type: ignore[override]  # as above
        return None


class Yields(FileQueueSpout):
    def next_tuple(self) -> Iterator[Message]:  # type: ignore[override]  # as above
        yield Message({"body": "a"}, "a")


class Overwritten(FileQueueSpout):
    fail = None  # type: ignore[assignment]  # as above


class Refuses(FileQueueSpout):
    def refuse(self, id_: str | None, why: str) -> None:  # type: ignore[override]  # as above
        return None


class HookOfItsOwn:
    def emitted(self, message: Message) -> None: ...

    def acked(self, id_: str | None, latency_s: float) -> None: ...

    def failed(self, id_: str | None, reason: object) -> None: ...


class HookedByAnother(FileQueueSpout):
    hooks = (HookOfItsOwn(),)  # type: ignore[assignment]  # as above


class WaitsWithoutAStreak:
    def pause(self) -> float:
        return 0.0


class Waits(FileQueueSpout):
    wait = WaitsWithoutAStreak()  # type: ignore[assignment]  # as above


class DeafHook(SpoutHook):
    def acked(self, id_: str | None) -> None:  # type: ignore[override]  # as above
        return None


class Hooked(FileQueueSpout):
    hooks = (DeafHook(),)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (OpensAlone, r"^open of OpensAlone must be def open\(self, context\), as its process calls it: too many"),
        (AcksNothing, r"^ack of AcksNothing must be def ack\(self, id_\)"),
        (AcksLater, r"^ack of AcksLater must be a plain def ack\(self, id_\).*runs nothing of it"),
        (Yields, r"^next_tuple of Yields must be a plain def next_tuple\(self\)"),
        (Overwritten, r"^Overwritten must have def fail\(self, id_\)"),
        (Refuses, r"^refuse of Refuses must be def refuse\(self, id_\)"),
        (HookedByAnother, r"^HookOfItsOwn, a hook of HookedByAnother, must have def refused\(self, id_\)"),
        (Waits, r"^pause of WaitsWithoutAStreak, the wait of Waits, must be def pause\(self, streak\)"),
        (Hooked, r"^acked of DeafHook, a hook of Hooked, must be def acked\(self, id_, latency_s\)"),
    ],
)
def test_a_method_that_can_not_be_called_is_named_with_its_arguments(kind: type[AckingSpout], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text) as caught:
        QueueSpout(kind(Path("unused")), b"")  # type: ignore[call-arg]  # all of them are over files
    assert "nothing was started" in str(caught.value)


class Free(FileQueueSpout):
    def open(self, *given: object, **named: object) -> None:
        return None


def test_a_method_may_take_more_than_it_is_given() -> None:
    QueueSpout(Free(Path("unused")), b"")


def test_a_message_that_is_given_without_an_id_is_told_what_it_lacks() -> None:
    with pytest.raises(FatalError, match=r"gave a message without an id.*Give messages an id that stays the same"):
        checked(Message(("a", 1)), ids_are_needed=True)
    assert checked(Message(("a", 1)), ids_are_needed=False).id is None


def own_methods(kind: type) -> set[str]:
    return {name for name, each in vars(kind).items() if inspect.isfunction(each) and not name.startswith("_")}


def test_each_method_that_a_process_calls_is_checked() -> None:
    """One that is not would fail in the process, where nobody sees who wrote it."""
    assert own_methods(SpoutHook) == set(methods._OF_HOOKS)
    assert own_methods(AckingSpout) >= set(methods._OF_SPOUTS) - {"is_waiting"}
    assert own_methods(AckingSpout) - set(methods._OF_SPOUTS) == set()
