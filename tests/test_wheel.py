"""What lands in a user's environment."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[PurePosixPath]:
    """Names in a wheel that was built from the source distribution, as an index's users get it."""
    folder = tmp_path_factory.mktemp("dist")
    return built(folder)


def built(folder: Path, *options: str) -> list[PurePosixPath]:
    words = [sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", str(folder), str(ROOT)]
    subprocess.run(words, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        return [PurePosixPath(name) for name in archive.namelist()]


def test_a_checkout_installs_as_the_source_distribution_does(wheel: list[PurePosixPath], tmp_path: Path) -> None:
    assert sorted(built(tmp_path, "--wheel")) == sorted(wheel)


def test_one_top_level_package(wheel: list[PurePosixPath]) -> None:
    top = {name.parts[0] for name in wheel if not name.parts[0].endswith(".dist-info")}
    assert top == {"trident"}


def test_the_five_packages_are_real_folders(wheel: list[PurePosixPath]) -> None:
    for package in ("trident", "trident/base", "trident/spouts", "trident/state", "trident/coordinators"):
        assert PurePosixPath(package, "__init__.py") in wheel


def test_types_and_data_come_along(wheel: list[PurePosixPath]) -> None:
    assert PurePosixPath("trident/py.typed") in wheel
    assert PurePosixPath("trident/executor/quiet-log4j2.properties") in wheel
    assert not [name for name in wheel if "__pycache__" in name.parts]
