"""Guards against owners that go dark where no epoch is older than theirs, and against calls that never return."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_TAKERS: Final = "integration_tests/frozen/test_dark_takers.py"
_ENDING: Final = "integration_tests/frozen/test_ending_sessions.py"
_MARKS: Final = ("integration_tests/frozen/test_marks.py",)
_HUNG: Final = ("integration_tests/frozen/test_hung_statements.py",)
_ONLY_STUCK: Final = (f"{_ENDING}::test_only_who_takes_the_same_lease_and_waits_long_is_ended",)
_WATCHING: Final = ("tests/base/test_watching.py",)

GOING_DARK: Final = (
    Mutant(
        "a taker of which the server does not say what it does is named",
        "state/postgres/sessions.py",
        '          AND (a.state IS NULL OR a.state = \'disabled\' OR {_IS_STUCK})"""\n',
        '          AND (a.state IS NULL OR {_IS_STUCK})"""\n',
        (f"{_ENDING}::test_where_the_server_does_not_say_what_sessions_do_a_taker_is_named",),
    ),
    Mutant(
        "who takes the lease shows the fence that it raises",
        "coordinators/ledger/sql/epochs.py",
        "            transaction.take(topology, epoch, fence)\n            _raise_epoch(",
        "            transaction.work_for(topology, epoch)\n            _raise_epoch(",
        (f"{_TAKERS}::test_who_goes_dark_while_it_takes_the_lease_is_got_past",),
    ),
    Mutant(
        "who asks what became of its take-over shows the fence too",
        "coordinators/ledger/sql/epochs.py",
        "            transaction.take(topology, epoch, fence)\n            now = ",
        "            now = ",
        _MARKS,
    ),
    Mutant(
        "who can't get past a dark taker ends it",
        "state/postgres/database.py",
        "                self._raising[mark_of(work)] = work.topology\n",
        "                pass\n",
        (f"{_TAKERS}::test_who_goes_dark_while_it_takes_the_lease_is_got_past",),
    ),
    Mutant(
        "a taker of another ledger's lease is never ended",
        "state/postgres/sessions.py",
        "{_digest_of(f'{work.raises} {work.topology}')}",
        "{_digest_of(work.topology)}",
        _ONLY_STUCK,
    ),
    Mutant(
        "a taker of another topology's lease is never ended",
        "state/postgres/sessions.py",
        "{_digest_of(f'{work.raises} {work.topology}')}",
        "{_digest_of(work.raises)}",
        _ONLY_STUCK,
    ),
    Mutant(
        "a session that has not waited long may go on",
        "state/postgres/sessions.py",
        "query_start < clock_timestamp() - make_interval(secs => %s)",
        "query_start < clock_timestamp() + make_interval(secs => %s)",
        _ONLY_STUCK,
    ),
    Mutant(
        "a taker that may not be seen is named",
        "state/postgres/sessions.py",
        "        if unseen:\n",
        "        if False:\n",
        (f"{_ENDING}::test_a_taker_that_may_not_be_seen_or_ended_is_named_with_what_to_grant",),
    ),
    Mutant(
        "whatever is left open is named with how to end it",
        "state/postgres/sessions.py",
        "; if its client is gone, {_by_hand(pid)})",
        ")",
        (f"{_ENDING}::test_whatever_is_left_is_named_with_how_to_end_it",),
    ),
    Mutant(
        "a take-over waits for nobody who stopped while it made tables",
        "state/postgres/database.py",
        "            end_older(connection, work, self.lease_seconds / 4)\n            self._end_stuck(connection)\n",
        "            end_older(connection, work, self.lease_seconds / 4)\n",
        (f"{_ENDING}::test_a_take_over_does_not_wait_for_one_that_froze_while_it_made_tables",),
    ),
    Mutant(
        "a look at a state waits for nobody who stopped while it made tables",
        "state/tables/sql_target.py",
        "            place.database.end_stuck()",
        "            pass",
        (f"{_ENDING}::test_a_look_at_a_state_apart_does_not_wait_for_it_either",),
    ),
    Mutant(
        "the trial of a reset shows for whom it works",
        "state/tables/trying.py",
        "        transaction.work_for(topology, epoch)  # before",
        "        # before",
        _MARKS,
    ),
    Mutant(
        "the trial of a reset shows its own epoch, before a state's database knows of one",
        "state/tables/trying.py",
        "        transaction.work_for(topology, epoch)  # before",
        "        transaction.work_on(topology)  # before",
        (f"{_TAKERS}::test_a_trial_that_goes_dark_with_all_rows_locked_is_got_past", *_MARKS),
    ),
    Mutant(
        "a call that does not return is named",
        "coordinators/retrying.py",
        "        with WATCH.over(partial(_tell, what, at_work), self._named_every.total_seconds()):\n",
        "        if True:\n",
        ("tests/coordinators/test_retrying.py",),
    ),
    Mutant(
        "a commit that does not return is named with the state at work",
        "coordinators/batches/committer.py",
        'f"committing {batch}", commit_together, lambda: steps.at_work)',
        'f"committing {batch}", commit_together)',
        _HUNG,
    ),
    Mutant(
        "a run names what does not return every batch_timeout",
        "coordinators/holding/run.py",
        "Repeater(options.give_up_after, self._stopping, options.batch_timeout, self._hear)",
        "Repeater(options.give_up_after, self._stopping, hears=self._hear)",
        _HUNG,
    ),
    Mutant(
        "a command names what does not return every batch_timeout",
        "coordinators/decisions/leasing.py",
        "Repeater(options.give_up_after, stopping, options.batch_timeout)",
        "Repeater(options.give_up_after, stopping)",
        _HUNG,
    ),
    Mutant(
        "a first trial that does not return is named",
        "coordinators/decisions/deciding.py",
        '            taking.repeater.once("trying the reset", _clearing(taking))\n',
        "            _clearing(taking)()\n",
        _HUNG,
    ),
    Mutant(
        "of calls inside of each other the innermost is named",
        "base/watching.py",
        "late = [calls[-1] for calls in self._calls.values() if calls[-1].due <= now]",
        "late = [call for calls in self._calls.values() for call in calls if call.due <= now]",
        _WATCHING,
    ),
    Mutant(
        "a call that goes on is not named when one inside of it returns",
        "base/watching.py",
        "            if outer.due <= now:\n",
        "            if False:\n",
        _WATCHING,
    ),
    Mutant(
        "a call is made where there is no thread to look after it",
        "base/watching.py",
        "            with suppress(RuntimeError):",
        "            with suppress(KeyError):",
        _WATCHING,
    ),
    Mutant(
        "a call that is due sooner is named in time",
        "base/watching.py",
        "            self._next = due\n            self._changed.notify()\n",
        "            self._next = due\n",
        _WATCHING,
    ),
)
