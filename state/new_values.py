"""What a batch makes of a state: the values of the keys that it touches, after it and before it.

By the same rules as the state's own merge (`state.folding`), so that whoever sees them sees what the state will hold.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from trident.state.folding_columns import folded_columns
from trident.state.layout import StateLayout
from trident.state.pairing import stored_beside
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
    changes = conform(staged, layout.schema()).combine_chunks()
    keys = [changes.column(column.name) for column in layout.keys]
    given = [changes.column(column.name).combine_chunks() for column in layout.values]
    before = stored_beside(layout, stored, changes)
    after = folded_columns(layout, before, given)
    return pa.Table.from_arrays([*keys, *after, *before], schema=new_values_schema(layout))
