"""docs/howto/tls-and-logins.md: its options are taken, and what is wrong without any server is said in its words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pages.blocks import blocks_of
from trident import ConfigurationError, FatalError
from trident.base.kafka.greeting import check_greeting
from trident.spouts import OpaqueKafkaSpout

PAGE = "docs/howto/tls-and-logins.md"
QUOTED = [block.text.strip() for block in blocks_of(PAGE) if block.language == "text"]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the page's one block of Python makes."""
    monkeypatch.setenv("KAFKA", "127.0.0.1:9")
    monkeypatch.setenv("KAFKA_PASSWORD", "sesame-open")
    (block,) = (block for block in blocks_of(PAGE) if block.language == "python")
    names: dict[str, Any] = {}
    exec(block.compiled(), names)
    return names


def test_spout_and_sink_take_the_options_and_show_none(made: dict[str, Any]) -> None:
    assert made["spout"].client_options == made["sink"].client_options == made["login"]
    assert "sesame" not in repr(made["spout"]) + repr(made["sink"])


def test_an_option_that_is_misspelt_is_refused_in_these_words() -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpaqueKafkaSpout("payments", bootstrap_servers="127.0.0.1:9", client_options={"sasl.mecanism": "PLAIN"})
    assert f"ConfigurationError: {caught.value}" in QUOTED


def test_a_file_that_is_not_there_is_named_in_these_words(made: dict[str, Any]) -> None:
    with pytest.raises(FatalError) as caught:
        check_greeting("127.0.0.1:9", {**made["login"], "ssl.ca.location": "/not/there.pem"}, 1.0)
    assert f"FatalError: {caught.value}" in QUOTED
