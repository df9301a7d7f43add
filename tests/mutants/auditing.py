"""The mutants of the audit: whoever loses or doubles a record is seen, whatever stands behind it."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_PURE: Final = "tests/dsl/test_audited.py"
_RUN: Final = "integration_tests/dsl/test_audit.py"
_SMALL: Final = "integration_tests/dsl/test_audit_of_small_batches.py"
_AUDITED: Final = "trident/engine/audited.py"
_AT_END: Final = "trident/engine/audited_small.py"
_AUDITING: Final = "trident/engine/auditing.py"
_SEEN: Final = (f"{_PURE}::test_a_single_lost_or_doubled_record_is_always_seen_and_its_step_named",)
_NAMED: Final = (f"{_RUN}::test_the_operation_that_lost_or_doubled_a_record_is_named",)

AUDITING: Final = (
    Mutant(
        "an audit compares ids, not only how many there are",
        _AUDITED,
        "    if given == found:\n",
        "    if given.count == found.count:\n",
        _SEEN,
    ),
    Mutant(
        "an audit asks for the rows that a step says it made",
        _AUDITED,
        "            _require_same(step, found.made, found.passed, ",
        "            _require_same(step, found.made, found.made, ",
        _SEEN,
    ),
    Mutant(
        "an audit asks for the records that a step made its rows of",
        _AUDITED,
        "        case Account.MAKES:\n            _require_same(step, given, found.done)\n",
        "        case Account.MAKES:\n",
        (f"{_PURE}::test_a_step_that_makes_rows_is_done_with_each_record_once",),
    ),
    Mutant(
        "only a step that selects may be done with a record",
        _AUDITED,
        "            _require_same(step, given, found.passed)\n",
        "            _require_same(step, given, found.passed + found.done)\n",
        (f"{_PURE}::test_only_a_step_that_selects_may_be_done_with_a_record",),
    ),
    Mutant(
        "an audit knows every step that was counted",
        _AUDITED,
        "    if not names.issuperset(counted):\n",
        "    if False:\n",
        (f"{_PURE}::test_a_count_of_no_step_is_refused",),
    ),
    Mutant(
        "an audit's words are no two alike",
        "base/control.py",
        'json.dumps(["audit", row.step, *counted, uuid.uuid4().hex])',
        'json.dumps(["audit", row.step, *counted, ""])',
        ("tests/base/test_audit.py::test_words_of_an_audit_travel_as_text_and_no_two_are_alike",),
    ),
    Mutant(
        "an action of an audited topology has to account for its records",
        "trident/engine/processor.py",
        "        return lowering.vouched(collected, attempt.request.edges)\n",
        "        return collected\n",
        _NAMED,
    ),
    Mutant(
        "what was read is what manifests say",
        _AUDITING,
        "            read[name] = manifests\n",
        "            read[name] = counted.get(name, Accounts()).passed\n",
        (f"{_RUN}::test_a_record_that_was_read_and_is_not_there_is_missed",),
    ),
    Mutant(
        "what was counted before a join is of the rows that it is given",
        _AUDITING,
        "        return replace(given, frame=self._keep(given.frame))\n",
        "        return given\n",
        (f"{_RUN}::test_what_a_join_is_given_is_kept",),
    ),
    Mutant(
        "a bad record is accounted for",
        _AUDITING,
        "            if bad.count:\n",
        "            if False:\n",
        (f"{_RUN}::test_a_bad_record_is_accounted_for",),
    ),
    Mutant(
        "what the driver stages is counted",
        _AUDITING,
        "        self.lowering.staged(table)\n",
        "",
        (f"{_RUN}::test_states_and_what_tasks_stage_are_audited",),
    ),
    Mutant(
        "a small batch that is counted at its end has to account for its records",
        "trident/engine/processor.py",
        "        return updates.vouched(collected, attempt.request.edges)\n",
        "        return collected\n",
        (f"{_SMALL}::test_what_a_plan_alone_has_lost_is_not_applied_and_the_plan_is_let_go_of",),
    ),
    Mutant(
        "where the end does not agree, each step is asked",
        _AT_END,
        "            self._require_by_steps(edges)\n",
        "",
        (f"{_SMALL}::test_a_filter_that_does_not_say_what_it_leaves_out_is_named",),
    ),
    Mutant(
        "a plan that has lost records is not run again",
        _AT_END,
        "            self._updates.plans.forget(self._updates.end.name)\n",
        "",
        (f"{_SMALL}::test_what_a_plan_alone_has_lost_is_not_applied_and_the_plan_is_let_go_of",),
    ),
    Mutant(
        "nothing is computed of what a filter left out",
        _AT_END,
        "        return _without_values(made) if is_filter else made\n",
        "        return made\n",
        (f"{_SMALL}::test_nothing_is_computed_of_what_a_filter_left_out",),
    ),
    Mutant(
        "steps that make rows of records are counted one by one",
        _AT_END,
        " and type(node.operation) in _IN_COLUMNS:\n",
        ":\n",
        (f"{_SMALL}::test_only_what_the_library_does_in_columns_is_counted_at_the_end",),
    ),
    Mutant(
        "what tasks stage of a small batch is counted step by step",
        _AT_END,
        "            return self._lowered.vouched(collected, edges)\n",
        "            return collected\n",
        (f"{_SMALL}::test_what_tasks_stage_of_a_small_batch_is_missed_too",),
    ),
)
