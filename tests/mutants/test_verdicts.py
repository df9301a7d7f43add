"""What a run of mutants prints."""

from __future__ import annotations

import io

from tests.mutants.mutant import Mutant
from tests.mutants.run import Verdict, plain_console, show


def test_a_tests_id_is_printed_as_it_is() -> None:
    """An id with `[/b]` was taken for the end of a style, and ended the run before its verdicts were shown."""
    printed = io.StringIO()
    mutant = Mutant("a [/guard] of :a:", "a/file.py", "x", "y", ("tests/test_a.py",))
    show([Verdict(mutant, "tests/test_a.py::test_a[/b:smile:]", 1.0)], plain_console(printed))
    assert "test_a[/b:smile:]" in printed.getvalue()
    assert "a [/guard] of :a:" in printed.getvalue()
