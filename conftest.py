"""What every call of pytest can be told: how much is done, from which seed, and on which servers."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.drawing import Turn, is_its_turn
from tests.effort import Length, base_seed, choose, draw_base_seed, effort

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

VERIFY = "verify"
DRAWN = "drawn"
_HANDED = "trident_base_seed"
_IS_MEASURED = pytest.StashKey[bool]()
_COSTLY = {"guarded_kafka", "kafka", "spark"}
_APART = "tests/simulation/"
_SEARCHES = (_APART, "integration_tests/crash_matrix/", "tests/state/test_lives.py")
_ORDER = ("integration_tests/crash_matrix/", _APART, "integration_tests/")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Know these options in every folder, so that PYTEST_ADDOPTS may hold them."""
    group = parser.getgroup("effort")
    lengths = [length.value for length in Length]
    group.addoption("--effort", choices=lengths, default=Length.TEST.value, help="short forms, or all long ones")
    group.addoption("--long-too", action="store_true", help="what has no short form as well, for a few named tests")
    group.addoption("--every-case", action="store_true", help="all cases of tests that the short form draws some of")
    group.addoption("--one-in", type=int, default=1, help="of how many tests one is played, drawn anew each time")
    group.addoption("--base-seed", type=int, help="draw from this seed as an earlier run did; fresh without it")
    group = parser.getgroup("servers")
    group.addoption("--kafka-bootstrap", help="host:port of a Kafka broker to use instead of a local one")
    group.addoption("--pg-dsn", help="address of a Postgres server where tests may make databases")
    group.addoption("--require-servers", action="store_true", help="fail where a server can't be had")


def pytest_configure(config: pytest.Config) -> None:
    """Choose before any test module is imported; the workers of pytest-xdist get the same seed."""
    handed: dict[str, int] = getattr(config, "workerinput", {})
    if config.option.base_seed is None:
        config.option.base_seed = handed[_HANDED] if _HANDED in handed else draw_base_seed()
    choose(Length(config.option.effort), config.option.base_seed)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Hand the seed to a worker of pytest-xdist, which gets the command line only."""
    node.workerinput[_HANDED] = node.config.option.base_seed


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Keep what the run is for, and deal it to the workers of pytest-xdist, if there are any.

    The groups are named before xdist asks for them, the order is made after pytest-randomly's. Neither the searches
    are measured nor more than the first case of each test: that would take half as long again, and cover what is
    covered anyway.
    """
    _keep_wanted(config, items)
    is_worker = hasattr(config, "workerinput")
    measured: set[str] = set()
    for item in items:
        test = _test_of(item)
        item.stash[_IS_MEASURED] = not item.nodeid.startswith(_SEARCHES) and test not in measured
        measured.add(test)
        if is_worker and (group := _group(item)):
            item.add_marker(pytest.mark.xdist_group(group))
    yield
    if is_worker:
        items.sort(key=_place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Take the tracer off for what is not measured; pytest-cov's own `no_cover` leaves it on in a worker."""
    if item.stash[_IS_MEASURED]:
        return (yield)
    of_this_thread, of_others = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(of_this_thread)
        threading.settrace(of_others)


def _group(item: pytest.Item) -> str | None:
    """Return what has to stay on one worker: Kafka and Spark are started once, a module's fixtures once.

    The searches of the simulation share nothing, and are long.
    """
    if _COSTLY.intersection(getattr(item, "fixturenames", ())):
        return "kafka and spark"
    return None if item.nodeid.startswith(_APART) else item.nodeid.partition("::")[0]


def _place(item: pytest.Item) -> int:
    """Return when it is dealt: what takes longest first, so that the workers end together."""
    if _COSTLY.intersection(getattr(item, "fixturenames", ())):
        return -1
    places = (number for number, folder in enumerate(_ORDER) if item.nodeid.startswith(folder))
    return next(places, len(_ORDER))


def _keep_wanted(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run is not for: `verify` is for the long forms, `test` for all that has no other form."""
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    cases = Counter(_test_of(item) for item in items)
    numbers: Counter[str] = Counter()
    every_case = config.option.every_case or any("::" in word for word in config.args)
    asked = config.option.one_in
    of_whole_suite = config.args_source is not pytest.Config.ArgsSource.ARGS and not config.option.keyword
    for item in items:
        test = _test_of(item)
        turn = Turn(test, numbers[test], cases[test])
        numbers[test] += 1
        is_drawn = every_case or is_its_turn(
            turn, effort().length, base_seed(), one_in=max(asked, _one_in(item)), by_folder=of_whole_suite
        )
        (kept if is_drawn and _is_wanted(item, config.option.long_too) else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def _is_wanted(item: pytest.Item, long_too: bool) -> bool:
    marker = item.get_closest_marker(VERIFY)
    if effort().length is Length.WHOLE and item.get_closest_marker(DRAWN) is not None:
        return True
    if effort().length is not Length.TEST:
        return marker is not None
    return marker is None or long_too or bool(marker.kwargs.get("short", False))


def _one_in(item: pytest.Item) -> int:
    marker = item.get_closest_marker(DRAWN) or item.get_closest_marker(VERIFY)
    return 1 if marker is None else int(marker.kwargs.get("one_in", 1))


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def pytest_report_header() -> list[str]:
    """Say what was drawn before anything can fail."""
    return [f"effort: {effort().length}, --base-seed {base_seed()}"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say after a failure how the same is drawn again."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.line(f"drawn with --effort {effort().length} --base-seed {base_seed()}")
