"""Guards of the two weaker levels: what is written before and after the record, and how much may be lost."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_LEVELS: Final = ("tests/coordinators/test_levels.py",)
_LIVES: Final = ("tests/coordinators/test_level_lives.py",)
_WORLDS: Final = ("tests/coordinators/test_level_worlds.py",)
_QUEUES: Final = ("tests/coordinators/test_levels_of_queues.py",)
_KEPT: Final = ("tests/coordinators/test_levels_kept.py",)
_OWNING: Final = ("tests/state/test_owning.py",)
_STOPPED: Final = ("tests/coordinators/test_levels_stopped.py",)
_PLAIN: Final = ("tests/state/test_plain.py",)
_NAMED: Final = ("tests/coordinators/test_acking.py::test_values_that_do_not_fit_are_named_by_their_message",)
_FAULTS: Final = ("tests/coordinators/test_whose_fault.py",)
_RECORDED: Final = ("tests/coordinators/test_recorded.py",)
_MOST: Final = ("tests/coordinators/test_at_most_once.py",)

LEVELS: Final = (
    Mutant(
        "at least once a batch is written before it is recorded",
        "coordinators/levels/parts.py",
        "        return super().together(batch, replace(outcome, updates=self._writes.write(batch, outcome.updates)))",
        "        commit = super().together(batch, replace(outcome, updates={}))\n"
        "        self._writes.write(batch, outcome.updates)\n"
        "        return commit",
        (*_LEVELS, *_LIVES, *_WORLDS),
    ),
    Mutant(
        "at most once a batch is recorded before it is processed",
        "coordinators/levels/behind.py",
        "            record()\n",
        "            self._recorded.add(batch)\n            self._process(batch, outcome)\n            record()\n",
        (*_LEVELS, *_LIVES),
    ),
    Mutant(
        "at most once a write that nobody knows of is not repeated",
        "coordinators/levels/writing.py",
        "            except OutcomeUnknownError as error:\n",
        "            except FatalError as error:\n",
        (*_LEVELS, *_LIVES, *_WORLDS),
    ),
    Mutant(
        "a reset looks at tables without a position before it empties them",
        "coordinators/holding/plain_stores.py",
        '            self._repeater.call(f"looking at {name!r}", partial(store.look, topology))\n',
        "            pass\n",
        (*_KEPT, *_LEVELS),
    ),
    Mutant(
        "rows of another topology without a position are not emptied",
        "state/tables/owning.py",
        "        if not (may_share and claim.may_share):\n",
        "        if False:\n",
        (*_KEPT, *_OWNING),
    ),
    Mutant(
        "a reset empties tables once it is recorded, and again when it is finished",
        "coordinators/holding/carrying_out.py",
        'plain.own(owner, epoch, emptied=decision.states == "clear", holds=holds)\n',
        "plain.own(owner, epoch, holds=holds)\n",
        (*_KEPT, *_LEVELS, *_WORLDS),
    ),
    Mutant(
        "a reset that can't empty a table is not recorded",
        "coordinators/decisions/deciding.py",
        "partial(check_clear, {**taking.stores, **taking.plain.stores}, taking",
        "partial(check_clear, taking.stores, taking",
        _KEPT,
    ),
    Mutant(
        "what a weaker level's topology has had since when is recorded",
        "coordinators/holding/takeover.py",
        "        self._bear(standing, self.plain.births(self.snapshot))\n",
        "        self._bear(standing)\n",
        _KEPT,
    ),
    Mutant(
        "a table that had rows and has none is seen",
        "coordinators/holding/plain_standing.py",
        "    if found.mark is not None and found.mark.had_rows and found.has_rows is False:\n",
        "    if False:\n",
        _KEPT,
    ),
    Mutant(
        "the first rows of a table are noted with them",
        "state/tables/plain.py",
        "            self._marks.note_rows(connection, batch, by_task=self._by_task)\n",
        "",
        _KEPT,
    ),
    Mutant(
        "what a trigger takes away from a plain table again is no write",
        "state/tables/plain.py",
        "            check_stored_plainly(connection, self._staged, rows.num_rows)\n",
        "",
        _PLAIN,
    ),
    Mutant(
        "what waits for the COMMIT of a plain table runs before its rows are counted",
        "state/tables/counting.py",
        "    if dialect.run_deferred(connection, table):\n        dialect.run_deferred(connection)\n    elif not",
        "    if not",
        ("integration_tests/levels/test_plain_tables.py",),
    ),
    Mutant(
        "tasks that write to a plain table do not wait for one another",
        "state/tables/plain_marks.py",
        "txid = batch.owner, 0 if by_task else batch.txid\n",
        "txid = batch.owner, batch.txid\n",
        _PLAIN,
    ),
    Mutant(
        "an older epoch notes nothing",
        "state/tables/plain_marks.py",
        "\n    WHERE trident_plain.epoch < excluded.epoch\n"
        "          OR (trident_plain.epoch = excluded.epoch AND trident_plain.token = excluded.token)",
        "",
        (*_OWNING, *_PLAIN),
    ),
    Mutant(
        "a table that is gone, or another one, is seen",
        "coordinators/holding/plain_standing.py",
        "        if birth is not None and _has_something(snapshot, birth):\n",
        "        if False:\n",
        _KEPT,
    ),
    Mutant(
        "a new state takes no table that has rows",
        "coordinators/holding/plain_standing.py",
        "        if found.has_rows:\n",
        "        if False:\n",
        _KEPT,
    ),
    Mutant(
        "a table that was filled with another ledger is seen",
        "coordinators/holding/takeover.py",
        "partial(require_known, seen, {**positions, **noted})",
        "partial(require_known, seen, positions)",
        _KEPT,
    ),
    Mutant(
        "a ledger that was put back is seen, at each start",
        "coordinators/holding/plain_standing.py",
        "    if found.mark.newest_txid > snapshot.done + ahead:\n",
        "    if False:\n",
        _KEPT,
    ),
    Mutant(
        "two states of a weaker level are not in one table",
        "coordinators/holding/takeover.py",
        "        require_one_place({**self.stores, **self.plain.stores}, self.repeater)\n",
        "        require_one_place(self.stores, self.repeater)\n",
        _KEPT,
    ),
    Mutant(
        "what the ledger refuses to record waits for no person",
        "coordinators/levels/writing.py",
        '    return StoppedError(text, Refusal(batch.txid, batch.attempt, StopKind.UNPROCESSABLE, "", text))\n\n\n'
        "def as_written",
        '    return StoppedError(text, Refusal(batch.txid, batch.attempt, StopKind.REFUSED, "", text))\n\n\n'
        "def as_written",
        _STOPPED,
    ),
    Mutant(
        "a retry is refused at no level",
        "trident/cli/deciding.py",
        "    if kind is not DecisionKind.RETRY:",
        "    if True:",
        _STOPPED,
    ),
    Mutant(
        "at least once nobody says that nothing was written",
        "coordinators/batches/work.py",
        "                told = parts.committer.told(error)\n",
        "                told = error\n",
        _STOPPED,
    ),
    Mutant(
        "at least once nobody says so of an attempt that is tried again",
        "coordinators/levels/parts.py",
        "            tell_of_written(error)\n",
        "",
        _STOPPED,
    ),
    Mutant(
        "a start that is refused is not said to have written",
        "coordinators/holding/run.py",
        "is Level.AT_LEAST_ONCE and self._coordinator is not None:",
        "is Level.AT_LEAST_ONCE:",
        _STOPPED,
    ),
    Mutant(
        "at least once a ledger that was put back by one txid is no other at its second start",
        "coordinators/holding/run.py",
        "                if not self._may_come_again or error.known <= above:\n                    raise\n",
        "                raise\n",
        _KEPT,
    ),
    Mutant(
        "whatever ends a run, what was lost is told",
        "coordinators/holding/run.py",
        "        except BaseException as error:\n            self._tell_of_what_was_lost(error)\n            raise\n",
        "",
        _MOST,
    ),
    Mutant(
        "doctor holds a table of a weaker level against the ledger",
        "trident/doctor/databases.py",
        "        check_plain(_snapshot_of(standing), name, found, txids_ahead(standing.level))\n",
        "        pass\n",
        ("tests/doctor/test_examining.py",),
    ),
    Mutant(
        "doctor sees that a table is of another ledger",
        "trident/doctor/databases.py",
        "        check_unknown(subject.topology, name, found)\n",
        "",
        ("tests/doctor/test_examining.py",),
    ),
    Mutant(
        "doctor looks at the tables of a weaker level",
        "trident/doctor/examining.py",
        "        *_of_plain(subject),\n",
        "",
        ("tests/doctor/test_examining.py",),
    ),
    Mutant(
        "what was given up is not written later",
        "coordinators/levels/writing.py",
        "        self.claim(batch)\n",
        "",
        _LEVELS,
    ),
    Mutant(
        "no more is recorded than may be lost",
        "coordinators/levels/behind.py",
        "while recorded.broken is None and not recorded.has_room(self._most()) and not",
        "while False and not",
        _LEVELS,
    ),
    Mutant(
        "a topology that loses every batch is stopped",
        "coordinators/levels/behind.py",
        "            if recorded.too_many_in_a_row:\n",
        "            if False:\n",
        _LEVELS,
    ),
    Mutant(
        "a stop waits for what is recorded",
        "coordinators/levels/behind.py",
        "            while recorded.pending:\n                self._changed.wait(_LOOK_S)\n",
        "            pass\n",
        _LEVELS,
    ),
    Mutant(
        "what is acked before it is read can still be read",
        "coordinators/levels/behind.py",
        "            self._hold(plan)  # a source lets go of what is done\n",
        "",
        _QUEUES,
    ),
    Mutant(
        "a topology stays at its level",
        "coordinators/ledger/rules/specs.py",
        "    if stored.level is not given.level:\n",
        "    if False:\n",
        _LEVELS,
    ),
    Mutant(
        "rows that stand at a txid are not mixed with rows that do not",
        "state/tables/plain_marks.py",
        "        refuse_placed(connection, self._ownership, self.name)\n",
        "",
        (*_LEVELS, *_KEPT),
    ),
    Mutant(
        "a merge that depends on the order of batches is refused",
        "state/plainly.py",
        "        if column.merge in (Merge.REPLACE, Merge.COMBINE):\n",
        "        if column.merge is Merge.COMBINE:\n",
        _PLAIN,
    ),
    Mutant(
        "several connections that merge into one table lose no update",
        "state/tables/plain.py",
        "            self._lock(connection, self._shape.quoted)\n",
        "",
        ("integration_tests/levels/test_plain_tables.py",),
    ),
    Mutant(
        "at most once no task writes",
        "trident/engine/plainly.py",
        "    return Staging.DRIVER\n",
        "    return staging\n",
        ("integration_tests/levels/test_building.py", "integration_tests/levels/test_levels.py"),
    ),
    Mutant(
        "who was replaced merges no rows beside the ledger",
        "state/tables/plain.py",
        "hold(connection, batch)\n            if self._shared and holds is not None:\n",
        "hold(connection, batch)\n            if False:\n",
        (*_PLAIN, *_MOST),
    ),
    Mutant(
        "who was replaced appends no rows beside the ledger",
        "state/row_tables/plain.py",
        "                holds(transaction)  # last: who takes the topology over waits for this lock\n",
        "                pass\n",
        _PLAIN,
    ),
    Mutant(
        "of a target that is elsewhere the ledger is asked before each write",
        "coordinators/levels/writing.py",
        "                self.owned_by(batch, None)\n",
        "                pass\n",
        _MOST,
    ),
    Mutant(
        "a run that only waits for what is recorded hears that it was replaced",
        "coordinators/holding/run.py",
        "            self._level_parts.end_with(error)\n",
        "            pass\n",
        _MOST,
    ),
    Mutant(
        "a row that does not fit loses its batch alone",
        "spouts/python/held_rows.py",
        "            raise UncomputableError(\n",
        "            raise ValueError(\n",
        _NAMED,
    ),
    Mutant(
        "records that can't be read are no fault of a run",
        "coordinators/levels/ending.py",
        "    UncomputableError,\n    RefusedError,",
        "    RefusedError,",
        (*_FAULTS, *_NAMED),
    ),
    Mutant(
        "a message that is read behind its ack is named",
        "spouts/python/held_rows.py",
        "_Later(self.standing(item), self.names(item))",
        "_Later(self.standing(item), ())",
        _NAMED,
    ),
    Mutant(
        "what is no fault of a batch ends the run",
        "coordinators/levels/ending.py",
        "    return isinstance(error, _OF_ONE_BATCH)\n",
        "    return isinstance(error, (*_OF_ONE_BATCH, FatalError))\n",
        _MOST,
    ),
    Mutant(
        "what ends the run leaves no room in which another batch is recorded",
        "coordinators/levels/behind.py",
        "            is_lost, ends = self._recorded.lose(batch, error)\n"
        "            if is_lost:\n"
        "                self._tell_lost(batch, error)\n"
        "            self._changed.notify_all()\n",
        "            is_lost, ends = self._recorded.lose(batch, RetryableError('lost'))\n"
        "            if is_lost:\n"
        "                self._tell_lost(batch, error)\n"
        "            self._changed.notify_all()\n"
        "        threading.Event().wait(0.1)\n"
        "        with self._changed:\n"
        "            ends = not isinstance(error, RetryableError) and self._recorded.break_with(error)\n",
        _MOST,
    ),
    Mutant(
        "until a run has written a batch one may be lost",
        "coordinators/levels/recorded.py",
        "(most if self.has_written else 1)",
        "most",
        (*_RECORDED, *_MOST),
    ),
    Mutant(
        "a run that has lost all of it ends with an error",
        "coordinators/levels/behind.py",
        "        if recorded.lost and not recorded.has_written:\n",
        "        if False:\n",
        _MOST,
    ),
    Mutant(
        "a batch without rows is no sign that rows are taken",
        "coordinators/levels/recorded.py",
        "        if rows:\n            self.has_written = True\n            del self._in_a_row[_ANY]\n",
        "        self.has_written = True\n        del self._in_a_row[_ANY]\n",
        (*_RECORDED, *_MOST),
    ),
    Mutant(
        "what one target refuses each time stops a topology whose others take theirs",
        "coordinators/levels/writing.py",
        "                    self.ended_at(name, is_written=False)\n",
        "                    pass\n",
        _MOST,
    ),
    Mutant(
        "what a target takes parts what it has refused",
        "coordinators/levels/recorded.py",
        "        del self._in_a_row[target]\n",
        "        pass\n",
        _RECORDED,
    ),
    Mutant(
        "a rebalance changes how many may be lost",
        "coordinators/holding/run.py",
        "self._options.max_pending if self._coordinator is None else self._coordinator.max_pending",
        "self._options.max_pending",
        _MOST,
    ),
    Mutant(
        "what is lost is reported",
        "coordinators/levels/behind.py",
        "        self._hears(lost_by(error, batch), batch)\n",
        "",
        _MOST,
    ),
    Mutant(
        "an answer says what is recorded and not written",
        "coordinators/batches/work.py",
        "                reply = parts.in_full(reply)\n",
        "",
        _MOST,
    ),
    Mutant(
        "a batch counts as lost of which nobody knows whether it is recorded",
        "coordinators/levels/parts.py",
        "            if self._answers.has_lost or isinstance(error.__cause__, OutcomeUnknownError):\n",
        "            if isinstance(error.__cause__, OutcomeUnknownError):\n",
        _MOST,
    ),
    Mutant(
        "a batch of which nothing could be heard is not waited for",
        "coordinators/levels/behind.py",
        "            self.end_with(wrong)\n",
        "            pass\n",
        _MOST,
    ),
    Mutant(
        "what is held is let go of where there is no thread for a time limit",
        "coordinators/levels/behind.py",
        "        try:\n            timer.start()\n",
        "        timer.start()\n        try:\n",
        _MOST,
    ),
    Mutant(
        "an idle producer goes on with the limits that it was made for",
        "state/kafka/clients/plain.py",
        "                if made_for == _of(limits):\n",
        "                if True:\n",
        _PLAIN,
    ),
    Mutant(
        "options that no producer takes are refused before anything is recorded",
        "state/kafka/plain.py",
        "        self._sending.check()\n",
        "",
        _PLAIN,
    ),
)
