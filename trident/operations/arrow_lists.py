"""What runs inside Spark's Python tasks where a record becomes any number of rows, each known to be of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trident.base.audit import ID, made_ids
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.base.partitions import PARTITION
from trident.base.trees import ROOTS
from trident.operations.accounting import as_ids, id_column, marks
from trident.operations.arrow import AnyArray, Arrays, Records, assemble, check_rows, fit, over_records
from trident.operations.user_objects import refuse_promise

ListsFunction = Callable[[pa.RecordBatch], Arrays]
"""Returns for each declared field an array of lists: of each record as many elements as it makes rows."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Replaces each record by rows of the declared fields; `keeps` says that its own fields stay beside them."""

    function: ListsFunction
    declared: pa.Schema
    schema: pa.Schema
    verb: str
    keeps: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return over_records(batches, self.schema, self._work, self.function, self.verb)

    def _work(self, records: Records) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([pa.field(each.name, pa.list_(each.type)) for each in self.declared])
        lists = fit(self.function(records.fields), wanted, self.verb)
        check_rows(lists, records.fields.num_rows, self.verb)
        counts = _counts(lists, self.verb)
        parents = np.repeat(np.arange(len(counts)), counts)
        columns = dict(zip(self.declared.names, (each.flatten() for each in lists), strict=True))  # type: ignore[attr-defined]
        if self.keeps:
            kept = records.fields.take(parents)
            columns = dict(zip(kept.schema.names, kept.columns, strict=True)) | columns
        if records.order is not None:
            columns[ORDER] = _orders(records.order, parents, counts)
        if records.partition is not None:
            columns[PARTITION] = records.partition.take(parents)
        if records.roots is not None:
            columns[ROOTS] = records.roots.take(parents)
        if records.ids is not None:
            ids = as_ids(records.ids)
            columns[ID] = id_column(made_ids(ids, counts))
            yield marks(ids, counts, self.schema)
        yield assemble(list(columns.values()), list(columns), self.schema)


@dataclass(frozen=True, slots=True)
class Look:
    """Gives the records to a function and passes them on as they were."""

    function: Callable[[pa.RecordBatch], object]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return over_records(batches, self.schema, self._work, self.function, "peek")

    def _work(self, records: Records) -> Iterator[pa.RecordBatch]:
        refuse_promise(self.function(records.fields), "the function given to peek")
        names = [*records.fields.schema.names, *records.hidden]
        yield assemble([*records.fields.columns, *records.hidden.values()], names, self.schema)


def _counts(lists: list[AnyArray], verb: str) -> npt.NDArray[np.int64]:
    """Return how many rows each record makes, which every field must agree on; a missing list is none."""
    counts = [_lengths(each) for each in lists]
    if any((other != counts[0]).any() for other in counts[1:]):
        raise ConfigurationError(
            f"the function given to {verb} returned lists of different lengths for one record; each field needs as "
            "many elements as the record makes rows; nothing of the batch was applied"
        )
    return counts[0]


def _lengths(lists: AnyArray) -> npt.NDArray[np.int64]:
    assert isinstance(lists, pa.ListArray)
    return lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)


def _orders(order: AnyArray, parents: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> AnyArray:
    """Return each row's order: its record's, and its place among the rows of that."""
    places = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
    buffers = [None, pa.py_buffer(places.astype(">u4").tobytes())]
    ends = pa.Array.from_buffers(pa.binary(4), len(places), buffers).cast(pa.binary())
    joined: AnyArray = pc.binary_join_element_wise(order.take(parents), ends, b"")  # type: ignore[call-overload]
    return joined
