"""Messages of a RabbitMQ queue, each acked when its batch is done."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from trident.base.checks import check_count, check_text
from trident.base.errors import FatalError
from trident.spouts.queue.acking import AckingSpout, SpoutContext
from trident.spouts.queue.addresses import check_name, checked_address, require_client
from trident.spouts.queue.bodies.body import Body, RawBody, checked_body
from trident.spouts.queue.message import Message, body_digest
from trident.spouts.queue.received import Received, UnreadableError, id_problem, other_message, shown_id, unreadable

if TYPE_CHECKING:
    from trident.spouts.queue.rabbitmq.line import Delivered, RabbitLine

_MOST: Final = 65_535
"""What AMQP has room for in a consumer's prefetch."""
_WAY_ON: Final = (
    "It comes again with the next run: take it out of the queue (a quorum queue with a delivery-limit and a "
    "dead-letter exchange does that by itself), or take bodies as they are (RawBody) and decode them in the topology"
)
_PUT_RIGHT: Final = (
    "It comes again with the next run: take it out of the queue (a quorum queue with a delivery-limit and a "
    "dead-letter exchange does that by itself), and publish it again with an id of its own. A message that is "
    "published once more must have the same body, byte for byte"
)


class RabbitSpout(AckingSpout):
    """The messages of a queue, classic or quorum, that is there: `RabbitSpout("payments", url="amqp://…/vhost")`.

    Guarantee: a message leaves the queue when its batch is in every state and sink. What a run, a process or a
    connection leaves unacked, the broker delivers again; that counts once, since it has the same id.

    The id is the property `message_id`, which the publisher sets, once for each thing that it says: a publisher that
    sends again because it got no confirm must use the same id and the same body. `id_header` names a header to use in
    its place. A message without an id stops the run, unless `horizon` is 0; so does one with another body than the
    message has that is done (within the `horizon`) or under way with its id, and it stays in the queue. The run stops
    when all else that was delivered is done and acked: what goes back into the queue is that message alone.

    Neither `url` nor what is in it is shown anywhere; `amqps://` is TLS, and further options of the connection
    (`?heartbeat=30`) are those of the client pika. Heartbeats are answered however long a batch takes.
    """

    def __init__(
        self,
        queue: str,
        *,
        url: str,
        body: Body = RawBody(),  # noqa: B008 - it is immutable
        id_header: str | None = None,
        max_pending: int | None = None,
    ) -> None:
        """`max_pending`: how many messages the broker delivers ahead of their acks, at most 65,535; else the class's.

        No more than half of the `horizon` are delivered, so that all of them are known when they come again.
        """
        self._queue = check_name("queue", queue, "the name of a queue")
        self._address = checked_address(url, ("amqp", "amqps"), "amqp://user:password@host:5672/vhost", 5672)
        self._body = checked_body(body)
        self.schema = body.schema  # type: ignore[misc]  # each object has its own
        self._id_header = None if id_header is None else check_text("id_header", id_header)
        if max_pending is not None:
            self.max_pending = check_count("max_pending", max_pending, most=_MOST)
        require_client("pika", "RabbitSpout")
        self._line: RabbitLine | None = None
        self._tags: dict[str, deque[int]] = {}
        self._left: set[str] = set()
        """Ids that two messages have, of which nobody can tell which delivery is whose: none of these is settled."""
        self._ends_with: FatalError | None = None
        self._made_up = uuid.uuid4().hex

    def __repr__(self) -> str:
        return f"RabbitSpout({self._queue!r}, vhost={self._vhost!r})"

    def identity(self) -> Mapping[str, str]:
        """Return the queue and its vhost; the server may move."""
        return {"spout": "rabbitmq", "vhost": self._vhost, "queue": self._queue, "id": self._id_header or ""}

    def shared_out(self) -> Sequence[str]:
        """Return the queue."""
        return [f"the queue {self._queue!r} in the vhost {self._vhost!r} at RabbitMQ {self._address.shown}"]

    def open(self, context: SpoutContext) -> None:
        """Connect and look at the queue; raises `RetryableError` where the broker is away."""
        from trident.spouts.queue.rabbitmq.errors import RabbitPlace
        from trident.spouts.queue.rabbitmq.line import RabbitLine

        self._made_up = uuid.uuid4().hex
        self._tags = {}
        self._left = set()
        self._ends_with = None
        place = RabbitPlace(self._address.shown, self._vhost, self._queue)
        self._line = RabbitLine(self._address.url, place, self._prefetch)
        self._line.open()

    def next_tuple(self) -> Message | None:
        """Return what the broker has delivered next; never waits for it."""
        while (delivered := self._opened().take()) is not None:
            try:
                return self._message(delivered)
            except FatalError as error:  # of this message: it is left as it is
                self._end_with(error)
        if self._ends_with is not None and self._left.issuperset(self._tags) and not self._opened().is_draining:
            self.close()  # which sends the last acks
            raise self._ends_with
        return None

    def is_waiting(self) -> bool:
        """Return whether the queue has messages that have not come yet."""
        return self._ends_with is not None or self._opened().is_waiting()

    def holds_back(self) -> str:
        """Return why nothing more is taken, while the run is about to end."""
        if self._ends_with is None:
            return ""
        return "a message ends the run as soon as all others that were delivered are done"

    def ack(self, id_: str | None) -> None:
        """Ack the oldest delivery of the message that is not settled."""
        self._settle(id_, is_acked=True)

    def fail(self, id_: str | None) -> None:
        """Have the broker put the oldest delivery that is not settled back into the queue."""
        self._settle(id_, is_acked=False)

    def refuse(self, id_: str | None) -> None:
        """End the run when all else that was delivered is done: the message stays in the queue.

        Which delivery is whose of the two, their id does not say: none of them is settled by this process any more.
        """
        self._left.add(id_ or "")
        self._end_with(other_message(f"queue {self._queue!r}", id_ or "", _PUT_RIGHT))

    def activate(self) -> None:
        """Have the broker deliver, unless the run is about to end."""
        if self._ends_with is None:
            self._opened().begin()

    def deactivate(self) -> None:
        """End the consumer, so that the queue keeps what comes; what was delivered stays here until its ack."""
        self._opened().pause()

    def close(self) -> None:
        """Send the last acks and end the connection."""
        if self._line is not None:
            self._line.close()
            self._line = None

    @property
    def _prefetch(self) -> int:
        """Return how many may be unacked: a line that dies gives all of them again, and each has to be known."""
        return min(self.most_under_way, _MOST)

    @property
    def _vhost(self) -> str:
        return self._address.path or "/"

    def _opened(self) -> RabbitLine:
        assert self._line is not None, "the spout was not opened"
        return self._line

    def _end_with(self, error: FatalError) -> None:
        """Take nothing more and end when what was delivered is done.

        A quorum queue counts each delivery that comes back: what ended at once would bring all that was delivered with
        a message nearer to its limit, and put it aside, or drop it, together with that one.
        """
        self._ends_with = self._ends_with or error
        self._opened().pause()

    def _message(self, delivered: Delivered) -> Message:
        id_ = self._id(delivered)
        received = Received(id_, self._queue, delivered.body, delivered.routing_key, _attributes(delivered.headers))
        try:
            values = self._body.values(received)
        except UnreadableError as error:
            raise unreadable(f"queue {self._queue!r}", id_, str(error), _WAY_ON) from None
        self._tags.setdefault(id_, deque()).append(delivered.tag)
        return Message(values, id_, delivered.is_redelivered, body_digest(delivered.body))

    def _settle(self, id_: str | None, *, is_acked: bool) -> None:
        tags = self._tags.get(id_ or "")
        if not tags or id_ in self._left:
            return
        tag = tags.popleft()
        if not tags:
            del self._tags[id_ or ""]
        self._opened().settle(tag, is_acked=is_acked)

    def _id(self, delivered: Delivered) -> str:
        given = delivered.message_id if self._id_header is None else delivered.headers.get(self._id_header)
        if given is None and self.horizon == 0:
            return f"{self._made_up}/{delivered.tag}"  # nothing is remembered: it is only to be acked
        where = "message_id" if self._id_header is None else f"header {self._id_header!r}"
        if given is None:
            raise FatalError(
                f"queue {self._queue!r}: a message has no {where}, by which it would be known when it comes again. "
                "Nothing of it was applied, and it is in the queue. Let the publisher set it, or say where else the "
                "id is (id_header); with `horizon = 0` in a subclass they need none, and what comes again counts again"
            )
        id_ = given if isinstance(given, str) else str(given) if isinstance(given, int) else ""
        problem = id_problem(id_) if isinstance(given, str | int) else "is no text"
        if problem is not None:
            raise FatalError(
                f"queue {self._queue!r}: the {where} {shown_id(id_)} of a message {problem}. Nothing of it was "
                "applied, and it is in the queue. Correct the publisher, and take the message out of the queue"
            )
        return id_


def _attributes(headers: Mapping[str, object] | Mapping[str | bytes, object]) -> dict[str, bytes | None]:
    """Return headers as bytes: text as UTF-8, other values as Python writes them; names as texts."""
    return {
        name if isinstance(name, str) else name.decode(errors="replace"): _bytes(value)
        for name, value in headers.items()
    }


def _bytes(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else str(value)).encode(errors="replace")
