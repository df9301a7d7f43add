"""A Kafka and a PostgreSQL for trying, until Ctrl-C: `python -m trident.local payments` makes the topic as well."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import threading
from collections.abc import Sequence

from trident.base.errors import TridentError
from trident.local.kafka import LocalKafka
from trident.local.postgres import LocalPostgres


def main(words: Sequence[str] | None = None) -> None:
    """Start both, say how they are reached, and wait for Ctrl-C or SIGTERM, which ends both and deletes their data."""
    parser = argparse.ArgumentParser(prog="python -m trident.local", description="A Kafka and a PostgreSQL for trying.")
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help="a topic to make")
    parser.add_argument("--partitions", type=int, default=4, help="how many each topic has")
    given = parser.parse_args(words)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with LocalKafka() as kafka, LocalPostgres() as postgres:
            for topic in given.topics:
                kafka.create_topic(topic, given.partitions)
            print(f"export KAFKA={shlex.quote(kafka.bootstrap_servers)}")
            print(f"export TRIDENT_LEDGER={shlex.quote(postgres.dsn)}", flush=True)
            wait()
    except KeyboardInterrupt:
        return
    except TridentError as error:
        sys.exit(str(error))


def wait() -> None:
    """Wait for ever; a signal's handler may raise."""
    threading.Event().wait()


if __name__ == "__main__":
    main()
