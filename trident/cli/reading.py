"""Commands that only read: they need the ledger and nothing else, also while a coordinator runs."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import asdict, fields
from typing import Annotated, Final

import typer

from trident.base.advice import ACTIVATE, RESET_CLEARING
from trident.base.errors import MismatchError
from trident.base.latency import CompleteLatency
from trident.cli.exits import Exit
from trident.cli.gone import goes_on, gone_by_undoing, gone_of
from trident.cli.ledgers import LedgerOption, opened
from trident.cli.output import JsonOption, show_fields, show_rows
from trident.cli.pacing import LOOKED_AT, pace_of
from trident.coordinators.ledger.view import LedgerView, TopologyStatus, record_of
from trident.coordinators.lifecycle import Activity
from trident.coordinators.refusals import refused_by_state, undo_way, ways_on
from trident.state.kafka.outbox.tables import Waiting

_PARTITIONS_SHOWN: Final = 20
TopologyName = Annotated[str, typer.Argument(help="the topology's name", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("list")(list_topologies)
    app.command()(status)
    app.command()(batches)
    app.command()(show)


def list_topologies(ledger: LedgerOption = "", as_json: JsonOption = False) -> None:
    """List the topologies of a ledger."""
    with opened(ledger) as found:
        view = found.view()
        rows = [_short(view.status(name)) for name in view.topologies()]
    show_rows("topologies", rows, as_json)


def status(topology: TopologyName, ledger: LedgerOption = "", as_json: JsonOption = False) -> None:
    """Say where a topology stands; ends with 5 when a refusal waits for a person."""
    with opened(ledger) as found:
        view = found.view()
        standing, positions = view.status(topology), view.progress(topology)
        pace = pace_of(view.batches(topology, LOOKED_AT), positions)
        gone = gone_of(view, standing, standing.done + (1 if standing.pinned is None else 2))
        ways = _ways_on(view, standing)
    progress = [asdict(each) for each in positions]
    known = asdict(standing) | {"done_at": standing.done_at.isoformat() if standing.done_at else None}
    if as_json:
        show_fields("", known | asdict(pace) | {"progress": progress}, as_json)
    else:
        show_fields(f"topology {topology}", known | _in_words(standing) | pace.in_words(), as_json)
        show_rows("positions (the offset that comes next)", progress[:_PARTITIONS_SHOWN], as_json)
        _say_what_is_not_shown(standing, len(progress) - _PARTITIONS_SHOWN)
        if gone is not None and not standing.needs_decision:
            print(f"the next start goes on{goes_on(gone)}.")
    if standing.refusal is None or not standing.needs_decision:
        return
    if not as_json:
        print(refused_by_state(topology, standing.refusal))
        print("\n".join(ways))
    raise typer.Exit(Exit.NEEDS_DECISION)


def batches(
    topology: TopologyName,
    limit: Annotated[int, typer.Option(min=1, help="how many at most")] = 20,
    ledger: LedgerOption = "",
    as_json: JsonOption = False,
) -> None:
    """List the last txids that are done, newest first; with how many offsets each has lost."""
    with opened(ledger) as found:
        view = found.view()
        lost: Counter[int] = Counter()
        for loss in view.losses(topology):
            lost[loss.attempt] += loss.count
        rows = [record_of(row) | {"lost_offsets": lost[row.attempt]} for row in view.batches(topology, limit)]
    shown = rows if as_json else [_without_names(row, keep="txid") for row in rows]
    show_rows(f"batches of {topology}", shown, as_json)


def show(
    topology: TopologyName,
    txid: Annotated[int, typer.Argument(min=1)],
    ledger: LedgerOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show all that the ledger keeps of one txid: attempts and plans, pin, commit, losses, dead letters, decisions."""
    with opened(ledger) as found:
        view = found.view()
        story, standing = view.txid(topology, txid), view.status(topology)
        last, gone = standing.last_txid, gone_of(view, standing, txid)
    kept = {field.name: [record_of(row) for row in getattr(story, field.name)] for field in fields(story)}
    if not any(kept.values()):
        why = f"the last one is {last}" if txid > last else "it was cleaned up, or never given out"
        raise MismatchError(f"the ledger has nothing of txid {txid} of topology {topology!r}: {why}.")
    if as_json:
        show_fields("", {"topology": topology, "txid": txid, **kept}, as_json)
        return
    for kind, rows in kept.items():
        show_rows(kind.replace("_", " "), [_without_names(row) for row in rows], as_json)
    if gone is not None:
        print(f"txid {txid} goes on{goes_on(gone)}.")


