"""The main job with kills: `make demo`.

It starts a real Kafka and a real PostgreSQL, produces a million payments, lets
`examples/alerts.py` count them as its own process, kills that process with SIGKILL in the middle
of batches, and at the end compares every account, every suspicious payment's row and every alert
with an independent recount of the topic. It ends with exit code 1 when anything differs.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# run as a file or as a module, it finds what lies beside it
sys.path.insert(0, str(Path(__file__).parents[1]))

from examples.display import Display
from examples.payments_data import produce
from examples.payments_process import PaymentsProcess
from examples.recount import recount
from examples.watching import Progress, Watcher
from trident.base.errors import TridentError
from trident.local.kafka import LocalKafka
from trident.local.postgres import LocalPostgres

TOPIC = "payments"
ALERTS = "alerts"
PARTITIONS = 4
_LOOK_SECONDS = 0.02
_STANDSTILL_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Kill:
    """When to kill: once this part of the records is done, and a batch is in that phase."""

    after: float
    phase: str


KILLS = (Kill(0.25, "being processed"), Kill(0.6, "being committed"))
_NEEDED_KILLS = 2


class DemoError(RuntimeError):
    """The demo could not show what it is for; the text says what happened."""


def run_payments(process: PaymentsProcess, watcher: Watcher, display: Display, records: int) -> tuple[Progress, int]:
    """Run the topology to the end of the topic with kills; returns the last progress and the number of kills."""
    kills = list(KILLS)
    process.start()
    display.event(f"alerts.py started, process {process.pid}")
    seen, seen_at = Progress(), time.monotonic()
    while (code := process.exit_code()) is None:
        progress = watcher.look()
        display.progress(progress)
        if (progress.done, progress.attempts) != (seen.done, seen.attempts):
            seen, seen_at = progress, time.monotonic()
        if time.monotonic() > seen_at + _STANDSTILL_SECONDS:
            raise DemoError(f"no progress for {_STANDSTILL_SECONDS} s; the process said:\n{process.log_end()}")
        if kills and _is_due(kills[0], progress, records) and _killed(kills[0], process, watcher, display):
            kills.pop(0)
            process.start()
            display.event(f"alerts.py started again, process {process.pid}")
        time.sleep(_LOOK_SECONDS)
    if code != 0:
        raise DemoError(f"alerts.py ended with code {code}; it said:\n{process.log_end()}")
    return watcher.look(), len(KILLS) - len(kills)


def _is_due(kill: Kill, progress: Progress, records: int) -> bool:
    return progress.records >= kill.after * records and progress.phase == kill.phase


def _killed(kill: Kill, process: PaymentsProcess, watcher: Watcher, display: Display) -> bool:
    """Kill the process if a batch is where the kill wants it; the ledger says so while the process stands still."""
    process.pause()
    progress = watcher.look()
    if progress.phase != kill.phase:
        process.go_on()
        return False
    process.kill()
    txids = ", ".join(str(txid) for txid in progress.in_flight)
    display.event(f"[red]SIGKILL[/red]: txid {progress.in_flight[0]} {kill.phase}; in flight: {txids}", kill=True)
    return True


def run(records: int, max_records: int, seed: int, log: Path | None) -> int:
    """Run the whole demo; returns the exit code."""
    started = time.monotonic()
    with Display(records) as display, tempfile.TemporaryDirectory(prefix="trident-demo-") as folder:
        display.event("starting Kafka and PostgreSQL")
        with LocalKafka() as kafka, LocalPostgres() as postgres:
            dsn = postgres.create_database()
            kafka.create_topic(TOPIC, PARTITIONS)
            kafka.create_topic(ALERTS, PARTITIONS)
            display.event(f"producing {records:,} payments")
            produce(kafka.bootstrap_servers, TOPIC, records, seed, PARTITIONS)
            options = ["--bootstrap-servers", kafka.bootstrap_servers, "--topic", TOPIC]
            options += ["--max-records", str(max_records), "--until", "caught_up"]
            output = log or Path(folder) / "alerts.log"
            with PaymentsProcess(dsn, options, output) as process, Watcher(dsn) as watcher:
                last, kills = run_payments(process, watcher, display, records)
            display.event("recounting the topic, the tables and the alerts")
            counted = recount(kafka.bootstrap_servers, TOPIC, ALERTS, dsn)
        display.result(last, kills, counted, time.monotonic() - started)
    if kills < _NEEDED_KILLS:
        raise DemoError(f"only {kills} kills: the records were done before the others; use more records")
    return 0 if counted.difference == 0 and counted.records == records == last.records else 1


def main() -> None:
    """Parse the options and run; Ctrl-C and SIGTERM end everything that was started."""
    parser = argparse.ArgumentParser(description="The payments job on real servers, with kills")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--max-records", type=int, default=50_000, help="records per batch at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="where alerts.py writes its log, to be kept")
    arguments = parser.parse_args()
    for wanted in (signal.SIGINT, signal.SIGTERM):  # a shell's background jobs ignore the first
        signal.signal(wanted, signal.default_int_handler)
    try:
        code = run(arguments.records, arguments.max_records, arguments.seed, arguments.log)
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left running")
    except (DemoError, TridentError) as error:
        sys.exit(str(error))
    sys.exit(code)


if __name__ == "__main__":
    main()
