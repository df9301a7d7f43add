"""A topic whose settings the cluster does not tell: kafka-python leaves them out without a word."""

from __future__ import annotations

from typing import Any

import pytest

from trident.base.errors import FatalError, RetryableError
from trident.state.kafka.clients.python_cluster import PythonCluster

TOLD = {name: {"value": value} for name, value in (("cleanup.policy", "compact"), ("max.message.bytes", "1000"))}


class Admin:
    """What the client answers."""

    def __init__(self, rights: list[str] | None, configs: dict[str, Any]) -> None:
        self.rights = rights
        self.configs = configs

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        word = {"error_code": 0, "partitions": [1, 2], "authorized_operations": self.rights}
        return [{"name": name, **word} for name in names]

    def describe_configs(self, resources: Any, config_filter: str) -> dict[str, Any]:
        return {"topic": {resource.name: self.configs for resource in resources}}


def settings_of(rights: list[str] | None, configs: dict[str, Any]) -> Any:
    cluster = PythonCluster("alerts", "nowhere:9092", {}, 1.0)
    cluster._admin = Admin(rights, configs)
    return cluster.settings(["out"])["out"]


def test_settings_that_are_told() -> None:
    found = settings_of(["DESCRIBE"], TOLD)
    assert (found.partitions, found.cleanup, found.max_message_bytes) == (2, "compact", 1_000)


@pytest.mark.parametrize("rights", [["DESCRIBE", "WRITE"], None])
def test_a_missing_right_is_named(rights: list[str] | None) -> None:
    with pytest.raises(FatalError, match=r"settings of topic 'out'.*nothing was sent.*DESCRIBE_CONFIGS on its topics"):
        settings_of(rights, {})


def test_a_topic_that_is_not_known_everywhere_yet_is_asked_again() -> None:
    with pytest.raises(RetryableError, match="settings of topic 'out' are not known yet"):
        settings_of(["DESCRIBE", "DESCRIBE_CONFIGS"], {})
