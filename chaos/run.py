"""`make chaos`: real servers, real kills, a verdict on every record; ends with exit code 1 on any that is not good."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.checker import audit, judge, violations
from chaos.crew import ChaosError, Crew
from chaos.faults import Strike
from chaos.job import HANG_SECONDS, OPAQUE, TRANSACTIONAL, JobSettings
from chaos.ledger_view import LedgerView
from chaos.nemesis import torment
from chaos.plans import committed_plans, longest_processing, recorded_losses, stored_totals
from chaos.reader import Reader
from chaos.recount import read_topic
from chaos.report import Display, Outcome
from chaos.scenarios import LONG, SHORT, Scenario
from chaos.scene import Scene
from chaos.switchboard import Switchboard
from chaos.words import FUNCTION_FAILS, FUNCTION_HANGS
from examples.payments_data import produce
from trident.base.errors import TridentError
from trident.local.kafka_cluster import LocalKafkaCluster
from trident.local.postgres import LocalPostgres
from trident.local.spark_cluster import LocalSparkCluster

PARTITIONS = 4
ACCOUNTS = 5_000
NEEDED_KILLS = 20
STREAMS = {OPAQUE: "opaque", TRANSACTIONAL: "transactional"}


@dataclass(frozen=True)
class Servers:
    """What all scenarios share."""

    kafka: LocalKafkaCluster
    postgres: LocalPostgres
    spark: LocalSparkCluster


@contextmanager
def servers() -> Iterator[Servers]:
    """Start three brokers, PostgreSQL, and Spark's master and workers."""
    on = Servers(LocalKafkaCluster(), LocalPostgres(), LocalSparkCluster())
    everything = (on.postgres, on.kafka, on.spark)
    try:
        for each in everything:
            each.launch()
        for each in everything:
            each.wait()
        yield on
    finally:
        for each in everything:
            each.close()


def play(scenario: Scenario, on: Servers, seed: int, folder: Path, display: Display) -> Outcome:
    """Run one scenario to its end and judge it."""
    started = time.monotonic()
    topic = f"payments-{seed}-{scenario.records}-{scenario.max_records}"
    on.kafka.create_topic(topic, PARTITIONS)
    produce(on.kafka.bootstrap_servers, topic, scenario.records, seed, PARTITIONS, ACCOUNTS)
    display.event(f"{scenario.name}: {scenario.records:,} records are in the topic")
    ledger = on.postgres.create_database()
    apart = on.postgres.create_database() if scenario.apart else None
    dsns = {OPAQUE: apart or ledger, TRANSACTIONAL: ledger}
    with ExitStack() as stack:
        board = stack.enter_context(Switchboard())
        folder.mkdir(parents=True, exist_ok=True)
        logs = Path(tempfile.mkdtemp(prefix=f"{topic}-", dir=folder))
        settings = JobSettings(
            master=on.spark.master.url,
            bootstrap_servers=on.kafka.bootstrap_servers,
            topic=topic,
            ledger_dsn=ledger,
            apart_dsn=apart,
            max_records=scenario.max_records,
            by_executors=scenario.by_executors,
            seed=seed,
            folder=str(logs),
        )
        view = LedgerView(ledger, dsns)
        stack.callback(view.close)
        crew = stack.enter_context(Crew(settings, board, logs))
        readers = [stack.enter_context(Reader(dsn, state)) for state, dsn in dsns.items()]
        scene = Scene(
            crew, board, view, on.kafka, on.postgres, topic, scenario.records * len(STREAMS), random.Random(seed)
        )
        strikes = torment(scene, scenario.faults, display.strike)
    counts = (board.heard(FUNCTION_FAILS), board.heard(FUNCTION_HANGS), crew.started)
    return _judged(scenario, on, topic, dsns, strikes, readers, counts, started)


