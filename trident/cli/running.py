"""`trident run`: a topology is a module and a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from trident.base.errors import ConfigurationError
from trident.cli.deciding import Named
from trident.cli.ledgers import LedgerOption, opened
from trident.cli.live import LiveLine
from trident.cli.loading import load_run
from trident.cli.output import JsonOption, show_fields
from trident.coordinators.options import OnRunning, Until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLAIN_EVERY_S: Final = 5.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run_topology)


def run_topology(
    topology: Named,
    ledger: LedgerOption = "",
    until: Annotated[
        Until | None, typer.Option(show_default=False, help="when the run ends by itself (stopped)")
    ] = None,
    on_running: Annotated[
        OnRunning | None,
        typer.Option(show_default=False, help="what to do while another one runs it (wait); refuse ends with 3"),
    ] = None,
    options: Annotated[
        str, typer.Option(show_default=False, help="the name of a RunOptions in the module, for all else")
    ] = "",
    master: Annotated[
        str, typer.Option(show_default=False, help="Spark's master; without it a session inside this process")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Run a topology until it is stopped, or has caught up; SIGTERM drains it. A SQLite ledger is made if need be.

    A session that the module makes is used as it is. The next run goes on exactly where this one ended.
    """
    _let_workers_find(topology.partition(":")[0])
    if master:
        _start_session(master)
    loaded, own = load_run(topology, options)
    with opened(ledger, may_be_new=True) as found, _watching(as_json) as listeners:
        summary = loaded.run(
            _session(),
            ledger=found,
            options=replace(
                own,
                until=until or own.until,
                on_running=on_running or own.on_running,
                listeners=(*own.listeners, *listeners),
            ),
        )
    fields: dict[str, object] = {
        "topology": loaded.name,
        "batches": summary.batches,
        "first_done": summary.first_done,
        "last_done": summary.last_done,
        "lost": summary.lost,
        "given_again": summary.given_again,
    }
    show_fields("ended", fields, as_json)


def _let_workers_find(place: str) -> None:
    """Have Spark's Python workers import the module by its name: its functions are pickled by reference."""
    folder = str(Path(place).parent.resolve() if place.endswith(".py") else Path.cwd())
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = folder if not before else f"{folder}{os.pathsep}{before}"


def _start_session(master: str) -> None:
    from pyspark.sql import SparkSession

    from trident.engine.recommended import recommended_options

    SparkSession.builder.master(master).appName("trident-run").config(map=dict(recommended_options())).getOrCreate()


def _session() -> SparkSession:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise ConfigurationError("the module's Spark session has been stopped; nothing was started")
    return session


@contextmanager
def _watching(as_json: bool) -> Iterator[tuple[LiveLine, ...]]:
    """Give who shows how the run goes: one live line on a terminal, a line every few seconds elsewhere."""
    if as_json:
        yield ()
        return
    if not sys.stdout.isatty():
        yield (LiveLine(_print, _PLAIN_EVERY_S),)
        return
    with Live(Text("starting"), console=Console(markup=False, emoji=False), refresh_per_second=8) as live:
        yield (LiveLine(lambda line: live.update(Text(line))),)


def _print(line: str) -> None:
    print(line, flush=True)
