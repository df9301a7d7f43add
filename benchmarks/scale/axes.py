"""What is varied, one thing at a time, and what all else is meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

_RECORDS = 1_500_000
"""About as many are read at each point, as far as that makes neither too few batches nor too many."""
_FEWEST, _MOST = 7, 100
_SMALL = 1_000
"""A batch of so many has hardly more than what any batch costs."""
_FOR_EXECUTORS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a run has to do. The defaults are the base point."""

    partitions: int = 4
    accounts: int = 100_000
    """The keys that payments are drawn from."""
    states: int = 1
    """Each with one row per account."""
    batch: int = 50_000
    """Records per batch."""
    txids: int = 0
    """How many done ones the ledger has before the run."""
    executors: int = 0
    """Of one core each, on a standalone cluster; none: Spark inside the driver's JVM, with two cores."""
    scale: float = 1.0
    """Share of the batches of a full run."""

    @property
    def batches(self) -> int:
        """How many batches are read: fewer where one of them takes long."""
        full = min(max(_RECORDS // (self.batch * self.states), _FEWEST), _MOST)
        return max(round(full * self.scale), _FEWEST)

    @property
    def records(self) -> int:
        """How many records are read."""
        return self.batch * self.batches


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One field of the load, its values, and what the others are: a curve for each."""

    field: str
    label: str
    values: tuple[int, ...]
    bases: tuple[Load, ...] = (Load(),)

    def loads(self, most: int | None = None, scale: float = 1.0) -> Iterator[Load]:
        """Yield the loads of all curves, one curve after the other; `most` values of each, its ends among them."""
        values = _some(self.values, most)
        for base in self.bases:
            for value in values:
                yield replace(base, scale=scale, **{self.field: value})

    def value(self, load: Load) -> int:
        """Return what of a load is varied."""
        return int(getattr(load, self.field))

    def base_of(self, load: Load) -> Load:
        """Return the curve that a load is a point of."""
        return next(base for base in self.bases if self._is_on(base, load))

    def _is_on(self, base: Load, load: Load) -> bool:
        return replace(base, scale=load.scale, **{self.field: self.value(load)}) == load


AXES = {
    "partitions": Axis(
        field="partitions",
        label="partitions of the topic",
        values=(1, 4, 16, 64, 256),
        bases=(Load(batch=_SMALL), Load()),
    ),
    "keys": Axis(field="accounts", label="keys", values=(1_000, 10_000, 100_000, 1_000_000, 10_000_000)),
    "states": Axis(field="states", label="states", values=(1, 2, 4, 8, 16), bases=(Load(batch=_SMALL), Load())),
    "batch": Axis(field="batch", label="records per batch", values=(100, 1_000, 10_000, 100_000, 1_000_000)),
    "ledger": Axis(
        field="txids",
        label="done txids in the ledger",
        values=(10, 100, 1_000, 10_000, 100_000, 1_000_000),
        bases=(Load(batch=_SMALL),),
    ),
    "executors": Axis(field="executors", label="executors", values=(1, 2, 3, 4), bases=(Load(batch=_FOR_EXECUTORS),)),
}


def _some(values: Sequence[int], most: int | None) -> tuple[int, ...]:
    """Return at most so many of the values, evenly from the first to the last."""
    if most is None or most >= len(values):
        return tuple(values)
    if most == 1:
        return (values[0],)
    steps = (round(number * (len(values) - 1) / (most - 1)) for number in range(most))
    return tuple(values[step] for step in steps)
