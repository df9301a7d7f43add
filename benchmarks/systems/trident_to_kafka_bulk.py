"""The same with a staging folder: large batches are staged and sent by tasks."""

from __future__ import annotations

from benchmarks.systems.arguments import parse
from benchmarks.systems.trident_to_kafka import main

if __name__ == "__main__":
    main(parse(__doc__ or ""), bulk=True)
