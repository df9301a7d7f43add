"""Spouts and client options: what is refused at construction, what a repr shows, what each client is told."""

from __future__ import annotations

from datetime import datetime

import pytest
from kafka import errors as kafka_errors

from trident.base.errors import ConfigurationError, FatalError, RetryableError, TridentError
from trident.spouts import Json, LostOffsets, OpaqueKafkaSpout, SpoutKind, TransactionalKafkaSpout
from trident.spouts.base import Limits, Spout
from trident.spouts.kafka.errors import classify
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.readers.arrow import ArrowReader

SECRET = "hush"
LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "me",
    "sasl.password": SECRET + '"\\',
    "ssl.ca.location": "/ca.pem",
}


def test_kinds_limits_and_description() -> None:
    opaque: Spout = OpaqueKafkaSpout("a", bootstrap_servers="h:1", max_records_per_batch=5, max_bytes_per_batch=6)
    hot: Spout = OpaqueKafkaSpout("a", bootstrap_servers="h:1", max_records_per_partition=7)
    transactional: Spout = TransactionalKafkaSpout(["a", "b"], bootstrap_servers="h:1")
    assert (opaque.kind, transactional.kind) == (SpoutKind.OPAQUE, SpoutKind.TRANSACTIONAL)
    assert (opaque.limits, hot.limits) == (Limits(5, 6), Limits(max_records_per_partition=7))
    assert transactional.description() == {"spout": "kafka", "kind": "transactional", "topics": "a,b"}


@pytest.mark.parametrize(
    ("topics", "options"),
    [
        ("", {}),
        (" ", {}),
        ([], {}),
        (["a", "a"], {}),
        ("a", {"bootstrap_servers": " "}),
        ("a", {"bootstrap_servers": "localhost"}),
        ("a", {"bootstrap_servers": "one:9092,two"}),
        ("a", {"max_records_per_batch": 0}),
        ("a", {"max_records_per_batch": -1}),
        ("a", {"max_bytes_per_batch": 0}),
        ("a", {"max_records_per_partition": 0}),
        ("a", {"connect_timeout": 0}),
        ("a", {"start": datetime(2026, 1, 1)}),  # noqa: DTZ001  # that it has no time zone is the point
        ("a", {"client_options": {"isolation.level": "read_uncommitted"}}),
        ("a", {"client_options": {"auto.offset.reset": "earliest"}}),
        ("a", {"client_options": {"bootstrap.servers": "x:1"}}),
    ],
)
def test_nonsense_is_refused_at_construction(topics: str | list[str], options: dict[str, object]) -> None:
    arguments = {"bootstrap_servers": "h:1", **options}
    for spout in (OpaqueKafkaSpout, TransactionalKafkaSpout):
        with pytest.raises(ConfigurationError):
            spout(topics, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("topics", ["pay.*", ["clicks", "payments-[0-9]+"]])
def test_a_pattern_that_is_given_as_a_name_is_refused_with_how_it_is_given(topics: str | list[str]) -> None:
    pattern = topics if isinstance(topics, str) else topics[-1]
    for spout in (OpaqueKafkaSpout, TransactionalKafkaSpout):
        with pytest.raises(ConfigurationError) as refused:
            spout(topics, bootstrap_servers="h:1")
        assert f"{pattern!r} can be no topic's name" in str(refused.value)
        assert f"pattern={pattern!r}" in str(refused.value)
        assert spout(pattern=pattern, bootstrap_servers="h:1").pattern == pattern


def test_no_more_is_asked_for_at_once_than_the_client_hands_out() -> None:
    assert ArrowReader(chunk_records=1_000_000).chunk_records == 1_000_000
    with pytest.raises(ConfigurationError, match="chunk_records must be at most 1,000,000"):
        ArrowReader(chunk_records=1_000_001)


@pytest.mark.parametrize(
    ("name", "value"), [("fetch.wait.max.ms", "2000"), ("fetch.wait.max.ms", "2001"), ("topic.blacklist", "a.*")]
)
def test_an_option_under_which_every_read_would_be_given_up_is_refused_by_its_name(name: str, value: str) -> None:
    reader = ArrowReader(stall_seconds=2)
    with pytest.raises(ConfigurationError, match=f"client option '{name}'"):
        OpaqueKafkaSpout("a", bootstrap_servers="h:1", reader=reader, client_options={name: value})
    OpaqueKafkaSpout("a", bootstrap_servers="h:1", reader=reader, client_options={"fetch.wait.max.ms": "1999"})


def test_only_opaque_spouts_may_skip_lost_offsets() -> None:
    skip = LostOffsets.RESUME_AT_EARLIEST
    assert OpaqueKafkaSpout("a", bootstrap_servers="h:1", on_lost_offsets=skip).on_lost_offsets is skip
    with pytest.raises(ConfigurationError, match="OpaqueKafkaSpout"):
        TransactionalKafkaSpout("a", bootstrap_servers="h:1", on_lost_offsets=skip)


def test_server_without_a_port_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="host:port"):
        OpaqueKafkaSpout("a", bootstrap_servers="host:kafka").open("s").bounds()


