"""Every command that a text gives is carried out by a scenario of `tests/cli/test_advice.py`; played in every run."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from tests.cli.test_advice import ELSEWHERE, SCENARIOS
from trident.base import advice

ROOT = Path(__file__).parents[1]


def test_no_advice_is_without_a_scenario() -> None:
    """New advice, or a new place that gives it, needs a scenario that carries it out."""
    used = Counter(name for path in product_files() for name in given_in(path))
    covered = Counter(says for made in SCENARIOS.values() for says in made) + Counter(ELSEWHERE)
    assert not used - covered, "advice that no scenario carries out"
    assert used.keys() == covered.keys(), "a scenario of advice that nobody gives"
    given = {says.split()[1] for says in used}
    assert given == {name for name in vars(advice) if name.isupper() and not name.startswith("_")}


def given_in(path: Path) -> list[str]:
    """Return the advice that a module gives, as often as it does."""
    tree = ast.parse(path.read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports if node.module == "trident.base.advice" for alias in node.names}
    used = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names]
    return [f"{path.relative_to(ROOT).as_posix()} {name}" for name in used]


def test_commands_are_written_in_one_place_only() -> None:
    command = re.compile(
        r"trident (reset|undo|retry|divert|reapply|drop|forget|evolve|activate|deactivate|rebalance|kill)\b"
        r"|--states|--ledger-lost"
    )
    for path in product_files():
        if path.name == "advice.py" or "cli" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        found = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert not [text for text in found if command.search(text)], path


def product_files() -> list[Path]:
    folders = ("base", "coordinators", "spouts", "state", "trident")
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py") if not _is_linked(path)]


def _is_linked(path: Path) -> bool:
    return any(parent.is_symlink() for parent in path.parents if ROOT in parent.parents)
