"""Measures every operation beside plain DataFrames and prints a table; the exit code is 1 when a result differs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.table import Table

from benchmarks.operations.cases import CASES
from benchmarks.operations.measuring import Bench, Result
from benchmarks.report import wide_console
from trident.local.session import local_session


def main() -> int:
    """Run, show; returns the exit code."""
    options = _options()
    console = wide_console()
    wanted = [case for case in CASES if not options.only or any(word in case.name for word in options.only)]
    spark = local_session("operations")
    try:
        bench = Bench(spark, options.records)
        results = []
        for case in wanted:
            results.append(bench.measure(case, options.rounds))
            console.print(_said(results[-1]), soft_wrap=True)
    finally:
        spark.stop()
    console.print(_table(results, options.records))
    return 0 if all(result.exact for result in results) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Every operation beside the same in plain Spark DataFrames")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", help="names of operations, or parts of them")
    return parser.parse_args()


def _said(result: Result) -> str:
    verdict = "reached" if result.is_reached else "NOT reached"
    exact = "exact" if result.exact else "NOT EXACT"
    return f"{result.case.name}: {result.ratio:.2f}, goal {result.case.goal}: {verdict}, {exact}"


def _table(results: Sequence[Result], records: int) -> Table:
    table = Table(title=f"{records:,} records, an operation beside the same on a plain DataFrame")
    table.add_column("operation")
    for name in ("ours ms", "plain ms", "rate beside plain", "goal"):
        table.add_column(name, justify="right")
    table.add_column("reached")
    table.add_column("exact")
    for result in results:
        table.add_row(
            result.case.name,
            f"{result.ours_s * 1000:,.0f}",
            f"{result.plain_s * 1000:,.0f}",
            f"{result.ratio:.2f}",
            f"{result.case.goal}",
            "yes" if result.is_reached else "no",
            "yes" if result.exact else "NO",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
