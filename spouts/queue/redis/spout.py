"""Entries of Redis streams, read by a consumer group, each acked when its batch is done."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from trident.base.checks import check_duration, check_flag, check_text, refused
from trident.base.errors import ConfigurationError, RetryableError
from trident.base.policies import policy_of
from trident.spouts.base import StartAt
from trident.spouts.queue.acking import AckingSpout, SpoutContext
from trident.spouts.queue.addresses import Address, check_name, checked_address, require_client
from trident.spouts.queue.bodies.body import Body, FieldsBody, RawBody, checked_body
from trident.spouts.queue.message import Message, body_digest
from trident.spouts.queue.received import Received, UnreadableError, other_message, unreadable

if TYPE_CHECKING:
    from redis import Redis

    from trident.spouts.queue.redis.errors import RedisPlace
    from trident.spouts.queue.redis.group import Entry, StreamGroup

_AT_ONCE: Final = 1_000
_RESERVED: Final = frozenset(("protocol", "decode_responses", "encoding", "encoding_errors"))
_LONGEST_IDLE: Final = timedelta(days=365)
_BACK_S: Final = 10.0
"""For how long what was failed is waited for before it counts as another consumer's."""
_LOOKS_S: Final = 0.1
"""How often it is looked for meanwhile."""
_UNSENT: Final = 256
"""How many acks are kept back to be sent by one command; never beyond the next call of `next_tuple`."""


class _Reading:
    """How far one stream is read."""

    def __init__(self, group: StreamGroup) -> None:
        self.group = group
        self.held: set[str] = set()
        """The entries that are here, emitted or about to be: a takeover may find one of them again."""
        self.own: str | None = "0-0"
        """Behind which entry that was given before this process began; None when there is none left."""
        self.look_at = 0.0
        self.acks: list[str] = []
        self.fails: list[str] = []
        self.back: set[str] = set()
        """What was failed and has not come again."""
        self.back_until = 0.0

    def awaits_failed(self, now: float) -> bool:
        """Whether something that was failed is to come again."""
        return bool(self.fails) or (bool(self.back) and now < self.back_until)


