"""Drawn lives of a folder that topologies read while its files are replaced: no line is counted twice or left out."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.effort import base_seed, effort
from trident.base.errors import FatalError, RetryableError
from trident.base.logs import unproven
from trident.base.ranges import OffsetRange, PartitionId
from trident.spouts import FileSpout
from trident.spouts.files import folder as looking
from trident.spouts.files.lines import lines_of
from trident.spouts.files.places import FileSlice
from trident.spouts.files.source import FileSource
from trident.spouts.files.task import opened

Ranges = dict[PartitionId, OffsetRange]


class ReplacedError(Exception):
    """Another coordinator has taken the topology over."""


@dataclass
class World:
    """The files as they are, each under a version that no other one has."""

    folder: Path
    draw: random.Random
    files: dict[str, int] = field(default_factory=dict)
    version: int = 0
    is_quiet: bool = False

    def put(self, name: str) -> None:
        """Put a file there, in the place of what has its name."""
        self.version += 1
        text = "".join(f"{name}.{self.version}.{number}\n" for number in range(self.draw.randrange(1, 6)))
        (self.folder / ".made").write_text(text)
        os.utime(self.folder / ".made", (self.version, self.version))
        (self.folder / ".made").rename(self.folder / name)
        self.files[name] = self.version

    def happen(self) -> None:
        """Let something happen to the folder, or nothing."""
        if self.is_quiet:
            return
        names = sorted(self.files)
        match self.draw.randrange(10):
            case 0 | 1:
                self.put(f"{self.draw.choice('abcdef')}{self.draw.randrange(9)}")
            case 2 | 3 if names:
                self.put(self.draw.choice(names))


@dataclass
class Reader:
    """A topology's own account of what it has read, kept as plans and pins keep it."""

    world: World
    partitions: int
    decided: Ranges | None = None
    planned: Ranges | None = None
    """The last attempt at the txid behind what is decided."""
    lines: Counter[str] = field(default_factory=Counter)
    parts: dict[str, set[int]] = field(default_factory=dict)
    """Of each file what versions something is decided of."""
    source: FileSource | None = None
    takes_all: bool = False
    late: FileSource | None = None
    """One of a coordinator that took over, stood still before its first look, and was replaced."""

    def open(self) -> FileSource:
        return FileSpout(self.world.folder, "n bigint", format="json", partitions=self.partitions).open("s")

    def start(self) -> FileSource:
        """Take over: what is decided is known, what was planned behind it is dropped."""
        source = self.source = self.open()
        if self.decided is None:
            self.decided = {
                item.id: OffsetRange(item.id, item.topic_id, item.earliest, item.earliest, item.epoch)
                for item in source.starts()
            }
        return source

    def step(self) -> bool:
        """Plan, read and decide one batch, as far as it gets; returns whether there was anything."""
        source = self.source or self.start()
        plan = self.plan(source)
        self.world.happen()
        if not any(item.width for item in plan.values()):
            return False
        self.planned = plan
        found, parts = self.read(source, plan)
        self.world.happen()
        source.verify([item for item in plan.values() if item.width])
        self.world.happen()
        if self.world.draw.randrange(5) == 0:
            raise ReplacedError
        self.decided, self.planned = plan, None
        self.lines.update(found)
        for name, version in parts:
            self.parts.setdefault(name, set()).add(version)
        return True

    def plan(self, source: FileSource) -> Ranges:
        assert self.decided is not None
        source.follow(self.decided)
        bounds = {item.id: item for item in source.bounds()}
        repeated = self.planned or {}
        assert source.recognize(unproven([*self.decided.values(), *repeated.values()], bounds)) == ()
        plan = {}
        for id_, known in self.decided.items():
            left = bounds[id_].stop - known.stop
            stop = known.stop + (left if self.takes_all else self.world.draw.randrange(left + 1))
            if repeated:
                stop = repeated[id_].stop
            plan[id_] = replace(known, start=known.stop, stop=stop, epoch=source.proof(id_, stop))
        return plan

    def read(self, source: FileSource, plan: Ranges) -> tuple[list[str], list[tuple[str, int]]]:
        found: list[str] = []
        parts: list[tuple[str, int]] = []
        for item in plan.values():
            for part in source._logs[item.id.partition].slices(item.start, item.stop):
                found += self.read_part(part)
                parts.append((part.file.name, part.file.modified // 10**9))
        return found, parts

    def read_part(self, part: FileSlice) -> list[str]:
        with opened(self.world.folder, part) as file:
            return [value.decode() for some in lines_of(file, part) for value in some.values]

    def go_on(self) -> None:
        """Do something: most of all a batch, whatever becomes of it."""
        try:
            match self.world.draw.randrange(8):
                case 0:
                    self.source = None
                case 1 if self.decided is not None:
                    self.late = self.open()
                    self.late.follow(self.decided)
                case 2 if self.late is not None:
                    self.late.bounds()
                case _:
                    self.step()
        except (FatalError, RetryableError, ReplacedError):
            self.source = None

    def finish(self) -> bool:
        """Read all that is there; returns whether it could."""
        self.source, self.takes_all, said = None, True, "it never ends"
        for _ in range(1_000):
            try:
                if not self.step():
                    return True
            except ReplacedError:
                self.source = None
            except FatalError as error:
                said = str(error)
                break
        assert "to count" in said, "a stop that a person can't end"
        return False


def test_no_life_counts_a_line_twice_or_leaves_one_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as one of the things that it was, the last one where nothing was decided before it came."""
    monkeypatch.setattr(looking, "_LOOK_SECONDS", 0.0)
    met: Counter[bool] = Counter()
    for seed in range(base_seed(), base_seed() + effort().folder_lives):
        (tmp_path / str(seed)).mkdir()
        met.update(live(World(tmp_path / str(seed), random.Random(seed))))
    assert met.keys() == {True, False}, "some are stopped, since a file of which something was done has changed"


def live(world: World) -> list[bool]:
    """Live through one life; returns of each topology whether it could read all in the end."""
    draw = world.draw
    readers = [Reader(world, draw.randrange(1, 4)) for _ in range(draw.randrange(1, 3))]
    for _ in range(draw.randrange(5, 40)):
        world.happen()
        draw.choice(readers).go_on()
        for reader in readers:
            check(reader)
    world.is_quiet = True
    whole = [line for name in world.files for line in (world.folder / name).read_text().splitlines()]
    found = []
    for reader in readers:
        found.append(reader.finish())
        check(reader)
        stale = {name for name, versions in reader.parts.items() if world.files[name] not in versions}
        assert found[-1] == (not stale), f"seed of the life: {world.folder.name}"
        assert stale or sorted(reader.lines) == sorted(whole), f"seed of the life: {world.folder.name}"
    return found


def check(reader: Reader) -> None:
    """Look at what holds at every moment."""
    assert all(count == 1 for count in reader.lines.values()), "a line counts twice"
    assert all(len(versions) == 1 for versions in reader.parts.values()), "a file counts as two things"
