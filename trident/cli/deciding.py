"""Commands by which a person decides: each is a fenced take-over, recorded in the ledger before its first effect."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Literal

import typer

import trident.managing.deciding as decisions
from trident.base.errors import ConfigurationError
from trident.cli.confirming import Yes, confirm, require_yes
from trident.cli.gone import goes_on, gone_by_undoing, gone_of, nothing_to_divert
from trident.cli.ledgers import LedgerOption, opened
from trident.cli.loading import load_topology
from trident.cli.output import JsonOption, show_fields
from trident.cli.prospects import note, question
from trident.cli.reckoning import reckoned
from trident.cli.undoing import is_last_done, read_again, undo_note, undo_question
from trident.coordinators.decided import Decision, DecisionKind, ResetStart
from trident.coordinators.decisions.beginning import Prospect
from trident.coordinators.decisions.deciding import require_state
from trident.coordinators.decisions.dropping import require_named
from trident.coordinators.decisions.plainly import require_decidable
from trident.coordinators.decisions.taking_back import UndoProspect
from trident.coordinators.holding.starts import start_policy
from trident.coordinators.ledger.rules.decisions import check_decision
from trident.coordinators.ledger.view import TopologyStatus
from trident.managing.deciding import undo_if_agreed
from trident.managing.reapplying import may_be_put_back
from trident.managing.resets import reset_if_agreed
from trident.spouts.base import Start

Named = Annotated[
    str, typer.Argument(metavar="MODULE:TOPOLOGY", help="module:object or file.py:object", show_default=False)
]
Txid = Annotated[int, typer.Argument(min=1, show_default=False)]
_MOMENT = "2026-01-31T00:00:00+00:00"
_OFFSETS = "payments:0=1200,payments:1=900"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (retry, divert, undo, drop, reset):
        app.command()(command)


def retry(
    topology: Annotated[str, typer.Argument(help="the topology's name", show_default=False)],
    txid: Txid,
    ledger: LedgerOption = "",
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """Try a refused txid again: its cause is mended."""
    require_yes(yes, as_json)
    with opened(ledger) as found:
        standing = found.view().status(topology)
        _check(standing, DecisionKind.RETRY, txid)
        gone = gone_of(found.view(), standing, txid)
        confirm(f"Try txid {txid} of {topology} again at the next start{goes_on(gone)}?", yes)
        decision = decisions.retry(topology, found, txid=txid)
    note = f"the next start of the topology goes on with this txid{goes_on(gone)}"
    if standing.refusal is not None and not standing.refusal.blocks:
        note += "; it would have done so without a decision"
    _say(decision, topology, note, as_json)


def divert(
    topology: Named,
    txid: Txid,
    state: Annotated[str, typer.Option(help="the state that refused it", show_default=False)],
    all_rows: Annotated[
        bool, typer.Option("--all-rows", help="take all of its rows out, also those that it would take")
    ] = False,
    rows_lost: Annotated[
        bool, typer.Option("--rows-lost", help="staged files are gone: keep what is left, and give up the rest")
    ] = False,
    ledger: LedgerOption = "",
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """Take the rows that a state refuses out of a txid, into the ledger's diverted rows (trident show)."""
    require_yes(yes, as_json)
    loaded = load_topology(topology)
    require_state(loaded.compile().targets, Decision(DecisionKind.DIVERT, txid, 0, state))
    with opened(ledger) as found:
        standing = found.view().status(loaded.name)
        _check(standing, DecisionKind.DIVERT, txid, state)
        gone = gone_of(found.view(), standing, txid)
        given_up = " Those that are gone are given up." if rows_lost else ""
        if gone is not None:
            given_up = f" But {nothing_to_divert(gone)}."
        confirm(f"Take {_rows_of(state, all_rows)} out of txid {txid} for good?{given_up}", yes)
        decision = decisions.divert(loaded, found, txid=txid, state=state, all_rows=all_rows, rows_lost=rows_lost)
        kept = sum(row.state == state for row in found.view().txid(loaded.name, txid).diverted)
    note = (
        f"the next attempt at this txid leaves {_left_out(decision)} out" if gone is None else nothing_to_divert(gone)
    )
    if kept:
        rows = f"{kept} of its rows are" if kept > 1 else "1 of its rows is"
        note = f"{rows} kept in trident_diverted (trident show {shlex.quote(loaded.name)} {txid})"
        if may_be_put_back(loaded.compile(), state):
            back = f"trident reapply {shlex.quote(topology)} {txid} --state {shlex.quote(state)}"
            note += f"; once the cause is mended {back} puts them back"
    _say(decision, loaded.name, f"{note}; start the topology", as_json)


def undo(topology: Named, txid: Txid, ledger: LedgerOption = "", yes: Yes = False, as_json: JsonOption = False) -> None:
    """Bring every state back to what it was before a txid that is pinned, or the last one done, and plan it again."""
    require_yes(yes, as_json)
    loaded = load_topology(topology)
    heard: list[UndoProspect] = []

    def agree(prospect: UndoProspect) -> None:
        heard.append(prospect)
        confirm(undo_question(loaded.name, prospect), yes)

    with opened(ledger) as found:
        standing = found.view().status(loaded.name)
        if is_last_done(standing, txid):
            decision = undo_if_agreed(loaded, found, txid, agree)
            _say(decision, loaded.name, undo_note(decision), as_json, read_again(heard))
            return
        _check(standing, DecisionKind.UNDO, txid)
        gone = gone_by_undoing(found.view(), standing, txid)
        lost = "" if gone is None else f" Txid {txid} goes on{goes_on(gone)}."
        confirm(f"Bring every state back to txid {txid - 1}?{lost}", yes)
        decision = decisions.undo(loaded, found, txid=txid)
    planned = f"the next start of the topology plans txid {txid} again{goes_on(gone)}"
    note = f"every state is back at txid {txid - 1}; {planned}"
    _say(decision, loaded.name, note, as_json)


