"""One stream of Redis as one consumer of a group reads it: what it asks, and what the answers say."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, cast

from redis import Redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.exceptions import RedisError, WatchError
from redis.retry import Retry

from trident.base.errors import FatalError, TridentError
from trident.spouts.queue.redis.errors import (
    RedisPlace,
    all_named,
    begun_anew,
    classify,
    exchanged,
    gone_under_way,
    lost_entries,
    lost_unread,
    too_old,
    went_back,
)

_log = logging.getLogger("trident.queues")
_BEGINNING: Final = "0-0"
_PATIENCE_S: Final = 10.0
_OF_REDIS_7: Final = 3
"""Parts of an answer to XAUTOCLAIM; older servers do not say what is gone, and would emit it without fields."""
_AT_ONCE: Final = 1_000
"""How many ids one command names."""
_OLDER_MS: Final = 1_000
"""By how much what is given back looks older than it has to: the server's clock may be set back a little."""
_About = Mapping[str, object]
"""What Redis says of a stream or a group."""
_Answer = Sequence[tuple[bytes, Mapping[bytes, bytes] | None]]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a stream, by its own id."""

    id: str
    fields: Mapping[bytes, bytes] = field(repr=False)
    is_redelivered: bool


def connected(url: str, place: RedisPlace) -> Redis:
    """Return a client, which connects when it is first asked; it never sends a command twice by itself.

    One whose answer was lost may have been carried out, and entries that nobody saw are found only by looking again.
    """
    try:
        client = Redis.from_url(
            url,
            protocol=2,  # the form of answers that is read here
            retry=Retry(NoBackoff(), 0),
            socket_timeout=_PATIENCE_S,
            socket_connect_timeout=_PATIENCE_S,
        )
        client.connection_pool.make_connection()  # which connects to nothing, but takes the options or does not
    except (ValueError, TypeError):  # what it says quotes the address
        raise FatalError(f"{place}: the address (url) is none that the client takes; nothing was read") from None
    return client


class StreamGroup:
    """What is asked of one stream; every call raises what `classify` makes of what goes wrong."""

    def __init__(
        self,
        client: Redis,
        place: RedisPlace,
        consumer: str,
        known: Iterable[str] = (),
        undecided: Iterable[str] = (),
    ) -> None:
        """`known` are entries that are in every result: they may be gone from the stream, whoever was to ack them.

        `undecided` may be by now: an earlier process has given them. Those that are gone stay pending, for whoever
        comes next to know.
        """
        self._known = frozenset(known)
        self._undecided = frozenset(undecided)
        self._client = client
        self._place = place
        self._consumer = consumer
        self._read = (0, 0)
        """The newest entry that was read here."""
        self._may_correct = True
        self._added = 0
        """How many entries the stream has ever had, as far as was seen."""

    def create(self, start: str) -> None:
        """Make the group, and the stream, unless it is there."""
        try:
            self._client.xgroup_create(self._place.stream, self._place.group, id=start, mkstream=True)
        except (RedisError, OSError) as error:
            if not str(error).startswith("BUSYGROUP"):
                raise classify(error, self._place) from None

    def own(self, after: str, count: int) -> list[Entry]:
        """Return what this consumer, or one of its name before it, was given and has not acked, behind an id.

        Raises `FatalError` for those that are in the stream no more; they are pending no more then. None says that
        there are no more: an answer of which all is done and gone is passed.
        """
        place = self._place
        while True:
            ask = partial(self._client.xreadgroup, place.group, self._consumer, {place.stream: after}, count)
            answer = _of_one_stream(self._asked(ask))
            found = self._there(answer)
            if found or not answer:
                return found
            after = _text(answer[-1][0])

    def new(self, count: int) -> list[Entry]:
        """Return entries that the group was not given yet; raises `FatalError` where some are gone unread."""
        # looked at before anything is taken: what is taken lies behind a gap, which nobody would see any more if the
        # answer were lost
        stream, group, _ = self._looked(0)
        self._require_same(stream, group)
        if (loss := self._loss(stream, group)) is not None:
            raise self._passed(loss, stream, group, count)
        if group and group["last-delivered-id"] == stream["last-generated-id"]:
            return []
        stream, group, read = self._looked(count)
        self._require_same(stream, group)
        if (loss := self._loss(stream, group)) is not None:
            raise lost_unread(self._place, loss, "")
        entries = [Entry(_text(id_), fields or {}, False) for id_, fields in _of_one_stream(read)]
        if entries:
            self._read = max(self._read, _number(entries[-1].id))
        return entries

    def _looked(self, count: int) -> tuple[_About, _About, object]:
        """Return what is known of stream and group, and behind that so many entries, in one moment."""
        place = self._place
        with self._client.pipeline(transaction=True) as all_or_nothing:
            all_or_nothing.xinfo_stream(place.stream)
            all_or_nothing.xinfo_groups(place.stream)
            if count:
                all_or_nothing.xreadgroup(place.group, self._consumer, {place.stream: ">"}, count)
            answer = self._asked(all_or_nothing.execute)
        stream, groups, *read = cast("tuple[_About, list[_About], object]", answer)
        return stream, self._of(groups), read[0] if read else None

    def _of(self, groups: list[_About]) -> _About:
        return next((each for each in groups if _text(each["name"]) == self._place.group), {})

    def idle(self, min_idle_ms: int, most: int, held: Collection[str]) -> tuple[list[Entry], bool]:
        """Take over what any consumer has left pending for so long, but what is held here; says whether there is more.

        Raises `FatalError` for those that are in the stream no more; they are pending no more then, however short they
        were left. One that is held is not lost: its values are here. Nor is one that may be done by now, which whoever
        started this process holds: it is warned of.
        """
        found: list[Entry] = []
        gone: list[str] = []
        cursor = _BEGINNING
        while True:
            try:
                following, entries, deleted = self._claimed(min_idle_ms, cursor)
            except TridentError:
                self._tell_gone(gone)  # no later answer names them again
                raise
            taken = [Entry(_text(id_), fields, True) for id_, fields in entries if fields]
            found += [entry for entry in taken if entry.id not in held]
            gone += [id_ for id_ in map(_text, deleted) if id_ not in held and id_ not in self._known]
            cursor = _text(following)
            if cursor == _BEGINNING or len(found) >= most:
                break
        self._tell_gone(gone)
        return found, cursor != _BEGINNING

    def ack(self, ids: Sequence[str]) -> None:
        """Ack entries; those that are pending no more are left as they are."""
        for some in _cut(ids):
            self._asked(partial(self._client.xack, self._place.stream, self._place.group, *some))

    def give_back(self, ids: Sequence[str], idle_ms: int) -> None:
        """Let entries look as if they had been left for so long: whoever looks for such takes them over.

        They stay pending, so that they outlive this process. Raises `FatalError` for those that are gone.
        """
        place = self._place
        for some in _cut(ids):
            answer = self._asked(
                partial(
                    self._client.xclaim,
                    place.stream,
                    place.group,
                    self._consumer,
                    0,
                    list(some),
                    idle=idle_ms + _OLDER_MS,
                    justid=True,
                )
            )
            kept = {_text(id_) for id_ in cast("Sequence[bytes]", answer)}
            gone = [id_ for id_ in some if id_ not in kept]
            if gone:
                raise self._lost(gone)

    def _claimed(self, min_idle_ms: int, cursor: str) -> tuple[bytes, _Answer, Sequence[bytes]]:
        place = self._place
        claim = partial(self._client.xautoclaim, place.stream, place.group, self._consumer, min_idle_ms, cursor)
        answer = self._asked(partial(claim, count=_AT_ONCE))
        if len(cast("Sequence[object]", answer)) < _OF_REDIS_7:
            raise too_old(place)
        return cast("tuple[bytes, _Answer, Sequence[bytes]]", answer)

    def _tell_gone(self, gone: Sequence[str]) -> None:
        if any(id_ not in self._undecided for id_ in gone):
            raise self._lost(gone, self._undecided)
        if gone:
            self._name_all(gone)
            _log.warning("%s", gone_under_way(self._place, gone))

    def _lost(self, ids: Sequence[str], undecided: Container[str] = ()) -> FatalError:
        self._name_all(ids)
        return lost_entries(self._place, ids, undecided)

    def _name_all(self, ids: Sequence[str]) -> None:
        for line in all_named(self._place, ids):
            _log.warning("%s", line)

    def _there(self, answer: _Answer) -> list[Entry]:
        missing = (_text(id_) for id_, fields in answer if not fields)
        gone = [id_ for id_ in missing if id_ not in self._undecided]
        if lost := [id_ for id_ in gone if id_ not in self._known]:
            with suppress(TridentError):  # if it was carried out all the same, nobody would ever say what is lost
                self.ack(gone)
            raise self._lost(lost)
        if gone:
            self.ack(gone)
        return [Entry(_text(id_), fields, True) for id_, fields in answer if fields]

    def _require_same(self, stream: _About, group: _About) -> None:
        """Raise for another stream of the name, and for a group that gives again what it has given."""
        read = "-".join(map(str, self._read))
        newest, added = _text(stream["last-generated-id"]), stream.get("entries-added")
        if _number(newest) < self._read:
            raise exchanged(self._place, read, newest)
        if isinstance(added, int):
            if added < self._added:
                raise begun_anew(self._place, self._added, added)
            self._added = added
        stands = _text(group.get("last-delivered-id", read))
        if _number(stands) < self._read:
            raise went_back(self._place, read, stands)

    def _loss(self, stream: _About, group: _About) -> int | None:
        """Return how many entries are gone and were never given to the group; None for none.

        Redis counts what was ever added, and what was ever given to a group, from its version 7 on and not in every
        case: where it does not know, nothing is said.
        """
        added, read, length = stream.get("entries-added"), group.get("entries-read"), stream["length"]
        if not isinstance(added, int) or not isinstance(read, int) or not isinstance(length, int):
            return None
        first = cast("tuple[bytes, object] | None", stream.get("first-entry"))
        newest, stands = _text(stream["last-generated-id"]), _text(group["last-delivered-id"])
        if stands == newest:
            if read != added and self._may_correct:  # it counts what it had lost as unread for ever
                self._may_correct = self._has_all(newest, added, stands)
            return None
        is_all_unread = first is None or _number(_text(first[0])) > _number(stands)
        loss = added - read - length
        return loss if is_all_unread and loss > 0 else None

    def _passed(self, loss: int, stream: _About, group: _About, count: int) -> FatalError:
        """Let the group go on behind a loss, so that it is said once; return how it is said, whatever comes of that."""
        added, length = cast("int", stream["entries-added"]), cast("int", stream["length"])
        newest, stands = _text(stream["last-generated-id"]), _text(group["last-delivered-id"])
        if not length:
            by_hand = f"XGROUP SETID {self._place.stream} {self._place.group} {newest} ENTRIESREAD {added}"
            return lost_unread(self._place, loss, "" if self._has_all(newest, added, stands) else by_hand)
        # where others may be given something meanwhile, the group might be set back over it
        if group.get("consumers") != 1 or not self._is_counted(stands, added - length):
            with suppress(TridentError):
                self._looked(count)  # what it is given is pending, and comes with the next run
        return lost_unread(self._place, loss, "")

    def _is_counted(self, stands: str, read: int) -> bool:
        """Let what is gone count as read, so that no later look says it again; whether it does."""
        try:
            with self._client.pipeline(transaction=True) as at_once:
                self._set(at_once, stands, read, stands)
        except (RedisError, OSError):
            return False
        return True

    def _has_all(self, newest: str, added: int, stands: str) -> bool:
        """Let the group stand behind the newest entry, with all counted as read; whether it does.

        Nothing that it was not given is in the stream. What is added since is seen by the WATCH, and has a higher id:
        else another consumer might be given it, and the group be set back over it.
        """
        place = self._place
        try:
            with self._client.pipeline(transaction=True) as unless_added:
                unless_added.watch(place.stream)  # type: ignore[no-untyped-call]  # its stubs leave it out
                stream = cast("_About", unless_added.xinfo_stream(place.stream))
                if _text(stream["last-generated-id"]) != newest:
                    return True  # what comes next is looked at anew
                unless_added.multi()
                self._set(unless_added, newest, added, stands)
        except WatchError:
            return True
        except (RedisError, OSError):  # what is to be said is the loss, if there is one
            return False
        return True

    def _set(self, pipeline: Pipeline, to: str, read: int, stands: str) -> None:
        """Set the group, with so many entries counted as read; not where somebody else has set it meanwhile.

        That touches no key that could be watched, so it is undone.
        """
        place = self._place
        pipeline.xinfo_groups(place.stream)
        pipeline.xgroup_setid(place.stream, place.group, to, entries_read=read)
        found = self._of(cast("list[_About]", pipeline.execute()[0]))
        if (stood := _text(found["last-delivered-id"])) != stands:
            counted = cast("int | None", found.get("entries-read"))
            self._client.xgroup_setid(place.stream, place.group, stood, entries_read=counted)

    def _asked(self, ask: Callable[[], object]) -> object:
        try:
            return ask()
        except (RedisError, OSError) as error:
            raise classify(error, self._place) from None


def _of_one_stream(answer: object) -> _Answer:
    streams = cast("Sequence[tuple[bytes, _Answer]] | None", answer)
    return streams[0][1] if streams else ()


def _cut(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE)]


def _number(id_: str) -> tuple[int, int]:
    moment, _, serial = id_.partition("-")
    return int(moment), int(serial or 0)


def _text(given: object) -> str:
    return given.decode(errors="replace") if isinstance(given, bytes) else str(given)
