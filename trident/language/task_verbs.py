"""How a stream's operations run on Spark: tasks, resources, records per call. None of it changes a result."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame

from trident.base.checks import check_count, refused
from trident.base.errors import ConfigurationError
from trident.engine.building import apply_own
from trident.engine.resources import offered
from trident.operations.base import Operation
from trident.operations.needs import TaskNeeds
from trident.operations.tasks import InTasks

if TYPE_CHECKING:
    from trident.language.stream import Stream

_MOST_TASKS: Final = 10_000
_SIZE: Final = re.compile(r"[1-9]\d*[kmgt]b?")


class TaskVerbs(ABC):
    """Base of `Stream`: what is said here holds for the operations that follow, until something else is said."""

    _needs: TaskNeeds
    _name: str

    _sample: DataFrame

    @abstractmethod
    def _behind(self, operation: Operation, sample: DataFrame, *, keeps: bool) -> Stream: ...

    @abstractmethod
    def _needing(self, needs: TaskNeeds) -> Stream: ...

    def parallelism(self, tasks: int, /) -> Stream:
        """Run what follows in so many Spark tasks, up to the next grouping, join or merge.

        Costs a shuffle of the records. Their logical partitions and order stay: no result depends on it. Without it
        what follows a source runs in as many tasks as read it.
        """
        operation = InTasks(check_count("parallelism", tasks, most=_MOST_TASKS))
        return self._behind(operation, apply_own(operation, self._sample), keeps=True)

    def resources(self, *, cpus: int | None = None, memory: str | None = None) -> Stream:
        """Run the Python functions that follow in tasks of so many `cpus`, in executors with so much `memory`.

        `memory` is that of an executor's Python workers, as in "2g". They become a resource profile of Spark's: `cpus`
        alone needs a standalone, YARN or Kubernetes cluster, `memory` dynamic allocation too; where there is none the
        topology is refused when it is built. In local mode there is nothing to choose: a warning says so, once for
        each call, and they run as they would without. What is not given stays as it was said before.
        """
        if cpus is None and memory is None:
            raise ConfigurationError("resources needs cpus=, memory=, or both")
        if cpus is not None:
            check_count("resources: cpus", cpus)
        if memory is not None and (not isinstance(memory, str) or _SIZE.fullmatch(memory.lower()) is None):
            raise refused("resources: memory", "a size such as '512m' or '2g'", memory)
        given = replace(
            self._needs,
            cpus=self._needs.cpus if cpus is None else cpus,
            memory=self._needs.memory if memory is None else memory,
        )
        return self._needing(offered(self._sample.sparkSession, given, self._name))

    def options(self, *, records_per_call: int) -> Stream:
        """Give the Python functions over Arrow batches that follow at most so many records at once.

        For functions that need much memory per record; Spark's own batches (10,000 rows as a rule) are cut.
        """
        return self._needing(
            replace(self._needs, records_per_call=check_count("options: records_per_call", records_per_call))
        )
