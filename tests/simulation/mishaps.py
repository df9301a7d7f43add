"""Faults that hit a coordinator, the topic or a whole server."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.simulation.accounts import LedgerAccount, StateAccount
from tests.simulation.actor import Coordinator
from tests.simulation.faults import Fault, FaultKind
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


class Mishaps:
    """Lets the faults of the world happen; one that can't happen now is tried again a little later."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._wants_backups = any(
            fault.kind in (FaultKind.STATE_RESTORED, FaultKind.LEDGER_RESTORED) for fault in world.faults
        )
        self._backups: list[Backup] = []
        self._next_backup = 2

    def keep_backup(self) -> None:
        """Take a backup now and then, of ledger and states at the same moment."""
        if self._wants_backups and self._world.monitor.commits >= self._next_backup:
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
            case FaultKind.STATE_RESTORED | FaultKind.LEDGER_RESTORED:
                return self._restore_one(fault)
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
        partition = number % len(topic.stops)
        covered = self._world.monitor.account.covered.get(partition, 0)
        topic.stops[partition] = max(topic.stops[partition], covered + 1 + number % 4)
        topic.earliest[partition] = max(covered + 1 + number % 3, topic.earliest[partition])
        topic.stops[partition] = max(topic.stops[partition], topic.earliest[partition])
        return True

    # backups

    def _take_backup(self) -> Backup:
        world, monitor = self._world, self._world.monitor
        tables = {name: database.backup() for name, database in world.databases.items()}
        return Backup(tables, monitor.account, dict(monitor.states))

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
        else:
            home = "apart" if "apart" in world.databases and fault.number % 2 else home
            world.databases[home].restore(backup.tables[home], lambda table: table.startswith("state "))
            for name in [name for name, database in world.homes.items() if database is world.databases[home]]:
                monitor.states[name] = backup.states[name]
        if monitor.is_consistent():
            self._put_back(now)
            for name, database in world.databases.items():
                database.open_transactions = opened[name]
            return False
        world.era += 1
        for database in world.databases.values():
            database.open_transactions.clear()
        monitor.torn = True
        world.kill_all()
        world.person.keep_for_healing(backup)
        return True

    def restore_all(self, backup: Backup) -> None:
        """Put ledger and states back to the same moment."""
        self._world.era += 1
        self._put_back(backup)
        self._world.monitor.torn = False

    def _put_back(self, backup: Backup) -> None:
        for name, database in self._world.databases.items():
            database.restore(backup.tables[name], lambda _: True)
        self._world.monitor.account = backup.account
        self._world.monitor.states = dict(backup.states)
