"""The payments example with an audit of every batch."""

from __future__ import annotations

from benchmarks.systems.arguments import parse
from benchmarks.systems.trident_run import run
from examples.payments import payments_topology
from trident import Audit

if __name__ == "__main__":
    run(payments_topology, parse(__doc__ or ""), Audit.ON)
