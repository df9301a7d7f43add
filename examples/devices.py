"""The coolest and the warmest device, and what each was when: least and greatest by another field.

python examples/devices.py
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trident import Last, Max, MaxBy, Min, MinBy, SqliteLedger, Topology
from trident.local.session import local_session
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState

Reading = tuple[str, int, float]
READINGS: tuple[Reading, ...] = (
    ("door", 1, 18.5),
    ("roof", 1, 31.0),
    ("cellar", 2, 9.5),
    ("roof", 2, 33.5),
    ("door", 3, 17.0),
    ("cellar", 3, 9.5),
)


def devices(readings: Sequence[Reading] = READINGS, batch: int = 2) -> Topology:
    """Return the topology: a row of all devices, and one for each."""
    topology = Topology("devices")
    spout = FixedBatchSpout("device string, minute int, degrees double", readings, max_records_per_batch=batch)
    stream = topology.stream("readings", spout)
    stream.persistent_aggregate(
        SqliteState("extremes"),
        least=Min("degrees"),
        coolest=MinBy("device", by="degrees"),
        most=Max("degrees"),
        warmest=MaxBy("device", by="degrees"),
    )
    stream.group_by("device").persistent_aggregate(SqliteState("latest"), degrees=Last("degrees", by="minute"))
    return topology


def main() -> None:
    """Run it, and print the extremes."""
    spark = local_session("devices")
    file = Path(tempfile.mkdtemp(prefix="trident-devices-")) / "devices.sqlite"
    try:
        devices().run(spark, ledger=SqliteLedger(file), until="caught_up")
    finally:
        spark.stop()
    with sqlite3.connect(file) as connection:
        row = connection.execute("SELECT coolest, least, warmest, most FROM extremes").fetchone()
        print("coolest {} at {}, warmest {} at {}".format(*row))


if __name__ == "__main__":
    main()
