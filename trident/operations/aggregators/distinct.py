"""How many different values there are, estimated from as few of them as the error allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from trident.base.checks import check_share
from trident.base.errors import RefusedError
from trident.operations.aggregators.base import StoredColumn, require_ordered
from trident.operations.aggregators.sketch_texts import json_of, no_sketch, parts_of
from trident.operations.base import Fields, check_field, field
from trident.state.layout import Merge, Value

_HASHES: Final = 2**63
"""Of so many: Spark's 64 bits without the last, so that none is negative."""
_KEPT: Final = "k int, least array<bigint>"


@dataclass(frozen=True, slots=True)
class ApproxCountDistinct:
    """About how many different values a field has, nulls left out: in a batch, or in a state over all of them.

    `relative_error` is the standard error as a share of the true number, from 0.01 to 0.5; up to 1 / relative_error²
    different values (400 by default) the number is exact. A state keeps the least hashes of the values, as a JSON text
    `…_sketch` of at most some 20 bytes for each of these. Which hashes are the least does not depend on the order of
    records, on how they are spread, or on what is merged first, so a replay comes to the same number (Bar-Yossef et
    al., "Counting distinct elements in a data stream", 2002: the k minimum values). The greatest error that a state was
    ever kept with stays its error: hashes that are gone can't be had back. The hashes of one batch's group are in the
    memory of one task.
    """

    field: str
    relative_error: float = 0.05

    def __post_init__(self) -> None:
        """Check what was given."""
        check_field("ApproxCountDistinct", self.field)
        check_share("ApproxCountDistinct: relative_error", self.relative_error, least=0.01, most=0.5)

    @property
    def hashes(self) -> int:
        """How many hashes have this standard error."""
        return math.ceil(1 / self.relative_error**2) + 2

    def check(self, name: str, fields: Fields) -> None:
        """The field must be there and have an order."""
        require_ordered("ApproxCountDistinct", self.field, name, fields)

    def columns(self) -> tuple[StoredColumn, ...]:
        """Return the text of the least hashes."""
        value = field(self.field)
        hashes = F.collect_set(F.when(value.isNotNull(), F.shiftrightunsigned(F.xxhash64(value), 1)))
        least = F.slice(F.sort_array(hashes), 1, self.hashes)
        type_ = F.typeof(F.max(value)).alias("of")  # of the field, whether there are values or not
        text = F.to_json(F.struct(F.lit(self.hashes).alias("k"), type_, least.alias("least")))
        return (StoredColumn("_sketch", text, Merge.COMBINE, least_of_both),)

    def shown(self, *stored: Column) -> Column:
        """Return the number of hashes while all are kept; else how many there are if they lie as densely everywhere."""
        sketch = F.from_json(stored[0], _KEPT)
        count, most = F.size(sketch["least"]), sketch["k"]
        greatest = F.get(sketch["least"], most - 1).cast("double") + 1.0
        return F.when(count < most, count.cast("bigint")).otherwise(
            F.round((most - 1).cast("double") * float(_HASHES) / greatest).cast("bigint")
        )


def least_of_both(stored: Value, staged: Value) -> Value:
    """Return the text of the values of two; of two that were made with different errors with the greater one.

    Raises RefusedError for values of two types: a number has another hash as an int than as a bigint.
    """
    (most, of, hashes), (other_most, other, others) = _read(stored), _read(staged)
    if of != other:
        raise RefusedError(
            f"the state counts different values of the type {of}, this version's field is {other}, and would count "
            f"values again that are there: cast it before, as in each(x=F.col(…).cast('{of}')), or give the result "
            "another name; the stored values are unchanged"
        )
    most = min(most, other_most)
    return json_of({"k": most, "of": of, "least": sorted(hashes | others)[:most]})


def _read(text: Value) -> tuple[int, str, set[int]]:
    most, least, said = parts_of(text, "k", "least")
    of = said.get("of")
    hashes = {each for each in least if type(each) is int and 0 <= each < _HASHES}
    if not len(least) == len(hashes) <= most or not isinstance(of, str):
        raise no_sketch("k", "least")
    return most, of, hashes
