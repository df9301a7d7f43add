"""Guards about messages that have ids: each counts once, and is acked when it is done and by whoever has it."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_PENDING: Final = ("tests/spouts/queue/test_pending.py",)
_PROCESS: Final = ("tests/spouts/queue/test_process.py",)
_FULL_BATCHES: Final = ("tests/coordinators/test_full_batches_of_messages.py",)
_BAD: Final = ("tests/coordinators/test_messages_that_fail.py",)
_ON_SPARK: Final = "integration_tests/spouts/test_message_trees.py"
_LIVES: Final = ("tests/coordinators/test_acking.py",)
_LEDGER: Final = ("tests/ledger/test_memory_ledger.py", "tests/ledger/test_sqlite_ledger.py")
_DEATHS: Final = tuple(
    f"{_LIVES[0]}::test_whatever_has_died_its_messages_come_again_and_count_once[{each}]"
    for each in ("sqlite apart-after the pin", "sqlite apart-before done")
)

ACKING: Final = (
    Mutant(
        "a message that is done is not read again",
        "spouts/queue/pending.py",
        "        if message.id is not None and (digest := self._done.get(message.id)) is not None:\n",
        "        if message.id is None and (digest := self._done.get(str(message.id))) is not None:\n",
        _PENDING,
    ),
    Mutant(
        "another message with the id of one that is done is not taken for its redelivery",
        "spouts/queue/pending.py",
        "            return Known.DONE if _may_be(message, digest) else Known.OTHER\n",
        "            return Known.DONE\n",
        _PENDING,
    ),
    Mutant(
        "another message with the id of one that is held is not taken for its redelivery",
        "spouts/queue/pending.py",
        "            if not _may_be(message, known.digest):\n",
        "            if not _may_be(message, message.digest):\n",
        _PENDING,
    ),
    Mutant(
        "a message whose digest is not known is no other one",
        "spouts/queue/pending.py",
        "    return not digest or not message.digest or message.digest == digest\n",
        "    return not message.digest or message.digest == digest\n",
        _PENDING,
    ),
    Mutant(
        "what is refused is told before anything is acked",
        "spouts/queue/source.py",
        "        self._refuse(others)\n        self._redelivered.add(again)\n        self._ack(known)\n",
        "        self._redelivered.add(again)\n        self._ack(known)\n        self._refuse(others)\n",
        ("tests/spouts/queue/test_source.py",),
    ),
    Mutant(
        "digests are kept with the ids of a plan",
        "coordinators/plans/maker.py",
        "ReceivedIds.of(spout, of_spout, bodies[spout])",
        "ReceivedIds.of(spout, of_spout)",
        ("tests/coordinators/test_other_messages.py",),
    ),
    Mutant(
        "a message that is given again while it is held is one message",
        "spouts/queue/pending.py",
        "        if known is not None:\n",
        "        if known is not None and known.values is None:\n",
        _PENDING,
    ),
    Mutant(
        "each delivery of a message has its end",
        "spouts/queue/pending.py",
        "            known.deliveries.append(delivery)\n",
        "",
        _PENDING,
    ),
    Mutant(
        "what may be pinned is not failed",
        "spouts/queue/pending.py",
        "        behind = self._between(first, self.stop)\n",
        "        behind = self._between(self._first, self.stop)\n",
        _PENDING,
    ),
    Mutant(
        "what is in no batch waits for one",
        "spouts/queue/pending.py",
        "        failed = next((stop for start, stop in self._planned if start == position), position)\n",
        "        failed = next((stop for start, stop in self._planned if start == position), self.stop)\n",
        _PENDING,
    ),
    Mutant(
        "only what has waited for too long is given back",
        "spouts/queue/pending.py",
        "        is_late = item.values is not None and item.since < oldest\n",
        "        is_late = item.values is not None\n",
        _PENDING,
    ),
    Mutant(
        "ids are forgotten at the horizon",
        "spouts/queue/pending.py",
        "        while len(self._done) > max(self._horizon, newest):\n",
        "        while False:\n",
        _PENDING,
    ),
    Mutant(
        "a message without an id is refused where ids are remembered",
        "spouts/queue/process/pickling.py",
        "        if ids_are_needed:\n",
        "        if False:\n",
        _PROCESS,
    ),
    Mutant(
        "no more is asked for than may be pending",
        "spouts/queue/process/calling.py",
        " and len(self._pending) < self._most\n",
        "\n",
        _PROCESS,
    ),
    Mutant(
        "the process of a spout ends where its coordinator stands still",
        "spouts/queue/process/child.py",
        " and silent < _STILL_LOOKS",
        "",
        _PROCESS,
    ),
    Mutant(
        "who stands still is who says nothing",
        "spouts/queue/process/child.py",
        "            silent = silent + 1 if heard == self._heard else 0\n",
        "            silent += 1\n",
        _PROCESS,
    ),
    Mutant(
        "what is refused ends a run when all else is settled",
        "spouts/queue/process/calling.py",
        "        if self._pending:\n            self._tell_if_it_lasts(_ENDS)\n            return\n",
        "",
        _PROCESS,
    ),
    Mutant(
        "an ack is not told of an id that two messages have",
        "spouts/queue/process/calling.py",
        "            if id_ in self._unclear:\n                continue\n",
        "",
        _PROCESS,
    ),
    Mutant(
        "a fail is not told of an id that two messages have",
        "spouts/queue/process/calling.py",
        "            if self._pending[serial][0] in self._unclear:\n",
        "            if False:\n",
        _PROCESS,
    ),
    Mutant(
        "the process of a spout ends with its coordinator",
        "spouts/queue/process/child.py",
        "    loop.hear(Stop())\n    time.sleep(GRACE_S)\n    os._exit(1)\n",
        "    pass\n",
        _PROCESS,
    ),
    Mutant(
        "no message waits for the next one",
        "spouts/queue/process/writing.py",
        "                self._has_some.set()\n",
        "                pass\n",
        ("tests/spouts/queue/test_writing.py",),
    ),
    Mutant(
        "what a process gave before it ended is taken before that is said",
        "spouts/queue/process/instance.py",
        "        if not self._is_gone.is_set() or not self._emitted.empty():\n",
        "        if not self._is_gone.is_set():\n",
        (f"{_PROCESS[0]}::test_what_a_spout_raises_is_said_behind_what_it_gave",),
    ),
    Mutant(
        "only who has emitted a message hears of its end",
        "spouts/queue/source.py",
        " for each in deliveries if each.instance == instance.number)\n",
        " for each in deliveries)\n",
        ("tests/spouts/queue/test_source.py",),
    ),
    Mutant(
        "what is done is known by the next process",
        "coordinators/plans/receiving.py",
        "    source.begin_from(dict(before), done, under_way)\n",
        "    source.begin_from(dict(before), {}, under_way)\n",
        _LIVES,
    ),
    Mutant(
        "what is pinned is under way",
        "coordinators/plans/receiving.py",
        "    pinned = snapshot.pin.plan.received if snapshot.pin is not None else ()\n",
        "    pinned = ()\n",
        (*_DEATHS, *_LIVES),
    ),
    Mutant(
        "a queue that has not said that it has nothing is no end",
        "coordinators/plans/maker.py",
        "        return not all(source.is_caught_up for source in named)\n",
        "        return False\n",
        _LIVES,
    ),
    Mutant(
        "a full batch of messages waits for nothing",
        "coordinators/plans/maker.py",
        "        if unasked and self._comes_full(command) and not",
        "        if False and not",
        _FULL_BATCHES,
    ),
    Mutant(
        "no full batch is planned ahead beside rows that come once",
        "coordinators/plans/maker.py",
        "        if any(isinstance(source, ReceivesRows) for source in self.sources.values()):\n            return",
        "        if False:\n            return",
        _FULL_BATCHES,
    ),
    Mutant(
        "rows that come once are received behind messages",
        "coordinators/plans/maker.py",
        "            in_turn = sorted(views, key=lambda view: view.is_received)\n",
        "            in_turn = views\n",
        _FULL_BATCHES,
    ),
    Mutant(
        "no good message is too late beside a bad one",
        "spouts/queue/pending.py",
        "        if range_ and (is_for_some or self._is_spared):\n",
        "        if range_ and self._is_spared:\n",
        (*_PENDING, *_BAD),
    ),
    Mutant(
        "no good message is too late beside a bad one of another stream",
        "spouts/queue/pending.py",
        "        if range_ and (is_for_some or self._is_spared):\n",
        "        if range_ and is_for_some:\n",
        (*_PENDING, *_BAD),
    ),
    Mutant(
        "another reason of a later attempt is one again",
        "spouts/queue/pending.py",
        "            oldest, self._is_spared = -math.inf, False\n",
        "            oldest = -math.inf\n",
        _PENDING,
    ),
    Mutant(
        "the other streams hear that an attempt failed for messages",
        "trident/engine/messages.py",
        "                if name not in said:\n",
        "                if False:\n",
        (f"{_ON_SPARK}::test_a_bad_message_of_one_stream_gives_none_of_another_one_back",),
    ),
    Mutant(
        "process may stand behind a shuffle",
        "trident/graph/rooted.py",
        "RowAggregate, Shuffle)",
        "RowAggregate)",
        (f"{_ON_SPARK}::test_messages_that_are_dealt_out_in_turn_are_known_behind_it[off]",),
    ),
    Mutant(
        "a batch of nothing but what is done is no plan",
        "coordinators/plans/maker.py",
        " and not (whole := self._asked(command, repeated)).is_empty:\n",
        " and (whole := self._asked(command, repeated)):\n",
        _FULL_BATCHES,
    ),
    Mutant(
        "what has a plan fills no other batch",
        "spouts/queue/source.py",
        "            held = self._pending.stop - positions.get(self._id, 0)\n        waiting",
        "            held = self._pending.stop\n        waiting",
        (*_FULL_BATCHES, "tests/spouts/queue/test_source.py"),
    ),
    Mutant(
        "as many as may be under way are a full batch",
        "spouts/queue/source.py",
        "min(self._spout.max_batch_size, self._spout.most_under_way)\n\n    def starts",
        "self._spout.max_batch_size\n\n    def starts",
        ("tests/spouts/queue/test_source.py",),
    ),
    Mutant(
        "what was taken does not wait any more",
        "spouts/queue/process/instance.py",
        "        self._taken += len(taken)\n",
        "",
        _PROCESS,
    ),
    Mutant(
        "every field of a message arrives",
        "spouts/queue/process/pickling.py",
        "(message.values, message.id, message.is_redelivered, message.digest)",
        "(message.values, message.id, None, message.digest)",
        _PROCESS,
    ),
    Mutant(
        "a spout hears that its topology was deactivated",
        "coordinators/batches/work.py",
        "                source.set_active(active)\n",
        "                pass\n",
        (f"{_LIVES[0]}::test_who_deactivates_a_topology_deactivates_its_spouts_until_it_is_activated",),
    ),
    Mutant(
        "a spout of a topology that is inactive begins so",
        "coordinators/plans/receiving.py",
        "    source.set_active(snapshot.activity is Activity.ACTIVE)\n",
        "    source.set_active(True)\n",
        (f"{_LIVES[0]}::test_a_start_of_a_topology_that_is_inactive_asks_its_spouts_for_nothing",),
    ),
    Mutant(
        "there are as many ids as positions",
        "coordinators/ledger/rules/following.py",
        "        if len(item.ids) != widths[item.spout]:\n",
        "        if not item.ids:\n",
        _LEDGER,
    ),
    Mutant(
        "messages have their ids in every plan",
        "coordinators/ledger/rules/following.py",
        "        if widths[spout]:\n",
        "        if widths[spout] < 0:\n",
        _LEDGER,
    ),
    Mutant(
        "states that were emptied have none of the messages before",
        "coordinators/ledger/sql/messages.py",
        "            PLAN.c.txid > cleared.scalar_subquery(),\n",
        "",
        ("tests/ledger/test_sqlite_ledger.py",),
    ),
    Mutant(
        "what was dropped is not done",
        "coordinators/ledger/sql/messages.py",
        "            PLAN.c.status == PlanStatus.DONE.value,\n",
        "",
        ("tests/ledger/test_sqlite_ledger.py",),
    ),
)
