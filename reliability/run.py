"""`make reliability`: the study on real servers, its tables and its plot; exit code 1 if a level was not kept."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from reliability import results
from reliability.cases import Case
from reliability.page import draw
from reliability.report import svg, table
from reliability.scene import Scene
from reliability.study import cases
from trident import Level
from trident.local.kafka import LocalKafka
from trident.local.postgres import LocalPostgres
from trident.local.session import local_session


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for and is not in the results; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make reliability", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the study's numbers; faults stay as many")
    levels = [str(each) for each in Level]
    parser.add_argument("--levels", nargs="+", choices=levels, default=levels)
    parser.add_argument("--results", type=Path, default=Path("artifacts/reliability.jsonl"), help="a run goes on there")
    parser.add_argument("--draw", action="store_true", help="run nothing: print tables and plot of the results")
    parser.add_argument("--page", action="store_true", help="draw docs/reliability.md of the results, too")
    given = parser.parse_args(arguments)
    chosen = [case for case in cases(given.scale) if case.level in given.levels]
    console = Console(width=130)
    if not (given.draw or given.page):
        commit = results.commit_of(Path(__file__).parent)
        done = results.read(given.results, commit)
        _play([case for case in chosen if case not in done], given.results, commit, console)
    found = results.read(given.results)
    outcomes = [found[case] for case in chosen if case in found]
    for level in given.levels:
        of_level = [each for each in outcomes if each.case.level == level]
        if of_level:
            console.print(table(of_level))
    plot = given.results.with_suffix(".svg")
    plot.write_text(svg(outcomes))
    if given.page:
        draw(outcomes, ", ".join(results.commits(given.results)))
    wrong = [each for each in outcomes if each.problem]
    of = ", ".join(results.commits(given.results))
    said = f"{len(outcomes)} of {len(chosen)} runs of the commits {of}, {len(wrong)} not as promised"
    console.print(f"{said}; the plot is in {plot}")
    return 1 if wrong or len(outcomes) < len(chosen) else 0


def _play(chosen: Sequence[Case], file: Path, commit: str, console: Console) -> None:
    if not chosen:
        return
    with LocalKafka() as kafka, LocalPostgres() as postgres:

        def make_topic(name: str, partitions: int) -> str:
            kafka.create_topic(name, partitions)
            return name

        spark = local_session("reliability", cores=2)
        scene = Scene(kafka.bootstrap_servers, make_topic, postgres.create_database, spark)
        for case in chosen:
            found = scene.play(case)
            results.add(file, found, commit)
            console.print(
                f"{case.level}, {case.faults} times {case.fault}, {case.numbers:,} numbers: {found.lost:,} lost, "
                f"{found.twice + found.oftener:,} doubled, {found.problem or 'as promised'} ({found.seconds:.0f} s)"
            )


if __name__ == "__main__":
    sys.exit(main())
