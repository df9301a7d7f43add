"""The mutants of plans that run again with other rows: none runs again that would find anything of another batch."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_PLANS: Final = "integration_tests/dsl/test_prepared_plans.py"
_SMALL: Final = "integration_tests/dsl/test_small_processing.py"
_PREPARED: Final = "trident/engine/prepared.py"

PREPARING: Final = (
    Mutant(
        "a prepared plan's words are those of the batch that it was given",
        _PREPARED,
        "            if _words(table) == _words(batch.rows):\n",
        "            if True:\n",
        (f"{_PLANS}::test_a_plan_that_returns_another_batchs_words_is_not_believed",),
    ),
    Mutant(
        "a Spark that has run a prepared plan on another batch's rows is not trusted again",
        _PREPARED,
        "            was_trusted, self._are_trusted = self._are_trusted, False\n",
        "            was_trusted = self._are_trusted\n",
        (f"{_PLANS}::test_a_plan_that_returns_another_batchs_words_is_not_believed",),
    ),
    Mutant(
        "a plan that keeps anything of a run is not prepared",
        _PREPARED,
        "_partitions(rows) if _begins_anew(updates) else None",
        "_partitions(rows)",
        (f"{_PLANS}::test_a_plan_that_keeps_anything_of_a_run_is_not_run_again",),
    ),
    Mutant(
        "a plan with a subquery is not prepared",
        _PREPARED,
        "bool(plan.subqueriesAll().isEmpty()) and ",
        "",
        (f"{_PLANS}::test_steps_that_begin_anew_are_known_by_name",),
    ),
    Mutant(
        "a plan that asked for the batch's time is not prepared",
        _PREPARED,
        "(small.context.is_diverted or noticing.asked)",
        "small.context.is_diverted",
        (f"{_PLANS}::test_a_frame_that_asks_for_the_time_is_made_for_each_batch",),
    ),
    Mutant(
        "a diverted batch's plan is not prepared",
        _PREPARED,
        "(small.context.is_diverted or noticing.asked)",
        "bool(noticing.asked)",
        (f"{_PLANS}::test_a_diverted_batch_has_a_plan_of_its_own",),
    ),
    Mutant(
        "a diverted batch takes no plan that was prepared",
        _PREPARED,
        "None if small.context.is_diverted or not",
        "None if not",
        (f"{_PLANS}::test_a_diverted_batch_has_a_plan_of_its_own",),
    ),
    Mutant(
        "a plan is gone once a run of it has failed",
        _PREPARED,
        "            found = idle.pop() if idle else None\n",
        "            found = idle[-1] if idle else None\n",
        (f"{_PLANS}::test_a_plan_is_gone_once_a_run_of_it_has_failed",),
    ),
    Mutant(
        "a plan is of one schema",
        _PREPARED,
        "found is not None and found.schema == schema else None",
        "found is not None else None",
        (f"{_PLANS}::test_a_plan_is_of_one_schema",),
    ),
    Mutant(
        "rows of another Arrow form are not given to a prepared plan",
        _PREPARED,
        "    return batch.rows.schema.types == arrow_schema(batch.schema).types\n",
        "    return True\n",
        (f"{_PLANS}::test_rows_of_another_arrow_form_are_not_taken_for_sparks",),
    ),
    Mutant(
        "ends that share what a user's function has made are given one run of it",
        "trident/graph/jobs.py",
        "        return all(sum(node in way for way in ways) == 1 for node in once)\n",
        "        return True\n",
        ("tests/dsl/test_graph.py::test_whether_ends_may_go_their_own_ways",),
    ),
    Mutant(
        "a small batch with a record that only the careful way decodes is left to it",
        "trident/engine/reading.py",
        "        if batch is not None and any(isinstance(word, Undecoded) for word in words_in(batch.words)):\n",
        "        if False:\n",
        (f"{_SMALL}::test_a_word_of_an_undecoded_record_sends_some_batches_the_careful_way",),
    ),
    Mutant(
        "what a small batch's reading says is of ranges that were given",
        "trident/engine/processor.py",
        "        readings.add(trunk.source.name, words_in(batch.words))\n",
        "        readings._found[trunk.source.name] = words_in(batch.words)  # type: ignore[assignment]\n",
        (f"{_SMALL}::test_a_range_that_was_not_given_is_refused",),
    ),
    Mutant(
        "ends share what nobody has looked at",
        "trident/engine/processor.py",
        "        return job.can_part and (job.is_chain or is_classic(self._spark))\n",
        "        return job.can_part\n",
        (
            "integration_tests/dsl/test_dsl_sessions.py::"
            "test_through_connect_a_session_is_refused_by_the_options_name_and_left_as_it_is",
        ),
    ),
    Mutant(
        "what leaves records to Spark is not decoded by the coordinator",
        "spouts/decoders/json.py",
        'is only known behind `finish`."""\n        return False\n',
        'is only known behind `finish`."""\n        return True\n',
        ("tests/spouts/test_small_reads.py::test_a_decoder_that_leaves_records_to_spark_runs_in_tasks_only",),
    ),
    Mutant(
        "a Spark that takes no other rows costs no batch",
        _PREPARED,
        "            self._distrust()\n            return False\n",
        "            raise\n",
        (f"{_PLANS}::test_a_spark_without_what_it_takes_plans_each_batch_anew",),
    ),
    Mutant(
        "a Spark that fails what runs again is asked for it twice at most",
        _PREPARED,
        "            if are_too_many:\n                self._distrust()\n",
        "",
        (f"{_PLANS}::test_a_spark_that_fails_the_first_plans_that_run_again_costs_two_tries",),
    ),
    Mutant(
        "Spark's optimizer computes on no rows that the driver has",
        "trident/engine/spark.py",
        '    "spark.sql.execution.arrow.localRelationThreshold": "0",\n',
        "",
        ("integration_tests/dsl/test_dsl_sessions.py::test_a_run_has_a_session_with_what_exact_results_need",),
    ),
    Mutant(
        "a plan with a user's function is not prepared",
        _PREPARED,
        '        "InputAdapter",\n',
        '        "InputAdapter",\n        "MapInArrow",\n',
        (f"{_PLANS}::test_a_users_function_is_what_it_is_when_a_batch_is_read",),
    ),
    Mutant(
        "a text that Spark reads as this moment is refused",
        "trident/engine/building.py",
        " or _has_moments(verb, plan, jvm)",
        "",
        ("integration_tests/dsl/test_dsl_building.py::test_a_text_that_spark_reads_as_this_moment_is_refused",),
    ),
    Mutant(
        "a literal of this moment is refused",
        "trident/operations/moments.py",
        "        if _LITERAL.search(text) or (comment and _ANY_WORD.search(text, comment.end())):\n",
        "        if False:\n",
        ("integration_tests/dsl/test_dsl_building.py::test_a_text_that_spark_reads_as_this_moment_is_refused",),
    ),
    Mutant(
        "a text that stays one in an expression that replaces another is found",
        "trident/engine/building.py",
        "rules.ReplaceExpressions.apply(plan)",
        "plan",
        ("integration_tests/dsl/test_dsl_building.py::test_a_text_that_spark_reads_as_this_moment_is_refused",),
    ),
    Mutant(
        "many records are not a single task's where others could share the work",
        "trident/engine/reading.py",
        "could_share > (1 if runs_user_code else _FEW_TASKS)",
        "could_share < 0",
        ("tests/dsl/test_who_reads.py",),
    ),
    Mutant(
        "a prepared plan gives back the rows that it ran on",
        _PREPARED,
        "        self.partitions[0] = self.first\n",
        "        pass\n",
        (f"{_PLANS}::test_a_plan_that_is_kept_holds_no_rows_but_its_first",),
    ),
    Mutant(
        "a plan that was prepared by a large batch is not kept",
        _PREPARED,
        " or small.batch.rows.nbytes > _MOST_BYTES",
        "",
        (f"{_PLANS}::test_a_plan_that_a_large_batch_has_prepared_is_not_kept",),
    ),
)
