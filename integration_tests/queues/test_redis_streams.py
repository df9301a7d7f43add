"""The spout over a real Redis: what is acked is pending no more, all else comes again, what is wrong is said."""

from __future__ import annotations

import itertools
import logging
import pickle
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis
from redis.client import Pipeline

from integration_tests.fix_servers import or_skip
from integration_tests.queues.spouts import ids, none_within, opened, taken, taken_by_a_process_that_is_killed
from trident.base.errors import FatalError, RetryableError
from trident.local.redis import LocalRedis
from trident.spouts import FieldsBody, JsonBody, RedisStreamSpout, StartAt
from trident.spouts.queue.acking import SpoutContext
from trident.spouts.queue.redis import group
from trident.spouts.queue.redis import spout as spout_module
from trident.spouts.queue.redis.group import Entry, StreamGroup

PAYLOAD = "of-ann-only"
SOON = timedelta(milliseconds=300)


class Stream:
    """A stream with a group, of the test's own."""

    def __init__(self, server: LocalRedis, name: str | None = None) -> None:
        self.name = name or f"s-{uuid.uuid4().hex[:12]}"
        self.url = server.url
        self.client: Any = Redis.from_url(server.url, protocol=2)
        self.client.xgroup_create(self.name, "g", id="0", mkstream=True)

    def add(self, count: int, first: int = 0) -> list[str]:
        with self.client.pipeline() as several:
            for number in range(first, first + count):
                several.xadd(self.name, {"body": f'{{"n": {number}}}', "n": number})
            return [id_.decode() for id_ in several.execute()]

    def pending(self) -> int:
        return int(self.client.xpending(self.name, "g")["pending"])

    def stands(self) -> str:
        return str(self.client.xinfo_groups(self.name)[0]["last-delivered-id"].decode())

    def spout(self, **given: Any) -> RedisStreamSpout:
        return RedisStreamSpout(self.name, "g", **{"url": self.url, "body": JsonBody("n int"), **given})


@pytest.fixture
def stream(redis_server: LocalRedis) -> Iterator[Stream]:
    made = Stream(redis_server)
    yield made
    made.client.delete(made.name)
    made.client.close()


def test_what_is_acked_is_done_and_all_else_comes_again(stream: Stream) -> None:
    added = stream.add(5)
    with opened(stream.spout()) as spout:
        messages = taken(spout, 5)
        assert ids(messages) == added
        assert [message.values for message in messages] == [{"n": n} for n in range(5)]
        assert not any(message.is_redelivered for message in messages)
        spout.ack(added[0])
        spout.ack(added[3])
    assert stream.pending() == 3
    with opened(stream.spout(), instance=2) as spout:
        stream.add(1, first=5)
        again = taken(spout, 4)
        assert ids(again)[:3] == [added[1], added[2], added[4]]
        assert [message.is_redelivered for message in again] == [True, True, True, False]
        for message in again:
            spout.ack(message.id)
    assert stream.pending() == 0


def test_ten_thousand_in_order(stream: Stream) -> None:
    added = stream.add(10_000)
    with opened(stream.spout()) as spout:
        messages = taken(spout, 10_000, seconds=60)
        assert ids(messages) == added
        for message in messages:
            spout.ack(message.id)
    assert stream.pending() == 0


def test_ten_thousand_that_were_pending_in_order(stream: Stream) -> None:
    added = stream.add(10_000)
    with opened(stream.spout()) as spout:
        taken(spout, 10_000, seconds=60)
    with opened(stream.spout()) as spout:
        again = taken(spout, 10_000, seconds=60)
        assert ids(again) == added
        assert none_within(spout)


def test_what_failed_comes_again_and_outlives_the_process(stream: Stream) -> None:
    added = stream.add(3)
    with opened(stream.spout()) as spout:
        taken(spout, 3)
        spout.ack(added[0])
        spout.fail(added[1])
        (again,) = taken(spout, 1)
        assert (again.id, again.is_redelivered) == (added[1], True)
        spout.fail(added[1])
        spout.deactivate()
        assert stream.pending() == 2
    with opened(stream.spout(consumer="another")) as spout:  # at once: it looks as if it was left for long
        assert ids(taken(spout, 1)) == [added[1]]
        assert none_within(spout)


