"""`make reliability`: the study on real servers, its tables and its plot; exit code 1 if a level was not kept."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from reliability.cases import Case, Outcome
from reliability.report import svg, table
from reliability.scene import Scene
from reliability.study import cases
from trident import Level
from trident.local.kafka import LocalKafka
from trident.local.postgres import LocalPostgres
from trident.local.session import local_session


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make reliability", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the study's numbers; faults stay as many")
    parser.add_argument(
        "--levels", nargs="+", choices=[str(each) for each in Level], default=[str(each) for each in Level]
    )
    parser.add_argument("--plot", type=Path, default=Path("artifacts/reliability.svg"))
    given = parser.parse_args(arguments)
    chosen = [case for case in cases(given.scale) if case.level in given.levels]
    console = Console(width=130)
    outcomes = _played(chosen, console)
    for level in given.levels:
        console.print(table([each for each in outcomes if each.case.level == level]))
    given.plot.parent.mkdir(parents=True, exist_ok=True)
    given.plot.write_text(svg(outcomes))
    wrong = [each for each in outcomes if each.problem]
    console.print(f"{len(outcomes)} runs, {len(wrong)} not as promised; the plot is in {given.plot}")
    return 1 if wrong else 0


def _played(chosen: Sequence[Case], console: Console) -> list[Outcome]:
    outcomes: list[Outcome] = []
    with LocalKafka() as kafka, LocalPostgres() as postgres:

        def make_topic(name: str, partitions: int) -> str:
            kafka.create_topic(name, partitions)
            return name

        spark = local_session("reliability", cores=2)
        scene = Scene(kafka.bootstrap_servers, make_topic, postgres.create_database, spark)
        for case in chosen:
            outcomes.append(scene.play(case))
            found = outcomes[-1]
            console.print(
                f"{case.level}, {case.faults} times {case.fault}, {case.numbers:,} numbers: {found.lost:,} lost, "
                f"{found.twice + found.oftener:,} doubled, {found.problem or 'as promised'} ({found.seconds:.0f} s)"
            )
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
