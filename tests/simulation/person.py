"""The person who looks after the topology: judges how coordinators end, and carries out what the errors ask for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tests.simulation import scripts
from tests.simulation.accounts import TOPOLOGY, ViolationError
from tests.simulation.actor import Coordinator
from tests.simulation.data import SINK
from tests.simulation.operating import Cut, Operator
from tests.simulation.scripts import Tape
from trident.base.errors import DecisionNeededError, FatalError, FencedError, MismatchError, RefusedError
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.wanted import WantedDecision, WantedReset
from trident.coordinators.holding.at_rest import KilledError
from trident.coordinators.holding.fencing import LedgerBehindError
from trident.coordinators.ledger.memory.rows import Entry
from trident.coordinators.registered import Lease
from trident.spouts.base import LostOffsets, SpoutKind
from trident.state.capabilities import CannotUndoError

if TYPE_CHECKING:
    from tests.simulation.mishaps import Backup
    from tests.simulation.world import World

_STARTS = ("earliest", None, "latest", "earliest")
_AGAIN_MS = 50


class Person:
    """Decides what software must not decide."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.is_healing = False
        self._backup: Backup | None = None
        self._only_restored = False
        """Nothing can be reset: what is there is somebody else's."""

    def keep_for_healing(self, backup: Backup, *, only_restored: bool = False) -> None:
        self._backup, self._only_restored = backup, only_restored

    def judge(self, actor: Coordinator, error: BaseException | None) -> None:
        """Raise ViolationError for an error that nothing explains; heal what needs a person."""
        if error is None or self._is_fenced(actor, error):
            return
        if isinstance(error, KilledError):
            self._judge_killed(actor, error)
            return
        if isinstance(error, MismatchError):
            if self._roll_back(actor, error):
                return
            if not self.world.monitor.torn:
                raise ViolationError(f"{actor.name} ended with a mismatch that nobody made: {error}") from error
            self._heal_torn()
        elif type(error) is DecisionNeededError:
            self._decide_refused()
        elif type(error) is RefusedError and "is done, and what it has" in str(error):
            self._mend_or_take_out(error)
        elif type(error) in (FatalError, StoppedError):
            self._judge_fatal(actor, error)
        else:
            raise ViolationError(f"{actor.name} ended with {error!r}") from error

    def _mend_or_take_out(self, error: BaseException) -> None:
        """Records of a done txid were refused: another start may do, or they are taken out."""
        world = self.world
        world.counts["what is done was refused by its topic"] += 1
        found = re.search(r"Txid (\d+) is done", str(error))
        assert found is not None
        if self._is_busy() or world.rng.random() < 0.4:
            return
        self._stop_all()
        self._ask(WantedDecision(DecisionKind.DIVERT, int(found[1]), SINK), None)

    def _roll_back(self, actor: Coordinator, error: BaseException) -> bool:
        """Deploy again what was there before a version that the topology refuses; tells whether that was it."""
        versions, text = self.world.versions, str(error)
        is_old = not versions.is_refused(actor.around)
        if is_old and "is not the one in the ledger" not in text:
            return False
        if not versions.roll_back(actor.number, actor.around):
            raise ViolationError(f"{actor.name} was refused with the version in force: {error}") from error
        self.world.counts["an older version was refused" if is_old else "a refused version was rolled back"] += 1
        return True

    def _judge_killed(self, actor: Coordinator, error: BaseException) -> None:
        """A start that found it killed; it may be active again by now."""
        self.world.counts["a start found it killed"] += 1
        if not any(each.kept.kind == "kill" and each.kept.verdict for each in self._entry.commands):
            raise ViolationError(f"{actor.name} was told that it is killed, which nobody asked for") from error

    def _is_fenced(self, actor: Coordinator, error: BaseException) -> bool:
        if not isinstance(error, FencedError):
            return False
        holding = self.world.monitor.tables["trident_fence"][TOPOLOGY]
        if holding.epoch == actor.epoch and not holding.released:
            raise ViolationError(f"{actor.name} was told that it is fenced, but nobody took over") from error
        return True

    def _judge_fatal(self, actor: Coordinator, error: BaseException) -> None:
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
        stopping = [each for each in world.spouts.values() if each.on_lost_offsets is LostOffsets.STOP]
        if all(each.kind is SpoutKind.OPAQUE for each in stopping) and stopping:
            for each in stopping:
                each.on_lost_offsets = LostOffsets.RESUME_AT_EARLIEST
        elif not self.is_healing:
            self._begin_reset(keep_rows=False, start="earliest", cut=None)

    def _heal_torn(self) -> None:
        """Restore everything to the same moment, or reset."""
        world, backup = self.world, self._backup
        world.counts["mismatch noticed"] += 1
        if self.is_healing:
            return
        if world.monitor.held_when_torn is not None:
            world.counts["a lost state was noticed in mid-run"] += 1
        if backup is not None and (self._only_restored or world.rng.random() < 0.5):
            world.note("*** the person restores ledger and states together")
            what = "healed by correcting an address" if self._only_restored else "healed by restoring together"
            world.kill_all()
            if world.kafka is not None and not self._only_restored and world.rng.random() < 0.5:
                what = "restored without what was sent since"
                world.mishaps.restore_databases(backup)
            else:
                world.mishaps.restore_all(backup)
            world.counts[what] += 1
        else:
            world.counts["healed by a reset"] += 1
            self._begin_reset(keep_rows=world.rng.random() < 0.5, start="earliest", cut=None)

    # resets

    def reset(self, number: int, *, cut_off: bool) -> bool:
        """Reset for no other reason than to do it; not while another decision is on its way."""
        if self._is_busy():
            return False
        self._begin_reset(number % 2 == 0, _STARTS[number // 2 % 4], _cut(number) if cut_off else None)
        return True

    def _is_busy(self) -> bool:
        monitor = self.world.monitor
        return self.is_healing or monitor.torn or monitor.account.entry is None

    def _begin_reset(self, keep_rows: bool, start: str | None, cut: Cut | None) -> None:
        self._stop_all()
        self._ask_reset(keep_rows, start, cut)

    def _ask_reset(self, keep_rows: bool, start: str | None, cut: Cut | None) -> None:
        wanted = WantedReset(self.world._draw_id(), keep_rows, start, ledger_lost=self.world.monitor.torn)
        self.world.note("the person resets,", "keeping rows" if keep_rows else "clearing rows")
        self._send(partial(scripts.reset, wanted=wanted), cut, partial(self._reset_ended, wanted, cut))

    def _reset_ended(self, wanted: WantedReset, cut: Cut | None, error: BaseException | None) -> None:
        """Go on with the coordinators, or do again what the error asks for."""
        world = self.world
        world.note("the reset ended:", repr(error))
        if error is None:
            world.counts["reset carried out"] += 1
            self._let_them_start()
            return
        if type(error) is DecisionNeededError:  # the rows can't be kept while nobody knows what belongs to them
            self._let_them_start()
            self._decide_refused()
            return
        if self._was_older(error):
            world.at(_AGAIN_MS, self._ask_reset, wanted.keep_rows, wanted.start, cut)
            return
        if _disagrees(error) and not world.monitor.torn:
            raise ViolationError(f"a reset ended with a mismatch that nobody made: {error}") from error
        keep_rows = wanted.keep_rows and not _disagrees(error)
        world.at(_AGAIN_MS, self._ask_reset, keep_rows, wanted.start, cut)

    # decisions about a txid

    def undo(self, number: int, *, cut_off: bool) -> bool:
        """Undo a txid for no other reason than to do it; only one that is pinned can be."""
        if self._is_busy() or self._entry.pin is None:
            return False
        self._stop_all()
        self._ask(WantedDecision(DecisionKind.UNDO, self._entry.pin.txid), _cut(number) if cut_off else None)
        return True

    def _decide_refused(self) -> None:
        """Choose one of the ways that the error names."""
        world, refusal = self.world, self._entry.open_refusal()
        world.counts["a refusal waited for a person"] += 1
        if self.is_healing or refusal is None:
            return
        pin, choose = self._entry.pin, world.rng.choice
        kinds = [DecisionKind.RETRY, DecisionKind.DIVERT]
        if pin is not None and pin.txid == refusal.txid:
            kinds.append(DecisionKind.UNDO)
        kind = choose(kinds)
        state = refusal.state or choose(sorted(world.homes if world.versions.must_be_new() else world.around.stores))
        self._stop_all()
        wanted = WantedDecision(kind, refusal.txid, state if kind is DecisionKind.DIVERT else "")
        self._ask(wanted, _cut(int(world.rng.random() * 1000)) if world.rng.random() < 0.6 else None)

    @property
    def _entry(self) -> Entry:
        entry = self.world.monitor.account.entry
        assert entry is not None
        return entry

    def _ask(self, wanted: WantedDecision, cut: Cut | None) -> None:
        self.world.note("the person decides:", wanted.kind, "of txid", wanted.txid, wanted.state)
        self._send(partial(scripts.decide, wanted=wanted), cut, partial(self._decision_ended, wanted, cut))

    def _decision_ended(self, wanted: WantedDecision, cut: Cut | None, error: BaseException | None) -> None:
        world = self.world
        world.note(f"the {wanted.kind} ended:", repr(error))
        if error is None:
            world.counts[f"{wanted.kind} carried out"] += 1
            takes_out = wanted.state == SINK and wanted.txid <= world.monitor.account.done
            world.counts["what waited in an outbox was taken out"] += takes_out
        elif type(error) is CannotUndoError:
            world.counts["an undo was not possible"] += 1
            if self._is_refused(wanted.txid):
                world.at(_AGAIN_MS, self._ask, WantedDecision(DecisionKind.RETRY, wanted.txid), None)
                return
        elif self._was_older(error):
            world.at(_AGAIN_MS, self._ask, wanted, cut)
            return
        elif _disagrees(error) and world.monitor.torn:
            world.counts["a decision met a lost state"] += 1  # who starts next finds it too, and has it healed
        elif _disagrees(error):
            if self._is_possible(wanted):
                raise ViolationError(f"the {wanted.kind} ended with a mismatch that nobody made: {error}") from error
            world.counts["too late for a decision"] += 1
        else:
            world.at(_AGAIN_MS, self._ask, wanted, cut)
            return
        self._let_them_start()

    def _was_older(self, error: BaseException) -> bool:
        """Tell whether the command came with an older version than the one in force, and is given again."""
        if "is not the one in the ledger" not in str(error) or not self.world.versions.must_be_new():
            return False
        self.world.counts["a person's older version was refused"] += 1
        self.world.versions.deploy_everywhere()
        return True

    def _is_possible(self, wanted: WantedDecision) -> bool:
        pin = self._entry.pin
        if wanted.kind is DecisionKind.UNDO:
            return pin is not None and pin.txid == wanted.txid
        return self._is_refused(wanted.txid)

    def _is_refused(self, txid: int) -> bool:
        refusal = self._entry.open_refusal()
        return refusal is not None and refusal.txid == txid

    # how it is done

    def _stop_all(self) -> None:
        self.is_healing = True
        self.world.kill_all()

    def _send(
        self, script: Callable[..., object], cut: Cut | None, ended: Callable[[BaseException | None], None]
    ) -> None:
        world, around = self.world, self.world.versions.for_person()
        name = f"person.{world._draw_id()}"
        bound: Callable[[Tape], object] = partial(
            script,
            ledger=around.ledger,
            stores=around.stores,
            spec=around.spec,
            lease=Lease(name, around.options.lease),
        )
        Operator(world, name, bound, cut, ended, self._died).begin()

    def _died(self) -> None:
        world, is_reset = self.world, self._entry.reset is not None
        world.note("the person's command dies in the middle")
        if self.is_recorded():
            world.counts[f"a {'reset' if is_reset else 'decision'} died after it was recorded"] += 1
        self._let_them_start()

    def is_recorded(self) -> bool:
        """Tell whether a reset or a decision is in the ledger and not finished."""
        return self._entry.reset is not None or bool(self._entry.open_decisions())

    def _let_them_start(self) -> None:
        self.is_healing = False
        for number in range(len(self.world.actors)):
            self.world.restart(number)


def _cut(number: int) -> Cut:
    """Let it die while it looks and raises fences, or between the steps of what it has decided."""
    is_early, calls = number // 8 % 3 == 0, number // 24
    return Cut(2 + calls % 14 if is_early else calls % 4, since_recorded=not is_early)


def _disagrees(error: BaseException | None) -> bool:
    """Whether what is stored is not what was expected, for another reason than epochs."""
    return isinstance(error, MismatchError) and not isinstance(error, LedgerBehindError)
