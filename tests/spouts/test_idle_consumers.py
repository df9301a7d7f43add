"""A consumer that a task has left idle says nothing of a broker that is away; whoever reads is told by an error."""

from __future__ import annotations

import subprocess
import sys
from unittest.mock import Mock

import pytest

from trident.spouts.kafka import consumers

CODE = """
from trident.spouts.kafka.consumers import borrowed_consumer
options = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "reconnect.backoff.max.ms": "100"}
with borrowed_consumer(options | dict(%r), {"t": "id"}) as consumer:
    consumer.poll(1.0)
"""


@pytest.mark.parametrize(("more", "says"), [({}, False), ({"log_level": "6"}, True)], ids=["", "as its options say"])
def test_a_broker_that_is_away_fills_no_log(more: dict[str, str], says: bool) -> None:
    done = subprocess.run([sys.executable, "-c", CODE % more], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert ("FAIL" in done.stderr) is says


def test_a_consumer_that_has_read_the_topic_before_it_was_made_anew_is_closed(made: list[Mock]) -> None:
    """It would ask for the epoch of the topic that is gone, and hear nothing until the read stalls."""

    def lent(topics: dict[str, str]) -> int:
        with consumers.borrowed_consumer({"group.id": "g"}, topics) as consumer:
            return next(number for number, each in enumerate(made) if each is consumer)

    assert [lent({"t": "old"}), lent({"u": "id"}), lent({"t": "old", "u": "id"})] == [0, 0, 0]
    assert [lent({"u": "id"}), lent({"t": "new", "u": "id"}), lent({"t": "new"})] == [0, 1, 1]
    assert [consumer.close.called for consumer in made] == [True, False]
