"""docs/howto/least-privileges.md: its statements and ACLs are enough, and with one right fewer somebody says so."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from kafka.admin import ACLFilter, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from pyspark.sql import SparkSession

from integration_tests.fix_postgres import Postgres
from integration_tests.guarded_kafka import GuardedKafka
from integration_tests.pages.jobs import RUN, encoded, payments_of, send, sums_in, sums_of, write
from integration_tests.pages.walking import MARKERS, Topics, Walk
from tests.effort import base_seed
from tests.pages.shell import commands_in
from trident import PostgresLedger, RunOptions, Staging, TridentError
from trident.cli.exits import Exit
from trident.cli.loading import load_topology

PAGE = "docs/howto/least-privileges.md"
ROLES = ("payments_run", "payments_tasks", "payments_least", "payments_reader")
PASSWORDS = {"payments_tasks": "me too"}
MODULE = """
import os
from trident import Count, Sum, Topology
from trident.spouts import FixedBatchSpout
from trident.state import PostgresState

ROWS = [(f"account-{{n % 7}}", n) for n in range(1, int(os.environ["ROWS"]))]


def topology():
    made = Topology("payments")
    spout = FixedBatchSpout("account string, amount bigint", ROWS, max_records_per_batch=20)
    {state}
    payments = made.stream("payments", spout)
    payments.group_by("account").persistent_aggregate(state, n=Count(), total=Sum("amount"))
    return made
"""
FEWER = (
    ("CONNECT ON DATABASE bank", "payments_tasks"),
    ("payments_tasks", "payments_run"),
    ("USAGE ON SCHEMA payments", "payments_tasks"),
    ("CREATE ON SCHEMA payments", "payments_run"),
    ("TEMPORARY ON DATABASE bank", "payments_run"),
)
"""Rights of the role that makes its tables by itself; each is needed by a start, or by the first batch."""
GRANT = re.compile(r"GRANT ([A-Z, ]+) ON\s+(payments\.[^;]*?)\s*TO payments_least;", re.DOTALL)


@pytest.fixture
def roles(postgres: Postgres) -> Iterator[dict[str, str]]:
    """What the page calls its database and roles, and how they are called here: roles are the whole server's."""
    database = urlsplit(postgres.dsn).path.lstrip("/")
    yield {"DATABASE bank": f"DATABASE {database}", '"bank"': f'"{database}"'} | {
        role: f"{role}_{database[-6:]}" for role in ROLES
    }
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        for role in reversed(ROLES):
            name = f"{role}_{database[-6:]}"
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone():
                connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")  # type: ignore[call-overload, unused-ignore]


class Bank:
    """A database where roles run the topology that have what the page grants them."""

    def __init__(self, walking: Walk, postgres: Postgres, spark: SparkSession) -> None:
        self.walking = walking
        self.admin = postgres.dsn
        self._spark = spark

    def as_role(self, role: str) -> str:
        """Return the address of one of the page's roles."""
        parts = urlsplit(self.admin)
        password = PASSWORDS.get(role, "change me").replace(" ", "%20")
        place = f"{self.walking.names[role]}:{password}@{parts.netloc.rpartition('@')[2]}"
        return urlunsplit(parts._replace(netloc=place))

    def tell(self, statements: str) -> None:
        """Say something to the server as the one who may do everything."""
        self.walking.sql(statements, self.admin)

    def run(self, role: str) -> str | None:
        """Run it to its end with tasks that stage; returns what stops it."""
        ledger = PostgresLedger(self.as_role(role))
        options = RunOptions(give_up_after=timedelta(seconds=5), lease=timedelta(seconds=5))
        with closing(ledger):
            try:
                made = load_topology("payments.py:topology")
                made.run(self._spark, ledger=ledger, until="caught_up", staging=Staging.EXECUTORS, options=options)
            except TridentError as error:
                return f"{type(error).__name__}: {error}"
        return None

    def sums(self) -> dict[str, tuple[int, int]]:
        return sums_in(self.admin, "payments.balances")


@pytest.fixture
def bank(
    spark: SparkSession,
    postgres: Postgres,
    roles: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    walk: Callable[[str], Walk],
) -> Bank:
    walking = walk(PAGE)
    walking.names = roles
    made = Bank(walking, postgres, spark)
    (state,) = walking.blocks("python")
    write(walking, MODULE.format(state=state.text.strip()))
    monkeypatch.setenv("TASKS", made.as_role("payments_tasks"))
    monkeypatch.setenv("ROWS", "101")
    return made


def expected(count: int) -> dict[str, tuple[int, int]]:
    return sums_of((f"account-{number % 7}", number) for number in range(1, count))


def test_each_right_of_a_schema_of_its_own_is_needed_and_all_are_enough(bank: Bank) -> None:
    of_its_own, *_ = bank.walking.blocks("sql")
    bank.tell(of_its_own.text)
    said: dict[str, str | None] = {}
    for right, role in FEWER:
        bank.tell(f"REVOKE {right} FROM {role}")
        said[f"{right}, {role}"] = bank.run("payments_run")
        bank.tell(f"GRANT {right} TO {role}")
    assert None not in said.values(), said
    for words in filter(None, said.values()):
        bank.walking.quotes(words)
    assert bank.run("payments_run") is None
    assert bank.sums() == expected(101)


