"""What a run of mutants prints, and by which tests it judges."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant
from tests.mutants.run import Verdict, failing, is_among, judge, plain_console, show

CONFTEST = """
def pytest_addoption(parser):
    for name in ("--every-case", "--long-too"):
        parser.addoption(name, action="store_true")
    for name in ("--base-seed", "--pg-dsn", "--effort"):
        parser.addoption(name)
"""
FILES = {
    "conftest.py": CONFTEST,
    "product.py": "limit = 1  # a guard\n",
    "tests/test_gone.py": "import a_package_that_is_not_here\n\n\ndef test_it():\n    pass\n",
    "tests/test_wrong.py": "def test_always():\n    raise AssertionError\n\n\ndef test_beside():\n    pass\n",
    "tests/test_right.py": "import product\n\n\ndef test_limit():\n    assert product.limit == 1\n",
}
KILLERS = ("tests/test_gone.py", "tests/test_wrong.py", "tests/test_right.py")


def test_a_tests_id_is_printed_as_it_is() -> None:
    """An id with `[/b]` was taken for the end of a style, and ended the run before its verdicts were shown."""
    printed = io.StringIO()
    mutant = Mutant("a [/guard] of :a:", "a/file.py", "x", "y", ("tests/test_a.py",))
    show([Verdict(mutant, "tests/test_a.py::test_a[/b:smile:]", 1.0)], plain_console(printed))
    assert "test_a[/b:smile:]" in printed.getvalue()
    assert "a [/guard] of :a:" in printed.getvalue()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A product of one line, with tests of which some fail whatever it is."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)  # the options of the run we are in are not known in there
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("killers", [KILLERS, KILLERS[:1], ("tests",)])
def test_what_fails_without_a_mutant_notices_none(tree: Path, killers: tuple[str, ...]) -> None:
    before = ["tests/test_gone.py::test_it", "tests/test_wrong.py::test_always", "tests/test_right.py::test_limit"]
    printed = io.StringIO()
    unsound = failing(before, [tree], "", plain_console(printed))
    assert unsound == {"tests/test_gone.py", "tests/test_wrong.py::test_always"}
    assert all(f"{test} fails without any mutant" in printed.getvalue() for test in unsound)
    harmless = Mutant("a remark", "product.py", "a guard", "another", killers)
    assert judge(harmless, tree, "", None, unsound).killer is None
    harmful = Mutant("a limit", "product.py", "limit = 1", "limit = 2", killers)
    found = judge(harmful, tree, "", None, unsound).killer
    assert found == (None if killers == KILLERS[:1] else "tests/test_right.py::test_limit")


def test_a_name_is_printed_up_to_its_first_dash() -> None:
    assert is_among({"tests/test_a.py::test_a[1"}, "tests/test_a.py::test_a[1 - 2]")
    assert is_among({"tests/test_a.py"}, "tests/test_a.py::test_a")
    assert not is_among({"tests/test_a.py::test_a"}, "tests/test_a.py::test_ab")
