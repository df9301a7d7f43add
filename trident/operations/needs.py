"""What the Python tasks of a stream's operations are said to need."""

from __future__ import annotations

from dataclasses import dataclass, fields
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
        return not self.is_local and (self.cpus is not None or self.memory is not None)

    def told(self) -> str:
        """Return what is said, as a user says it; empty for nothing."""
        said = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self)[:3] if getattr(self, each.name)]
        ignored = " (local Spark has no resources to choose)" if self.is_local and (self.cpus or self.memory) else ""
        return ", ".join(said) + ignored


NO_NEEDS: Final = TaskNeeds()
