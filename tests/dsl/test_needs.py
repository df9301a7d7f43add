"""What is said of tasks: kept from step to step, refused where it makes no sense, and told by explain."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.base.test_arguments import stream
from trident.base.errors import ConfigurationError
from trident.operations.needs import NO_NEEDS, TaskNeeds
from trident.operations.tasks import InTasks, Sliced


@pytest.mark.parametrize("tasks", [0, -1, True, 2.5, "2", None, 10_001])
def test_a_number_of_tasks_is_a_number(tasks: int) -> None:
    with pytest.raises(ConfigurationError, match="parallelism must be"):
        stream().parallelism(tasks)


@pytest.mark.parametrize("memory", ["2", "g", "-1g", "0g", "1.5g", "2x", 5, b"2g", ""])
def test_memory_is_a_size(memory: str) -> None:
    with pytest.raises(ConfigurationError, match="resources: memory must be a size such as '512m' or '2g'"):
        stream().resources(memory=memory)


def test_what_says_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="resources needs cpus=, memory=, or both"):
        stream().resources()
    with pytest.raises(ConfigurationError, match="resources: cpus must be a whole number above zero"):
        stream().resources(cpus=0)
    with pytest.raises(ConfigurationError, match="options: records_per_call must be a whole number above zero"):
        stream().options(records_per_call=0)


def test_needs_are_told_as_they_were_said() -> None:
    assert NO_NEEDS.told() == ""
    assert not NO_NEEDS.wants_profile
    needs = TaskNeeds(cpus=2, memory="2g", records_per_call=10)
    assert needs.told() == "cpus=2, memory='2g', records_per_call=10"
    assert needs.wants_profile
    assert InTasks(1).told() == "of 1 task"
    assert InTasks(3).told() == "of 3 tasks"


def test_in_local_mode_nothing_is_asked_for_and_that_is_told() -> None:
    needs = TaskNeeds(cpus=2, is_local=True)
    assert not needs.wants_profile
    assert needs.told() == "cpus=2 (local Spark has no resources to choose)"


@pytest.mark.parametrize("most", [1, 2, 3, 7, 8])
def test_rows_are_given_in_order_at_most_so_many_at_once_and_none_is_lost(most: int) -> None:
    batches = [pa.record_batch({"n": pa.array(part, pa.int64())}) for part in ([1, 2, 3, 4, 5, 6, 7], [], [8])]
    given = list(Sliced(iter, most)(batches))
    assert [n for batch in given for n in batch.column(0).to_pylist()] == list(range(1, 9))
    assert max(batch.num_rows for batch in given) == min(most, 7)
    assert any(batch.num_rows == 0 for batch in given), "an empty batch is one too"