def drop(
    topology: Named,
    name: Annotated[str, typer.Argument(help="the state or sink to take out", show_default=False)],
    ledger: LedgerOption = "",
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """Take a state or sink out of a topology for good, with the version that still has it."""
    require_yes(yes, as_json)
    loaded = load_topology(topology)
    require_named(loaded.compile().targets, name)
    with opened(ledger) as found:
        standing = found.view().status(loaded.name)
        confirm(
            f"Take {name} out of {loaded.name}? It gets what is pinned and nothing after that (txid {standing.done} is "
            "done now); what it holds stays where it is. This version takes it back when it is started before another "
            "batch is pinned, and not later.",
            yes,
        )
        decision = decisions.drop(loaded, found, name=name)
    has = f"{name} has every txid up to {decision.txid}"
    if standing.level.is_plain:  # it stands at none, and its table may be gone
        has = f"{name} gets nothing behind txid {decision.txid}, and what it has of those before it was not looked at"
    note = (
        f"{has}; start the version without it: this one, started first, takes it back. One that is to take its place "
        "needs another name, and a table of its own"
    )
    _say(decision, loaded.name, note, as_json)


def reset(
    topology: Named,
    states: Annotated[Literal["clear", "adopt"], typer.Option(help="empty the states, or count on from their rows")],
    start: Annotated[
        str | None,
        typer.Option(
            help="where to begin: resume (where the last txid that is done has stopped), earliest, latest, a moment "
            f"like {_MOMENT}, or an offset for each partition like {_OFFSETS}. Without it adopt resumes, or "
            "keeps a start that was named before and has not begun yet"
        ),
    ] = None,
    ledger_lost: Annotated[
        bool,
        typer.Option(
            "--ledger-lost",
            help="the ledger was lost or restored from a backup: states that were filled with another one are its own",
        ),
    ] = False,
    ledger: LedgerOption = "",
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """Begin a topology's txid sequence anew."""
    begin = _start(start)
    require_yes(yes, as_json)
    heard: list[Prospect] = []
    loaded = load_topology(topology)

    def agree(prospect: Prospect) -> None:
        heard.append(prospect)
        confirm(question(topology, prospect, reckoned(loaded.compile().spouts, prospect)), yes)

    with opened(ledger) as found:
        done = reset_if_agreed(loaded, found, states, begin, agree, ledger_lost=ledger_lost)
    fields: dict[str, object] = {"decided": "reset", "topology": loaded.name, "states": done.states}
    more = {"start": done.start, "incarnation": done.incarnation, "birth_txid": done.birth_txid}
    show_fields("decided", fields | more | {"next": note(heard[-1])}, as_json)


def _rows_of(state: str, all_rows: bool) -> str:
    if all_rows:
        return f"all rows of state {state}"
    return f"the rows that state {state} refuses, or all of its rows where they can't be told apart,"


def _left_out(decision: Decision) -> str:
    return "its rows" if decision.kind is DecisionKind.DIVERT else "the rows that it refuses"


def _start(text: str | None) -> ResetStart | Start | None:
    if text == ResetStart.RESUME:
        return ResetStart.RESUME
    try:
        found = start_policy(text)
    except ValueError:
        raise ConfigurationError(
            f"--start is resume, earliest, latest, a moment like {_MOMENT} or offsets like {_OFFSETS}, not {text!r}; "
            "nothing was done"
        ) from None
    if isinstance(found, datetime) and found.tzinfo is None:
        moment = found.replace(tzinfo=UTC).isoformat()
        raise ConfigurationError(f"--start {text} needs a time zone: write {moment} for UTC; nothing was done")
    return found


def _check(standing: TopologyStatus, kind: DecisionKind, txid: int, state: str = "") -> None:
    """Refuse, before a person is asked, what the ledger says can't be decided; raises MismatchError.

    What runs, or was decided and not finished, is left to the command itself: it is refused, or finished, under a
    fence.
    """
    if kind is not DecisionKind.RETRY:  # which gives free what an older version has let wait, at any level
        require_decidable(standing.name, standing.level)
    if standing.is_held or standing.decisions or standing.open_reset is not None:
        return
    attempt = standing.refusal.attempt if standing.refusal is not None else 0  # of a pin the view says the txid only
    pinned = None if standing.pinned is None else (standing.pinned, attempt)
    check_decision(standing.done, pinned, Decision(kind, txid, attempt, state), standing.refusal, ())


def _say(
    decision: Decision, topology: str, note: str, as_json: bool, more: Mapping[str, object] = MappingProxyType({})
) -> None:
    fields: dict[str, object] = {
        "decided": decision.kind.value,
        "topology": topology,
        "txid": decision.txid,
        "attempt": decision.attempt,
        "state": decision.state or None,
        "decided_by": decision.decided_by,
        **more,
        "next": note,
    }
    show_fields("decided", fields, as_json)
