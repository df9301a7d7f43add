"""A plugin of pytest that plants a bug for a whole run: which tests notice it?

It is there only for a call that names it, `-p tests.simulation.planting --planted NAME`, and then has to be told the
bug. The bug is in this process alone: tests that start others see it in none of those.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulation.planted import BUGS, PlantedBug


def _bug(name: str) -> PlantedBug:
    found = [bug for bug in BUGS if bug.name == name]
    if not found:
        raise pytest.UsageError(f"--planted {name!r}: no such bug in tests/simulation/planted.py")
    return found[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ask which bug."""
    parser.getgroup("planted").addoption("--planted", required=True, help="the name of the bug that is planted")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a name that no bug has."""
    _bug(config.option.planted)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say that this was not the product."""
    terminalreporter.line(f"PLANTED: {config.option.planted}")


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Run every test with the bug: what was imported and collected before is the product itself."""
    with _bug(session.config.option.planted).plant():
        return (yield)
