"""The command that puts rows back which a divert has taken out."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from trident.cli.confirming import Yes, confirm, require_yes
from trident.cli.deciding import Named, Txid
from trident.cli.ledgers import LedgerOption, opened
from trident.cli.loading import load_topology
from trident.cli.output import JsonOption, show_fields
from trident.coordinators.decisions.reapplying import ReapplyProspect
from trident.managing.reapplying import reapply_if_agreed


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reapply)


def reapply(
    topology: Named,
    txid: Txid,
    state: Annotated[str, typer.Option(help="the state that they were taken out of", show_default=False)],
    ledger: LedgerOption = "",
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """Put the rows that a divert took out of a txid back into their state, once; its cause is mended."""
    require_yes(yes, as_json)
    loaded = load_topology(topology)
    heard: list[ReapplyProspect] = []

    def agree(prospect: ReapplyProspect) -> None:
        heard.append(prospect)
        confirm(question(loaded.name, prospect), yes)

    with opened(ledger) as found:
        decision = reapply_if_agreed(loaded, found, txid, state, agree)
    fields: dict[str, object] = {"decided": decision.kind.value, "topology": loaded.name, "txid": decision.txid}
    more = {"attempt": decision.attempt, "state": state, "put_back_of": txid, "rows": heard[-1].rows}
    show = f"trident show {shlex.quote(loaded.name)} {decision.txid}"
    note = f"the rows are in {state} with txid {decision.txid}, which read nothing ({show}); start the topology"
    show_fields("decided", fields | more | {"decided_by": decision.decided_by, "next": note}, as_json)


def question(topology: str, prospect: ReapplyProspect) -> str:
    """Return what a person is asked: how many rows of what, and what is done with them."""
    rows, were = (f"{prospect.rows} rows", "were") if prospect.rows > 1 else ("1 row", "was")
    called = f" (it was {prospect.former} then)" if prospect.former != prospect.state else ""
    return (
        f"{rows} of state {prospect.state}{called} {were} taken out of txid {prospect.txid} of {topology}. What they "
        "add is merged into what the state has now, once, by a txid of its own that reads nothing; trident_diverted "
        "keeps them. What you have sent again of their records counts twice then. Put them back?"
    )
