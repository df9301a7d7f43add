"""Topologies over real servers that need no Spark: only what they stand on is looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from trident import Topology
from trident.base.identity import Epoch, Owner
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.cli.app import run
from trident.coordinators.ledger import Ledger
from trident.coordinators.registered import Birth, Lease
from trident.engine.compiled import CompiledTopology
from trident.graph.nodes import End, PersistNode, SinkNode, SourceNode
from trident.spouts import OpaqueKafkaSpout
from trident.spouts.base import Spout
from trident.state import KafkaSink
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.target import State

MADE: dict[str, MadeTopology] = {}
"""What the module that the command imports finds its topology in."""
LAYOUT = StateLayout((KeyColumn("account", pa.string()),), (ValueColumn("n", pa.int64(), Merge.ADD),))


class MadeTopology(Topology):
    """Compiles to parts that are given."""

    def __init__(self, name: str, spouts: Mapping[str, Spout], ends: tuple[End, ...]) -> None:
        super().__init__(name)
        self._made = CompiledTopology(name, spouts, ends)

    def compile(self) -> CompiledTopology:
        return self._made


@dataclass
class Parts:
    """What a topology is made of."""

    name: str
    spouts: dict[str, Spout] = field(default_factory=dict)
    ends: list[End] = field(default_factory=list)

    def read(self, topic: str, servers: str, **more: Any) -> Parts:
        self.spouts["payments"] = OpaqueKafkaSpout(topic, bootstrap_servers=servers, **more)
        return self

    def send(self, topic: str, sink: KafkaSink) -> Parts:
        self.ends.append(SinkNode(sink, self._source(), {"topic": topic}))
        return self

    def keep(self, state: State) -> Parts:
        self.ends.append(PersistNode(state, LAYOUT, None, self._source()))  # type: ignore[arg-type]
        return self

    def made(self) -> MadeTopology:
        return MadeTopology(self.name, self.spouts, tuple(self.ends))

    def _source(self) -> SourceNode:
        spout = next(iter(self.spouts.values()), OpaqueKafkaSpout("none", bootstrap_servers="127.0.0.1:1"))
        return SourceNode("payments", spout)


def started(parts: Parts, ledger: Ledger, *, is_held: bool = False, registers: bool = True) -> Epoch:
    """Do what a first start does: register the topology, raise the fences, let states and sinks be born at 0."""
    compiled = parts.made().compile()
    ledger.open(DEFAULT_TIMEOUTS)
    epoch = ledger.acquire(parts.name, Lease("a coordinator", DEFAULT_TIMEOUTS.lease)).epoch
    snapshot = ledger.register(epoch, compiled.spec())
    owner = Owner(parts.name, snapshot.owner.incarnation)
    ledger.set_births(owner, epoch, [Birth(name, 0) for name in compiled.targets])
    for opens in compiled.targets.values():
        with closing(opens(ledger.database, DEFAULT_TIMEOUTS)) as target:
            target.prepare()
            target.raise_fence(owner, epoch)
            if registers:
                target.register(owner, epoch, 0)
    if not is_held:
        ledger.release(parts.name, epoch)
    return epoch


@dataclass
class Doctor:
    """The command, and what it has said."""

    folder: Path
    capsys: Any

    def asked(self, parts: Parts, ledger: str, *words: str) -> tuple[int, list[dict[str, str]]]:
        """Run the command; returns its exit code and what it found."""
        MADE["topology"] = parts.made()
        module = self.folder / "examined.py"
        module.write_text("from integration_tests.doctor.making import MADE\ntopology = MADE['topology']\n")
        self.capsys.readouterr()
        code = run(["doctor", f"{module}:topology", "--ledger", ledger, "--json", *words])
        said = self.capsys.readouterr()
        self.error = said.err
        print(self.error)  # pytest shows it where the test fails
        return code, [json.loads(line) for line in said.out.splitlines()]


def worst(found: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the problems."""
    return [each for each in found if each["level"] == "problem"]


def about(found: list[dict[str, str]], word: str) -> dict[str, str]:
    """Return the one finding about something."""
    (one,) = [each for each in found if each["about"].startswith(word)]
    return one
