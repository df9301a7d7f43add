"""The command by which a person lets go of a topology."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from trident.cli.confirming import Yes, confirm, require_yes
from trident.cli.deciding import Named
from trident.cli.ledgers import LedgerOption, opened
from trident.cli.loading import load_topology
from trident.cli.output import JsonOption, show_fields
from trident.coordinators.decisions.forgetting import ForgetProspect, ForgottenTarget
from trident.managing.forgetting import forget_if_agreed


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(forget)


def forget(
    topology: Named,
    tables: Annotated[
        Literal["keep", "drop"],
        typer.Option(help="what becomes of the tables of its states; what sinks have written stays in any case"),
    ] = "keep",
    ledger: LedgerOption = "",
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """Let go of a topology for good: its places are free for others, and the ledger has nothing of it any more."""
    require_yes(yes, as_json)
    loaded = load_topology(topology)
    heard: list[ForgetProspect] = []

    def agree(prospect: ForgetProspect) -> None:
        heard.append(prospect)
        confirm(f"{outcome(prospect)} Forget {loaded.name}?", yes)

    with opened(ledger) as found:
        decision = forget_if_agreed(loaded, found, tables, agree)
    fields: dict[str, object] = {
        "decided": decision.kind.value,
        "topology": loaded.name,
        "tables": decision.state,
        "done": decision.txid,
        "decided_by": decision.decided_by,
        "let_go": [each.name for each in heard[-1].targets],
        "dead_letters": heard[-1].left.dead_letters,
        "diverted": heard[-1].left.diverted,
        "next": "a topology of this name begins anew, above all of its txids and epochs, where its spouts say; another "
        "one that is to go on with a table that was kept is begun by trident reset --states adopt with a --start",
    }
    show_fields("decided", fields, as_json)


def outcome(prospect: ForgetProspect) -> str:
    """Return what is let go of, in words that a person says yes or no to."""
    begun = (
        f"A forget of {prospect.topology} was cut off and is finished, and no new one made: a table that it has "
        "dropped stays so."
    )
    said = (
        begun if prospect.finishes_another else "",
        f"Topology {prospect.topology} (txid {prospect.done} is done) is let go of:",
        "; ".join(_in_words(each) for each in prospect.targets) + ".",
        _left(prospect),
        _given_again(prospect),
        _taken_out(prospect),
        "Nothing of this can be taken back.",
    )
    return " ".join(part for part in said if part)


def _in_words(target: ForgottenTarget) -> str:
    where = ", ".join(f"{key} {value}" for key, value in sorted(target.place.items()))
    kind = "sink" if target.is_sink else "state"
    if target.is_sink:
        stays = "what it has written or sent stays"
    else:
        stays = "its rows stay, and are nobody's" if target.keeps_rows else "its table is dropped with all rows"
    return f"{kind} {target.name} ({where}): {stays}"


def _left(prospect: ForgetProspect) -> str:
    found = ((prospect.left.dead_letters, "dead letters"), (prospect.left.diverted, "diverted rows"))
    kept = " and ".join(f"{count} {what}" for count, what in found if count)
    return f"Only the ledger has {kept}, and they go with it: read them first (trident show)." if kept else ""


def _given_again(prospect: ForgetProspect) -> str:
    if not prospect.received:
        return ""
    names = ", ".join(prospect.received)
    return f"What {names} has received and is not done is its source's to give again, to whoever reads there next."


def _taken_out(prospect: ForgetProspect) -> str:
    if not prospect.taken_out:
        return ""
    names = ", ".join(prospect.taken_out)
    return f"Taken out before: {names}; their tables stay noted as this topology's."
