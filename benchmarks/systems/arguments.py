"""The command line that all systems share."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, field

DSN_VARIABLE = "BENCHMARK_DSN"
"""Where the address of the database comes from unless given: it keeps the password out of the list of processes."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What to read, where to write, and when to end: as soon as so many records are in the database."""

    bootstrap_servers: str
    dsn: str = field(repr=False)
    topic: str
    max_records: int
    expected_records: int
    output: str = ""
    """A topic that is there, or a table that is not; of the jobs that have one."""


def parse(description: str) -> Arguments:
    """Read the command line."""
    return Arguments(**vars(parser_of(description).parse_args()))


def parser_of(description: str) -> argparse.ArgumentParser:
    """Return what reads it, for a system with options of its own besides."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--dsn", default=os.environ.get(DSN_VARIABLE), required=DSN_VARIABLE not in os.environ)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--max-records", type=int, required=True, help="records per batch at most")
    parser.add_argument("--expected-records", type=int, required=True, help="end when so many are in the database")
    parser.add_argument("--output", default="", help="where records go, of the jobs that write records")
    return parser
