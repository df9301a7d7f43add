"""The fixtures `rabbitmq` and `redis_server`: one server each for the whole run; tests make queues of their own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from integration_tests.fix_servers import or_skip
from trident.local.rabbitmq import LocalRabbit
from trident.local.redis import LocalRedis

NOTHING = ("^$", "^$", "^$")
RABBIT_USERS = {"nobody": NOTHING, "reader": ("^$", "^$", ".*")}
"""Beside who may do everything: one who may do nothing, and one with the least that the spout needs."""


@pytest.fixture(scope="session")
def rabbitmq(pytestconfig: pytest.Config) -> Iterator[LocalRabbit]:
    with or_skip(pytestconfig, partial(LocalRabbit, RABBIT_USERS)) as local:
        yield local


@pytest.fixture(scope="session")
def redis_server(pytestconfig: pytest.Config) -> Iterator[LocalRedis]:
    with or_skip(pytestconfig, LocalRedis) as local:
        yield local
