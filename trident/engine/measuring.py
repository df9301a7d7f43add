"""What an audit counts of Arrow rows: in a task behind a step, and of what was staged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trident.base.audit import DONE, ID, Accounts, AuditWord, ids_of, made_ids
from trident.base.control import CONTROL, encode
from trident.base.digest import Digest
from trident.base.order import ORDER
from trident.operations.accounting import SUMS, as_ids, id_column
from trident.operations.arrow import AnyArray, split


@dataclass(frozen=True, slots=True)
class Measure:
    """Runs in a Python task behind a step: counts its records, takes its marks, passes all else on.

    Its word comes behind the rows that it is about. Behind a source, records get their ids.
    """

    step: str
    schema: pa.Schema
    """Of what it passes on."""
    is_source: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        accounts = Accounts()
        for batch in batches:
            records, others = split(batch)
            if records.num_rows:
                ids = ids_of(cast(pa.BinaryArray, records.column(ORDER))) if self.is_source else None
                accounts += accounts_of(records) if ids is None else Accounts(Digest.of(ids))
                yield self._fitted(records, None if ids is None else id_column(ids))
            if others is not None:
                is_mark = pc.starts_with(others.column(CONTROL), DONE)
                accounts += _marked(others.filter(is_mark))
                words = others.filter(pc.invert(is_mark))
                if words.num_rows:
                    yield self._fitted(words, None)
        if accounts != Accounts():
            yield self._word(accounts)

    def _fitted(self, rows: pa.RecordBatch, ids: AnyArray | None) -> pa.RecordBatch:
        """Return rows in the schema; ids are those that they get here."""
        given = dict(zip(rows.schema.names, rows.columns, strict=True))
        if self.is_source:
            given[ID] = pa.nulls(rows.num_rows, pa.int64()) if ids is None else ids
        columns = [given[each.name] for each in self.schema]
        fitted = [
            column if column.type == each.type else column.cast(each.type)
            for column, each in zip(columns, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(fitted, schema=self.schema)

    def _word(self, accounts: Accounts) -> pa.RecordBatch:
        text = pa.array([encode(AuditWord(self.step, accounts))], pa.string())
        columns = [text if each.name == CONTROL else pa.nulls(1, each.type) for each in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def accounts_of(records: pa.RecordBatch | pa.Table) -> Accounts:
    """Return what the ids of some records come to, and what groups say of those that they are made of."""
    passed = done = Digest()
    if not records.num_rows:
        return Accounts()
    if ID in records.schema.names:
        passed = Digest.of(as_ids(_whole(records.column(ID))))
    if SUMS[0] in records.schema.names:
        count, low, high, xor = (_numbers(records, name) for name in SUMS)
        done = Digest(int(count.sum()), int(low.sum()), int(high.sum()), int(np.bitwise_xor.reduce(xor)))
    return Accounts(passed, done)


def _numbers(records: pa.RecordBatch | pa.Table, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    column = cast(pa.Int64Array, _whole(records.column(name)))
    return column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)


def _whole(column: AnyArray | pa.ChunkedArray[pa.Scalar[pa.DataType]]) -> AnyArray:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _marked(marks: pa.RecordBatch) -> Accounts:
    """Return what a step is done with, and the ids of what it has made of that."""
    if not marks.num_rows:
        return Accounts()
    ids = as_ids(marks.column(ID))
    numbers = pc.utf8_slice_codeunits(marks.column(CONTROL), len(DONE)).cast(pa.int64())
    counts = numbers.to_numpy(zero_copy_only=False)
    return Accounts(done=Digest.of(ids), made=Digest.of(made_ids(ids, counts)))
