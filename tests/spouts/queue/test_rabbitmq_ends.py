"""A message that ends the run of a `RabbitSpout`: all others that were delivered are done first, it alone is left."""

from __future__ import annotations

from collections import deque
from typing import cast

import pytest

from trident.base.errors import FatalError
from trident.spouts import JsonBody, RabbitSpout, RawBody
from trident.spouts.queue.rabbitmq.line import Delivered, RabbitLine


class Line:
    """What was delivered, and what is settled of it."""

    def __init__(self) -> None:
        self.delivered: deque[Delivered] = deque()
        self.acked: list[int] = []
        self.put_back: list[int] = []
        self.begun = 0
        self.is_paused = self.is_closed = self.is_draining = False

    def put(self, tag: int, id_: str | None, body: bytes = b"{}", *, again: bool = False) -> None:
        self.delivered.append(Delivered(tag, body, again, b"", id_, {}))

    def take(self) -> Delivered | None:
        return self.delivered.popleft() if self.delivered else None

    def settle(self, tag: int, *, is_acked: bool) -> None:
        (self.acked if is_acked else self.put_back).append(tag)

    def is_waiting(self) -> bool:
        return False

    def begin(self) -> None:
        self.begun += 1

    def pause(self) -> None:
        self.is_paused = True

    def close(self) -> None:
        self.is_closed = True


def opened() -> tuple[RabbitSpout, Line]:
    spout, line = RabbitSpout("q", url="amqp://h:5672/%2F", body=JsonBody("n int")), Line()
    spout._line = cast(RabbitLine, line)
    return spout, line


def given(spout: RabbitSpout) -> str | None:
    message = spout.next_tuple()
    return None if message is None else message.id


@pytest.mark.parametrize("bad", [(1, "a", b"no JSON"), (1, None, b"{}"), (1, " ", b"{}")])
def test_what_was_delivered_behind_a_message_that_can_not_be_taken_is_done_first(
    bad: tuple[int, str | None, bytes],
) -> None:
    spout, line = opened()
    line.put(*bad)
    line.put(2, "b")
    line.put(3, "c")
    assert (given(spout), given(spout), given(spout)) == ("b", "c", None)
    assert line.is_paused, "the queue keeps all that was not delivered"
    assert spout.is_waiting(), "it is not read to its end"
    assert "ends the run" in spout.holds_back()
    spout.activate()
    assert not line.begun
    spout.ack("b")
    spout.fail("c")
    with pytest.raises(FatalError, match="of it was applied"):
        spout.next_tuple()
    assert (line.acked, line.put_back, line.is_closed) == ([2], [3], True), "a close sends what is settled"


def test_what_is_on_its_way_is_waited_for() -> None:
    spout, line = opened()
    line.put(1, "a", b"no JSON")
    line.is_draining = True
    assert (given(spout), given(spout), line.is_closed) == (None, None, False)
    line.put(2, "b")
    assert given(spout) == "b"
    spout.ack("b")
    line.is_draining = False
    with pytest.raises(FatalError, match="of it was applied"):
        spout.next_tuple()
    assert line.acked == [2]


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_messages_with_one_id_no_delivery_is_settled(is_first: bool) -> None:
    spout, line = opened()
    line.put(1, "a", b'{"n": 1}')
    line.put(2, "a", b'{"n": 2}')
    line.put(3, "b")
    assert [given(spout) for _ in range(3)] == ["a", "a", "b"]
    spout.refuse("a")
    assert given(spout) is None
    for id_ in ("a", "b") if is_first else ("b", "a"):
        spout.ack(id_)
    with pytest.raises(FatalError, match="a message with the id 'a' is not the one that is done, or under way"):
        spout.next_tuple()
    assert (line.acked, line.put_back) == ([3], [])


def test_without_such_a_message_nothing_is_held_back() -> None:
    spout, line = opened()
    line.put(1, "a")
    assert given(spout) == "a"
    spout.ack("a")
    assert (given(spout), line.acked, spout.is_waiting(), spout.holds_back()) == (None, [1], False, "")
    spout.activate()
    assert (line.begun, line.is_paused) == (1, False)


def test_names_that_are_no_text_are_no_reason_to_end() -> None:
    spout = RabbitSpout("q", url="amqp://h:5672/%2F", body=RawBody())
    line = Line()
    spout._line = cast(RabbitLine, line)
    headers: dict[str | bytes, object] = {b"h\xff": 1, "n": None}
    line.delivered.append(Delivered(1, b"body", False, b"k\xff", "a", headers))
    message = spout.next_tuple()
    assert message is not None
    assert list(message.values)[2:4] == [b"k\xff", {"h\ufffd": b"1", "n": None}]


@pytest.mark.parametrize(
    ("given", "horizon", "ahead"), [(None, 100_000, 100), (7, 100_000, 7), (None, 0, 100), (None, 20, 10)]
)
def test_how_many_are_delivered_ahead_a_class_may_say(given: int | None, horizon: int, ahead: int) -> None:
    class Few(RabbitSpout):
        max_pending = 100

    spout = Few("q", url="amqp://h:5672/%2F", max_pending=given)
    spout.horizon = horizon
    assert spout._prefetch == ahead
