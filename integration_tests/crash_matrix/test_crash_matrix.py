"""The crash matrix: a coordinator dies at every border there is, for real, and nothing is lost or doubled."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from integration_tests.conftest import Postgres
from integration_tests.crash_matrix.cases import STATE_KINDS, Case, Script, Site, all_cases, cases_of, drawn_cases
from integration_tests.crash_matrix.forking import Forker
from integration_tests.crash_matrix.lives import Life
from integration_tests.crash_matrix.places import Addresses
from integration_tests.crash_matrix.playing import play
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
def forkers(addresses: Any) -> Iterator[queue.SimpleQueue[Forker]]:
    free: queue.SimpleQueue[Forker] = queue.SimpleQueue()
    with ExitStack() as stack:
        for number in range(processes()):
            forker = stack.enter_context(Forker())
            for site in (Site.PER_KEY, Site.TWO_DATABASES):
                case = Case(
                    site, Script.BATCH, CrashPoint.AFTER_DONE, SpoutKind.OPAQUE, StateKind.OPAQUE, 1, other=False
                )
                forker.warm_up(Life(case, addresses, f"warm{number}"))
            free.put(forker)
        yield free


@pytest.mark.verify(short=True, one_in=3)
@pytest.mark.parametrize("state", STATE_KINDS)
@pytest.mark.parametrize("spout", SpoutKind)
@pytest.mark.parametrize("site", Site)
def test_every_record_counts_once_wherever_a_coordinator_dies(site, spout, state, chosen, addresses, forkers):
    def play_one(case: Case) -> list[str]:
        forker = forkers.get()
        try:
            return play(case, addresses, forker)
        finally:
            forkers.put(forker)

    cases = [case for case in cases_of(site, spout, state) if case in chosen]
    with ThreadPoolExecutor(processes()) as pool:
        problems = [problem for found in pool.map(play_one, cases) for problem in found]
    assert not problems, f"{len(problems)} problems in {len(cases)} cases:\n" + "\n".join(problems)


OF_SINKS = {
    CrashPoint.AFTER_SESSION,
    CrashPoint.AFTER_READING_MARKER,
    CrashPoint.BEFORE_MARKER,
    CrashPoint.BEFORE_END_OF_TRANSACTION,
    CrashPoint.AFTER_END_OF_TRANSACTION,
    CrashPoint.AFTER_SHARES,
    CrashPoint.AFTER_TRIM,
    CrashPoint.BETWEEN_BIRTHS,
}
"""The matrix has no sink yet: `SinkContract`, `test_outbox_lives` and `integration_tests/sinks` die at these."""


def test_every_point_there_is_has_its_cases():
    assert {case.point for case in all_cases()} == frozenset(CrashPoint) - OF_SINKS


def test_what_is_drawn_leaves_no_border_out():
    whole, drawn = all_cases(), drawn_cases(base_seed())
    assert {(case.script, case.point) for case in drawn} == {(case.script, case.point) for case in whole}
    assert {(case.site, case.point) for case in drawn if case.script is Script.BATCH} == {
        (case.site, case.point) for case in whole if case.script is Script.BATCH
    }
    assert len(drawn) < len(whole) / 8
    assert drawn == drawn_cases(base_seed()) != drawn_cases(base_seed() + 1)
