"""The crash matrix of sinks in Kafka: what leaves leaves once, wherever a coordinator dies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from integration_tests.conftest import Postgres
from integration_tests.crash_matrix.cases import Case, all_cases, drawn_cases
from integration_tests.crash_matrix.places import Addresses
from integration_tests.crash_matrix.sites import WITH_KAFKA, Script, Site
from integration_tests.crash_matrix.workers import Workers
from tests.effort import base_seed, effort
from trident.base.crash_points import CrashPoint
from trident.spouts.base import SpoutKind
from trident.state import StateKind

_AT_ONCE = 3
"""Most of a life is waiting for the broker."""


@pytest.fixture(scope="module")
def addresses(postgres_server: Any, kafka: Any, tmp_path_factory: Any) -> Iterator[Addresses]:
    server = Postgres(postgres_server)
    databases = (server.dsn, server.new_dsn(), server.new_dsn())
    yield Addresses(databases, str(tmp_path_factory.mktemp("crash-matrix")), kafka.bootstrap_servers)
    server.drop()


@pytest.fixture(scope="module")
def chosen() -> frozenset[Case]:
    """The cases of this run."""
    return drawn_cases(base_seed(), of_kafka=effort().matrix_share_with_kafka)


@pytest.fixture(scope="module")
def workers(addresses: Any) -> Iterator[Workers]:
    sites = (Site.KAFKA, Site.OUTBOX)
    warm = [
        Case(site, Script.BATCH, CrashPoint.AFTER_DONE, SpoutKind.OPAQUE, StateKind.OPAQUE, 1, other=False)
        for site in sites
    ]
    with Workers(addresses, warm, _AT_ONCE) as made:
        yield made


_GROUPS = sorted({(case.site, case.script) for case in all_cases() if case.site in WITH_KAFKA})


@pytest.mark.verify(short=True, one_in=40)
@pytest.mark.parametrize(("site", "script"), _GROUPS)
def test_every_record_leaves_once_wherever_a_coordinator_dies(site, script, chosen, workers):
    workers.play([case for case in all_cases() if (case.site, case.script) == (site, script) and case in chosen])
