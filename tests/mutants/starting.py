"""The mutants of a quick start: what keeps a warm-up without effect, and a JVM from a file that is not whole."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_WARMING: Final = ("tests/dsl/test_warming.py",)
_CLASS_DATA: Final = ("tests/local/test_class_data.py",)

STARTING: Final = (
    Mutant(
        "what warms up is no record",
        "trident/engine/warm_tasks.py",
        "if field.name == CONTROL else",
        "if False else",
        _WARMING,
    ),
    Mutant(
        "a warm-up ends with its run",
        "trident/engine/warming.py",
        "        self._cancel_within(_LONGEST_END_S)\n",
        "",
        _WARMING,
    ),
    Mutant(
        "a warm-up never holds a run up for good",
        "trident/engine/warming.py",
        "self._done.done() and time.monotonic() < deadline:\n",
        "self._done.done() and time.monotonic() < deadline + 3600:\n",
        _WARMING,
    ),
    Mutant(
        "a JVM is given no file of classes that was cut",
        "trident/local/class_data.py",
        "if each.name == _whole(beginning, each).name",
        "if each.name",
        _CLASS_DATA,
    ),
    Mutant(
        "a file of classes counts once its JVM has ended well",
        "trident/local/class_data.py",
        "if answer.returncode != 0 or not partial.is_file():",
        "if not partial.is_file():",
        _CLASS_DATA,
    ),
    Mutant(
        "a warm-up gives the cores back once a run has taken over",
        "trident/engine/warming.py",
        "        self._cancel_within(_LONGEST_HOLD_S)\n",
        "",
        ("integration_tests/dsl/test_warming.py::test_what_it_has_begun_ends_when_it_is_enough",),
    ),
)
