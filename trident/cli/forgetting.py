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
    lost_state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="of one that was cut off: a state or sink whose place is lost for good; may be given again",
            show_default=False,
        ),
    ] = None,
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
        decision = forget_if_agreed(loaded, found, tables, agree, lost_states=lost_state or ())
    fields: dict[str, object] = {
        "decided": decision.kind.value,
        "topology": loaded.name,
        "tables": decision.state,
        "done": decision.txid,
        "decided_by": decision.decided_by,
        "let_go": [each.name for each in heard[-1].targets if not each.is_lost],
        "lost": [each.name for each in heard[-1].targets if each.is_lost],
        "dead_letters": heard[-1].left.dead_letters,
        "diverted": heard[-1].left.diverted,
        "read": dict(heard[-1].read),
        "next": "a topology of this name begins anew, above all of its txids and epochs, where its spouts say; another "
        "one that is to go on with a table that was kept is begun by trident reset --states adopt with a --start"
        + (f": of topics of Kafka {begins}" if (begins := start_of(heard[-1])) else ""),
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
        _read(prospect),
        _left(prospect),
        _given_again(prospect),
        _taken_out(prospect),
        "Nothing of this can be taken back.",
    )
    return " ".join(part for part in said if part)


def _in_words(target: ForgottenTarget) -> str:
    where = ", ".join(f"{key} {value}" for key, value in sorted(target.place.items()))
    kind = "sink" if target.is_sink else "state"
    if target.is_lost:
        stays = "lost; nothing is changed there, and where it comes back its position stays noted as this topology's"
    elif target.is_sink:
        stays = "what it has written or sent stays"
    else:
        stays = "its rows stay, and are nobody's" if target.keeps_rows else "its table is dropped with all rows"
    return f"{kind} {target.name} ({where}): {stays}"


def _left(prospect: ForgetProspect) -> str:
    found = ((prospect.left.dead_letters, "dead letters"), (prospect.left.diverted, "diverted rows"))
    kept = " and ".join(f"{count} {what}" for count, what in found if count)
    return f"Only the ledger has {kept}, and they go with it: read them first (trident show)." if kept else ""


def _read(prospect: ForgetProspect) -> str:
    """Say where whoever adopts the rows has to begin: nobody knows it any more afterwards."""
    found = " ".join(f"Stream {name} has been read up to {at}." for name, at in prospect.read)
    begins = start_of(prospect)
    adopted = f" Whoever adopts the rows begins a topic of Kafka there (--start {begins}): note it." if begins else ""
    return f"{found}{adopted}"


def start_of(prospect: ForgetProspect) -> str:
    """Return the start, of all streams, at which kept rows are gone on with; empty where two read one topic."""
    words = [word for _, at in prospect.read for word in at.split(",")]
    places = [word.rpartition("=")[0] for word in words]
    return ",".join(words) if len({*places}) == len(places) else ""


def _given_again(prospect: ForgetProspect) -> str:
    queues = ", ".join(prospect.queues)
    known = f"What of {queues} is done and was not acked yet its source gives again, and nobody knows it then: "
    counted = f"{known}it counts twice. " if queues else ""
    if not prospect.received:
        return counted.strip()
    names = ", ".join(prospect.received)
    given = f"What {names} has received and is not done is its source's to give again, to whoever reads there next."
    return f"{counted}{given}"


def _taken_out(prospect: ForgetProspect) -> str:
    if not prospect.taken_out:
        return ""
    names = ", ".join(prospect.taken_out)
    return f"Taken out before: {names}; their tables stay noted as this topology's."
