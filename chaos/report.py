"""The verdict table: every fault with what was in flight, then every state with what became of its records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from chaos.checker import Verdict
from chaos.sent import Sightings
from chaos.strikes import Strike

_SHOWN = 20


@dataclass(frozen=True)
class Outcome:
    """All that a scenario came to."""

    scenario: str
    records: int
    strikes: Sequence[Strike]
    verdicts: Sequence[Verdict]
    problems: Sequence[str]
    """What is wrong with the ledger, what the readers should not have seen, and faults that came to nothing."""
    looks: int
    """How often readers looked."""
    moments: int
    """How many different txids they saw."""
    function_failures: int
    function_hangs: int
    batches: int
    drivers: int
    seconds: float
    sent: Sightings | None = None
    """What a foreign reader got of the job's sink, if it has one."""

    @property
    def reasons(self) -> list[str]:
        """Why it is not good; nothing where it is."""
        wrong = [f"{verdict.state} is not what was expected" for verdict in self.verdicts if not verdict.is_good]
        return [*self.problems, *wrong, *([] if self.verdicts else ["nothing was judged"])]


@dataclass(frozen=True)
class Display:
    """Prints what happens as it happens."""

    console: Console = field(default_factory=lambda: Console(highlight=False, markup=False, emoji=False))
    started: float = field(default_factory=time.monotonic)

    def event(self, text: str) -> None:
        self.console.print(f"{time.monotonic() - self.started:6.1f} s  {text}", soft_wrap=True)

    def strike(self, strike: Strike) -> None:
        self.event(
            f"{strike.what}: {strike.victim}, {strike.point}, txid {strike.txid}, {strike.phase}: {strike.after}"
        )

    def outcome(self, outcome: Outcome) -> None:
        """Print a scenario's tables."""
        self.console.print(_strikes(outcome))
        self.console.print(_verdicts(outcome))
        self.console.print(
            f"{outcome.records:,} records, {outcome.batches} txids, {outcome.drivers} drivers; readers looked "
            f"{outcome.looks:,} times and saw {outcome.moments} moments; user function: "
            f"{outcome.function_failures} failures, {outcome.function_hangs} hangs; {outcome.seconds:.0f} s; "
            + ("nothing else found" if not outcome.problems else "found besides:")
        )
        if outcome.sent is not None:
            self.console.print(
                f"sink: {len(outcome.sent.records):,} records in {len(outcome.sent.markers)} transactions; a reader "
                f"held {len(outcome.sent.glances)} moments between two of them against what had to be there"
            )
        for problem in outcome.problems[:_SHOWN]:
            self.console.print(problem, style="red")


def _strikes(outcome: Outcome) -> Table:
    table = Table(title=outcome.scenario, title_justify="left")
    for name in ("fault", "victim", "at", "txid", "in flight", "ledger", "what followed", "s"):
        table.add_column(name, justify="right" if name in ("txid", "s") else "left")
    for strike in outcome.strikes:
        flight = f"{min(strike.in_flight)}-{max(strike.in_flight)}"
        table.add_row(
            strike.what, strike.victim, strike.point, str(strike.txid), flight, strike.phase, strike.after,
            f"{strike.seconds:.1f}",
        )  # fmt: skip
    return table


def _verdicts(outcome: Outcome) -> Table:
    table = Table()
    names = ("state", "expected", "applied", "lost", "duplicated", "unexpected", "keys", "difference")
    for name in names:
        table.add_column(name, justify="left" if name == "state" else "right")
    for verdict in outcome.verdicts:
        style = "" if verdict.is_good else "red"
        table.add_row(*(_text(getattr(verdict, name)) for name in names), style=style)
    return table


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
