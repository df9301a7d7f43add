"""What several tests of spouts are given: consumers in the place of real ones, a job over a folder of files."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.spouts.file_jobs import FileJob
from trident.spouts.kafka import consumers


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Mock]:
    """All consumers that are made."""
    found: list[Mock] = []

    def new(options: object, kind: object) -> Mock:
        found.append(Mock())
        return found[-1]

    monkeypatch.setattr(consumers, "_new", new)
    monkeypatch.setattr(consumers, "_idle", {})
    return found


@pytest.fixture
def job(tmp_path: Path) -> FileJob:
    """A topology that counts the lines of a folder's files in SQLite; nothing has run yet."""
    return FileJob(tmp_path)
