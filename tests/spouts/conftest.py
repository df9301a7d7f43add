"""Consumers that are made in the place of real ones."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

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
