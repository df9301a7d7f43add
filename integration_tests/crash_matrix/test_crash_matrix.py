"""The crash matrix: a coordinator dies at every border there is, for real, and nothing is lost or doubled."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from integration_tests.conftest import Postgres
from integration_tests.crash_matrix.cases import STATE_KINDS, Case, all_cases, cases_of, drawn_cases
from integration_tests.crash_matrix.places import Addresses
from integration_tests.crash_matrix.sites import WITH_KAFKA, Script, Site
from integration_tests.crash_matrix.workers import Workers
from tests.effort import base_seed, effort, processes
from trident.base.crash_points import CrashPoint
from trident.spouts.base import SpoutKind
from trident.state import StateKind


@pytest.fixture(scope="module")
def addresses(postgres_server: Any, tmp_path_factory: Any) -> Iterator[Addresses]:
    server = Postgres(postgres_server)
    databases = (server.dsn, server.new_dsn(), server.new_dsn())
    yield Addresses(databases, str(tmp_path_factory.mktemp("crash-matrix")))
    server.drop()


@pytest.fixture(scope="module")
def chosen() -> frozenset[Case]:
    """The cases of this run."""
    return drawn_cases(base_seed(), effort().matrix_share)


@pytest.fixture(scope="module")
def workers(addresses: Any) -> Iterator[Workers]:
    sites = (Site.PER_KEY, Site.TWO_DATABASES, Site.ROWS_APART)
    warm = [
        Case(site, Script.BATCH, CrashPoint.AFTER_DONE, SpoutKind.OPAQUE, StateKind.OPAQUE, 1, other=False)
        for site in sites
    ]
    with Workers(addresses, warm, processes()) as made:
        yield made


_PLACES = [
    (site, spout, state)
    for site, spout, state in itertools.product(Site, SpoutKind, STATE_KINDS)
    if site not in WITH_KAFKA and any(cases_of(site, spout, state))
]


@pytest.mark.verify(short=True, one_in=24)
@pytest.mark.parametrize(("site", "spout", "state"), _PLACES)
def test_every_record_counts_once_wherever_a_coordinator_dies(site, spout, state, chosen, workers):
    workers.play([case for case in cases_of(site, spout, state) if case in chosen])


OF_TASKS = {CrashPoint.AFTER_SHARES}
"""Where Spark's tasks send, and nothing runs on Spark here: `test_bulk_to_kafka` and `test_bulk_rows` die there."""


OF_DROPS = {CrashPoint.BEFORE_DROPPING, CrashPoint.AFTER_DROPPING}
"""The borders of one transaction of the ledger: `tests/coordinators/test_dropping.py` dies there."""
OF_RENAMES = {CrashPoint.BEFORE_RENAMING, CrashPoint.AFTER_RENAMING, CrashPoint.AFTER_FOLLOWING}
"""Of a person's command about names: `tests/coordinators/test_renaming.py` dies there, and is killed there by
`integration_tests/state/test_renaming.py`."""


OF_FORGETS = {
    CrashPoint.BEFORE_DECIDING_FORGET,
    CrashPoint.AFTER_DECIDING_FORGET,
    CrashPoint.IN_FORGETTING,
    CrashPoint.BETWEEN_FORGETTINGS,
    CrashPoint.AFTER_FORGETTING_TARGET,
    CrashPoint.AFTER_NOTING_TARGET,
    CrashPoint.AFTER_FORGETTING,
}
"""Nothing runs any more behind them: `tests/coordinators/test_forgetting.py` and those of PostgreSQL and Kafka do."""


OF_PARTS = {CrashPoint.AFTER_STAGING_KEPT}
"""Before the one transaction that takes some rows out, where an end refuses all here:
`tests/coordinators/test_diverting_refused.py` and `integration_tests/state/test_rows_that_refuse.py` die there."""


def test_every_point_there_is_has_its_cases():
    covered = {case.point for case in all_cases()}
    assert covered == frozenset(CrashPoint) - OF_TASKS - OF_DROPS - OF_FORGETS - OF_RENAMES - OF_PARTS


def test_what_is_drawn_leaves_no_border_out():
    whole, drawn = all_cases(), drawn_cases(base_seed())
    assert {(case.script, case.point) for case in drawn} == {(case.script, case.point) for case in whole}
    assert {(case.site, case.point) for case in drawn if case.script is Script.BATCH} == {
        (case.site, case.point) for case in whole if case.script is Script.BATCH
    }
    assert len(drawn) < len(whole) / 7
    assert drawn == drawn_cases(base_seed()) != drawn_cases(base_seed() + 1)
