"""Guards of the kit with which users test their topologies."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_LIVES: Final = ("tests/testing/test_lives.py",)
_SENT: Final = ("tests/testing/test_sent.py",)
_SCRIPTED: Final = ("tests/testing/test_scripted.py",)
_MESSAGES: Final = "tests/testing/test_scripted_messages.py"
_PLAYED: Final = "integration_tests/testing/test_topology_test.py"
_PLAYED_MESSAGES: Final = "integration_tests/testing/test_played_messages.py"

KIT: Final = (
    Mutant(
        "a dead coordinator of a test commits nothing that it was at",
        "trident/testing/lives.py",
        "            yield transaction\n            self._life.require_alive()\n",
        "            yield transaction\n",
        _LIVES,
    ),
    Mutant(
        "a dead coordinator of a test comes to nothing more",
        "trident/testing/lives.py",
        "        with self._lock:\n            self._require_alive()\n            if txid",
        "        with self._lock:\n            if txid",
        _LIVES,
    ),
    Mutant(
        "what a test's sink sends to take over is no border of its batch",
        "trident/testing/lives.py",
        "                return  # what a sink sends",
        "                pass  # what a sink sends",
        _LIVES,
    ),
    Mutant(
        "an older session of a test's topic commits nothing",
        "trident/testing/sent.py",
        "            if self._epochs[transactional_id] != epoch:\n",
        "            if False:\n",
        _SENT,
    ),
    Mutant(
        "a scripted batch lies behind those before it",
        "trident/testing/scripted.py",
        "        self._base = self.end\n",
        "",
        _SCRIPTED,
    ),
    Mutant(
        "a decided batch of a test is not retried with other rows",
        "trident/testing/playing.py",
        " and not self._coordinators.is_decided(before + 1)",
        "",
        (f"{_PLAYED}::test_a_batch_that_is_not_decided_may_be_retried_with_other_rows",),
    ),
    Mutant(
        "a death that a test's batch did not come to is told",
        "trident/testing/playing.py",
        "        if not self._live(life):\n",
        "        if not self._live(life) and False:\n",
        (f"{_PLAYED}::test_a_death_that_the_batch_does_not_come_to_is_told",),
    ),
    Mutant(
        "a transactional stream of a test is never given other rows",
        "trident/testing/playing.py",
        "        if fixed:\n",
        "        if False:\n",
        (f"{_PLAYED}::test_what_was_given_wrongly_is_refused_and_nothing_is_run",),
    ),
    Mutant(
        "a difference after a death is told",
        "trident/testing/exactly_once.py",
        "        if more or fewer:\n",
        "        if False:\n",
        (f"{_PLAYED}::test_what_depends_on_more_than_its_records_is_found",),
    ),
    Mutant(
        "a run with deaths is compared with what its batches held",
        "trident/testing/exactly_once.py",
        "        expected, _ = calm.run(held)\n",
        "        expected, _ = calm.run(batches)\n",
        (f"{_PLAYED}::test_every_border_is_played_with_other_rows_too",),
    ),
    Mutant(
        "attempts that a test's coordinators have died in are no failed ones",
        "trident/testing/coordinators.py",
        "max_tries=self._tries() + self._max_tries",
        "max_tries=self._max_tries",
        (f"{_PLAYED}::test_a_topology_of_servers_runs_on_lists",),
    ),
    Mutant(
        "a test whose topology stopped goes on no more",
        "trident/testing/playing.py",
        '            self._over = f"its topology',
        '            _ = f"its topology',
        (f"{_PLAYED}::test_an_attempt_that_fails_is_raised_or_tried_again_as_was_said",),
    ),
    Mutant(
        "rows that would become two txids are refused",
        "trident/testing/playing.py",
        " and self._coordinators.is_planned:\n",
        " and False:\n",
        (f"{_PLAYED}::test_what_would_become_two_txids_is_refused_and_each_alone_is_one",),
    ),
    Mutant(
        "a record of a queue is a message in a test",
        "trident/testing/playing.py",
        "    if takes_messages_back(spout):\n",
        "    if False:\n",
        (f"{_PLAYED_MESSAGES}::test_a_message_that_fails_is_told_and_in_no_result",),
    ),
    Mutant(
        "messages whose source hears of no failure are refused",
        "trident/engine/messages.py",
        "            if not isinstance(source, TakesMessagesBack):",
        "            if False:",
        (f"{_MESSAGES}::test_messages_whose_source_hears_of_no_failure_are_refused",),
    ),
    Mutant(
        "at most once a test's messages are acked whatever is said of them",
        "trident/testing/playing.py",
        "        ackers = 0 if self._level is Level.AT_MOST_ONCE else 1\n",
        "        ackers = 1\n",
        (f"{_PLAYED_MESSAGES}::test_at_most_once_what_is_said_of_messages_counts_for_nothing",),
    ),
    Mutant(
        "a test's message that failed stays where it is until its batch is planned again",
        "trident/testing/scripted_messages.py",
        "if index >= first and id_ in",
        "if id_ in",
        (f"{_MESSAGES}::test_what_stands_before_a_plan_stays",),
    ),
    Mutant(
        "what a test's coordinator heard of messages dies with it",
        "trident/testing/scripted_messages.py",
        "            self._reasons.clear()\n",
        "            pass\n",
        (f"{_MESSAGES}::test_what_a_coordinator_heard_dies_with_it_and_what_it_gave_back_is_gone",),
    ),
    Mutant(
        "messages that a test's batch is retried with are others",
        "trident/testing/scripted_messages.py",
        "str(next(self._numbers)) for _ in rows.rows",
        "str(number) for number in range(len(rows.rows))",
        (f"{_MESSAGES}::test_each_row_is_a_message_of_its_own",),
    ),
    Mutant(
        "what failed in a batch before is not told of the next one",
        "trident/testing/scripted_messages.py",
        "        self._failed.clear()\n",
        "",
        (f"{_MESSAGES}::test_what_has_failed_goes_when_its_batch_is_planned_again",),
    ),
    Mutant(
        "a run with deaths is compared with what its batches were given, whatever has failed",
        "trident/testing/exactly_once.py",
        "    return {name: test._given(name) for name in done.records}\n",
        "    return done.records\n",
        (f"{_PLAYED_MESSAGES}::test_what_fails_by_more_than_its_record_is_found",),
    ),
)
"""Each guard removed by one change."""
