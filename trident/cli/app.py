"""The program: its commands, and how it ends."""

from __future__ import annotations

import sys
from importlib.metadata import version

import typer

from trident.base.errors import ConfigurationError, DecisionNeededError, LeaseHeldError, TridentError
from trident.cli import commanding, deciding, evolving, examining, forgetting, reading, reapplying, reporting, running
from trident.cli.exits import Exit
from trident.cli.output import complain

app = typer.Typer(
    name="trident",
    help="Runs topologies, says where they stand, takes the decisions of a person. Exit codes: 0 done, 1 failed, "
    "2 wrong use, 3 a coordinator runs the topology, 4 not confirmed, 5 a refusal waits for a person, "
    "6 doctor found a problem, 7 a kill was taken and its run has not ended yet.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"trident-pyspark {version('trident-pyspark')}, pyspark {version('pyspark')}")
        raise typer.Exit


@app.callback()
def _options(
    _: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Say which it is, and end."),
) -> None: ...


reading.register(app)
reporting.register(app)
deciding.register(app)
reapplying.register(app)
forgetting.register(app)
evolving.register(app)
commanding.register(app)
examining.register(app)
running.register(app)


def main() -> None:
    """Run the program and end the process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; returns the exit code. Errors go to standard error, as JSON with --json; none shows a secret."""
    try:
        app(arguments)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else Exit.DONE
    except TridentError as error:
        complain(error, "--json" in arguments)
        return code_of(error)
    return Exit.DONE


def code_of(error: TridentError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, LeaseHeldError):
        return Exit.HELD
    if isinstance(error, DecisionNeededError):
        return Exit.NEEDS_DECISION
    return Exit.WRONG_USE if isinstance(error, ConfigurationError) else Exit.FAILED
