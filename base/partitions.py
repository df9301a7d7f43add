"""The partition column: which logical partition of a stream a row is in, where somebody has asked for that.

Partitions are numbers from 0, computed from the records themselves and never from the layout of tasks, so that every
re-run of a batch gives each record the same one. A row's is kept through every step that keeps the row a record's.
"""

from __future__ import annotations

from typing import Final

PARTITION: Final = "__trident_partition"
"""Name of the column; no field of a stream may have it."""
