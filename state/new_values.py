"""What a batch makes of a state: the values of the keys that it touches, after it and before it.

By the same rules as the state's own merge (`state.folding`), so that whoever sees them sees what the state will hold.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from trident.state.folding import Row, keyed_rows, merged_with, table_of
from trident.state.layout import StateLayout
from trident.state.rows import conform

BEFORE: Final = "previous_"
"""Before the name of a value column: what it was before the batch, null for a key that is new."""


def new_values_schema(layout: StateLayout) -> pa.Schema:
    """Return the columns of `new_values`: keys, values after the batch, values before it."""
    before = [pa.field(BEFORE + column.name, column.type) for column in layout.values]
    return pa.schema([*layout.schema(), *before])


def new_values(layout: StateLayout, stored: pa.Table, staged: pa.Table) -> pa.Table:
    """Return a row for each staged key, in the order in which they were staged.

    `stored` has the values of these keys as the txid before has left them, in any order, and those of others if it
    likes; both are in the layout's schema. Raises RefusedError where the state would refuse the merged value.
    """
    before = keyed_rows(layout, stored)
    changes = keyed_rows(layout, conform(staged, layout.schema()))
    after = {key: merged_with(layout, row)(before.get(key)) for key, row in changes.items()}
    nothing: Row = (None,) * len(layout.values)
    kept = table_of(layout, {key: before.get(key, nothing) for key in changes})
    made = table_of(layout, after)
    columns = [*made.columns, *(kept.column(column.name) for column in layout.values)]
    return pa.Table.from_arrays(columns, schema=new_values_schema(layout))
