"""What the Python tasks of a stream's operations are said to need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TaskNeeds:
    """Settings that hold for the Python functions of a stream; None leaves Spark its own."""

    cpus: int | None = None
    """Of a task."""
    memory: str | None = None
    """Of an executor's Python workers together, in Spark's form: '2g'."""
    records_per_call: int | None = None
    """How many records a function over Arrow batches is given at once, at most."""
    is_local: bool = False
    """Whether there are no executors that resources could be asked of: then they are not."""

    @property
    def wants_profile(self) -> bool:
        """Whether Spark is asked for other executors or slots."""
        return self._names_resources and not self.is_local

    @property
    def _names_resources(self) -> bool:
        return self.cpus is not None or self.memory is not None

    def told(self) -> str:
        """Return what is said, as a user says it; empty for nothing."""
        settings = {"cpus": self.cpus, "memory": self.memory, "records_per_call": self.records_per_call}
        said = ", ".join(f"{name}={value!r}" for name, value in settings.items() if value is not None)
        is_ignored = self._names_resources and self.is_local
        return f"{said} (local Spark has no resources to choose)" if is_ignored else said


NO_NEEDS: Final = TaskNeeds()
