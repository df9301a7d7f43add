"""Backups of databases: whole copies that the server makes, and a topology with its results in two databases."""

from __future__ import annotations

import secrets
from datetime import timedelta
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.fix_kafka import Kafka
from integration_tests.records import Payment, payments, produce
from trident import Count, PostgresLedger, RunOptions, RunSummary, Sum, Topology
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import PostgresState

OPTIONS = RunOptions(lease=timedelta(seconds=5), retry_pause=timedelta(milliseconds=10))
LIMIT = 300


def backup(dsn: str) -> str:
    """Copy a database that nobody uses; returns the copy's address."""
    copy = f"{_name(dsn)}_{secrets.token_hex(3)}"
    _admin(dsn, "CREATE DATABASE {} TEMPLATE {}", copy, _name(dsn))
    return urlunsplit(urlsplit(dsn)._replace(path=f"/{copy}"))


def restore(dsn: str, copy: str) -> None:
    """Put a copy in the place of a database; the copy stays."""
    _admin(dsn, "DROP DATABASE {} WITH (FORCE)", _name(dsn))
    _admin(dsn, "CREATE DATABASE {} TEMPLATE {}", _name(dsn), _name(copy))


def counting(kafka: Kafka, topic: str, apart: str | None) -> Topology:
    """Count payments into `balances`, which lives apart if an address is given, and into `mirror` beside the ledger."""
    topology = Topology("payments")
    spout = OpaqueKafkaSpout(
        topic,
        bootstrap_servers=kafka.bootstrap_servers,
        value=Json("account string, amount bigint"),
        max_records_per_batch=LIMIT,
    )
    stream = topology.stream("payments", spout).filter(F.col("amount") > 0)
    for state in (PostgresState("balances", dsn=apart), PostgresState("mirror")):
        stream.group_by("account").persistent_aggregate(state, n=Count(), total=Sum("amount"))
    return topology


def run(topology: Topology, spark: SparkSession, ledger: str) -> RunSummary:
    return topology.run(spark, ledger=PostgresLedger(ledger), until="caught_up", options=OPTIONS)


class Payments:
    """A topic that grows."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self.topic = kafka.create_topic(4, name="payments")
        self.sent: list[Payment] = []

    def send(self, count: int) -> None:
        more = payments(count, first=len(self.sent))
        produce(self._kafka.bootstrap_servers, self.topic, more)
        self.sent += more


def _name(dsn: str) -> str:
    return urlsplit(dsn).path.lstrip("/")


def _admin(dsn: str, statement: str, *names: str) -> None:
    server = urlunsplit(urlsplit(dsn)._replace(path="/postgres"))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