def test_a_role_that_makes_no_tables_and_one_that_only_looks(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    of_its_own, least, to_look = bank.walking.blocks("sql")
    bank.tell(of_its_own.text)
    assert bank.run("payments_run") is None
    bank.tell(least.text)
    monkeypatch.setenv("ROWS", "201")
    bank.tell("REVOKE UPDATE ON payments.balances FROM payments_least")
    said = bank.run("payments_least")
    assert said is not None
    assert "permission denied for table balances" in said
    bank.tell("GRANT UPDATE ON payments.balances TO payments_least")
    assert bank.run("payments_least") is None
    assert bank.sums() == expected(201)
    _one_right_fewer(bank, least.text, monkeypatch)

    bank.tell(to_look.text)
    monkeypatch.setenv("TRIDENT_LEDGER", bank.as_role("payments_reader"))
    for command in ("list", "status payments", "batches payments", "show payments 1", "errors payments"):
        bank.walking.shell(f"trident {command}")
    with (
        psycopg.connect(bank.as_role("payments_reader")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("DELETE FROM payments.balances")


def _one_right_fewer(bank: Bank, least: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all that the page grants some are taken away again; `trident doctor` names each."""
    monkeypatch.setenv("TRIDENT_LEDGER", bank.as_role("payments_least"))
    bank.walking.shell("trident doctor payments.py:topology")
    granted = [
        (right, table)
        for rights, tables in GRANT.findall(re.sub("--.*", "", least))
        for right in rights.split(", ")
        for table in map(str.strip, tables.split(","))
    ]
    assert len(granted) == 4 * 20 + 3 + 2 * 2
    for right, table in random.Random(base_seed()).sample(granted, 3):
        bank.tell(f"REVOKE {right} ON {table} FROM payments_least")
        bank.walking.shell("trident doctor payments.py:topology", Exit.PROBLEM)
        assert f"lacks {right} on table" in bank.walking.printed, (right, table)
        bank.tell(f"GRANT {right} ON {table} TO payments_least")


class Guard:
    """The page's ACLs at a broker that asks for rights, each of them one operation on one resource."""

    def __init__(self, broker: GuardedKafka, lines: str) -> None:
        self._broker = broker
        self.rights: list[tuple[ResourceType, str, str]] = []
        for words in commands_in(lines):
            for option, kind in _RESOURCES.items():
                if option in words:
                    name = words[words.index(option) + 1]
                    self.rights += [(kind, name, words[at + 1]) for at, word in enumerate(words) if word == _OPERATION]

    def grant(self, kind: ResourceType, name: str, operation: str) -> None:
        self._broker._allow(kind, name, (_kafkas(operation),))

    def revoke(self, kind: ResourceType, name: str, operation: str) -> None:
        pattern = ResourcePattern(kind, name)
        filters = [ACLFilter(None, None, ACLOperation[_kafkas(operation)], ACLPermissionType.ANY, pattern)]
        with self._broker.admin() as admin:
            admin.delete_acls(filters)
            while admin.describe_acls(filters[0])[0]:
                pass


_OPERATION = "--operation"
_RESOURCES = {
    "--topic": ResourceType.TOPIC,
    "--group": ResourceType.GROUP,
    "--transactional-id": ResourceType.TRANSACTIONAL_ID,
}


def _kafkas(operation: str) -> str:
    """Return what the client calls an operation: DescribeConfigs is DESCRIBE_CONFIGS."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation).upper()


def test_the_acls_are_enough_and_each_of_them_is_needed(
    spark: SparkSession,
    guarded_kafka: GuardedKafka,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
    walk: Callable[[str], Walk],
) -> None:
    walking = walk(PAGE)
    (acls,) = walking.blocks("sh")
    guard = Guard(guarded_kafka, acls.text)
    monkeypatch.setenv("KAFKA", guarded_kafka.bootstrap_servers)
    monkeypatch.setenv("TRIDENT_LEDGER", postgres.dsn)
    payments = [(f"account-{number % 7}", number % 50) for number in range(200)]
    with closing(Topics(guarded_kafka.bootstrap_servers)) as topics:
        topics.make("payments", "alerts")
        guarded_kafka.create_topic(MARKERS, configs={"cleanup.policy": "compact"})
        send(encoded(payments))
        reached = 'bootstrap_servers=os.environ["KAFKA"]'
        assert payments_of(2).count(reached) == 2
        login = f"bootstrap_servers={guarded_kafka.secured!r}, client_options={guarded_kafka.options!r}"
        write(walking, payments_of(2).replace(reached, login))
        for right in guard.rights:
            guard.grant(*right)
        walking.shell(RUN)
        assert sums_in(postgres.dsn) == sums_of(payments)
        walking.shell("trident doctor payments.py:topology")
        for kind, name, operation in guard.rights:
            if kind is not ResourceType.GROUP:  # without it nothing stops, and the log says so
                guard.revoke(kind, name, operation)
                walking.shell("trident doctor payments.py:topology", Exit.PROBLEM)
                assert shlex.quote(name) in walking.printed
                guard.grant(kind, name, operation)
        guard.revoke(*guard.rights[0])
        walking.shell(RUN, Exit.FAILED)
        walking.quotes(walking.complained)
        for right in guard.rights[1:]:
            guard.revoke(*right)
