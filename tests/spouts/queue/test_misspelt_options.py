"""Options of a spout over a queue are attributes: a misspelt one would leave the option as it was, without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spouts.queue.file_queue import FileQueueSpout
from trident.base.errors import ConfigurationError
from trident.spouts import RabbitSpout


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("horizonn", "horizon"),
        ("max_batch", "max_batch_size"),
        ("hook", "hooks"),
        ("message_timeouts", "message_timeout"),
        ("max_pendng", "max_pending"),
        ("waits", "wait"),
    ],
)
def test_a_misspelt_option_is_named_with_the_one_that_was_meant(name: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=f"Mine.{name}: .* did you mean '{meant}'"):
        type("Mine", (FileQueueSpout,), {name: 5})
    spout = RabbitSpout("q", url="amqp://h:5672/%2F")
    with pytest.raises(ConfigurationError, match=f"RabbitSpout.{name}: .* did you mean '{meant}'"):
        setattr(spout, name, 5)


def test_attributes_of_its_own_are_a_spouts_own() -> None:
    names = ("wait_s", "max_size", "batch", "_horizonn", "timeout", "url", "pending", "max_retries", "message_id")
    kind = type("Mine", (FileQueueSpout,), dict.fromkeys(names, 5))
    spout = kind(Path("unused"))
    for name in (*names, "horizon", "max_batch_size"):
        setattr(spout, name, 6)
        assert getattr(spout, name) == 6