def _ways_on(view: LedgerView, standing: TopologyStatus) -> tuple[str, ...]:
    """Return the commands that go on where a refusal waits for a person."""
    refusal = standing.refusal
    if refusal is None or not standing.needs_decision:
        return ()
    if standing.pinned == refusal.txid:
        undo = undo_way(refusal.txid, gone_by_undoing(view, standing, refusal.txid))
        return ways_on(standing.name, refusal, undo=undo)
    gone = gone_of(view, standing, refusal.txid)
    return ways_on(standing.name, refusal, left_out=standing.is_left_out, gone=gone)


def _in_words(standing: TopologyStatus) -> dict[str, object]:
    births = [f"{birth.state} {'-' if birth.txid is None else birth.txid}" for birth in standing.births]
    births += [f"{birth.state}.{column.column} {column.txid}" for birth in standing.births for column in birth.columns]
    refusal = standing.refusal
    return {
        "refusal": None if refusal is None else f"txid {refusal.txid}, attempt {refusal.attempt}: {refusal.reason}",
        "decisions": ", ".join(standing.decisions) or None,
        "activity": standing.activity.value,
        "level": standing.level.value,
        "commands": ", ".join(standing.commands) or None,
        "births": ", ".join(births) or None,
        "waiting": ", ".join(map(_waiting, standing.waiting)) or None,
        "sinks": ", ".join(standing.sinks) or None,
        "dropped": ", ".join(standing.dropped) or None,
        "renamed": ", ".join(standing.renamed) or None,
        "received": ", ".join(standing.received) or None,
        "recent_errors": f"{standing.recent_errors} kinds in the last hour" if standing.recent_errors else None,
        "latencies": ", ".join(map(_latency, standing.latencies)) or None,
    }


def _waiting(found: Waiting) -> str:
    return f"{found.sink}: {found.records:,} records of {found.txids} txids, since txid {found.oldest_txid}"


def _latency(found: CompleteLatency) -> str:
    return (
        f"{found.stream}: mean {found.mean_ms:g} ms, median {found.p50_ms:g}, 99 % {found.p99_ms:g}, most "
        f"{found.max_ms:g} ({found.samples} messages of the last {found.minutes} minutes, emission to ack)"
    )


def _say_what_is_not_shown(standing: TopologyStatus, partitions: int) -> None:
    if standing.level.is_plain:
        print(f"it runs at level {standing.level}, not exactly_once: {standing.level.not_promised}")
    if standing.activity is not Activity.ACTIVE:
        print(
            f"it is {standing.activity}, and plans nothing until a person says: {ACTIVATE} {shlex.quote(standing.name)}"
        )
    if partitions > 0:
        print(f"and {partitions:,} more partitions: --json shows all")
    if standing.recent_errors:
        print(f"what went wrong, and how often: trident errors {shlex.quote(standing.name)}")
    again = ""
    if standing.sinks:
        sinks = ", ".join(standing.sinks)
        again = f" That sends and appends again what its sinks ({sinks}) have sent or written before."
    new: list[tuple[str, int | None]] = []
    for birth in standing.new_states:
        if birth.state in standing.sinks:
            print(f"sink {birth.state!r} is new since txid {birth.txid}: what came before that does not leave by it.")
            continue
        new.append((f"state {birth.state!r}", birth.txid))
    new += [(f"{column.column!r} of state {state!r}", column.txid) for state, column in standing.new_columns]
    for what, txid in new:
        print(
            f"{what} is new since txid {txid}: it has nothing of what was before. To fill it with that, too: "
            f"{RESET_CLEARING}.{again}"
        )


def _without_names(row: dict[str, object], keep: str = "") -> dict[str, object]:
    return {name: row[name] for name in row if name not in {"topology", "incarnation", "txid"} - {keep}}


def _short(standing: TopologyStatus) -> dict[str, object]:
    return {
        "name": standing.name,
        "done": standing.done,
        "pinned": standing.pinned,
        "held_by": standing.holder if standing.is_held else None,
        "activity": standing.activity.value,
        "needs_decision": standing.needs_decision,
        "done_at": standing.done_at.isoformat() if standing.done_at else None,
    }
