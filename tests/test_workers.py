"""What pytest's plugins do of each other: versions that do not fit would not say so.

What shares an expensive server stays on one worker, and what is not measured is not traced there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FILE = "import pytest\n@pytest.mark.parametrize('number', range(20))\ndef test_one(number): pass\n"
TRACED = """import os, sys, threading
import pytest
@pytest.mark.parametrize("number", range(3))
def test_one(number):
    found = []
    other = threading.Thread(target=lambda: found.append(sys.gettrace()))
    other.start()
    other.join()
    assert (found[0] is None) == (sys.gettrace() is None)
    print(number, sys.gettrace() is not None, file=open(os.environ["TRACED"], "a"))
"""


def test_the_tests_of_a_module_go_to_one_worker(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    (tmp_path / "conftest.py").write_text((root / "conftest.py").read_text())
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(FILE)
    words = ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder", "-v", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"\[(gw\d)\].* PASSED .*(test_[ab]\.py)", done.stdout)
    assert len(found) == 40, done.stdout[-2000:]
    assert len(set(found)) == 2


def test_what_is_not_measured_is_not_traced_by_a_worker(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    (tmp_path / "conftest.py").write_text((root / "conftest.py").read_text())
    (tmp_path / "test_cases.py").write_text(TRACED)
    words = ["-n", "1", "--cov", "--cov-report=", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=root,
        env={**os.environ, "COVERAGE_FILE": str(tmp_path / "coverage"), "TRACED": str(tmp_path / "traced")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "traced").read_text().split() == ["0", "True", "1", "False", "2", "False"]
