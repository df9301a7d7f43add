"""The mutants keep up with the product; whether tests notice them is what `make mutants` asks."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant, PatchError
from tests.mutants.run import ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.guard)
def test_a_mutant_changes_one_place_and_is_still_a_program(mutant: Mutant, tmp_path: Path) -> None:
    copy = tmp_path / mutant.file
    copy.parent.mkdir(parents=True)
    shutil.copyfile(ROOT / mutant.file, copy)
    before = mutant.apply(tmp_path)
    assert copy.read_text() != before
    ast.parse(copy.read_text())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.guard)
def test_the_tests_that_have_to_notice_are_there(mutant: Mutant) -> None:
    assert mutant.killers
    assert all((ROOT / killer.split("::")[0]).exists() for killer in mutant.killers)


def test_a_mutant_whose_text_is_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("x = 1\n")
    with pytest.raises(PatchError, match="found 0 times"):
        Mutant("a guard", "module.py", "y = 1", "y = 2", ()).apply(tmp_path)
