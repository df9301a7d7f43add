"""Guards about queues: what is acked, what comes again, and what is gone at its source."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_BODIES = ("tests/spouts/queue/test_bodies.py",)
_OFFSETS = ("tests/spouts/test_kafka_offsets.py",)
_EXPOSED = ("tests/spouts/queue/test_kafka_exposed.py",)
_COMMITS = ("tests/spouts/queue/test_kafka_commits.py",)
_MEMBER = ("tests/spouts/queue/test_kafka_member.py",)
_BEGINS = ("tests/spouts/queue/test_kafka_begins.py",)
_UNREADABLE = ("tests/spouts/queue/test_kafka_unreadable.py",)
_HTTP = ("tests/spouts/queue/test_http_push.py",)
_RABBIT = ("integration_tests/queues/test_rabbitmq.py",)
_TO_THE_END = ("integration_tests/queues/test_read_to_the_end.py",)
_REDIS = ("integration_tests/queues/test_redis_streams.py",)
_OTHER_ENTRIES = ("integration_tests/queues/test_other_entries.py",)
_KAFKA = ("integration_tests/queues/test_kafka_acking.py",)

QUEUES: Final = (
    Mutant(
        "queue: a group's position is the lowest offset that is not acked",
        "spouts/queue/kafka/offsets.py",
        "        while self.emitted and self.emitted[0] not in self.unacked:",
        "        while self.emitted:",
        _OFFSETS,
    ),
    Mutant(
        "queue: acks of a revoked partition are dropped",
        "spouts/queue/kafka/offsets.py",
        "            self._assigned.pop(partition, None)",
        "            pass",
        _OFFSETS,
    ),
    Mutant(
        "queue: a group's first position is committed where it begins at the end",
        "spouts/queue/kafka/member.py",
        "        self._commits.place_here(partition)\n",
        "",
        _KAFKA,
    ),
    Mutant(
        "queue: a partition that came later is read from its beginning",
        "spouts/queue/kafka/member.py",
        "        self._unbegun.discard(partition)\n",
        "        is_begun = False\n",
        _BEGINS,
    ),
    Mutant(
        "queue: no reset of a position that is lost",
        "spouts/queue/kafka/clients.py",
        '"auto.offset.reset": "error"',
        '"auto.offset.reset": "earliest"',
        _KAFKA,
    ),
    Mutant(
        "queue: a record's id has its topic's own",
        "spouts/queue/kafka/offsets.py",
        'f"@{topic_id}" if topic_id else ""',
        '""',
        _KAFKA,
    ),
    Mutant(
        "queue: no more is taken above a group's position than is remembered",
        "spouts/queue/kafka/exposed.py",
        " < max(1, self._horizon // 2)",
        " < 10**9",
        _EXPOSED,
    ),
    Mutant(
        "queue: what an earlier process has left takes room",
        "spouts/queue/kafka/exposed.py",
        "deque(dict.fromkeys(known))",
        "deque()",
        _EXPOSED,
    ),
    Mutant(
        "queue: what is under way takes room",
        "spouts/queue/kafka/exposed.py",
        "            self._under_way.add(place)",
        "            pass",
        _EXPOSED,
    ),
    Mutant(
        "queue: what is owed below a known record takes room",
        "spouts/queue/kafka/exposed.py",
        " + self._owes < max",
        " < max",
        _EXPOSED,
    ),
    Mutant(
        "queue: what was paused before a rebalance goes on behind it",
        "spouts/queue/kafka/member.py",
        "        consumer.resume(places)  # else the client keeps what was paused before\n",
        "",
        _MEMBER,
    ),
    Mutant(
        "queue: a position passes nothing that waits for room",
        "spouts/queue/kafka/member.py",
        "        if partition not in self._parked:  # else what waits lies below it\n",
        "        if True:\n",
        _MEMBER,
    ),
    Mutant(
        "queue: a group that has lost its position does not begin anew",
        "spouts/queue/kafka/member.py",
        '            raise lost_position(self._place, f"{partition.topic}:{partition.partition}", known)',
        "            pass",
        _KAFKA,
    ),
    Mutant(
        "queue: a record that can't be read ends nothing before what was given is done",
        "spouts/queue/kafka/spout.py",
        "        elif not any(map(self._is_ours, self._emitted.values())):",
        "        else:",
        _UNREADABLE,
    ),
    Mutant(
        "queue: what a call gives that calls back is kept",
        "spouts/queue/kafka/member.py",
        "        found = self._consumer.consume(most, seconds)  # who calls back may exchange what is fetched\n"
        "        self._fetched.extend(found)",
        "        self._fetched.extend(self._consumer.consume(most, seconds))",
        _MEMBER,
    ),
    Mutant(
        "queue: a position that is lost while it is read is noticed",
        "spouts/queue/kafka/exposed.py",
        "        self._newest[partition] = max(offset, self._newest.get(partition, offset))",
        "        pass",
        _MEMBER,
    ),
    Mutant(
        "queue: a position in an older topic of the name is none",
        "spouts/queue/kafka/notes.py",
        'bool(topic_id) and noted.startswith(_OF_TOPIC) and noted != f"{_OF_TOPIC}{topic_id}"',
        "False",
        _MEMBER,
    ),
    Mutant(
        "queue: a commit that may have landed behind a later one is followed by that one again",
        "spouts/queue/kafka/commits.py",
        "                if place.offset != self._flight.committed(partition):\n",
        "                if False:\n",
        _COMMITS,
    ),
    Mutant(
        "queue: who remembers fewer than may be done above the positions is refused",
        "spouts/queue/kafka/member.py",
        "        if 0 < horizon < before:\n",
        "        if False:\n",
        _BEGINS,
    ),
    Mutant(
        "queue: a position notes the horizon before anything of its partition is committed",
        "spouts/queue/kafka/member.py",
        '            if horizon_in(found.metadata or "") != self._exposed.horizon:\n',
        "            if False:\n",
        _BEGINS,
    ),
    Mutant(
        "queue: who ends with records whose end is not known leaves the note of its horizon",
        "spouts/queue/kafka/member.py",
        "                if is_settled:\n",
        "                if True:\n",
        _BEGINS,
    ),
    Mutant(
        "queue: a group of Redis that goes back is noticed",
        "spouts/queue/redis/group.py",
        "        if _number(stands) < self._read:\n",
        "        if False:\n",
        _REDIS,
    ),
    Mutant(
        "queue: a stream of Redis that was begun anew is noticed by its count",
        "spouts/queue/redis/group.py",
        "            if added < self._added:\n",
        "            if False:\n",
        _REDIS,
    ),
    Mutant(
        "queue: an entry that is done is no loss when it is trimmed",
        "spouts/queue/redis/group.py",
        "        self._known = frozenset(known)\n",
        "        self._known = frozenset[str]()\n",
        _REDIS,
    ),
    Mutant(
        "queue: no commit of a group is sent while another one is out",
        "spouts/queue/kafka/commits.py",
        "        if self._out or not (",
        "        if not (",
        _COMMITS,
    ),
    Mutant(
        "queue: nothing is taken of a partition whose first position is not confirmed",
        "spouts/queue/kafka/commits.py",
        "        self._placed_here.add(partition)",
        "        pass",
        _COMMITS,
    ),
    Mutant(
        "queue: each delivery of an id is acked",
        "spouts/queue/rabbitmq/spout.py",
        "        self._tags.setdefault(id_, deque()).append(delivered.tag)",
        "        self._tags[id_] = deque([delivered.tag])",
        _RABBIT,
    ),
    Mutant(
        "queue: a consumer that the broker has ended is noticed",
        "spouts/queue/rabbitmq/line.py",
        "        if self._was_cancelled:",
        "        if False:",
        _RABBIT,
    ),
    Mutant(
        "queue: a deactivated consumer leaves what comes in its queue",
        "spouts/queue/rabbitmq/line.py",
        "            channel.basic_cancel(self._consumer)\n",
        "",
        _RABBIT,
    ),
    Mutant(
        "queue: what the broker keeps back until acks come is waited for",
        "spouts/queue/rabbitmq/line.py",
        "            return left.count > 0 and time.monotonic() < left.until\n        if self._asked_at is None:",
        "            return False\n        if self._asked_at is None:",
        _TO_THE_END,
    ),
    Mutant(
        "queue: that nothing has come says nothing before the broker has answered",
        "spouts/queue/rabbitmq/line.py",
        "            self._wake()\n        return True\n",
        "            self._wake()\n        return False\n",
        _TO_THE_END,
    ),
    Mutant(
        "queue: what another consumer keeps is not waited for without end",
        "spouts/queue/rabbitmq/line.py",
        " and time.monotonic() < left.until\n",
        "\n",
        _TO_THE_END,
    ),
    Mutant(
        "queue: a stream of RabbitMQ is no queue",
        "spouts/queue/rabbitmq/line.py",
        "        if self._is_stream:",
        "        if False:",
        _RABBIT,
    ),
    Mutant(
        "queue: an entry that is under way here is not taken over from here",
        "spouts/queue/redis/group.py",
        "[entry for entry in taken if entry.id not in held]",
        "taken",
        _REDIS,
    ),
    Mutant(
        "queue: what this consumer had pending comes again at once",
        "spouts/queue/redis/spout.py",
        "        if reading.own is not None:\n            entries",
        "        if False:\n            entries",
        _REDIS,
    ),
    Mutant(
        "queue: entries that were trimmed unread are said",
        "spouts/queue/redis/group.py",
        "        if is_all_unread and added - read - length > 0:",
        "        if False:",
        _REDIS,
    ),
    Mutant(
        "queue: entries that are gone while pending are said",
        "spouts/queue/redis/group.py",
        "            raise lost_entries(self._place, lost)",
        "            pass",
        _REDIS,
    ),
    Mutant(
        "queue: a stream that was exchanged is noticed",
        "spouts/queue/redis/group.py",
        "        if _number(newest) < self._read:",
        "        if False:",
        _REDIS,
    ),
    Mutant(
        "queue: what failed looks as if it had been left",
        "spouts/queue/redis/group.py",
        "idle=idle_ms,",
        "idle=0,",
        _REDIS,
    ),
    Mutant(
        "queue: an id that is posted again waits for the same answer",
        "spouts/queue/http/desk.py",
        "        if known is not None:",
        "        if False:",
        _HTTP,
    ),
    Mutant(
        "queue: who waits is told when the run ends",
        "spouts/queue/http/desk.py",
        "                post.answer = Answer.FAILED\n                post.is_settled.set()",
        "                pass",
        _HTTP,
    ),
    Mutant(
        "queue: no more than max_pending are under way",
        "spouts/queue/http/desk.py",
        "        if len(self._posts) >= self._max_pending:",
        "        if False:",
        _HTTP,
    ),
    Mutant(
        "queue: half of a body is no message",
        "spouts/queue/http/server.py",
        '        if len(body) != int(self.headers["Content-Length"]):',
        "        if False:",
        _HTTP,
    ),
    Mutant(
        "queue: who can be reached from elsewhere asks for a token",
        "spouts/queue/http/spout.py",
        "        if token is None and not _is_loopback(self._host):",
        "        if False:",
        _HTTP,
    ),
    Mutant(
        "queue: a field that is NOT NULL has a value",
        "spouts/queue/bodies/fitting.py",
        "    if given is None and field.is_required:",
        "    if False:",
        _BODIES,
    ),
    Mutant(
        "queue: no digit of a decimal is rounded away",
        "spouts/queue/bodies/fitting.py",
        "    if places > type_.scale or",
        "    if",
        _BODIES,
    ),
    Mutant(
        "queue: what a topic that was made again has is not skipped",
        "spouts/queue/kafka/member.py",
        "{place.topic for place in found if has_position(place)} | done_in",
        "{place.topic for place in placed}",
        _BEGINS,
    ),
    Mutant(
        "queue: an entry is told from another one with its id",
        "spouts/queue/redis/spout.py",
        "entry.is_redelivered, _digest(entry.fields))",
        "entry.is_redelivered)",
        _OTHER_ENTRIES,
    ),
    Mutant(
        "queue: that all is trimmed unread is said once",
        "spouts/queue/redis/group.py",
        "            self._client.xgroup_setid(place.stream, place.group, newest, entries_read=added)\n",
        "            pass\n",
        _REDIS,
    ),
    Mutant(
        "queue: no verdict about two bodies before there is one",
        "spouts/queue/http/desk.py",
        "else Answer.UNCLEAR",
        "else Answer.OTHER",
        _HTTP,
    ),
)
