"""What an end's action is made of."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame


class Updates(Protocol):
    """How an end's staged updates and the control rows come about."""

    @property
    def audited_as(self) -> str | None:
        """The step under which tasks that stage them say what they staged; None without an audit."""

    def table(self) -> pa.Table:
        """Return them, for `read_table` to read."""

    def frame(self) -> DataFrame:
        """Return the frame of them, for tasks to go on with."""
