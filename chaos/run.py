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

from chaos.checker import Planned, Verdict, audit, judge, violations
from chaos.crew import ChaosError, Crew
from chaos.ends import EndsOfTransactions
from chaos.job import HANG_SECONDS, OPAQUE, SINK, TRANSACTIONAL, JobSettings, Sends
from chaos.ledger_view import LedgerView
from chaos.nemesis import torment
from chaos.plans import committed_plans, longest_processing, recorded_losses, stored_totals, waiting_entries
from chaos.reader import Reader
from chaos.recount import Topic, read_topic
from chaos.report import Display, Outcome
from chaos.scenarios import LONG, SHORT, Scenario
from chaos.scene import Scene
from chaos.sent import Sightings, expected_of, gone, totals_of, wrongs
from chaos.sink_reader import Sink, SinkReader, read_sent
from chaos.strikes import Strike
from chaos.supply import Produce, Supply
from chaos.switchboard import Switchboard
from chaos.words import FUNCTION_FAILS, FUNCTION_HANGS
from examples.payments_data import produce
from trident.base.errors import TridentError
from trident.local.kafka_cluster import LocalKafkaCluster
from trident.local.postgres import LocalPostgres
from trident.local.spark_cluster import LocalSparkCluster
from trident.testing.kafka_proxy import KafkaProxy

PARTITIONS = 4
SENT_PARTITIONS = 3
BROKERS = 3
ACCOUNTS = 5_000
NEEDED_KILLS = 20
_SHOWN = 20
STREAMS = {OPAQUE: "opaque", TRANSACTIONAL: "transactional"}


@dataclass(frozen=True)
class Servers:
    """What all scenarios share."""

    kafka: LocalKafkaCluster
    postgres: LocalPostgres
    spark: LocalSparkCluster
    ends: EndsOfTransactions


@dataclass(frozen=True)
class Given:
    """What a job was given: the topic and how many records were produced to it."""

    topic: str
    records: int


@contextmanager
def servers() -> Iterator[Servers]:
    """Start three brokers with a proxy in front of each, PostgreSQL, and Spark's master and workers."""
    with ExitStack() as stack:
        proxies = [stack.enter_context(KafkaProxy()) for _ in range(BROKERS)]
        kafka = LocalKafkaCluster(BROKERS, proxy_ports=[proxy.port for proxy in proxies])
        for number, proxy in enumerate(proxies, 1):
            proxy.lead_to(kafka.broker(number).proxied_port)
        on = Servers(kafka, LocalPostgres(), LocalSparkCluster(), EndsOfTransactions(proxies))
        everything = (on.postgres, on.kafka, on.spark)
        for each in everything:
            stack.callback(each.close)
        for each in everything:
            each.launch()
        for each in everything:
            each.wait()
        yield on


def play(scenario: Scenario, on: Servers, seed: int, folder: Path, display: Display) -> Outcome:
    """Run one scenario to its end and judge it."""
    started = time.monotonic()
    topic = f"payments-{seed}-{scenario.records}-{scenario.max_records}"
    on.kafka.create_topic(topic, PARTITIONS)
    supply = Supply(_producing(on, topic), scenario.records, seed, len(STREAMS))
    display.event(f"{scenario.name}: {supply.records:,} records are in the topic")
    folder.mkdir(parents=True, exist_ok=True)
    logs = Path(tempfile.mkdtemp(prefix=f"{topic}-", dir=folder)).resolve()  # Spark's workers are elsewhere
    ledger = str(logs / "ledger.sqlite") if scenario.in_file else on.postgres.create_database()
    apart = on.postgres.create_database() if scenario.apart else None
    addresses = {OPAQUE: apart or ledger, TRANSACTIONAL: ledger}
    sends = _sends(on, topic) if scenario.sends else None
    with ExitStack() as stack:
        board = stack.enter_context(Switchboard())
        settings = JobSettings(
            master=on.spark.master.url,
            bootstrap_servers=on.kafka.bootstrap_servers,
            topic=topic,
            ledger=ledger,
            apart_dsn=apart,
            max_records=scenario.max_records,
            by_executors=scenario.by_executors,
            seed=seed,
            folder=str(logs),
            sends=sends,
        )
        view = LedgerView(ledger, addresses)
        stack.callback(view.close)
        crew = stack.enter_context(Crew(settings, board, logs))
        readers = [stack.enter_context(Reader(address, state)) for state, address in addresses.items()]
        receiver = stack.enter_context(_receiver(on, sends)) if sends else None
        drawn = random.Random(seed)
        scene = Scene(crew, board, view, on.kafka, on.postgres, topic, supply, drawn, on.ends, receiver)
        strikes = torment(scene, scenario.faults, display.strike)
        received = _received(on, receiver) if receiver else None
    counts = (board.heard(FUNCTION_FAILS), board.heard(FUNCTION_HANGS), crew.started)
    given = Given(topic, supply.records)
    return _judged(scenario, on, given, addresses, strikes, readers, received, counts, started)


def _producing(on: Servers, topic: str) -> Produce:
    def more(records: int, seed: int) -> None:
        produce(on.kafka.bootstrap_servers, topic, records, seed, PARTITIONS, ACCOUNTS)

    return more


