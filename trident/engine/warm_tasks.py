"""What the warm-up runs in Python tasks; a module of its own, so that a task imports nothing else for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from trident.base.control import CONTROL

WORD: Final = "warm-up"
"""Stands where a task's word would; nobody decodes it."""


def one_word(schema: pa.Schema) -> pa.RecordBatch:
    """Return one control row in a frame's schema: what every operation passes on, and no function of a user's sees."""
    columns = [pa.array([WORD], field.type) if field.name == CONTROL else pa.nulls(1, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@dataclass(frozen=True, slots=True)
class YieldWord:
    """Runs in a Python task: reads nothing, and yields one control row."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        for _ in batches:
            pass
        yield one_word(self.schema)
