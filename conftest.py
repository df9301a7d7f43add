"""What every call of pytest can be told: how much is done, from which seed, and on which servers."""

from __future__ import annotations

import pytest

from tests.effort import Length, base_seed, choose, draw_base_seed, effort

VERIFY = "verify"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Know these options in every folder, so that PYTEST_ADDOPTS may hold them."""
    group = parser.getgroup("effort")
    lengths = [length.value for length in Length]
    group.addoption("--effort", choices=lengths, default=Length.TEST.value, help="short forms, or all long ones")
    group.addoption("--base-seed", type=int, help="draw from this seed as an earlier run did; fresh without it")
    group = parser.getgroup("servers")
    group.addoption("--kafka-bootstrap", help="host:port of a Kafka broker to use instead of a local one")
    group.addoption("--pg-dsn", help="address of a Postgres server where tests may make databases")
    group.addoption("--require-servers", action="store_true", help="fail where a server can't be had")


def pytest_configure(config: pytest.Config) -> None:
    """Choose before any test module is imported; the workers of pytest-xdist get the same seed."""
    if config.option.base_seed is None:
        config.option.base_seed = draw_base_seed()
    choose(Length(config.option.effort), config.option.base_seed)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what the run is for: `verify` is for the long forms, `test` for all that has no other form."""
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        (kept if _is_wanted(item) else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def _is_wanted(item: pytest.Item) -> bool:
    marker = item.get_closest_marker(VERIFY)
    if effort().length is Length.VERIFY:
        return marker is not None
    return marker is None or bool(marker.kwargs.get("short", False))


def pytest_report_header() -> list[str]:
    """Say what was drawn before anything can fail."""
    return [f"effort: {effort().length}, --base-seed {base_seed()}"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say after a failure how the same is drawn again."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.line(f"drawn with --effort {effort().length} --base-seed {base_seed()}")
