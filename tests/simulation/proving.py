"""`python -m tests.simulation.proving`: does nothing quicker notice the planted bugs that only a search notices?

Each is planted for a whole run of all tests of the layers before its own; the exit code is 1 when one of them fails.
That its own layer notices is what the tests of both searches show.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.mutants.mutant import Layer
from tests.mutants.run import ROOT, first_failure, quicker
from tests.simulation.planted import BUGS, PlantedBug
from trident.local.postgres import LocalPostgres


def noticed_sooner(bug: PlantedBug, dsn: str, tests: tuple[str, ...] = ()) -> str | None:
    """Return the first quicker test that fails with the bug, None when all of them pass; `tests` are these alone."""
    planted = ("-p", "tests.simulation.planting", f"--planted={bug.name}")
    return first_failure(ROOT, (*planted, *(tests or quicker(bug.layer))), dsn)


def main() -> int:
    """Prove it of the bugs whose name contains the given word, or of all; returns the exit code."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--bug", default="", help="only bugs whose name contains this")
    parser.add_argument("tests", nargs="*", help="only these of the quicker tests")
    arguments = parser.parse_args()
    bugs = [bug for bug in BUGS if arguments.bug in bug.name and bug.layer is not Layer.TESTS]
    noticed = 0
    with LocalPostgres() as server:
        for bug in bugs:
            started = time.monotonic()
            sooner = noticed_sooner(bug, server.dsn, tuple(arguments.tests))
            noticed += sooner is not None
            seconds = time.monotonic() - started
            verdict = f"noticed by {sooner}" if sooner else "nothing sooner"
            print(f"{seconds:6.0f} s  {bug.layer}: {bug.name}: {verdict}", flush=True)
    return 1 if noticed or not bugs else 0


if __name__ == "__main__":
    sys.exit(main())