def _sends(on: Servers, topic: str) -> Sends:
    """Make the topic that a sink sends to; that of its markers it makes itself."""
    sends = Sends(on.ends.bootstrap_servers, f"{topic}-sent", f"{topic}-markers")
    on.kafka.create_topic(sends.topic, SENT_PARTITIONS)
    return sends


def _receiver(on: Servers, sends: Sends) -> SinkReader:
    return SinkReader(on.kafka.bootstrap_servers, Sink(sends.topic, sends.markers, sends.transactional_id))


def _received(on: Servers, receiver: SinkReader) -> tuple[Sightings, list[str]]:
    """Return all that came to the reader, once it has all that is there, and where that is not what is there."""
    records, ends = read_sent(on.kafka.bootstrap_servers, receiver.sink)
    receiver.read_to(ends)
    seen = receiver.seen()
    return seen, gone(seen.records, records)


def _judged(
    scenario: Scenario,
    on: Servers,
    given: Given,
    addresses: dict[str, str],
    strikes: Sequence[Strike],
    readers: Sequence[Reader],
    received: tuple[Sightings, list[str]] | None,
    counts: tuple[int, int, int],
    started: float,
) -> Outcome:
    topic = read_topic(on.kafka.bootstrap_servers, given.topic)
    ledger = addresses[TRANSACTIONAL]
    plans = committed_plans(ledger)
    problems = audit(topic, plans, recorded_losses(ledger))
    if topic.records != given.records:
        problems.append(f"the topic holds {topic.records} records instead of {given.records}")
    for reader in readers:
        problems += [
            f"{reader.state}: {text}" for text in violations(topic, plans, STREAMS[reader.state], reader.seen())
        ]
    problems += idle_strikes(strikes)
    if not scenario.sends:  # where what comes after the user function is what is tormented
        problems += well_behaved(*counts[:2])
    if longest_processing(ledger) >= HANG_SECONDS:
        problems.append("a batch waited for a user function that hangs: no speculative copy took its place")
    verdicts = [judge(state, topic.totals, stored_totals(address, state)) for state, address in addresses.items()]
    if received is not None:
        verdict, found = _judged_sink(topic, plans, *received)
        verdicts.append(verdict)
        problems += found
        if not scenario.in_file and waiting_entries(ledger):
            problems.append(f"{waiting_entries(ledger)} txids wait in the outbox after a drain")
    return Outcome(
        scenario.name,
        topic.records,
        strikes,
        verdicts,
        problems,
        sum(reader.count for reader in readers),
        len({(reader.state, look.txid) for reader in readers for look in reader.seen()}),
        *counts[:2],
        len(plans),
        counts[2],
        time.monotonic() - started,
        None if received is None else received[0],
    )


def _judged_sink(topic: Topic, plans: Sequence[Planned], seen: Sightings, gone: list[str]) -> tuple[Verdict, list[str]]:
    """Return what became of the records that were to be sent, and all else that is wrong with them."""
    problems = wrongs(expected_of(topic, plans, STREAMS[OPAQUE]), seen) + gone
    if not seen.glances:
        problems.append("the sink's reader saw no moment between two transactions")
    return judge(SINK, topic.totals, totals_of(seen.records)), [f"{SINK}: {text}" for text in problems]


def idle_strikes(strikes: Sequence[Strike]) -> list[str]:
    """Return the faults that were too easy: none may hit an idle driver."""
    return [f"{strike.what} of {strike.victim} hit an idle driver" for strike in strikes if not strike.in_flight]


def well_behaved(failures: int, hangs: int) -> list[str]:
    """Return that the user function was too easy on the driver, if it was."""
    return [] if failures and hangs else [f"the user function failed {failures} times and hung {hangs} times"]


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
    reasons = [f"{outcome.scenario}: {text}" for outcome in outcomes for text in outcome.reasons]
    if not is_hard_enough(strikes, needed_kills):
        reasons.append(f"too few kills, or too few of them between pin and done; {needed_kills} are needed")
    display.event(
        f"{sum(outcome.records for outcome in outcomes):,} records, {kills} kills and {len(strikes)} faults in all, "
        f"{decided_kills(strikes)} of {driver_kills(strikes)} driver kills between pin and done: "
        f"{'NOT GOOD' if reasons else 'all is well'}"
    )
    for reason in reasons[:_SHOWN]:  # once more at the end, which is all that a log may have kept
        display.event(reason)
    return 1 if reasons else 0


def main() -> None:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(description="Real kills with a verdict on every record")
    parser.add_argument("--short", action="store_true", help="fewer records and faults")
    parser.add_argument("--only", default="", help="scenarios whose name has these words")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the drivers' logs are kept")
    arguments = parser.parse_args()
    for wanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(wanted, signal.default_int_handler)
    scenarios, needed = (SHORT, 0) if arguments.short else (LONG, NEEDED_KILLS)
    chosen = [scenario for scenario in scenarios if arguments.only in scenario.name]
    if len(chosen) < len(scenarios):
        needed = 0
    try:
        with tempfile.TemporaryDirectory(prefix="trident-chaos-") as temporary:
            code = run(chosen, arguments.seed, arguments.folder or Path(temporary), needed)
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left running")
    except (ChaosError, TridentError) as error:
        sys.exit(str(error))
    sys.exit(code)


if __name__ == "__main__":
    main()
