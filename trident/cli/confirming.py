"""Asking a person before something is changed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from trident.base.errors import ConfigurationError
from trident.cli.exits import Exit

Yes = Annotated[bool, typer.Option("--yes", help="do not ask")]


def require_yes(yes: bool, as_json: bool) -> None:
    """Raise ConfigurationError where nobody can be asked and nobody has said yes."""
    if as_json and not yes:
        raise ConfigurationError("--json asks nothing: say --yes as well; nothing was done")


def confirm(question: str, yes: bool) -> None:
    """Go on if a person says yes; else the program ends, and nothing was changed."""
    try:
        agreed = yes or typer.confirm(question)
    except typer.Abort:  # nobody is there to answer
        print(file=sys.stderr)
        agreed = False
    if not agreed:
        print("Not confirmed; nothing was changed. Where nobody can answer, say --yes.", file=sys.stderr)
        raise typer.Exit(Exit.NOT_CONFIRMED)
