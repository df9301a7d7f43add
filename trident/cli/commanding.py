"""Commands to a topology that may be running: rows of the ledger, which its owner carries out and answers."""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import Annotated

import typer

import trident.managing.lifecycle as lifecycle
from trident.base.advice import ACTIVATE
from trident.cli.exits import Exit
from trident.cli.ledgers import LedgerOption, opened
from trident.cli.output import JsonOption, show_fields
from trident.cli.reading import TopologyName
from trident.coordinators.ledger import Ledger
from trident.coordinators.ledger.view import CommandRow, TopologyStatus
from trident.coordinators.lifecycle import CommandKind

Within = Annotated[
    float,
    typer.Option(min=0.1, help="seconds that the topology's owner may take to answer; then it is withdrawn"),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (activate, deactivate, rebalance, kill):
        app.command()(command)


def activate(
    topology: TopologyName, ledger: LedgerOption = "", within: Within = 30.0, as_json: JsonOption = False
) -> None:
    """Let a deactivated topology plan again, and a killed one be started again."""
    with opened(ledger) as found:
        _say(lifecycle.activate(topology, found, within=_seconds(within)), found, as_json)


def deactivate(
    topology: TopologyName, ledger: LedgerOption = "", within: Within = 30.0, as_json: JsonOption = False
) -> None:
    """Have a topology finish what is planned and plan nothing more, until it is activated."""
    with opened(ledger) as found:
        _say(lifecycle.deactivate(topology, found, within=_seconds(within)), found, as_json)


def rebalance(
    topology: TopologyName,
    max_pending: Annotated[int | None, typer.Option(min=1, help="batches planned or processed at once")] = None,
    parallelism: Annotated[int | None, typer.Option(min=1, help="tasks that read a large batch")] = None,
    ledger: LedgerOption = "",
    within: Within = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Have a running topology go on with other numbers, without losing or repeating anything."""
    with opened(ledger) as found:
        row = lifecycle.rebalance(
            topology, found, max_pending=max_pending, parallelism=parallelism, within=_seconds(within)
        )
        _say(row, found, as_json)


def kill(
    topology: TopologyName,
    wait: Annotated[float, typer.Option(min=0.0, help="seconds that batches in flight get to be finished")] = 30.0,
    ledger: LedgerOption = "",
    within: Within = 30.0,
    as_json: JsonOption = False,
) -> None:
    """End a topology's run; no start begins anything until it is activated."""
    with opened(ledger) as found:
        try:
            row = lifecycle.kill(topology, found, wait=_seconds(wait), within=_seconds(within))
        except lifecycle.NotEndedError as error:
            _say(error.row, found, as_json, verdict="asked, not ended")
            raise typer.Exit(Exit.NOT_ENDED) from None
        _say(row, found, as_json)


def _seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def _say(row: CommandRow, ledger: Ledger, as_json: bool, *, verdict: str = "") -> None:
    standing = ledger.view().status(row.topology)
    fields: dict[str, object] = {
        "command": row.kind,
        "topology": row.topology,
        "number": row.number,
        "verdict": verdict or row.verdict,
        "answer": row.answer,
        "epoch": row.epoch,
        "done": standing.done,
        "pinned": standing.pinned,
        "live": standing.live,
        "held_by": standing.holder if standing.is_held else None,
        "next": _next(CommandKind(row.kind), standing),
    }
    show_fields("answered", fields, as_json)


def _next(kind: CommandKind, standing: TopologyStatus) -> str:
    activating = f"{ACTIVATE} {shlex.quote(standing.name)}"
    match kind:
        case CommandKind.ACTIVATE:
            return "it goes on" if standing.is_held else "start the topology"
        case CommandKind.DEACTIVATE:
            return f"txids up to {standing.done} are in every state and sink; to go on: {activating}"
        case CommandKind.REBALANCE:
            return "it holds until the run ends; the next start has what its program says"
        case CommandKind.KILL if standing.is_held:
            return "its run has not ended yet: trident status says who holds it"
        case CommandKind.KILL:
            behind = "what is pinned is finished first, " if standing.pinned is not None else ""
            return (
                f"txids up to {standing.done} are in every state and sink, {behind}all behind is read when it is "
                f"started again; to let it: {activating}"
            )
