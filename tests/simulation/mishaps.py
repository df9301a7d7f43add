"""Faults that hit a coordinator, the topic or a whole server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tests.simulation.accounts import TOPOLOGY, LedgerAccount, StateAccount
from tests.simulation.actor import Coordinator
from tests.simulation.brokers import Logs
from tests.simulation.data import SINK
from tests.simulation.faults import Fault, FaultKind
from tests.simulation.sent import SinkAccount
from tests.simulation.sinking import SinkFaults, SinkMode
from trident.state.memory.database import MemoryTable

if TYPE_CHECKING:
    from tests.simulation.world import World

_TRIES = 40
_MOST_PARTITIONS = 5


class Backup(NamedTuple):
    """Everything that is durable at one moment, and the monitor's account of it."""

    tables: dict[str, dict[str, MemoryTable]]
    account: LedgerAccount
    states: dict[str, StateAccount]
    sink: SinkAccount
    logs: Logs
    """What is in the cluster of a sink; nothing where there is none."""


class Mishaps:
    """Lets the faults of the world happen; one that can't happen now is tried again a little later."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._of_sink = SinkFaults(world)
        self._wants_backups = any(
            fault.kind in (FaultKind.STATE_RESTORED, FaultKind.LEDGER_RESTORED, FaultKind.SINK_RESTORED)
            for fault in world.faults
        )
        self._backups: list[Backup] = []
        self._next_backup = 2
        self._swapped = False

    def keep_backup(self) -> None:
        """Take a backup now and then, of ledger and states at the same moment; none of which one is lost just then."""
        monitor = self._world.monitor
        if self._wants_backups and monitor.commits >= self._next_backup and not monitor.torn:
            self._next_backup += 5
            self._backups.append(self._take_backup())
            del self._backups[:-3]

    def happen(self, fault: Fault, tries: int = 0) -> None:
        """Let it happen, and count it if it did."""
        if self._happens(fault):
            self._world.count(fault.kind)
        elif tries < _TRIES and not self._world.sealed:
            self._world.at(7, self.happen, fault, tries + 1)

    def _happens(self, fault: Fault) -> bool:
        match fault.kind:
            case FaultKind.STATE_RESTORED | FaultKind.LEDGER_RESTORED | FaultKind.SINK_RESTORED:
                return self._restore_one(fault)
            case FaultKind.SINK_AWAY | FaultKind.SINK_HANGS | FaultKind.SINK_ID_EXPIRED:
                return self._of_sink.happens(fault)
            case FaultKind.STATE_EMPTIED | FaultKind.EMPTIED_IN_USE | FaultKind.OTHER_TOPOLOGY:
                return self._lose_one(fault)
            case FaultKind.STORES_SWAPPED:
                return self._swap()
            case FaultKind.STATE_ADDED | FaultKind.WRONG_VERSION | FaultKind.ROLLED_BACK:
                return self._deploy(fault)
            case FaultKind.RESET | FaultKind.RESET_CUT_OFF:
                return self._world.person.reset(fault.number, cut_off=fault.kind is FaultKind.RESET_CUT_OFF)
            case FaultKind.UNDO | FaultKind.UNDO_CUT_OFF:
                return self._world.person.undo(fault.number, cut_off=fault.kind is FaultKind.UNDO_CUT_OFF)
            case FaultKind.PARTITION_ADDED:
                return self._add_partition()
            case FaultKind.OFFSETS_LOST:
                return self._lose_offsets(fault.number)
        actor = self._target(fault.number)
        return actor is not None and self._hit(fault, actor)

    def _target(self, number: int) -> Coordinator | None:
        """Return a coordinator, mostly the one that runs the topology."""
        alive = [actor for actor in self._world.actors if actor is not None and actor.alive]
        running = [actor for actor in alive if actor.loop is not None]
        chosen = running or (alive if number % 4 == 0 else [])
        return chosen[number % len(chosen)] if chosen else None

    def _hit(self, fault: Fault, actor: Coordinator) -> bool:
        world = self._world
        match fault.kind:
            case FaultKind.CRASH:
                world.note(actor.name, "dies")
                actor.crash()
                world.restart(actor.number)
            case FaultKind.PAUSE:
                world.pause(actor, 40 + fault.number)
            case FaultKind.LEASE_EXPIRY:
                world.mute(actor, 300 + fault.number % 400)
            case FaultKind.ROLLING_STOP:
                actor.stop()
            case FaultKind.WITHDRAWN:
                return actor.withdraw()
        return True

    def _add_partition(self) -> bool:
        topic = self._world.topic
        if len(topic.stops) < _MOST_PARTITIONS:
            topic.stops.append(0)
            topic.earliest.append(0)
            return True
        return False

    def _lose_offsets(self, number: int) -> bool:
        """Let retention pass by records that no done txid has read."""
        topic = self._world.topic
        kept = [each for each in range(len(topic.stops)) if each not in self._world.outside_partitions]
        if not kept:
            return False  # what is received is lost with its process only
        partition = kept[number % len(kept)]
        covered = self._world.monitor.account.covered.get(partition, 0)
        topic.stops[partition] = max(topic.stops[partition], covered + 1 + number % 4)
        topic.earliest[partition] = max(covered + 1 + number % 3, topic.earliest[partition])
        topic.stops[partition] = max(topic.stops[partition], topic.earliest[partition])
        return True

    # backups

    def _take_backup(self) -> Backup:
        world, monitor = self._world, self._world.monitor
        tables = {name: database.backup() for name, database in world.databases.items()}
        logs = world.kafka.backup() if world.kafka is not None else {}
        return Backup(tables, monitor.account, dict(monitor.states), monitor.sink, logs)

    def _restore_one(self, fault: Fault) -> bool:
        """Put one store back to an old backup while nothing runs; not if that makes no difference."""
        world, monitor = self._world, self._world.monitor
        if not self._backups or world.person.is_healing or monitor.torn or monitor.account.entry is None:
            return False
        backup = self._backups[fault.number % len(self._backups)]
        now = self._take_backup()
        opened = {name: list(database.open_transactions) for name, database in world.databases.items()}
        home = "ledger"
        if fault.kind is FaultKind.LEDGER_RESTORED:
            world.databases[home].restore(backup.tables[home], lambda table: table.startswith("trident_"))
            monitor.account = backup.account
            self._put_back_outbox(backup)
        elif fault.kind is FaultKind.SINK_RESTORED:
            self._restore_sink(backup)
        else:
            home = "apart" if "apart" in world.databases and fault.number % 2 else home
            world.databases[home].restore(backup.tables[home], _is_of_states)
            for name in [name for name, database in world.homes.items() if database is world.databases[home]]:
                monitor.states[name] = backup.states[name]
        if monitor.is_consistent():  # also by what a version that the backup does not know may have done since
            self._put_back(now)
            for name, database in world.databases.items():
                database.open_transactions = opened[name]
            return False
        self._tear(backup)
        monitor.is_marker_apart = fault.kind is FaultKind.SINK_RESTORED and world.mode is SinkMode.OUTBOX
        return True

    def _lose_one(self, fault: Fault) -> bool:
        """Put an empty database, or another topology's, in the place of one with states that have something to lose."""
        world, monitor = self._world, self._world.monitor
        home = world.databases["apart" if "apart" in world.databases and fault.number % 2 else "ledger"]
        lost = [name for name, database in world.homes.items() if database is home]
        if not self._can_be_lost(lost):
            return False
        if fault.kind is FaultKind.EMPTIED_IN_USE and (home.open_transactions or self._target(1) is None):
            return False
        backup, positions = self._take_backup(), home.tables["state positions"]
        others: dict[object, object] = {
            ("another", name): positions[TOPOLOGY, name] for name in lost if (TOPOLOGY, name) in positions
        }
        home.restore({}, _is_of_states)
        if fault.kind is FaultKind.OTHER_TOPOLOGY:
            home.tables["state positions"] = others
        for name in lost:
            monitor.states[name] = StateAccount()
        if fault.kind is FaultKind.EMPTIED_IN_USE:
            self._tear_in_use(backup, lost)
        else:
            self._tear(backup, only_restored=fault.kind is FaultKind.OTHER_TOPOLOGY)
        return True

    def _swap(self) -> bool:
        """Let each of two databases be taken for the other one: no state finds anything of itself."""
        world, monitor = self._world, self._world.monitor
        if "apart" not in world.databases or self._swapped or not self._can_be_lost([*world.homes]):
            return False
        backup = self._take_backup()
        self._swapped = True
        for name, other in (("ledger", "apart"), ("apart", "ledger")):
            world.databases[name].restore(backup.tables[other], _is_of_states)
        monitor.states |= {name: StateAccount() for name in world.homes}
        self._tear(backup)
        return True

    def _can_be_lost(self, states: Sequence[str]) -> bool:
        """Tell whether the ledger knows of one of these states that something was done since its birth."""
        monitor = self._world.monitor
        entry = monitor.account.entry
        if self._world.person.is_healing or monitor.torn or entry is None or entry.reset is not None:
            return False
        lives = [monitor.states[birth.state].life for birth in entry.births if birth.state in states]
        return any(life is not None and life.birth < monitor.account.done for life in lives)

    def _deploy(self, fault: Fault) -> bool:
        """Stop one coordinator, which starts again with another version; a new one's start may follow at once."""
        world = self._world
        actor = self._target(fault.number)
        if actor is None or world.person.is_healing:
            return False
        if fault.kind is FaultKind.WRONG_VERSION and world.monitor.account.entry is None:
            return False  # before any is in force each would do
        match fault.kind:
            case FaultKind.STATE_ADDED:
                world.versions.deploy_new(actor.number)
            case FaultKind.WRONG_VERSION:
                world.note(world.versions.deploy_refused(actor.number, fault.number).what, "is deployed")
            case _:
                world.versions.go_back_everywhere()
                if not world.versions.must_be_new():
                    world.counts["a version was rolled back before it was registered"] += 1
        if fault.number % 3:
            actor.stop()
        else:  # with a txid pinned, as it may be
            actor.crash()
            world.restart(actor.number)
        return True

    def _tear_in_use(self, backup: Backup, lost: Sequence[str]) -> None:
        """Leave coordinators running that have looked before: they may go on as far as those states were."""
        world = self._world
        world.monitor.torn = True
        standings = [account.standing for name, account in backup.states.items() if name in lost]
        positions = [standing.position for standing in standings if standing is not None]
        world.monitor.held_when_torn = min(position.txid for position in positions if position is not None)
        world.person.keep_for_healing(backup)

    def _tear(self, backup: Backup, *, only_restored: bool = False) -> None:
        """End every coordinator: nothing may be written until ledger and states are put back to the same moment."""
        world = self._world
        world.era += 1
        for database in world.databases.values():
            database.open_transactions.clear()
        if world.kafka is not None:
            world.kafka.late.clear()  # what was on its way has got lost, as in the databases
        world.monitor.torn = True
        world.kill_all()
        world.person.keep_for_healing(backup, only_restored=only_restored)

    def restore_all(self, backup: Backup) -> None:
        """Put ledger, states and what was sent back to the same moment."""
        self._world.era += 1
        self._put_back(backup)
        monitor = self._world.monitor
        monitor.torn, monitor.held_when_torn, monitor.is_marker_apart = False, None, False

    def restore_databases(self, backup: Backup) -> None:
        """Put ledger and states back to the same moment: what was sent since is there, and who starts must see it."""
        monitor = self._world.monitor
        self._world.era += 1
        of_sink = monitor.states[SINK]
        self._put_back_databases(backup)
        if self._world.mode is SinkMode.DIRECT:
            monitor.states[SINK] = of_sink
        monitor.held_when_torn = None
        monitor.is_marker_apart = self._world.mode is SinkMode.OUTBOX
        if monitor.is_consistent():
            self.restore_all(backup)

    def _put_back(self, backup: Backup) -> None:
        self._put_back_databases(backup)
        if self._world.kafka is not None:
            self._restore_sink(backup)

    def _put_back_databases(self, backup: Backup) -> None:
        for name, database in self._world.databases.items():
            database.restore(backup.tables[name], lambda _: True)
        self._world.monitor.account = backup.account
        self._world.monitor.states = dict(backup.states)
        self._put_back_outbox(backup)

    def _put_back_outbox(self, backup: Backup) -> None:
        """What waits lies beside the ledger, and comes back with it."""
        monitor = self._world.monitor
        if self._world.mode is SinkMode.OUTBOX:
            monitor.states[SINK] = backup.states[SINK]
            monitor.sink = replace(monitor.sink, due=backup.sink.due, has_left_out=backup.sink.has_left_out)

    def _restore_sink(self, backup: Backup) -> None:
        assert self._world.kafka is not None
        self._world.kafka.restore(backup.logs)
        monitor = self._world.monitor
        if self._world.mode is SinkMode.OUTBOX:
            monitor.sink = replace(backup.sink, due=monitor.sink.due, has_left_out=monitor.sink.has_left_out)
        else:
            monitor.sink, monitor.states[SINK] = backup.sink, backup.states[SINK]


def _is_of_states(table: str) -> bool:
    return table.startswith("state ") and not table.startswith(f"state {SINK} ")