def test_no_repr_shows_an_option() -> None:
    spout = OpaqueKafkaSpout("a", bootstrap_servers="h:1", client_options=LOGIN)
    source = spout.open("s")
    assert SECRET not in repr(spout) + repr(source) + repr(vars(source)) + str(spout.description())


def test_callers_dict_is_copied() -> None:
    given = {"client.id": "one"}
    spout = OpaqueKafkaSpout("a", bootstrap_servers="h:1", client_options=given)
    given["client.id"] = "two"
    assert spout.client_options == {"client.id": "one"}


def test_each_client_is_told_the_same_login() -> None:
    options = KafkaOptions("h:1, h:2", True, LOGIN)
    assert options.for_librdkafka().whole().items() >= LOGIN.items()
    python = options.for_kafka_python()
    assert python["bootstrap_servers"] == ["h:1", "h:2"]
    assert (python["sasl_plain_username"], python["sasl_plain_password"]) == ("me", LOGIN["sasl.password"])
    java = options.for_spark()
    assert java["kafka.ssl.truststore.location"] == "/ca.pem"
    assert java["kafka.sasl.jaas.config"] == (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="hush\\"\\\\";'
    )
    assert not [name for name in java if name in ("kafka.sasl.password", "kafka.ssl.ca.location")]


def test_isolation_and_positions_are_ours() -> None:
    for committed, word in ((True, "read_committed"), (False, "read_uncommitted")):
        options = KafkaOptions("h:1", committed, {"queued.min.messages": "7"})
        rd = options.for_librdkafka().whole()
        assert (rd["isolation.level"], rd["auto.offset.reset"], rd["enable.auto.commit"]) == (word, "error", "false")
        assert rd["queued.min.messages"] == "7"
        assert options.for_spark()["kafka.isolation.level"] == word


def test_what_java_cannot_be_told_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"sasl\.jaas\.config"):
        KafkaOptions("h:1", True, {"sasl.mechanism": "GSSAPI", "sasl.username": "x"}).for_spark()
    with pytest.raises(ConfigurationError, match=r"ssl\.keystore"):
        KafkaOptions("h:1", True, {"ssl.certificate.location": "/c.pem"}).for_spark()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (kafka_errors.TopicAuthorizationFailedError(), FatalError),
        (kafka_errors.SaslAuthenticationFailedError(), FatalError),
        (kafka_errors.KafkaTimeoutError(), RetryableError),
        (kafka_errors.KafkaConnectionError(), RetryableError),
        (kafka_errors.NotLeaderForPartitionError(), RetryableError),
        (kafka_errors.LeaderNotAvailableError(), RetryableError),
        (kafka_errors.CorruptRecordError(), FatalError),
        (kafka_errors.InvalidTopicError(), FatalError),
        (ConnectionResetError(), RetryableError),
    ],
)
def test_errors_say_what_to_do(error: Exception, kind: type[TridentError]) -> None:
    found = classify(error, "list offsets", "h:1")
    assert type(found) is kind
    assert "h:1" in str(found)


def test_empty_schema_and_reader_options_are_refused() -> None:
    with pytest.raises(ConfigurationError):
        Json("  ")
    for options in ({"chunk_records": 0}, {"stall_seconds": 0.0}):
        with pytest.raises(ConfigurationError):
            ArrowReader(**options)


def test_missing_connector_is_named_exactly() -> None:
    from unittest.mock import MagicMock

    import pyspark
    from pyspark.errors import AnalysisException

    from trident.base.ranges import Edge, OffsetRange, PartitionId
    from trident.spouts.kafka.readers.spark import SparkReader

    spark = MagicMock()
    chain = spark.read.format.return_value
    chain.options.return_value = chain.option.return_value = chain
    chain.load.side_effect = AnalysisException("Failed to find data source: kafka")
    edges = [Edge(1, OffsetRange(PartitionId("t", 0), "id", 0, 5))]
    with pytest.raises(ConfigurationError) as caught:
        SparkReader().read(spark, KafkaOptions("h:1"), MagicMock(wants_headers=False), edges, 1)
    wanted = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    assert f'"spark.jars.packages", "{wanted}"' in str(caught.value)
    given = {call.args[0]: call.args[1] for call in chain.option.call_args_list}
    assert (given["startingOffsets"], given["endingOffsets"]) == ('{"t": {"0": 0}}', '{"t": {"0": 5}}')
    assert given["failOnDataLoss"] == "true"


def test_no_log_line_shows_a_password(caplog: pytest.LogCaptureFixture) -> None:
    import contextlib
    import logging
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server, caplog.at_level(logging.DEBUG):
        address = f"127.0.0.1:{server.getsockname()[1]}"
        plain = {**LOGIN, "security.protocol": "SASL_PLAINTEXT"}
        source = OpaqueKafkaSpout("a", bootstrap_servers=address, client_options=plain, connect_timeout=0.5).open("s")
        with contextlib.suppress(TridentError):
            source.bounds()
        source.close()
    assert caplog.records
    assert SECRET not in caplog.text
