"""What shares an expensive server stays on one worker of pytest-xdist: versions that do not fit would not say so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

FILE = "import pytest\n@pytest.mark.parametrize('number', range(20))\ndef test_one(number): pass\n"


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
