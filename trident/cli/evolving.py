"""The command that lets a version go on which differs from the stored one in what a person has to decide."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from trident.base.errors import ConfigurationError
from trident.cli.confirming import Yes, confirm, require_yes
from trident.cli.deciding import Named
from trident.cli.ledgers import LedgerOption, opened
from trident.cli.loading import load_topology
from trident.cli.output import JsonOption, show_fields
from trident.coordinators.decisions.renaming import RenameProspect
from trident.managing.evolving import evolve_if_agreed


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evolve)


def evolve(
    topology: Named,
    rename_state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMER=NEW", help="a state that goes on under another name; may be given again", show_default=False
        ),
    ] = None,
    ledger: LedgerOption = "",
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """Let a version go on whose states have other names, with their rows; given with that version."""
    require_yes(yes, as_json)
    renames = _renames(rename_state or [])
    loaded = load_topology(topology)
    heard: list[RenameProspect] = []

    def agree(prospect: RenameProspect) -> None:
        heard.append(prospect)
        confirm(question(loaded.name, prospect), yes)

    with opened(ledger) as found:
        decision = evolve_if_agreed(loaded, found, renames, agree)
    fields: dict[str, object] = {"decided": decision.kind.value, "topology": loaded.name, "txid": decision.txid}
    more = {"attempt": decision.attempt, "renamed": dict(heard[-1].renames), "decided_by": decision.decided_by}
    show_fields("decided", fields | more | {"next": "start this version of the topology"}, as_json)


def question(topology: str, prospect: RenameProspect) -> str:
    """Return what a person is asked: the difference, and what it does to the data."""
    said = [f"Of {topology} {_difference(prospect)}. Nothing is read again, and nothing is counted anew."]
    if prospect.is_recorded:
        said.append("The ledger has recorded that before: states that have not followed follow now.")
        return f"{' '.join(said)} Go on?"
    if prospect.finishes:
        said.append("What was decided before and cut off is finished first.")
    if prospect.pinned is not None:
        said.append(f"Txid {prospect.pinned} is pinned, and is finished first under the former names.")
    back = " ".join(f"--rename-state {shlex.quote(f'{name}={former}')}" for former, name in prospect.renames)
    said.append(
        "The version with the former names is refused from then on, and goes back by "
        f"trident evolve MODULE:TOPOLOGY {back}. Queries go by table, and find what they found."
    )
    return f"{' '.join(said)} Rename?"


def _difference(prospect: RenameProspect) -> str:
    tables = dict(prospect.tables)
    return ", ".join(
        f"state {former} is {name} from now on"
        + (f" (its rows stay in table {tables[name]})" if tables.get(name) is not None else "")
        for former, name in prospect.renames
    )


def _renames(given: list[str]) -> dict[str, str]:
    renames: dict[str, str] = {}
    for text in given:
        former, _, name = text.partition("=")
        if not (former and name) or "=" in name or former in renames:
            raise ConfigurationError(
                f"--rename-state takes FORMER=NEW, each former name once, not {text!r}; nothing was done (names with a "
                "= in them: trident.evolve in Python)"
            )
        renames[former] = name
    if not renames:
        raise ConfigurationError(
            "say what is to change: --rename-state FORMER=NEW. All else that a version may change goes on by itself, "
            "or is refused by its start with the way out; nothing was done"
        )
    return renames
