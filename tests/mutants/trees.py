"""Guards of single messages: what is failed or left open, and what becomes of the rest of its batch."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_PENDING: Final = ("tests/spouts/queue/test_pending.py",)
_COLLECTOR: Final = ("tests/dsl/test_task_collector.py",)
_PURE: Final = ("tests/coordinators/test_trees.py",)
_FAIL: Final = "tests/coordinators/test_messages_that_fail.py"
_SPARK: Final = "integration_tests/spouts/test_message_trees.py"
_FORKS = "tests/dsl/test_forks.py"
_RERUNS: Final = ("tests/dsl/test_reruns.py",)
TREES: Final = (
    Mutant(
        "an attempt of which Spark has run a stage again is no result",
        "trident/engine/reruns.py",
        "each.get().currentAttemptId() > 0",
        "each.get().currentAttemptId() > 1",
        _RERUNS,
    ),
    Mutant(
        "an executor that left has taken its part of what is kept along",
        "trident/engine/reruns.py",
        " or bool(before - self._executors())",
        "",
        _RERUNS,
    ),
    Mutant(
        "what is kept for several actions and was let go of is no result",
        "trident/engine/keeping.py",
        "        require_kept(kept, what)\n",
        "",
        ("integration_tests/failures/test_frames_that_go.py",),
    ),
    Mutant(
        "what Spark's listeners have not heard yet is waited for",
        "trident/engine/reruns.py",
        '        self._be_heard(tracker, f"{tag}-heard-{secrets.token_hex(4)}")  # a batch and its turn have one tag\n',
        "",
        _RERUNS,
    ),
    Mutant(
        "a batch that has given messages back has nothing new in its next plan",
        "spouts/queue/pending.py",
        "            self._only = (start, start + left) if left else None\n",
        "            pass\n",
        _PENDING,
    ),
    Mutant(
        "an attempt that has shown which messages are bad is no try",
        "coordinators/protocol/step.py",
        "    if not event.counts:\n",
        "    if False:\n",
        (f"{_FAIL}::test_a_bad_message_alone_in_its_batch_uses_up_no_tries",),
    ),
    Mutant(
        "a batch stays without anything new until it is done",
        "spouts/queue/pending.py",
        "        if range_ and (self.is_closed or is_for_some):\n",
        "        if range_ and is_for_some:\n",
        _PENDING,
    ),
    Mutant(
        "a record that another task has kept is refused",
        "trident/operations/task_collector.py",
        " or trace.owner is not self:",
        ":",
        _COLLECTOR,
    ),
    Mutant(
        "a tree is processed only if its source has begun it",
        "coordinators/acking/trees.py",
        "np.intersect1d(known[totals == 0], np.concatenate(table.begun))",
        "known[totals == 0]",
        _PURE,
    ),
    Mutant(
        "what an operation is given stays open until it is acked",
        "trident/operations/task_collector.py",
        "            self._open[trace.number] = trace\n",
        "            pass\n",
        _COLLECTOR,
    ),
    Mutant(
        "what is failed behind its ack has failed",
        "trident/operations/task_collector.py",
        """            self._misused[f"failed a record that had been {trace.end}: {counts}"] += 1\n""",
        """            return\n""",
        _COLLECTOR,
    ),
    Mutant(
        "a row is of the messages of all of its anchors",
        "trident/operations/task_collector.py",
        "{root for trace in traces for root in trace.roots}",
        "{root for trace in traces[:1] for root in trace.roots}",
        _COLLECTOR,
    ),
    Mutant(
        "a batch with messages that failed is not applied",
        "trident/engine/messages.py",
        "        if said:\n",
        "        if False:\n",
        (f"{_SPARK}::test_messages_that_an_operation_fails_go_back_and_all_others_are_in_the_result_once",),
    ),
    Mutant(
        "a group is of the messages of all of its records",
        "trident/operations/roots.py",
        "F.array_distinct(F.flatten(F.collect_list(field(ROOTS))))",
        "F.first(field(ROOTS))",
        (f"{_SPARK}::test_a_group_that_fails_fails_every_message_that_it_was_made_of",),
    ),
    Mutant(
        "a joined row is of the messages of all of its sides",
        "trident/operations/joining.py",
        "    having = [number for number, frame in enumerate(frames) if has_roots(frame)]\n",
        "    having = [number for number, frame in enumerate(frames) if has_roots(frame)][:1]\n",
        (f"{_SPARK}::test_a_row_of_a_join_is_of_the_messages_of_both_its_sides",),
    ),
    Mutant(
        "what was said of messages goes round a merge",
        "trident/engine/lowering.py",
        "        return [*of_sources, *(words_said_by(fork.said_by, fork.frame) for fork in of_forks)]\n",
        "        return of_sources\n",
        (f"{_SPARK}::test_a_row_of_a_join_is_of_the_messages_of_both_its_sides",),
    ),
    Mutant(
        "what is failed in the turn, where nothing is of a message, is told",
        "trident/engine/turning.py",
        "super().__init__({}, batch, Trees(is_asked=turn.is_asked))",
        "super().__init__({}, batch)",
        (f"{_SPARK}::test_a_record_that_is_failed_in_the_turn_is_not_left_out_in_silence",),
    ),
    Mutant(
        "rows that a function returns instead of emitting them are refused",
        "trident/operations/task_collector.py",
        "        if made is not None:\n",
        "        if False:\n",
        _COLLECTOR,
    ),
    Mutant(
        "what the turn's functions did with a collector is said",
        "trident/engine/turning.py",
        "        tell_of_misuse(list(said))  # what several ends share, each of them returns\n",
        "",
        (f"{_SPARK}::test_a_second_ack_in_the_turn_is_said_in_the_log",),
    ),
    Mutant(
        "a function's rows are kept where several ways lead on",
        "trident/graph/forks.py",
        "        if made[node] and (len(followers[node]) > 1 or any(parted)):\n",
        "        if made[node] and any(parted):\n",
        (f"{_FORKS}::test_each_function_is_run_once_whatever_hangs_on_it",),
    ),
    Mutant(
        "a function's rows are kept where words about messages go another way",
        "trident/graph/forks.py",
        "        if made[node] and (len(followers[node]) > 1 or any(parted)):\n",
        "        if made[node] and len(followers[node]) > 1:\n",
        (f"{_FORKS}::test_what_was_said_of_messages_and_the_rows_part_before_a_merge_so_both_are_kept",),
    ),
    Mutant(
        "what is kept needs no second keeping",
        "trident/graph/forks.py",
        "if each not in given and each not in found]",
        "if each not in given]",
        (f"{_FORKS}::test_behind_what_is_kept_only_another_function_is_a_reason_to_keep_more",),
    ),
    Mutant(
        "an end behind a fork has no run of its own",
        "trident/graph/jobs.py",
        "        if node in forks:\n",
        "        if False:\n",
        (f"{_FORKS}::test_an_end_behind_a_fork_does_not_read_its_trunk",),
    ),
    Mutant(
        "ends stand on the forks",
        "trident/engine/processor.py",
        "enumerate(self._forks[attempt.job], 1)",
        "enumerate((), 1)",
        (
            "integration_tests/dsl/test_forks.py::test_each_record_goes_one_way_and_what_is_acked_is_there[off-two_tables-by_rows]",
        ),
    ),
    Mutant(
        "a fork's rows are there before anybody uses them",
        "trident/engine/processor.py",
        "        self._on_spark(attempt, what, lambda: words_of(fork.frame).toArrow())\n",
        "",
        (
            "integration_tests/failures/test_executors_that_die.py::test_two_executors_that_want_the_rows_of_a_function_are_given_those_of_one_run",
        ),
    ),
    Mutant(
        "in the turn a function's rows are made once",
        "trident/engine/turning.py",
        "        if node in self._made_once and node not in self._frames:\n",
        "        if False:\n",
        ("integration_tests/dsl/test_forks.py::test_in_the_turn_each_record_goes_one_way_too",),
    ),
    Mutant(
        "what was said is kept also where another step stands before the merge",
        "trident/graph/forks.py",
        " or any(said[each] for each in before)",
        "",
        (f"{_FORKS}::test_what_was_said_is_kept_also_where_another_step_stands_before_the_merge",),
    ),
    Mutant(
        "a user's function over several streams is one too",
        "trident/graph/forks.py",
        "    if not isinstance(node, OperationNode | RecordOperationNode):\n",
        "    if not isinstance(node, OperationNode):\n",
        (f"{_FORKS}::test_each_function_is_run_once_whatever_hangs_on_it",),
    ),
    Mutant(
        "through Connect each step may say something else",
        "trident/graph/forks.py",
        "    return not are_columns_seen or node.operation.runs_user_code\n",
        "    return node.operation.runs_user_code\n",
        (f"{_FORKS}::test_where_nobody_sees_what_a_column_calls_each_step_may_differ",),
    ),
    Mutant(
        "an end behind a fork does not fill its trunk",
        "trident/engine/processor.py",
        "        return attempt.job.first_on(trunk, self._forks[attempt.job])\n",
        "        return attempt.job.first_on(trunk)\n",
        ("integration_tests/dsl/test_forks.py::test_a_fork_behind_which_all_straight_ends_are_is_run_once",),
    ),
    Mutant(
        "what waits for the turn has no collation",
        "trident/graph/turns.py",
        "        if each.metadata and COLLATED in each.metadata:\n",
        "        if False:\n",
        ("integration_tests/dsl/test_turn_types.py::test_a_text_with_a_collation_does_not_wait_for_the_turn",),
    ),
    Mutant(
        "a reset's birth is another one than that of the reset before",
        "coordinators/decisions/deciding.py",
        "used_up_by(snapshot.last_txid, snapshot.birth_txid)",
        "snapshot.last_txid",
        ("tests/coordinators/test_resets_in_a_row.py",),
    ),
    Mutant(
        "what runs in the turn is user code too",
        "trident/engine/compiled.py",
        "for job in (*self.jobs, Job((), self.stages.turn)))",
        "for job in self.jobs)",
        ("tests/dsl/test_graph.py::test_what_runs_in_the_turn_is_user_code_too",),
    ),
    Mutant(
        "a run with speculation says what that may cost",
        "trident/engine/reruns.py",
        "            _log.warning(_SPECULATES)\n",
        "            pass\n",
        ("tests/dsl/test_reruns.py::test_a_run_with_speculation_says_what_that_may_cost",),
    ),
)
