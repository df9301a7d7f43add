"""What a spout and its tasks show, pickle or raise says nothing of how to log in."""

from __future__ import annotations

import copy
import logging
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.sasl import SaslAuthenticateRequest
from pyspark import cloudpickle

from trident.base.errors import FatalError
from trident.base.kafka.logs import keep_secrets_out_of_logs
from trident.base.ranges import Edge, OffsetRange, PartitionId
from trident.spouts import OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.spouts.decoders.raw import RawTaskDecoder
from trident.spouts.kafka.consumers import borrowed_consumer
from trident.spouts.kafka.logs import no_commands_logged
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.readers.arrow import ArrowReader

HIDDEN = {
    "sasl.username": "ann-the-user",
    "sasl.password": "hush-hush",
    "ssl.key.password": "open-sesame",
    "sasl.jaas.config": 'PlainLoginModule required password="swordfish";',
    "sasl.oauthbearer.client.secret": "client-of-oauth",
    "sasl.oauthbearer.config": "principal=oauth-principal",
    "ssl.key.pem": "-----BEGIN KEY----- pem-of-the-key",
    "ssl.truststore.password": "trust-nobody",
}
WORDS = (
    "ann-the-user",
    "hush-hush",
    "open-sesame",
    "swordfish",
    "client-of-oauth",
    "principal",
    "pem-of",
    "trust-nobody",
)
SPOUTS: tuple[Callable[..., Any], ...] = (OpaqueKafkaSpout, TransactionalKafkaSpout)


def found(*shown: bytes | str) -> list[str]:
    everything = b"\n".join(each.encode() if isinstance(each, str) else each for each in shown)
    return [word for word in WORDS if word.encode() in everything]


class Session:
    """As much of a Spark session as reading needs: it shows what would travel with the plan, and which files do."""

    def __init__(self) -> None:
        self.functions: list[Any] = []
        self.files: list[str] = []

    def range(self, *_: object) -> Session:
        return self

    def mapInArrow(self, function: Any, schema: object) -> Session:  # Spark's name
        self.functions.append(function)
        return self

    def addArtifacts(self, *paths: str, file: bool) -> None:  # Spark's name
        assert file
        self.files += paths


def read(session: Session, options: KafkaOptions) -> None:
    edges = [Edge(1, OffsetRange(PartitionId("t", 0), "id", 0, 1))]
    decoder = SimpleNamespace(task_schema=RawTaskDecoder().task_schema, finish=lambda frame: frame)
    ArrowReader().read(session, options, decoder, edges, 1)  # type: ignore[arg-type]


def test_what_a_task_is_sent_says_nothing_of_how_to_log_in() -> None:
    session = Session()
    read(session, KafkaOptions("h:1", True, HIDDEN))
    (task,) = session.functions
    options = task.options
    assert found(cloudpickle.dumps(options), pickle.dumps(options), repr(task), str(task)) == []
    kept = pickle.loads(pickle.dumps(options)).whole()
    assert kept["sasl.password"] == "hush-hush"
    assert (kept["bootstrap.servers"], kept["enable.auto.commit"]) == ("h:1", "false")


def test_tasks_are_told_once_by_a_file_that_nobody_else_reads() -> None:
    session, other = Session(), Session()
    for each in (session, session, other):
        read(each, KafkaOptions("h:1", True, HIDDEN))
    assert len(session.files) == len(other.files) == 1
    file = Path(session.files[0])
    assert "hush-hush" in file.read_text()
    assert file.stat().st_mode & 0o077 == file.parent.stat().st_mode & 0o077 == 0
    plain = Session()
    read(plain, KafkaOptions("h:1"))
    assert plain.files == []


@pytest.mark.parametrize("spout", SPOUTS)
def test_a_spout_that_a_function_holds_takes_no_option_along(spout: Callable[..., Any]) -> None:
    made = spout(("a", "b"), bootstrap_servers="h:1", client_options=HIDDEN, max_records_per_batch=3)
    pickled = pickle.dumps(made)
    options = KafkaOptions("h:1", True, HIDDEN)
    shown = [cloudpickle.dumps(lambda: made), pickled, repr(made), pickle.dumps(options), repr(options)]
    assert found(*shown) == []
    for again in (pickle.loads(pickled), copy.deepcopy(made), copy.copy(made)):
        assert again == made
        assert again.client_options == HIDDEN
    assert pickle.loads(shown[3]) == options


def test_a_process_that_was_not_told_says_so_and_shows_nothing() -> None:
    pickled = pickle.dumps(OpaqueKafkaSpout("a", bootstrap_servers="h:1", client_options=HIDDEN))
    program = f"import pickle; pickle.loads({pickled!r})"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "this process was not told trident-secret-" in answer.stderr
    assert found(answer.stdout, answer.stderr) == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"broker.address.family": "hush-hush"}, "broker.address.family"),
        ({"ssl.key.pem": HIDDEN["ssl.key.pem"], "security.protocol": "SSL"}, ""),
        ({"socket.timeout.ms": "swordfish"}, "socket.timeout.ms"),
    ],
    ids=["of an enumeration", "a key", "a number"],
)
def test_an_option_that_the_client_refuses_is_named_without_its_value(options: dict[str, str], named: str) -> None:
    whole = KafkaOptions("h:1", True, options).for_librdkafka().whole()
    with pytest.raises(FatalError, match="nothing was read") as caught, borrowed_consumer(whole, {"t": "id"}):
        pass
    assert named in str(caught.value)
    values = [value for value in options.values() if value in str(caught.value)]
    assert values == []
    assert caught.value.__suppress_context__


def test_no_line_of_the_client_shows_a_login(caplog: pytest.LogCaptureFixture) -> None:
    """The client's own words at its most talkative: configuration, requests, and bytes as they are sent."""
    keep_secrets_out_of_logs()
    login = b"\0ann-the-user\0hush-hush"
    with caplog.at_level(logging.DEBUG):
        for name in ("kafka.net.connection", "kafka.protocol.parser", "kafka.net.transport"):
            logging.getLogger(name).debug("%s Request %d: %s", "c", 1, SaslAuthenticateRequest(auth_bytes=login))
            logging.getLogger(name).debug("%s Send: %r", "c", login)
        logging.getLogger("kafka.admin.client").debug("Starting with configuration: %s", {"sasl": login})
        logging.getLogger("kafka.net.connection").warning("what is no secret stays")
    assert found(caplog.text) == []
    assert "what is no secret stays" in caplog.text


def test_no_command_to_the_jvm_is_logged_that_has_a_login(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("py4j.clientserver")
    with caplog.at_level(logging.DEBUG), no_commands_logged():
        log.debug("Command to send: %s", "c o12 option s" + HIDDEN["sasl.jaas.config"])
        other = threading.Thread(target=log.debug, args=("what another thread says stays",))
        other.start()
        other.join()
    log.warning("and what comes later")
    assert found(caplog.text) == []
    assert "another thread" in caplog.text
    assert "comes later" in caplog.text


def test_what_the_ledger_keeps_of_a_spout_has_no_option() -> None:
    spout = OpaqueKafkaSpout("a", bootstrap_servers="h:1", client_options=HIDDEN)
    assert found(str(spout.description())) == []