def _judged(
    scenario: Scenario,
    on: Servers,
    name: str,
    dsns: dict[str, str],
    strikes: Sequence[Strike],
    readers: Sequence[Reader],
    counts: tuple[int, int, int],
    started: float,
) -> Outcome:
    topic = read_topic(on.kafka.bootstrap_servers, name)
    plans = committed_plans(dsns[TRANSACTIONAL])
    problems = audit(topic, plans, recorded_losses(dsns[TRANSACTIONAL]))
    if topic.records != scenario.records:
        problems.append(f"the topic holds {topic.records} records instead of {scenario.records}")
    for reader in readers:
        problems += [
            f"{reader.state}: {text}" for text in violations(topic, plans, STREAMS[reader.state], reader.seen())
        ]
    problems += _shortfalls(strikes, *counts[:2])
    if longest_processing(dsns[TRANSACTIONAL]) >= HANG_SECONDS:
        problems.append("a batch waited for a user function that hangs: no speculative copy took its place")
    return Outcome(
        scenario.name,
        topic.records,
        strikes,
        [judge(state, topic.totals, stored_totals(dsn, state)) for state, dsn in dsns.items()],
        problems,
        sum(reader.count for reader in readers),
        len({(reader.state, look.txid) for reader in readers for look in reader.seen()}),
        *counts[:2],
        len(plans),
        counts[2],
        time.monotonic() - started,
    )


def _shortfalls(strikes: Sequence[Strike], function_failures: int, function_hangs: int) -> list[str]:
    """Return where a scenario was too easy: no fault may hit an idle driver."""
    found = [f"{strike.what} of {strike.victim} hit an idle driver" for strike in strikes if not strike.in_flight]
    if function_failures == 0 or function_hangs == 0:
        found.append(f"the user function failed {function_failures} times and hung {function_hangs} times")
    return found


def is_hard_enough(strikes: Sequence[Strike], needed_kills: int) -> bool:
    """Whether there were enough kills, and half of the killed drivers had a batch between its pin and its end."""
    kills = sum(strike.kills for strike in strikes)
    return kills >= needed_kills and 2 * decided_kills(strikes) >= driver_kills(strikes)


def driver_kills(strikes: Sequence[Strike]) -> int:
    """Return how many drivers were killed."""
    return sum(strike.driver_kills for strike in strikes)


def decided_kills(strikes: Sequence[Strike]) -> int:
    """Return how many of them had a batch between its pin and its end."""
    return sum(strike.kills_after_pin for strike in strikes)


def run(scenarios: Sequence[Scenario], seed: int, folder: Path, needed_kills: int) -> int:
    """Run all scenarios on the same servers; returns the exit code."""
    display = Display()
    display.event(f"seed {seed}; starting three Kafka brokers, PostgreSQL, a Spark master and two workers")
    with servers() as on:
        outcomes = []
        for scenario in scenarios:
            outcomes.append(play(scenario, on, seed, folder, display))
            display.outcome(outcomes[-1])
    strikes = [strike for outcome in outcomes for strike in outcome.strikes]
    kills = sum(strike.kills for strike in strikes)
    good = all(outcome.is_good for outcome in outcomes) and is_hard_enough(strikes, needed_kills)
    display.event(
        f"{sum(outcome.records for outcome in outcomes):,} records, {kills} kills and {len(strikes)} faults in all, "
        f"{decided_kills(strikes)} of {driver_kills(strikes)} driver kills between pin and done: "
        f"{'all is well' if good else 'NOT GOOD'}"
    )
    return 0 if good else 1


def main() -> None:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(description="Real kills with a verdict on every record")
    parser.add_argument("--short", action="store_true", help="one scenario with fewer records")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the drivers' logs are kept")
    arguments = parser.parse_args()
    for wanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(wanted, signal.default_int_handler)
    scenarios, needed = (SHORT, 0) if arguments.short else (LONG, NEEDED_KILLS)
    try:
        with tempfile.TemporaryDirectory(prefix="trident-chaos-") as temporary:
            code = run(scenarios, arguments.seed, arguments.folder or Path(temporary), needed)
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left running")
    except (ChaosError, TridentError) as error:
        sys.exit(str(error))
    sys.exit(code)


if __name__ == "__main__":
    main()