class RedisStreamSpout(AckingSpout):
    """The entries of one stream or several, as one consumer of a group: `RedisStreamSpout("payments", "trident", …)`.

    Guarantee: an entry is acked when its batch is in every state and sink. What a run, a process or a connection
    leaves unacked stays pending in Redis, and is emitted again: that counts once, since it has the same id. What this
    consumer's name has pending comes first, at once; what others in the group have left pending for `min_idle` is
    taken over, so that must be longer than a message is under way anywhere. An entry that was deleted or trimmed
    before it was acked stops the run, once, with its id.

    The id is the entry's own, with the stream in front where there are several. A group has one run of one topology
    under a `consumer`'s name. Neither `url` nor what is in it is shown anywhere; `rediss://` is TLS. Needs Redis 7.
    """

    def __init__(
        self,
        streams: str | Sequence[str],
        group: str,
        *,
        url: str,
        body: Body = RawBody(),  # noqa: B008 - it is immutable
        field: str = "body",
        consumer: str = "trident",
        min_idle: timedelta = timedelta(minutes=1),
        create_group: bool = False,
        start: StartAt = StartAt.EARLIEST,
    ) -> None:
        """`field`: the one that `body` decodes. `create_group`: make a group that is not there, to read from `start`.

        That is for the topology's first run: a group that went afterwards stops the run, whatever is said here.
        """
        self._streams = _checked_streams(streams)
        self._group = check_name("group", group, "the name of a consumer group")
        self._address = checked_address(url, ("redis", "rediss"), "redis://user:password@host:6379/0", 6379)
        _check_options(self._address)
        self._body = checked_body(body)
        self.schema = body.schema  # type: ignore[misc]  # each object has its own
        self._field = check_text("field", field)
        self._consumer = check_name("consumer", consumer, "the name of a consumer")
        self._idle_ms = (
            int(check_duration("min_idle", min_idle, longest=_LONGEST_IDLE) / timedelta(milliseconds=1)) or 1
        )
        self._creates = check_flag("create_group", create_group)
        self._start = policy_of(StartAt, start, "start")
        require_client("redis", "RedisStreamSpout")
        self._client: Redis | None = None
        self._readings: dict[str, _Reading] = {}
        self._fetched: deque[tuple[str, Entry]] = deque()
        self._is_active = False

    def __repr__(self) -> str:
        return f"RedisStreamSpout({list(self._streams)!r}, {self._group!r})"

    def identity(self) -> Mapping[str, str]:
        """Return streams, group and database; the server may move."""
        database = self._address.path or "0"
        return {"spout": "redis", "streams": ",".join(self._streams), "group": self._group, "database": database}

    def shared_out(self) -> Sequence[str]:
        """Return the streams as the group reads them, whatever this consumer is called."""
        where = f"in the group {self._group!r} at Redis {self._address.shown}/{self._address.path or '0'}"
        return [f"the stream {stream!r} {where}" for stream in self._streams]

    def open(self, context: SpoutContext) -> None:
        """Connect and look at what is pending; raises `RetryableError` where the server is away."""
        from trident.spouts.queue.redis.errors import RedisPlace
        from trident.spouts.queue.redis.group import connected

        places = [RedisPlace(self._address.shown, stream, self._group) for stream in self._streams]
        self._client = client = connected(self._address.url, places[0])
        held = set(context.held)
        done = [id_ for id_ in context.known if id_ not in held]
        self._readings = {place.stream: self._reading(client, place, done, context.held) for place in places}
        self._fetched.clear()
        for reading in self._readings.values():
            if self._creates and context.is_new:  # else it has gone: what it had given, and was to give, is unknown
                reading.group.create("0" if self._start is StartAt.EARLIEST else "$")
            self._fetch_old(reading)

    def next_tuple(self) -> Message | None:
        """Return the next entry: what was pending before what is new; never waits for one."""
        self._send()
        if not self._fetched:
            for reading in self._readings.values():
                self._fetch(reading)
        return self._message(*self._fetched.popleft()) if self._fetched else None

    def is_waiting(self) -> bool:
        """Return whether something that was failed has not come again: it is there, whatever a look has found."""
        now = time.monotonic()
        return any(reading.awaits_failed(now) for reading in self._readings.values())

    def ack(self, id_: str | None) -> None:
        """Ack the entry."""
        self._settle(id_, is_acked=True)

    def fail(self, id_: str | None) -> None:
        """Leave the entry pending, for whoever looks next for those that were left."""
        self._settle(id_, is_acked=False)

    def refuse(self, id_: str | None) -> None:
        """Raise: of a stream that was made again, or put back, the ids may name other entries than those done."""
        stream, entry = self._place_of(id_)
        raise other_message(
            f"stream {stream!r}",
            id_ or "",
            "A stream that was made again, or put back from a backup, has such entries. It stays pending in the group "
            f"and comes again with the next run: XACK {stream} {self._group} {entry} leaves it out; for it to count, "
            f"add it with an id of its own (XADD {stream} * …) before",
        )

    def activate(self) -> None:
        """Hear that `next_tuple` sends acks from now on."""
        self._is_active = True

    def deactivate(self) -> None:
        """Send all acks: there is no next call to do so."""
        self._is_active = False
        self._send()

    def close(self) -> None:
        """Send the last acks and end the connection."""
        if self._client is not None:
            with suppress(RetryableError):  # what was not acked is emitted again, and is known then
                self._send()
            self._client.close()
            self._client = None

    def _place_of(self, id_: str | None) -> tuple[str, str]:
        """Return the stream and the entry that a message's id names."""
        stream, _, entry = (id_ or "").rpartition("/")
        return stream or self._streams[0], entry

    def _reading(self, client: Redis, place: RedisPlace, done: Sequence[str], held: Sequence[str]) -> _Reading:
        from trident.spouts.queue.redis.group import StreamGroup

        known, undecided = (self._entries_of(place.stream, ids) for ids in (done, held))
        return _Reading(StreamGroup(client, place, self._consumer, known, undecided))

    def _entries_of(self, stream: str, known: Sequence[str]) -> list[str]:
        """Return which entries of a stream are among messages' ids."""
        before = "" if len(self._streams) == 1 else f"{stream}/"
        return [id_.removeprefix(before) for id_ in known if id_.startswith(before)]

    def _fetch_old(self, reading: _Reading) -> None:
        if reading.own is not None:
            entries = reading.group.own(reading.own, _AT_ONCE)
            reading.own = entries[-1].id if entries else None
            self._keep(reading, entries)

    def _fetch(self, reading: _Reading) -> None:
        before = len(self._fetched)
        self._fetch_old(reading)
        if reading.own is None and time.monotonic() >= reading.look_at:
            entries, is_more = reading.group.idle(self._idle_ms, _AT_ONCE, reading.held)
            # several looks in the time after which something is left: it waits little longer than that
            now, quarter_s = time.monotonic(), self._idle_ms / 4_000
            again_s = min(_LOOKS_S, quarter_s) if reading.awaits_failed(now) else quarter_s
            reading.look_at = now + (0.0 if is_more else again_s)
            self._keep(reading, entries)
        if len(self._fetched) == before:  # of this stream: a busy one must not keep others waiting
            self._keep(reading, reading.group.new(_AT_ONCE))

    def _keep(self, reading: _Reading, entries: Sequence[Entry]) -> None:
        name = next(name for name, each in self._readings.items() if each is reading)
        ids = [entry.id for entry in entries]
        reading.held.update(ids)
        reading.back.difference_update(ids)
        self._fetched.extend((name, entry) for entry in entries)

    def _message(self, stream: str, entry: Entry) -> Message:
        id_ = entry.id if len(self._streams) == 1 else f"{stream}/{entry.id}"
        attributes = {name.decode(errors="replace"): value for name, value in entry.fields.items()}
        body = attributes.get(self._field)
        try:
            values = self._body.values(Received(id_, stream, body, None, attributes))
        except UnreadableError as error:
            is_of_one_field = not isinstance(self._body, FieldsBody)
            missing = f" (it has no field {self._field!r})" if body is None and is_of_one_field else ""
            way_on = f"It comes again with the next run: XACK {stream} {self._group} {entry.id} leaves it out"
            raise unreadable(f"stream {stream!r}", id_, f"{error}{missing}", way_on) from None
        return Message(values, id_, entry.is_redelivered, _digest(entry.fields))

    def _settle(self, id_: str | None, *, is_acked: bool) -> None:
        stream, entry = self._place_of(id_)
        reading = self._readings.get(stream)
        if reading is None or entry not in reading.held:
            return
        reading.held.discard(entry)
        (reading.acks if is_acked else reading.fails).append(entry)
        if not self._is_active or len(reading.acks) + len(reading.fails) >= _UNSENT:
            self._send()

    def _send(self) -> None:
        for reading in self._readings.values():
            if reading.acks:
                acks, reading.acks = reading.acks, []
                reading.group.ack(acks)
            if reading.fails:
                fails, reading.fails = reading.fails, []
                reading.look_at, reading.back_until = 0.0, time.monotonic() + _BACK_S
                reading.back.update(fails)
                reading.group.give_back(fails, self._idle_ms)


def _digest(fields: Mapping[bytes, bytes]) -> str:
    """Return what tells an entry from another one with its id: all of its fields, in any order."""
    return body_digest(
        b"".join(b"%d %s%d %s" % (len(name), name, len(fields[name]), fields[name]) for name in sorted(fields))
    )


def _check_options(address: Address) -> None:
    given = parse_qs(urlsplit(address.url).query)
    if "db" in given:  # what the ledger knows of the place, and what two streams have in common, is the path
        raise ConfigurationError("url: say the database in the path (redis://host:6379/3), not by the option 'db'")
    found = sorted(_RESERVED & set(given))
    if found:
        raise ConfigurationError(f"url: the option {found[0]!r} can't be set: answers are read in one form only")


def _checked_streams(given: object) -> tuple[str, ...]:
    allowed = "the name of at least one stream"
    several = (given,) if isinstance(given, str) else given
    if not isinstance(several, Sequence) or isinstance(several, bytes) or not several:
        raise refused("streams", allowed, given)
    streams = tuple(check_name("streams", each, allowed) for each in several)
    if len(set(streams)) < len(streams):
        raise ConfigurationError("streams: a stream is named twice; nothing was started")
    return streams
