"""A consumer that a task has left idle says nothing of a broker that is away; whoever reads is told by an error."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
from trident.spouts.kafka.consumers import borrowed_consumer
options = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "reconnect.backoff.max.ms": "100"}
with borrowed_consumer(options | dict(%r)) as consumer:
    consumer.poll(1.0)
"""


@pytest.mark.parametrize(("more", "says"), [({}, False), ({"log_level": "6"}, True)], ids=["", "as its options say"])
def test_a_broker_that_is_away_fills_no_log(more: dict[str, str], says: bool) -> None:
    done = subprocess.run([sys.executable, "-c", CODE % more], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert ("FAIL" in done.stderr) is says
