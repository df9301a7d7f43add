"""The wheel as a user has it: in environments of its own, with the oldest and the newest Spark: `make wheel-trial`.

What is printed in README and docs is run there, and the pipelines of a first week, by the tests that run them here:
they lie beside the pages in a folder that has nothing of the library, so that what they import is what was installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from integration_tests.newest_spark import ROOT, SPARKS_WORD_ON_PANDAS, constraints

PLACE = ROOT / "build" / "wheel-trial"
COPIED = ("README.md", "docs", "examples", "tests", "integration_tests", "manual", "docker", "Makefile")
SETTINGS = ("conftest.py", "pyproject.toml", "constraints.txt", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md")
FROM_PYPI = ("pytest", "pytest-timeout", "pytest-randomly", "pytest-xdist", "hypothesis", "testcontainers", "grpcio")
TESTS = ("tests/pages", "integration_tests/pages", "integration_tests/pipelines")
ABOUT_THE_REPOSITORY = ("tests/pages/test_messages.py", "tests/pages/test_manual.py", "tests/pages/test_site.py")
"""What these hold the pages to lies beside them in the repository only."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One environment."""

    name: str
    constraints: str

    @property
    def folder(self) -> Path:
        """Where it is."""
        return PLACE / self.name

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "venv" / "bin" / "python"

    def install(self, wheel: Path) -> None:
        """Make it, with the wheel as a user installs it, and what runs tests."""
        print(f"{self.name}: installing {wheel.name} ...", flush=True)
        venv.create(self.folder / "venv", with_pip=True, clear=True)
        pinned = self.folder / "constraints.txt"
        pinned.write_text(self.constraints)
        pip = [str(self.python), "-m", "pip", "install", "--quiet", "--constraint", str(pinned)]
        subprocess.run([*pip, f"{wheel}[local,queues,metrics,docs]", *FROM_PYPI], check=True)

    def lay_out(self) -> Path:
        """Put pages and tests where nothing of the library is; returns the folder."""
        tree = self.folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir()
        for name in (*COPIED, *SETTINGS):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, tree / name)
        return tree

    def run(self, tree: Path, arguments: list[str]) -> int:
        """Run the tests there; returns pytest's exit code."""
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        said = subprocess.run(
            [self.python, "-c", "import trident, pyspark; print(trident.__file__, pyspark.__version__)"],
            cwd=tree,
            env=clean,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        assert Path(said[0]).is_relative_to(self.folder / "venv"), f"{said[0]} is not what was installed"
        print(f"{self.name}: PySpark {said[1]}", flush=True)
        left_out = [f"--deselect={each}" for each in ABOUT_THE_REPOSITORY]
        options = ["-q", "--every-case", *left_out, "-W", SPARKS_WORD_ON_PANDAS]
        chosen = arguments or [*TESTS]
        return subprocess.run([self.python, "-m", "pytest", *options, *chosen], cwd=tree, env=clean).returncode


def build() -> Path:
    """Return the wheel, built of this tree."""
    made = PLACE / "dist"
    shutil.rmtree(made, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(made)], cwd=ROOT, check=True
    )
    (wheel,) = made.glob("*.whl")
    return wheel


def main(arguments: list[str]) -> int:
    """Try the wheel in both; returns the first exit code that is not 0."""
    wheel = build()
    codes = []
    for trial in (Trial("oldest", (ROOT / "constraints.txt").read_text()), Trial("newest", constraints())):
        trial.install(wheel)
        codes.append(trial.run(trial.lay_out(), arguments))
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
