"""What a person does as a process of its own: a sequence of calls that may die after some of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

from tests.simulation import scripts
from tests.simulation.jobs import Start
from tests.simulation.scripts import Progressed, Tape

if TYPE_CHECKING:
    from tests.simulation.actor import Coordinator
    from tests.simulation.world import World


class Cut(NamedTuple):
    """When a command dies."""

    calls: int
    since_recorded: bool
    """These calls are counted from where its decision is in the ledger."""


class Operator:
    """Runs one script; `ended` hears how it ended, `cut_off` that it died.

    To the world it is one more coordinator, which only ever takes over.
    """

    state = None
    number = -1
    is_dead = False

    def __init__(
        self,
        world: World,
        name: str,
        script: Callable[[Tape], object],
        cut: Cut | None,
        ended: Callable[[BaseException | None], None],
        cut_off: Callable[[], None],
    ) -> None:
        self.name = name
        self.alive = True
        self.epoch = None
        self._world = world
        self._script = script
        self._cut = cut
        self._unrecorded_calls = 0
        self._ended = ended
        self._cut_off = cut_off

    def begin(self) -> None:
        self._world.at(5, self._world.send, self, Start(), 0)

    def execute(self, job: Start) -> Progressed:
        return scripts.run_on(job.answers, self._script, self._world.calls_at_once())

    def answered(self, job: Start, progressed: Progressed, failures: int) -> None:
        if progressed.finished is not None:
            self.alive = False
            self._ended(progressed.finished.error)
        elif self._is_over(len(job.answers) + len(progressed.answers)):
            self.alive = False
            self._cut_off()
        else:
            self._world.send(cast("Coordinator", self), Start((*job.answers, *progressed.answers)), 0)

    def _is_over(self, calls: int) -> bool:
        if self._cut is None:
            return False
        if self._cut.since_recorded and not self._world.person.is_recorded():
            self._unrecorded_calls = calls
            return False
        return calls >= self._unrecorded_calls + self._cut.calls
