"""The main job, the DSL and a kill on the newest Spark that is allowed: `make spark-newest`.

Everything else is tested on the oldest, which `constraints.txt` pins. An environment of its own is made
once, with the same versions of all other packages. Spark's Kafka connector can't be fetched for every
version, so its tests are left out; of the others none may be skipped.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".venv-newest"
PYTHON = ENVIRONMENT / "bin" / "python"
TESTS = (
    "tests/spouts",
    "tests/local",
    "integration_tests/dsl",
    "integration_tests/spouts",
    "integration_tests/test_main_job.py",
    "integration_tests/test_demo.py",  # kills the driver in mid-batch
)
ONE_IN = 4
"""Each run plays a quarter of them, which differs from time to time."""
SPARKS_WORD_ON_PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"


def constraints() -> str:
    """Return the pinned versions, with the newest Spark's in place of the oldest's."""
    newest = (ROOT / "constraints-newest.txt").read_text().splitlines()
    replaced = {_name(line) for line in newest}
    kept = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if _name(line) not in replaced]
    return "\n".join([*kept, *newest, ""])


def _name(line: str) -> str:
    return line.split("==")[0].lower()


def install() -> None:
    """Make the environment, unless it is there with just these versions."""
    wanted = constraints() + (ROOT / "pyproject.toml").read_text()
    stamp = ENVIRONMENT / ".installed"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"installing into {ENVIRONMENT.name} ...", flush=True)
    venv.create(ENVIRONMENT, with_pip=True)
    file = ENVIRONMENT / "constraints.txt"
    file.write_text(constraints())
    extras = f"{ROOT}[local,dev]"
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--editable", extras, "--constraint", str(file)]
    subprocess.run(command, check=True)
    stamp.write_text(wanted)


def main(arguments: list[str]) -> int:
    """Run the tests there, or what the arguments name; returns pytest's exit code."""
    install()
    chosen = arguments or ["--one-in", str(ONE_IN), *TESTS]
    options = ["-q", "--require-servers", "--long-too", "-m", "not connector", "-W", SPARKS_WORD_ON_PANDAS]
    options += ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder", "--durations", "20"]
    return subprocess.run([PYTHON, "-m", "pytest", *options, *chosen], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
