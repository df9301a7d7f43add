"""The stream of payments that several of the measured topologies begin with."""

from __future__ import annotations

from pyspark.sql import functions as F

from trident import Topology
from trident.language.stream import Stream
from trident.spouts import Json, OpaqueKafkaSpout


def paid(topology: Topology, bootstrap_servers: str, topic: str, max_records: int) -> Stream:
    """Return the payments that count, read as `examples/payments.py` reads them."""
    value = Json("account string, amount bigint")
    spout = OpaqueKafkaSpout(topic, bootstrap_servers=bootstrap_servers, value=value, max_records_per_batch=max_records)
    return topology.stream("payments", spout).filter(F.col("amount") > 0)
