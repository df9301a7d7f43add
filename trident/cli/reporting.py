"""`trident errors`: what has gone wrong in a topology's runs, as its coordinators have reported it; only reads."""

from __future__ import annotations

from typing import Annotated

import typer

from trident.cli.ledgers import LedgerOption, opened
from trident.cli.output import JsonOption, show_rows
from trident.cli.reading import TopologyName
from trident.coordinators.ledger.view import ErrorRow, record_of

_WHERE = ("incarnation", "txid", "attempt", "epoch")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(errors)


def errors(
    topology: TopologyName,
    limit: Annotated[int, typer.Option(min=1, help="how many at most")] = 20,
    ledger: LedgerOption = "",
    as_json: JsonOption = False,
) -> None:
    """List errors of a topology's runs, the last seen first: equal ones are one row, with how often and when."""
    with opened(ledger) as found:
        rows = found.view().errors(topology)[:limit]
    shown = [record_of(row) if as_json else _short(row) for row in rows]
    show_rows(f"errors of {topology}", shown, as_json)


def _short(row: ErrorRow) -> dict[str, object]:
    record = record_of(row)
    times = {name: record[name] for name in ("count", "last_at", "first_at")}
    return times | {name: record[name] for name in ("place", "kind", "text", *_WHERE)}
