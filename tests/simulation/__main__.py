"""`python -m tests.simulation`: many seeds, or one of them again with all that happened."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.running import run_seeds, shrink, trace_of


def main() -> int:
    """Print the verdict; returns 1 if a rule was broken or something never happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, help="run this one, print its trace; made short if it fails")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        return _one(arguments.seed)
    started = time.monotonic()
    report = run_seeds(arguments.first, arguments.seeds, arguments.processes)
    print(report.table())
    print(f"{time.monotonic() - started:.0f} s")
    if report.failures:
        seed = report.failures[0].seed
        print(f"again, with its trace made short: make simulate SEED={seed}")
    return 1 if report.failures or report.never() else 0


def _one(seed: int) -> int:
    found = shrink(seed)
    if found is not None:
        print(found.show())
        return 1
    world = trace_of(seed)
    print("\n".join(world.trace or ()))
    print(f"seed {seed}: {world.monitor.commits} committed txids, nothing lost, nothing twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
