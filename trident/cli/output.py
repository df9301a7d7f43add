"""How the commands speak: tables for people, one JSON object a line for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from trident.base.errors import TridentError

_WIDEST: Final = 10_000
JsonOption = Annotated[bool, typer.Option("--json", help="one JSON object a line, for machines")]


def show_rows(title: str, rows: Sequence[Mapping[str, object]], as_json: bool) -> None:
    """Print rows of the same columns; one below the other in a terminal that is too narrow for a table."""
    if as_json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return
    if not rows:
        print(f"{title}: none")
        return
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    console = _console()
    unbounded = console.options.update(max_width=_WIDEST)
    if sys.stdout.isatty() and console.measure(table, options=unbounded).maximum > console.width:
        for number, row in enumerate(rows, 1):
            show_fields(f"{title} ({number} of {len(rows)})", row, as_json)
        return
    console.print(table)


def show_fields(title: str, fields: Mapping[str, object], as_json: bool) -> None:
    """Print one thing, field by field."""
    if as_json:
        print(json.dumps(fields, ensure_ascii=False))
        return
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields.items():
        table.add_row(name, _shown(value))
    _console().print(table)


def complain(error: TridentError, as_json: bool) -> None:
    """Print an error to standard error."""
    if as_json:
        print(json.dumps({"error": type(error).__name__, "message": str(error)}, ensure_ascii=False), file=sys.stderr)
    else:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)


def _console() -> Console:
    """What is shown was written by others: `[/a]` in a name or an error's text is no markup, `:a:` no emoji.

    A pipe or a file has no width: nothing is folded there, so that `grep` finds what is one value.
    """
    is_terminal = sys.stdout.isatty()
    return Console(soft_wrap=not is_terminal, width=None if is_terminal else _WIDEST, markup=False, emoji=False)


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
