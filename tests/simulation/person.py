"""The person who looks after the topology: judges how coordinators end, and carries out what the errors ask for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.simulation import scripts
from tests.simulation.accounts import ViolationError
from tests.simulation.actor import Coordinator
from tests.simulation.invariants import TOPOLOGY
from tests.simulation.jobs import Start
from tests.simulation.scripts import Progressed
from trident.base.errors import FatalError, FencedError, MismatchError, RefusedError
from trident.coordinators.records import Lease
from trident.coordinators.refusing import StoppedError
from trident.coordinators.resetting import Wanted
from trident.coordinators.takeover import LedgerBehindError
from trident.spouts.base import LostOffsets, SpoutKind

if TYPE_CHECKING:
    from tests.simulation.mishaps import Backup
    from tests.simulation.world import World

_STARTS = ("earliest", None, "latest", "earliest")


class Operator:
    """A reset as a process of its own; it may die after some calls."""

    state = None
    number = -1

    def __init__(self, person: Person, name: str, wanted: Wanted, calls: int | None) -> None:
        self.name = name
        self.alive = True
        self.epoch = None
        self._person = person
        self._wanted = wanted
        self._calls = calls

    def execute(self, job: Start) -> Progressed:
        around = self._person.world.around
        script = partial(
            scripts.reset,
            ledger=around.ledger,
            stores=around.stores,
            spec=around.spec,
            lease=Lease(self.name, around.options.lease),
            wanted=self._wanted,
        )
        return scripts.run_on(job.answers, script)

    def answered(self, job: Start, progressed: Progressed, failures: int) -> None:
        if progressed.finished is not None:
            self.alive = False
            self._person.reset_ended(self._wanted, progressed.finished.error)
        elif self._calls is not None and len(job.answers) >= self._calls:
            self.alive = False
            self._person.reset_cut_off()
        else:
            self._person.world.send(self, Start((*job.answers, progressed.answer)), 0)


class Person:
    """Decides what software must not decide."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.is_healing = False
        self._backup: Backup | None = None

    def keep_for_healing(self, backup: Backup) -> None:
        self._backup = backup

    def judge(self, actor: Coordinator, error: BaseException | None) -> None:
        """Raise ViolationError for an error that nothing explains; heal what needs a person."""
        if error is None or self._is_fenced(actor, error):
            return
        if type(error) in (MismatchError, LedgerBehindError):
            if not self.world.monitor.torn:
                raise ViolationError(f"{actor.name} ended with a mismatch that nobody made: {error}") from error
            self._heal_torn()
        elif type(error) in (FatalError, StoppedError):
            self._judge_fatal(actor, error)
        else:
            raise ViolationError(f"{actor.name} ended with {error!r}") from error

    def _is_fenced(self, actor: Coordinator, error: BaseException) -> bool:
        if not isinstance(error, FencedError):
            return False
        holding = self.world.databases["ledger"].tables["trident_fence"][TOPOLOGY]
        if holding.epoch == actor.epoch and not holding.released:
            raise ViolationError(f"{actor.name} was told that it is fenced, but nobody took over") from error
        return True

    def _judge_fatal(self, actor: Coordinator, error: FatalError) -> None:
        text = str(error)
        if isinstance(error.__cause__, RefusedError) or text.startswith("gave up") or " failed 6 times" in text:
            self.world.counts["stopped, run again"] += 1
        elif "are gone from the broker" in text or "can't be read again" in text:
            self._heal_lost()
        else:
            raise ViolationError(f"{actor.name} ended with {error!r}") from error

    def _heal_lost(self) -> None:
        world = self.world
        if not any(world.topic.earliest):
            raise ViolationError("a coordinator stopped for lost offsets, but none were lost")
        world.counts["stopped for lost offsets"] += 1
        if world.spout.kind is SpoutKind.OPAQUE and world.spout.on_lost_offsets is LostOffsets.STOP:
            world.spout.on_lost_offsets = LostOffsets.RESUME_AT_EARLIEST
        elif not self.is_healing:
            self._begin_reset(keep_rows=False, start="earliest", calls=None)

    def _heal_torn(self) -> None:
        """Restore everything to the same moment, or reset."""
        world, backup = self.world, self._backup
        world.counts["mismatch noticed"] += 1
        if self.is_healing:
            return
        if backup is not None and world.rng.random() < 0.5:
            world.note("*** the person restores ledger and states together")
            world.counts["healed by restoring together"] += 1
            world.kill_all()
            world.mishaps.restore_all(backup)
        else:
            world.counts["healed by a reset"] += 1
            self._begin_reset(keep_rows=world.rng.random() < 0.5, start="earliest", calls=None)

    def reset(self, number: int, *, cut_off: bool) -> bool:
        """Reset for no other reason than to do it; not while another reset is on its way."""
        if self.is_healing or self.world.monitor.torn or self.world.monitor.account.entry is None:
            return False
        self._begin_reset(number % 2 == 0, _STARTS[number // 2 % 4], 2 + number % 11 if cut_off else None)
        return True

    def _begin_reset(self, keep_rows: bool, start: str | None, calls: int | None) -> None:
        self.is_healing = True
        self.world.kill_all()
        self._ask(Wanted(self.world._draw_id(), keep_rows, start), calls)

    def _ask(self, wanted: Wanted, calls: int | None) -> None:
        operator = Operator(self, f"person.{wanted.incarnation}", wanted, calls)
        self.world.note(operator.name, "resets, keeping rows" if wanted.keep_rows else "resets, clearing rows")
        self.world.at(5, self.world.send, operator, Start(), 0)

    def reset_ended(self, wanted: Wanted, error: BaseException | None) -> None:
        """Go on with the coordinators, or do again what the error asks for."""
        world = self.world
        world.note("the reset ended:", repr(error))
        if error is None:
            world.counts["reset carried out"] += 1
            self._let_them_start()
        elif type(error) is MismatchError:
            if not world.monitor.torn:
                raise ViolationError(f"a reset ended with a mismatch that nobody made: {error}") from error
            world.at(50, self._ask, Wanted(world._draw_id(), False, wanted.start), None)
        else:
            world.at(50, self._ask, Wanted(world._draw_id(), wanted.keep_rows, wanted.start), None)

    def reset_cut_off(self) -> None:
        self.world.note("the reset dies in the middle")
        self._let_them_start()

    def _let_them_start(self) -> None:
        self.is_healing = False
        for number in range(len(self.world.actors)):
            self.world.restart(number)
