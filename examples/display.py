"""What the demo shows: one line that moves, events above it, and a table at the end."""

from __future__ import annotations

import time
from collections import deque

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from examples.recount import Recount
from examples.watching import Progress

_WINDOW_SECONDS = 5.0
_LINE_SECONDS = 2.0


class Display:
    """Shows progress on a terminal as a moving line, elsewhere as a line every two seconds."""

    def __init__(self, records: int) -> None:
        self._console = Console(highlight=False)
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)
        self._records = records
        self._started = time.monotonic()
        self._kills = 0
        self._history: deque[tuple[float, int]] = deque([(self._started, 0)])
        self._line_at = 0.0

    def __enter__(self) -> Display:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def event(self, text: str, *, kill: bool = False) -> None:
        """Print a line that stays."""
        self._kills += kill
        self._console.print(f"{time.monotonic() - self._started:6.1f} s  {text}", soft_wrap=True)

    def progress(self, progress: Progress) -> None:
        """Show where the topology is."""
        now = time.monotonic()
        self._history.append((now, progress.records))
        while now - self._history[0][0] > _WINDOW_SECONDS and len(self._history) > 2:
            self._history.popleft()
        line = self._line(progress)
        if self._console.is_terminal:
            self._live.update(Text(line, style="cyan"))
        elif now - self._line_at > _LINE_SECONDS:
            self._line_at = now
            self.event(line)

    def result(self, last: Progress, kills: int, counted: Recount, seconds: float) -> None:
        """Print the table; the difference is the number of accounts, rows and alerts that are not as they should be."""
        self._live.update(Text(""))
        table = Table(show_header=False)
        figures = {
            "txids": last.txids,
            "attempts": last.attempts,
            "kills": kills,
            "records": counted.records,
            "accounts in balances": counted.accounts,
            "rows in suspicious": counted.suspicious,
            "alerts in Kafka": counted.alerts,
        }
        for name, figure in figures.items():
            table.add_row(name, f"{figure:,}")
        style = "bold green" if counted.difference == 0 else "bold red"
        table.add_row("difference", str(counted.difference), style=style)
        table.add_row("time", f"{seconds:.1f} s")
        self._console.print(table)
        self._console.print(f"difference {counted.difference}", style=style)

    def _line(self, progress: Progress) -> str:
        (then, before), (now, records) = self._history[0], self._history[-1]
        rate = (records - before) / (now - then) if now > then else 0.0
        flight = ", ".join(str(txid) for txid in progress.in_flight) or "none"
        return (
            f"{progress.txids} batches done, in flight {flight} ({progress.phase or 'idle'}), "
            f"{progress.attempts} attempts, {self._kills} kills, {progress.records:,} records, "
            f"{rate:,.0f}/s, lag {self._records - progress.records:,}"
        )
