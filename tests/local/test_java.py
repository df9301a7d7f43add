from __future__ import annotations

from pathlib import Path

import pytest

from trident.base.errors import ConfigurationError
from trident.local.java import find_java


def fake_java(folder: Path, text: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("version", ["17.0.15", "21", "24-ea"])
def test_java_home_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    program = fake_java(tmp_path, f'openjdk version "{version}" 2025-04-15')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == program


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "16"])
def test_an_old_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    fake_java(tmp_path, f'openjdk version "{version}" 2025-04-15')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"Java 17 or newer is needed and .* is version \d+: install it"):
        find_java()


def test_no_java_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="none was found: install it") as caught:
        find_java()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("version", "is_told"), [("17.0.15", False), ("11.0.22", True)])
def test_an_installation_that_says_its_version_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_told: bool
) -> None:
    program = fake_java(tmp_path, "it was asked")
    (tmp_path / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if is_told:
        with pytest.raises(ConfigurationError, match="is version 11: install it"):
            find_java()
    else:
        assert find_java() == program
