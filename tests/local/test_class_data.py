"""The file of Spark's classes: made once, whole or not at all, and only used where it is there."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pyspark
import pytest
from pyspark.errors import PySparkRuntimeError

from trident.base.errors import ConfigurationError
from trident.local import class_data as module
from trident.local import session
from trident.local.class_data import archive_of, make_class_data, sharing_options
from trident.local.jars import cache_folder


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIDENT_CACHE", str(tmp_path / "cache"))
    program = tmp_path / "jvm" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / "jvm" / "release").write_text('JAVA_VERSION="17.0.15"\n')
    return program


def trains(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(module, "training_command", lambda archive: [sys.executable, "-c", program, str(archive)])


WRITES = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text('classes')"


def left() -> list[str]:
    folder = cache_folder()
    return sorted(each.name for each in folder.iterdir() if each.suffix != ".lock") if folder.is_dir() else []


def test_without_a_file_the_jvm_gets_no_option(java: Path) -> None:
    assert sharing_options(java) == ""


def test_with_it_the_jvm_is_told_where_it_is_and_to_be_quiet(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trains(monkeypatch, WRITES)
    archive = make_class_data(java)
    assert archive.read_text() == "classes"
    options = sharing_options(java)
    assert f'"-XX:SharedArchiveFile={archive}"' in options
    assert "-Xshare:auto" in options
    assert "-XX:+VerifySharedSpaces" in options
    assert "-Xlog:cds=off" in options


def test_it_is_made_once(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trains(monkeypatch, WRITES)
    make_class_data(java)
    trains(monkeypatch, "raise SystemExit('made again')")
    make_class_data(java)


def test_several_at_once_make_it_once(java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = tmp_path / "notes"
    note = f"open({str(notes)!r}, 'a').write('x'); import time; time.sleep(0.2); "
    trains(monkeypatch, note + WRITES)
    threads = [threading.Thread(target=make_class_data, args=(java,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert notes.read_text() == "x"
    assert left() == [sharing_options(java).split('"')[1].rpartition("/")[2]]


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (WRITES + "; sys.exit('the JVM can not')", "the JVM can not"),
        ("pass", "exit code 0"),
    ],
)
def test_a_failure_is_told_and_leaves_nothing(
    java: Path, monkeypatch: pytest.MonkeyPatch, program: str, says: str
) -> None:
    trains(monkeypatch, program)
    with pytest.raises(ConfigurationError, match=f"could not be made .{says}.*Spark starts more slowly"):
        make_class_data(java)
    assert left() == []
    assert sharing_options(java) == ""


def test_a_folder_that_can_not_be_written_to_is_told(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file")
    trains(monkeypatch, WRITES)
    with pytest.raises(ConfigurationError, match="could not be made"):
        make_class_data(java)
    assert sharing_options(java) == ""


def test_another_java_or_another_pyspark_has_a_file_of_its_own(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trains(monkeypatch, WRITES)
    names = {make_class_data(java)}
    (java.parents[1] / "release").write_text('JAVA_VERSION="17.0.150"\n')
    assert archive_of(java) is None
    names.add(make_class_data(java))
    assert len(left()) == 1, "what was replaced has no use any more"
    monkeypatch.setattr(pyspark, "__version__", "4.9.9")
    assert archive_of(java) is None
    names.add(make_class_data(java))
    assert len(names) == 3


def test_jars_that_were_installed_anew_have_a_file_of_their_own(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM would pass the old one over without a word, for ever."""
    trains(monkeypatch, WRITES)
    jar = tmp_path / "pyspark" / "jars" / "spark.jar"
    jar.parent.mkdir(parents=True)
    jar.write_text("a jar")
    monkeypatch.setattr(pyspark, "__path__", [str(tmp_path / "pyspark")])
    first = make_class_data(java)
    os.utime(jar, ns=(1, 1))
    assert archive_of(java) is None
    assert make_class_data(java) != first
    assert len(left()) == 1


def test_one_that_was_cut_is_not_given_to_a_jvm(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trains(monkeypatch, WRITES)
    archive = make_class_data(java)
    archive.write_text("class")
    assert archive_of(java) is None
    assert sharing_options(java) == ""
    assert make_class_data(java).read_text() == "classes"


def test_what_a_killed_one_has_left_is_deleted(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trains(monkeypatch, WRITES)
    archive = make_class_data(java)
    archive.unlink()
    archive.with_name(f"{archive.name.rpartition('-')[0]}-1.partial").write_text("half")
    make_class_data(java)
    assert left() == [archive.name]


def test_a_file_that_keeps_spark_from_starting_is_named_and_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    given: list[str] = []

    def starting(_: str, java_options: str, **_more: object) -> str:
        given.append(java_options)
        if java_options:
            raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
        return "a session"

    monkeypatch.setattr(session, "started", starting)
    monkeypatch.setattr(module, "sharing_options", lambda _: "-XX:SharedArchiveFile=/cache/classes.jsa")
    assert str(session.local_session("any")) == "a session"
    assert given == ["-XX:SharedArchiveFile=/cache/classes.jsa", ""]
    (line,) = caplog.messages
    assert "/cache/classes.jsa" in line
    monkeypatch.setattr(session, "started", Mock(side_effect=PySparkRuntimeError("no Java")))
    monkeypatch.setattr(module, "sharing_options", lambda _: "")
    with pytest.raises(PySparkRuntimeError):
        session.local_session("any")