def test_what_failed_is_waited_for_although_a_look_finds_nothing(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: Iterator[tuple[list[Entry], bool]] = iter([([], False)])  # as where the server's clock was set back
    idle = StreamGroup.idle
    monkeypatch.setattr(StreamGroup, "idle", lambda *given: next(looks, None) or idle(*given))
    stream.add(1)
    with opened(stream.spout()) as spout:
        monkeypatch.setattr(next(iter(spout._readings.values())), "look_at", float("inf"))
        (message,) = taken(spout, 1)
        assert not spout.is_waiting()
        spout.fail(message.id)
        assert spout.is_waiting()
        assert spout.next_tuple() is None
        assert spout.is_waiting()
        assert ids(taken(spout, 1, seconds=5)) == [message.id]
        assert not spout.is_waiting()


def test_what_was_failed_may_be_acked_later_once_it_came_again(stream: Stream) -> None:
    (id_,) = stream.add(1)
    with opened(stream.spout()) as spout:
        taken(spout, 1)
        spout.fail(id_)
        spout.ack(id_)  # of no emission: says nothing
        taken(spout, 1)
        spout.ack(id_)
        assert none_within(spout)
    assert stream.pending() == 0


def test_acks_are_sent_when_nothing_more_is_asked(stream: Stream) -> None:
    added = stream.add(3)
    with opened(stream.spout()) as spout:
        taken(spout, 3)
        spout.ack(added[0])
        spout.deactivate()
        assert stream.pending() == 2
        spout.ack(added[1])
        assert stream.pending() == 1


def test_a_killed_process_loses_nothing(stream: Stream) -> None:
    added = stream.add(20)
    made = (
        "__import__('trident.spouts', fromlist=['RedisStreamSpout'])"
        f".RedisStreamSpout({stream.name!r}, 'g', url={stream.url!r})"
    )
    taken_by_a_process_that_is_killed(made, 20)
    with opened(stream.spout()) as spout:
        assert ids(taken(spout, 20)) == added


def test_what_another_consumer_has_left_is_taken_over(stream: Stream) -> None:
    added = stream.add(2)
    with opened(stream.spout(consumer="dead")) as spout:
        taken(spout, 2)
    with opened(stream.spout(min_idle=timedelta(hours=1))) as spout:
        assert none_within(spout)
    with opened(stream.spout(min_idle=SOON)) as spout:
        again = taken(spout, 2)
        assert ids(again) == added
        assert all(message.is_redelivered for message in again)


def test_what_is_under_way_for_long_is_not_emitted_twice(stream: Stream) -> None:
    added = stream.add(2)
    with opened(stream.spout(min_idle=SOON)) as spout:
        taken(spout, 2)
        assert none_within(spout, seconds=1)
        for id_ in added:
            spout.ack(id_)
    assert stream.pending() == 0


def test_several_streams(redis_server: LocalRedis, stream: Stream) -> None:
    other = Stream(redis_server, f"{stream.name}/more")
    ours, theirs = stream.add(2), other.add(2)
    with opened(stream.spout(), instance=1) as spout:
        assert spout.identity()["streams"] == stream.name
    both = RedisStreamSpout([stream.name, other.name], "g", url=stream.url)
    with opened(both) as several:
        found = taken(several, 4)
        assert ids(found) == [f"{stream.name}/{id_}" for id_ in ours] + [f"{other.name}/{id_}" for id_ in theirs]
        several.ack(f"{other.name}/{theirs[0]}")
        several.fail(f"{stream.name}/{ours[1]}")
        assert ids(taken(several, 1)) == [f"{stream.name}/{ours[1]}"]
    assert (stream.pending(), other.pending()) == (2, 1)
    other.client.delete(other.name)


def test_a_busy_stream_does_not_keep_another_waiting(redis_server: LocalRedis, stream: Stream) -> None:
    stream.add(3_000)
    other = Stream(redis_server)
    other.add(1)
    with opened(RedisStreamSpout([stream.name, other.name], "g", url=stream.url)) as spout:
        found = taken(spout, 1_001)
    assert any((id_ or "").startswith(f"{other.name}/") for id_ in ids(found))
    other.client.delete(other.name)


def test_fields_by_name(stream: Stream) -> None:
    stream.add(1)
    with opened(stream.spout(body=FieldsBody("n bigint, body string"))) as spout:
        (message,) = taken(spout, 1)
    assert message.values == {"n": 0, "body": '{"n": 0}'}


def test_a_group_is_made_only_where_that_is_asked(redis_server: LocalRedis) -> None:
    name = f"s-{uuid.uuid4().hex[:12]}"
    refused(RedisStreamSpout(name, "g", url=redis_server.url), "no such stream, or it has no such group")
    with opened(RedisStreamSpout(name, "g", url=redis_server.url, create_group=True)) as spout:
        assert none_within(spout)
    with Redis.from_url(redis_server.url, protocol=2) as client:
        client.xadd(name, {"body": "old"})
        from_now_on = RedisStreamSpout(name, "h", url=redis_server.url, create_group=True, start=StartAt.LATEST)
        with opened(from_now_on) as spout:
            assert none_within(spout)
            id_ = client.xadd(name, {"body": "new"})
            assert isinstance(id_, bytes)
            assert ids(taken(spout, 1)) == [id_.decode()]
        with opened(RedisStreamSpout(name, "g", url=redis_server.url, create_group=True)) as spout:
            assert len(taken(spout, 2)) == 2
        client.delete(name)


@pytest.mark.parametrize("start", list(StartAt))
def test_a_group_that_went_between_two_runs_is_not_made_anew(stream: Stream, start: StartAt) -> None:
    stream.add(3)
    stream.client.xgroup_destroy(stream.name, "g")
    spout = stream.spout(create_group=True, start=start)
    with pytest.raises(FatalError, match=f"no such group.*XGROUP CREATE {stream.name} g 0"):
        spout.open(SpoutContext("in", 1, is_new=False))
    spout.close()
    assert stream.client.xinfo_groups(stream.name) == []


def deleted_while_pending(stream: Stream, count: int, **options: Any) -> list[str]:
    """Return the ids of entries that a process had taken and not acked, and that are in the stream no more."""
    added = stream.add(count)
    with opened(stream.spout(**options)) as spout:
        taken(spout, count)
    stream.client.xdel(stream.name, *added)
    return added


def refused(spout: RedisStreamSpout, said: str, kind: type[Exception] = FatalError) -> str:
    with pytest.raises(kind, match=said) as caught, opened(spout):
        taken(spout, 1)
    assert type(caught.value) is kind
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_an_entry_that_can_not_be_read_is_named_by_its_id_alone(stream: Stream) -> None:
    id_ = stream.client.xadd(stream.name, {"body": f'{{"n": "{PAYLOAD}"}}'}).decode()
    assert PAYLOAD not in refused(stream.spout(), f"'{id_}' can't be read: field 'n'.*XACK {stream.name} g {id_}")
    assert stream.pending() == 1
    stream.client.xack(stream.name, "g", id_)
    stream.client.xadd(stream.name, {"other": PAYLOAD})
    assert PAYLOAD not in refused(stream.spout(), "it has no field 'body'")


def test_a_key_that_is_no_stream(redis_server: LocalRedis, stream: Stream) -> None:
    stream.client.set(f"{stream.name}-text", "v")
    refused(RedisStreamSpout(f"{stream.name}-text", "g", url=redis_server.url), "holds no stream")


@pytest.mark.parametrize("login", ["", f"ann:{PAYLOAD}@", f":{PAYLOAD}@"])
def test_a_login_that_is_refused(redis_server: LocalRedis, login: str) -> None:
    url = f"redis://{login}{redis_server.address}/0"
    assert PAYLOAD not in refused(RedisStreamSpout("s", "g", url=url), "has refused the login")


def test_the_least_rights_are_enough_and_less_is_said(redis_server: LocalRedis, stream: Stream) -> None:
    rights = [
        "+xreadgroup",
        "+xautoclaim",
        "+xclaim",
        "+xack",
        "+xinfo|stream",
        "+xinfo|groups",
        "+xgroup|setid",
        "+watch",
        "+multi",
        "+exec",
    ]
    stream.client.execute_command("ACL", "SETUSER", "reader", "on", f">{PAYLOAD}", f"~{stream.name}", *rights)
    url = f"redis://reader:{PAYLOAD}@{redis_server.address}/0"
    added = stream.add(2)
    with opened(stream.spout(url=url)) as spout:
        taken(spout, 2)
        spout.ack(added[0])
        spout.fail(added[1])
        spout.ack(taken(spout, 1)[0].id)
    assert stream.pending() == 0
    for right in ("xinfo|stream", "xinfo|groups", "multi", "exec", "xautoclaim"):
        stream.client.execute_command("ACL", "SETUSER", "reader", f"-{right}")
        assert PAYLOAD not in refused(stream.spout(url=url), "the rights that are needed")
        stream.client.execute_command("ACL", "SETUSER", "reader", f"+{right}")
    stream.client.execute_command("ACL", "SETUSER", "reader", "-xreadgroup")
    assert PAYLOAD not in refused(stream.spout(url=url), "the rights that are needed")


def test_the_rights_that_an_error_names_are_enough_in_another_database(redis_server: LocalRedis) -> None:
    third = redis_server.url[:-1] + "3"
    with Redis.from_url(third, protocol=2) as client:
        client.execute_command("ACL", "SETUSER", "third", "on", f">{PAYLOAD}")
        client.xadd("in-three", {"body": "1"})
        url = f"redis://third:{PAYLOAD}@{redis_server.address}/3"
        spout = RedisStreamSpout("in-three", "g", url=url, create_group=True)
        said = refused(spout, "the rights that are needed")
        named = re.findall(r"\+[a-z|]+", said)
        client.execute_command("ACL", "SETUSER", "third", "~in-three", *named)
        with opened(spout):
            spout.ack(taken(spout, 1)[0].id)
        client.delete("in-three")


def test_a_user_whose_rights_are_taken_away_while_it_reads(redis_server: LocalRedis, stream: Stream) -> None:
    stream.client.execute_command("ACL", "SETUSER", "soon", "on", f">{PAYLOAD}", "~*", "+@all")
    stream.add(1)
    with opened(stream.spout(url=f"redis://soon:{PAYLOAD}@{redis_server.address}/0")) as spout:
        (message,) = taken(spout, 1)
        stream.client.execute_command("ACL", "SETUSER", "soon", "-xack")
        spout.ack(message.id)
        with pytest.raises(FatalError, match="the rights that are needed"):
            spout.next_tuple()
        stream.client.execute_command("ACL", "SETUSER", "soon", "+xack")


def test_an_entry_that_was_deleted_while_pending_stops_once(stream: Stream) -> None:
    added = stream.add(3)
    with opened(stream.spout()) as spout:
        taken(spout, 3)
    stream.client.xdel(stream.name, added[1])
    refused(stream.spout(), f"1 entries were deleted or trimmed before they were acked: {added[1]}")
    with opened(stream.spout()) as spout:
        assert ids(taken(spout, 2)) == [added[0], added[2]]


def test_an_entry_that_another_consumer_had_and_that_was_deleted_stops_once(stream: Stream) -> None:
    added = stream.add(2)
    with opened(stream.spout(consumer="dead")) as spout:
        taken(spout, 2)
    stream.client.xdel(stream.name, added[0])
    time.sleep(SOON.total_seconds())
    refused(stream.spout(min_idle=SOON), added[0])
    with opened(stream.spout(min_idle=SOON)) as spout:
        assert ids(taken(spout, 1)) == [added[1]]


def test_an_entry_that_was_deleted_here_under_way_is_no_loss_until_it_fails(stream: Stream) -> None:
    added = stream.add(2)
    with opened(stream.spout(min_idle=SOON)) as spout:
        taken(spout, 2)
        stream.client.xdel(stream.name, *added)
        assert none_within(spout, seconds=1)
        spout.ack(added[0])
        spout.fail(added[1])
        with pytest.raises(FatalError, match=f"before they were acked: {added[1]}"):
            spout.next_tuple()


def test_an_entry_that_is_done_and_whose_ack_was_lost_is_no_loss_when_it_is_deleted(stream: Stream) -> None:
    added = stream.add(1)
    with opened(stream.spout(consumer="dead")) as other:
        taken(other, 1)
    added += stream.add(3, first=1)
    with opened(stream.spout()) as spout:
        taken(spout, 3)
    stream.client.xdel(stream.name, added[0], added[1])
    time.sleep(SOON.total_seconds())
    spout = stream.spout(min_idle=SOON)
    spout.open(SpoutContext("in", 1, added[:2]))
    spout.activate()
    with closing(spout):
        assert ids(taken(spout, 2)) == added[2:]
        assert none_within(spout, 1)
    assert stream.pending() == 2


def test_what_an_earlier_process_had_given_is_not_called_lost_before_it_is_known(stream: Stream) -> None:
    added = stream.add(4)
    with opened(stream.spout()) as spout:
        taken(spout, 4)
    stream.client.xdel(stream.name, *added[:3])
    spout = stream.spout()
    with pytest.raises(FatalError, match=f"1 entries were deleted .* acked: {added[2]}. They are lost; "):
        spout.open(SpoutContext("in", 2, added[:2], added[1:2]))  # the first is done, of the second nobody knows
    spout.close()
    assert stream.pending() == 2
    spout = stream.spout(min_idle=SOON)
    spout.open(SpoutContext("in", 1, added[:2]))
    with closing(spout):
        assert ids(taken(spout, 1)) == added[3:]
    assert stream.pending() == 1


def test_what_others_take_over_and_nobody_knows_of_is_said_so(stream: Stream) -> None:
    added = deleted_while_pending(stream, 2, consumer="dead")
    time.sleep(SOON.total_seconds())
    spout = stream.spout(min_idle=SOON)
    spout.open(SpoutContext("in", 2, added[:1], added[:1]))
    spout.activate()
    with closing(spout), pytest.raises(FatalError, match=r"2 entries .* lost, but for 1 that were under way"):
        taken(spout, 1)


def test_what_is_held_here_and_gone_from_the_stream_does_not_end_the_run(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    added = deleted_while_pending(stream, 3)
    spout = stream.spout()
    spout.open(SpoutContext("in", 2, added, added))  # another process of this run has given them, and died
    spout.activate()
    with closing(spout), caplog.at_level(logging.WARNING, "trident.queues"):
        assert none_within(spout)
        later = stream.add(1)
        assert ids(taken(spout, 1)) == later
    assert f"trimmed while they were under way, when a process died: {added[0]}," in caplog.text


def test_a_loss_is_said_though_the_answer_to_its_ack_is_lost(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    deleted_while_pending(stream, 3)
    with monkeypatch.context() as patched:
        patched.setattr(Redis, "xack", losing(Redis.xack))
        refused(stream.spout(), "3 entries were deleted or trimmed before they were acked")


def test_each_entry_that_is_lost_is_named_however_many_there_are(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    added = deleted_while_pending(stream, 130)
    with caplog.at_level(logging.WARNING, "trident.queues"):
        refused(stream.spout(), r"130 entries were deleted .* … \(the log names all\)")
    assert all(id_ in caplog.text for id_ in added)


def test_a_loss_is_said_though_a_later_answer_of_the_same_look_is_lost(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = stream.add(100)
    with opened(stream.spout(consumer="dead")) as spout:
        taken(spout, 100)
    stream.client.xdel(stream.name, *added[:2])
    monkeypatch.setattr(group, "_AT_ONCE", 3)  # it looks at ten times as many with each
    monkeypatch.setattr(Redis, "xautoclaim", losing(Redis.xautoclaim, before=1))
    refused(stream.spout(min_idle=timedelta(hours=1)), "2 entries were deleted or trimmed before they were acked")


def losing(call: Any, before: int = 0) -> Any:
    """Return a call that is carried out and whose answer is lost, behind so many whose answers come."""
    answered = itertools.count()

    def lost(*given: Any, **named: Any) -> Any:
        answer = call(*given, **named)
        if next(answered) == before:
            raise TimeoutError
        return answer

    return lost


def test_what_is_pending_behind_many_that_are_done_and_gone_is_given_first(stream: Stream) -> None:
    added = stream.add(1_205)
    with opened(stream.spout()) as spout:
        taken(spout, 1_205)
    stream.client.xtrim(stream.name, maxlen=5, approximate=False)
    added += stream.add(1, first=1_205)
    spout = stream.spout()
    spout.open(SpoutContext("in", 1, added[:1_200]))
    spout.activate()
    with closing(spout):
        assert ids(taken(spout, 6)) == added[1_200:]
    assert stream.pending() == 6


def test_entries_that_were_trimmed_unread_stop_once(stream: Stream) -> None:
    stream.add(2)
    with opened(stream.spout()) as spout:
        for message in taken(spout, 2):
            spout.ack(message.id)
    stream.add(10)
    stream.client.xtrim(stream.name, maxlen=4, approximate=False)
    refused(stream.spout(), "6 entries were deleted or trimmed before the group had read them")
    with opened(stream.spout()) as spout:
        assert len(taken(spout, 4)) == 4


@pytest.mark.parametrize("may_set", [True, False])
def test_that_all_is_trimmed_unread_is_said_once(redis_server: LocalRedis, stream: Stream, may_set: bool) -> None:
    stream.client.execute_command("ACL", "SETUSER", "trimmed", "on", f">{PAYLOAD}", "~*", "+@all")
    url = f"redis://trimmed:{PAYLOAD}@{redis_server.address}/0"
    if not may_set:
        stream.client.execute_command("ACL", "SETUSER", "trimmed", "-xgroup|setid")
    stream.add(1)
    with opened(stream.spout()) as spout:
        spout.ack(taken(spout, 1)[0].id)
    newest = stream.add(3)[-1]
    stream.client.xtrim(stream.name, maxlen=0, approximate=False)
    said = refused(stream.spout(url=url), "3 entries were deleted or trimmed before the group had read them")
    by_hand = f"XGROUP SETID {stream.name} g {newest} ENTRIESREAD 4"
    assert (by_hand in said) is not may_set
    if not may_set:
        refused(stream.spout(url=url), by_hand)
        stream.client.execute_command(*by_hand.split())
    with opened(stream.spout(url=url)) as spout:
        assert none_within(spout, 0.1)
        added = stream.add(1)
        assert ids(taken(spout, 1)) == added


def test_behind_a_loss_that_was_said_a_trim_of_what_is_done_is_none(stream: Stream) -> None:
    stream.add(2)
    with opened(stream.spout()) as spout:
        for message in taken(spout, 2):
            spout.ack(message.id)
    stream.add(5)
    stream.client.xtrim(stream.name, maxlen=2, approximate=False)
    refused(stream.spout(), "3 entries were deleted or trimmed before the group had read them")
    for _ in range(3):
        with opened(stream.spout()) as spout:
            for message in taken(spout, 2):
                spout.ack(message.id)
            assert none_within(spout, 0.1)
        stream.add(2)
        stream.client.xtrim(stream.name, maxlen=2, approximate=False)


@pytest.mark.parametrize("has_others", [False, True])
@pytest.mark.parametrize("lost", [0, 1])
def test_that_entries_were_trimmed_unread_is_said_whatever_answer_is_lost(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, lost: int, has_others: bool
) -> None:
    stream.add(2)
    with opened(stream.spout()) as spout:
        for message in taken(spout, 2):
            spout.ack(message.id)
    if has_others:
        stream.client.xgroup_createconsumer(stream.name, "g", "other")
    stream.add(10)
    stream.client.xtrim(stream.name, maxlen=4, approximate=False)
    said, given = [], 0
    for run in range(3):
        with monkeypatch.context() as patched, opened(stream.spout()) as spout:
            if run == 0:
                patched.setattr(Pipeline, "execute", losing(Pipeline.execute, before=lost))
            try:
                for _ in range(10):
                    if (found := spout.next_tuple()) is not None:
                        given += 1
                        spout.ack(found.id)
            except (FatalError, RetryableError) as error:
                said.append(str(error))
    assert given == 4
    assert len([text for text in said if "6 entries were deleted or trimmed before the group had" in text]) == 1


@pytest.mark.parametrize("may_set", [True, False])
def test_a_loss_that_was_said_is_not_said_again_while_the_group_never_has_all(
    redis_server: LocalRedis, stream: Stream, may_set: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spout_module, "_AT_ONCE", 10)
    stream.client.execute_command("ACL", "SETUSER", "counts", "on", f">{PAYLOAD}", "~*", "+@all")
    if not may_set:
        stream.client.execute_command("ACL", "SETUSER", "counts", "-xgroup|setid")
    spouts = stream.spout(url=f"redis://counts:{PAYLOAD}@{redis_server.address}/0")
    stream.add(2)
    with opened(spouts) as spout:
        for message in taken(spout, 2):
            spout.ack(message.id)
    stream.add(50)
    stream.client.xtrim(stream.name, maxlen=30, approximate=False)
    refused(spouts, "20 entries were deleted or trimmed before the group had read them")
    for _ in range(3):
        with opened(spouts) as spout:
            for message in taken(spout, 10):
                spout.ack(message.id)
        stream.add(10)
        if may_set:  # else Redis' count stays as it is, and is told once more where all that is done is gone
            moment, _, serial = stream.stands().partition("-")
            stream.client.xtrim(stream.name, minid=f"{moment}-{int(serial) + 1}", approximate=False)


@pytest.mark.parametrize("is_all_gone", [True, False])
def test_a_group_that_is_set_back_while_its_count_is_put_right_stays_there(
    stream: Stream, is_all_gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.add(1)
    with opened(stream.spout()) as spout:
        spout.ack(taken(spout, 1)[0].id)
    stream.add(3)
    stream.client.xtrim(stream.name, maxlen=0 if is_all_gone else 1, approximate=False)
    plain = StreamGroup._set

    def late(self: StreamGroup, *given: Any) -> None:
        stream.client.xgroup_setid(stream.name, "g", "0")
        plain(self, *given)

    monkeypatch.setattr(StreamGroup, "_set", late)
    refused(stream.spout(), "entries were deleted or trimmed before the group had read them")
    assert stream.stands() == "0-0"


@pytest.mark.parametrize("is_late", [True, False])
def test_a_group_is_never_set_back_over_what_another_consumer_was_given(
    stream: Stream, is_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.add(1)
    with opened(stream.spout()) as spout:
        spout.ack(taken(spout, 1)[0].id)
    stream.add(3)
    stream.client.xtrim(stream.name, maxlen=0, approximate=False)

    def meanwhile() -> None:
        stream.add(1)
        ((_, ((given, _),)),) = stream.client.xreadgroup("g", "other", {stream.name: ">"})
        stream.client.xack(stream.name, "g", given)

    kind, name = (Pipeline, "multi") if is_late else (StreamGroup, "_has_all")
    plain: Any = getattr(kind, name)

    def late(self: Any, *given: Any) -> Any:
        if not is_late or self.watching:  # the look is a transaction, too
            meanwhile()
        return plain(self, *given)

    monkeypatch.setattr(kind, name, late)
    if not is_late:
        monkeypatch.setattr(StreamGroup, "_set", lambda *_: pytest.fail("it would be set back, if only for a moment"))
    refused(stream.spout(), "3 entries were deleted or trimmed")
    monkeypatch.undo()
    with opened(stream.spout()) as spout:
        assert none_within(spout)


def test_a_trim_of_what_is_done_is_no_loss(stream: Stream) -> None:
    added = stream.add(5)
    with opened(stream.spout()) as spout:
        for message in taken(spout, 5):
            spout.ack(message.id)
        stream.client.xtrim(stream.name, maxlen=0, approximate=False)
        assert none_within(spout)
        later = stream.add(1)
        assert ids(taken(spout, 1)) == later
    assert added


def test_a_stream_that_is_deleted_while_it_is_read(stream: Stream) -> None:
    stream.add(1)
    with opened(stream.spout()) as spout:
        taken(spout, 1)
        stream.client.delete(stream.name)
        with pytest.raises(FatalError, match="deleted or exchanged"):
            taken(spout, 1)


def test_a_group_that_is_destroyed_while_it_is_read(stream: Stream) -> None:
    stream.add(1)
    with opened(stream.spout(create_group=True)) as spout:
        taken(spout, 1)
        stream.client.xgroup_destroy(stream.name, "g")
        with pytest.raises(FatalError, match="the group was destroyed"):
            taken(spout, 1)


def test_a_stream_that_was_exchanged_with_its_group(stream: Stream) -> None:
    stream.add(1)
    with opened(stream.spout()) as spout:
        taken(spout, 1)
        stream.client.delete(stream.name)
        stream.client.xadd(stream.name, {"body": "{}"}, id="1-1")
        stream.client.xgroup_create(stream.name, "g", id="0")
        with pytest.raises(FatalError, match="the newest that the stream has ever had is 1-1"):
            taken(spout, 1)


@pytest.mark.parametrize("how", ["made again", "set back"])
def test_a_group_that_goes_back_while_it_is_read(stream: Stream, how: str) -> None:
    stream.add(3)
    with opened(stream.spout()) as spout:
        for message in taken(spout, 3):
            spout.ack(message.id)
        assert none_within(spout, 0.1)
        if how == "set back":
            stream.client.xgroup_setid(stream.name, "g", "0")
        else:
            stream.client.xgroup_destroy(stream.name, "g")
            stream.client.xgroup_create(stream.name, "g", id="0")
        with pytest.raises(FatalError, match=r"the group stands at 0-0.*made again, or set back"):
            taken(spout, 1)
    with opened(stream.spout()) as spout:
        assert len(taken(spout, 3)) == 3


def test_a_stream_that_was_exchanged_and_goes_on_with_newer_ids(stream: Stream) -> None:
    stream.add(3)
    with opened(stream.spout()) as spout:
        taken(spout, 3)
        stream.client.delete(stream.name)
        stream.add(2)
        stream.client.xgroup_create(stream.name, "g", id="$")
        with pytest.raises(FatalError, match="had 3 entries, and has had 2: it was deleted and made again"):
            taken(spout, 1)


def test_nobody_listens() -> None:
    spout = RedisStreamSpout("s", "g", url=f"redis://ann:{PAYLOAD}@127.0.0.1:9/0")
    assert PAYLOAD not in refused(spout, "127.0.0.1:9", RetryableError)


def test_options_that_the_client_does_not_have(redis_server: LocalRedis) -> None:
    for options in (f"?nonsense={PAYLOAD}", f"?socket_timeout={PAYLOAD}"):
        assert PAYLOAD not in refused(RedisStreamSpout("s", "g", url=redis_server.url + options), "the address")


def test_options_of_the_client_that_change_its_answers_are_refused() -> None:
    with pytest.raises(FatalError, match="'protocol' can't be set"):
        RedisStreamSpout("s", "g", url="redis://127.0.0.1:9/0?protocol=3")


def test_a_database_that_is_not_there(redis_server: LocalRedis) -> None:
    refused(RedisStreamSpout("s", "g", url=redis_server.url[:-1] + "77"), "DB index is out of range")


def test_a_server_that_dies_is_said_and_what_it_had_comes_again(pytestconfig: pytest.Config) -> None:
    with or_skip(pytestconfig, LocalRedis) as server:
        stream = Stream(server)
        added = stream.add(3)
        with opened(stream.spout()) as spout:
            taken(spout, 3)
            server.kill()
            with pytest.raises(RetryableError, match="away"):
                taken(spout, 1)
            spout.ack(added[0])  # it is kept back, and the process ends with what was raised
        server.start()
        with opened(stream.spout()) as spout:
            assert ids(taken(spout, 3)) == added
        stream.client.close()


def test_it_shows_no_secret_and_is_pickled(redis_server: LocalRedis) -> None:
    spout = RedisStreamSpout("s", "g", url=redis_server.url)
    assert repr(spout) == "RedisStreamSpout(['s'], 'g')"
    assert spout.identity() == {"spout": "redis", "streams": "s", "group": "g", "database": "0"}
    assert repr(pickle.loads(pickle.dumps(spout))) == repr(spout)
