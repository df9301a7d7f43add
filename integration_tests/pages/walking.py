"""A page's blocks, carried out as they are printed: files are written, lines for a shell run, SQL is told to psql."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.pages.blocks import ROOT, Block, blocks_of
from tests.pages.shell import commands_in
from trident.cli.app import run
from trident.local.postgres import _INSTALLED, _packages

MARKERS: Final = "trident-markers"
NOT_RUN: Final = ("pip install", "python -m trident.local")
"""Lines that the tests go without: the library is there, and so are servers that they share."""
_FILE: Final = re.compile(r"`(\w+\.py)`")
_PATIENCE_S: Final = 240
_PROGRAMS: Final = (str(Path(sys.executable).parent), str(_packages() / _INSTALLED))


@dataclass
class Walk:
    """Somebody who does what a page says, in a folder of their own."""

    page: str
    folder: Path
    patch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    names: Mapping[str, str] = field(default_factory=dict)
    """What stands in the page, and what it is called here: of what a server has once for all of its databases."""
    asked: list[str] = field(default_factory=list)
    """What commands have asked; each was answered by yes."""
    printed: str = ""
    """What the last lines for a shell have printed."""
    complained: str = ""

    def __post_init__(self) -> None:
        """Begin in the folder; what commands leave in this process goes with the test."""
        self.patch.chdir(self.folder)
        self.patch.setenv("PYTHONPATH", str(ROOT))
        self.patch.setenv("PATH", os.pathsep.join([*_PROGRAMS, os.environ["PATH"]]))
        self.patch.setattr(sys, "path", list(sys.path))
        self.patch.setattr("typer.confirm", self._yes)
        self.patch.delitem(sys.modules, "payments", raising=False)

    def blocks(self, language: str) -> list[Block]:
        """Return the page's blocks of a language, in their order."""
        return [block for block in blocks_of(self.page) if block.language == language]

    def all_of_it(self) -> None:
        """Go through the whole page; what is printed below a block has to be what comes of it."""
        blocks = blocks_of(self.page)
        for block, below in itertools.zip_longest(blocks, blocks[1:]):
            came = self.do(block)
            if below is not None and below.language == "text" and block.language != "python":
                assert _lines(came) == _lines(below.text), f"{below} is not what {block} prints"

    def do(self, block: Block) -> str:
        """Carry out one block; returns what it prints. Of Python only files: they are written."""
        if block.language == "sh":
            return self.shell(block.text)
        if block.language == "sql":
            return self.sql(block.text)
        if block.language == "python":
            name = file_of(block)
            assert name is not None, f"{block}: the lines above do not say which file that is"
            (self.folder / name).write_text(self.named(block.text))
        return ""

    def named(self, text: str) -> str:
        """Return it with the names that there are here."""
        for name, here in self.names.items():
            text = text.replace(name, here)
        return text

    def shell(self, text: str, code: int = 0) -> str:
        """Run lines: where all are commands of ours in this process, whose Spark is up, else in a shell."""
        lines = [line for line in self.named(text).splitlines() if not line.startswith(NOT_RUN)]
        commands = list(commands_in("\n".join(lines)))
        if any(words[0] not in ("trident", "export") for words in commands):
            self.printed = self._in_a_shell("\n".join(lines))
            return self.printed
        self.printed = ""
        for words in commands:
            self._here(words, code)
        return self.printed

    def sql(self, text: str, dsn: str | None = None) -> str:
        """Run statements by psql, which stops at the first error; returns what it prints."""
        words = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn or os.environ["TRIDENT_LEDGER"]]
        done = subprocess.run(words, input=self.named(text), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def quotes(self, said: str) -> str:
        """Return what was said, after finding it among the messages that the page quotes."""
        wanted = [block.text.strip() for block in self.blocks("text")]
        patterns = (".*?".join(map(re.escape, self.named(text).split("…"))) for text in wanted)
        assert any(re.fullmatch(pattern, said.strip(), re.DOTALL) for pattern in patterns), said
        return said

    def _yes(self, question: str) -> bool:
        self.asked.append(question)
        return True

    def _here(self, words: Sequence[str], code: int) -> None:
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.patch.setenv(name, os.path.expandvars(value))
            return
        self.capsys.readouterr()
        ended = run(list(words[1:]))
        came = self.capsys.readouterr()
        self.printed += came.out
        self.complained = came.err
        assert ended == code, f"{words}: {came.out}{came.err}"

    def _in_a_shell(self, text: str) -> str:
        process = subprocess.Popen(
            ["bash", "-eu", "-c", text],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=_PATIENCE_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        assert process.returncode == 0, f"{text}: {out}{err}"
        return out


def file_of(block: Block) -> str | None:
    """Return the name of the file that a block is, as the lines above it say; the last one that they name."""
    above = (ROOT / block.page).read_text().splitlines()[: block.line - 2]
    while above and not above[-1]:
        above.pop()
    paragraph = list(itertools.takewhile(bool, reversed(above)))
    named = _FILE.findall(" ".join(reversed(paragraph)))
    return named[-1] if named else None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


@dataclass
class Topics:
    """Topics by the very names that pages print, for the length of a test: the cluster is shared by others."""

    servers: str
    made: list[str] = field(default_factory=list)

    def make(self, *names: str, partitions: int = 4) -> None:
        """Make topics; those that a test before had are gone by now."""
        with closing(KafkaAdminClient(bootstrap_servers=self.servers)) as admin:
            admin.create_topics([NewTopic(name, partitions, 1) for name in names])
        self.made += names

    def close(self) -> None:
        """Delete them, and the markers: a sink of another test's ledger would be refused there."""
        with ExitStack() as stack:
            admin = stack.enter_context(closing(KafkaAdminClient(bootstrap_servers=self.servers)))
            there = set(admin.list_topics())
            gone = [name for name in (*self.made, MARKERS) if name in there]
            if gone:
                admin.delete_topics(gone)
            while set(admin.list_topics()) & set(gone):
                pass
