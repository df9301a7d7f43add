"""Versions of the topology that are deployed to single coordinators, while others run or wait with another one."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from tests.simulation.accounts import TOPOLOGY
from tests.simulation.data import LAYOUT, SPOUT, TopicProcessor
from tests.simulation.hosting import SimulatedTarget, Surroundings
from tests.simulation.stores import SimulatedDatabase, make_store
from trident.coordinators.registered import TopologySpec
from trident.state.layout import KeyColumn, StateKind, StateLayout
from trident.state.memory.place import LAYOUTS, rows_table

if TYPE_CHECKING:
    from tests.simulation.world import World

ADDED = "third"
"""The state that the newer version has."""
_FOREIGN = "foreign"
_OTHER = StateLayout((KeyColumn("other", pa.int64()),), LAYOUT.values)


class Version(NamedTuple):
    """What a coordinator is started with."""

    what: str
    around: Surroundings


class Versions:
    """Which version each coordinator is started with; one that is refused may leave no trace but in the lease."""

    def __init__(self, world: World, home: SimulatedDatabase | None, kind: StateKind) -> None:
        self._world = world
        self.old = Version("the first version", world.around)
        self.new = self.old if home is None else self._with_added(home, kind)
        self._good = [self.old] * len(world.actors)
        """The last version of each that was not refused."""
        self._now = list(self._good)

    def of(self, number: int) -> Version:
        return self._now[number]

    def for_person(self) -> Surroundings:
        """Return what a person's command is given: a version that is deployed somewhere.

        Whoever heals a ledger that has forgotten the newer version sees that its state is there.
        """
        if self.new is self.old:
            return self.old.around
        entry = self._world.monitor.account.entry
        if self.must_be_new() and (entry is None or ADDED not in entry.spec.states):
            return self.new.around
        return self._world.rng.choice(self._good).around

    def must_be_new(self) -> bool:
        """Tell whether the newer version was in force, by the ledger or by what there is of its state."""
        if self.new is self.old:
            return False
        monitor = self._world.monitor
        entry = monitor.account.entry
        return (entry is not None and ADDED in entry.spec.states) or monitor.states[ADDED].standing is not None

    # deployments

    def deploy_new(self, number: int) -> None:
        self._good[number] = self._now[number] = self.new

    def deploy_refused(self, number: int, drawn: int) -> Version:
        """Deploy something that the topology can't become; which it is follows from the drawn number."""
        version = self._now[number] = _REFUSED[drawn % len(_REFUSED)](self)
        return version

    def is_refused(self, around: Surroundings) -> bool:
        """Tell whether it is one that the topology can't become."""
        return around is not self.old.around and around is not self.new.around

    def roll_back(self, number: int, refused: Surroundings) -> bool:
        """Deploy what was there before a refused version, or what is in force; tells whether there is another."""
        if not self.is_refused(refused) and self.must_be_new():
            self._good[number] = self.new
        if self._now[number].around is refused:
            self._now[number] = self._good[number]
        return self._now[number].around is not refused

    def deploy_everywhere(self) -> None:
        """Deploy the newer version wherever none is that will be refused."""
        self._now = [self.new if now is self.old else now for now in self._now]
        self._good = [self.new] * len(self._good)

    def go_back_everywhere(self) -> None:
        """Deploy the first version again."""
        self._good = [self.old] * len(self._good)
        self._now = list(self._good)

    # what there is to deploy

    def _with_added(self, home: SimulatedDatabase, kind: StateKind) -> Version:
        world = self._world
        store = make_store(ADDED, kind, home, home is world.databases["ledger"], world._draw_id)
        around = self._changed({**self.old.around.stores, ADDED: store}, {ADDED: {"kind": str(kind)}})
        return Version("a version with a third state", around)

    def _changed(
        self,
        stores: Mapping[str, SimulatedTarget],
        added: Mapping[str, dict[str, str]],
        gone: str = "",
        stream: str = SPOUT,
    ) -> Surroundings:
        around = self.old.around
        states = {name: told for name, told in {**around.spec.states, **added}.items() if name != gone}
        spec = TopologySpec(
            TOPOLOGY,
            {stream if name == SPOUT else name: told for name, told in around.spec.spouts.items()},
            {name: dict(told) for name, told in states.items()},
        )
        kept = {name: stores[name] for name in states}
        return replace(around, spec=spec, stores=kept, processor=TopicProcessor([*kept], around.processor.in_turn))

    def _without_one(self) -> Version:
        new = self.new.around
        around = self._changed(new.stores, {ADDED: new.spec.states[ADDED]}, gone="second")
        return Version("a version without a state, and with a new one", around)

    def _renamed(self) -> Version:
        old = self.old.around
        home = self._world.homes["first"]
        store = make_store("renamed", StateKind.OPAQUE, home, home is self._world.databases["ledger"], lambda: "")
        around = self._changed({**old.stores, "renamed": store}, {"renamed": old.spec.states["first"]}, gone="first")
        return Version("a version with a state renamed", around)

    def _other_kind(self) -> Version:
        new = self.new.around
        told = {"first": {"kind": "another one"}, ADDED: new.spec.states[ADDED]}
        return Version("a version with a state of another kind", self._changed(new.stores, told))

    def _stream_renamed(self) -> Version:
        new = self.new.around
        around = self._changed(new.stores, {ADDED: new.spec.states[ADDED]}, stream="renamed")
        return Version("a version with a stream renamed", around)

    def _on_foreign_rows(self) -> Version:
        """Its description only adds; that the new state's table holds something else is seen where it lives."""
        world = self._world
        elsewhere = SimulatedDatabase("elsewhere", world.call, lambda *_: None)
        elsewhere.tables[LAYOUTS] = {_FOREIGN: _OTHER}
        elsewhere.tables[rows_table(_FOREIGN)] = {(1,): (1, 1)}
        store = make_store(_FOREIGN, StateKind.OPAQUE, elsewhere, False, lambda: "")
        basis = self.new.around if self.must_be_new() else self.old.around
        around = self._changed({**basis.stores, _FOREIGN: store}, {**basis.spec.states, _FOREIGN: {"kind": "opaque"}})
        return Version("a version with a new state whose table is not its own", around)


_REFUSED = (
    Versions._without_one,
    Versions._renamed,
    Versions._other_kind,
    Versions._stream_renamed,
    Versions._on_foreign_rows,
    Versions._on_foreign_rows,
)


def draw_home(seed: int, databases: Mapping[str, SimulatedDatabase]) -> tuple[SimulatedDatabase, StateKind]:
    """Return where the added state lives, which decides nothing of what else is drawn with the seed."""
    rng = random.Random(seed ^ 0x5EED)
    return databases[rng.choice(sorted(databases))], rng.choice(list(StateKind))
