"""The kit for tests: its assertions are readable, and what chaos uses of it needs no pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

FAILING = """
import pytest
from tests.state.harnesses import DictMap, BackingHarness
from trident.testing import StateContract


class Forgetful(DictMap):
    def multi_put(self, items):
        super().multi_put([item for item in items if item[0] != ("bob",)])


class TestForgetful(StateContract):
    @pytest.fixture
    def harness(self):
        return BackingHarness(Forgetful())
"""


def test_a_contract_that_fails_says_what_it_found(tmp_path: Path) -> None:
    file = tmp_path / "test_forgetful.py"
    file.write_text(FAILING)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(file)]
    words += ["-k", "test_batches_add_up"]
    # this run's own options mean nothing outside of this project
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    found = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert found.returncode == 1, found.stdout
    assert "Left contains" in found.stdout or "Right contains" in found.stdout or "Differing items" in found.stdout


def test_the_proxy_and_the_replica_need_no_pytest() -> None:
    code = (
        "import sys, trident.testing.postgres_proxy, trident.testing.postgres_replica; print('pytest' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
