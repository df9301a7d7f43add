"""The only time that a topology's code may see."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from trident.operations.base import BATCH_TIME


def batch_time() -> Column:
    """Return the batch's planned time as a timestamp, for use in `filter`, `each`, `map` and `flat_map`.

    It is the same for all records of an attempt, and a new attempt gets a new one.
    """
    return F.col(BATCH_TIME)
