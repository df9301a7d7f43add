"""The coordinators of a test: real ones, each with a life of its own, over what outlives them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from trident.base.clock import Clock, SystemClock
from trident.base.crash_points import armed
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.ledger.memory.viewing import MemoryLedgerView
from trident.coordinators.ledger.view import BatchRow, TopologyStatus
from trident.coordinators.options import RunOptions, Until
from trident.engine.processor import SparkProcessor
from trident.state.memory.database import MemoryDatabase
from trident.testing.lives import CoordinatorDiedError, Life, MortalDatabase, MortalLedger
from trident.testing.mapped import MapPlace
from trident.testing.places import KeptPlace, Place
from trident.testing.scripted import ScriptedSpout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from trident.engine.compiled import CompiledTopology
    from trident.spouts.base import Source
    from trident.state.target import Target

_BEGINS: Final = datetime(2026, 1, 1, tzinfo=UTC)
_LEASE: Final = timedelta(hours=1)
"""Longer than a batch runs; that of a dead coordinator ends by the test's clock."""
_SECOND: Final = timedelta(seconds=1)
_PAUSE: Final = timedelta(milliseconds=1)
_one_at_a_time: Final = threading.Lock()
"""Crash points are armed for a whole process."""


class PlayedClock:
    """The time of a test: batch times as it says, and leases that end when it says so."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._outlived = timedelta(0)
        self.batch_time: datetime | None = None
        """None before the first batch."""

    def monotonic(self) -> float:
        """See `Clock`."""
        return self._clock.monotonic() + self._outlived.total_seconds()

    def now(self) -> datetime:
        """Return the batch's time."""
        return self.batch_time or _BEGINS

    def advance(self, at: datetime | None) -> None:
        """Set the next batch's time: a second after the one before, unless it is said."""
        self.batch_time = at or (_BEGINS if self.batch_time is None else self.batch_time + _SECOND)

    def outlive(self, lease: timedelta) -> None:
        """Let a lease pass."""
        self._outlived += lease


class Coordinators:
    """Runs one coordinator after the other over the same ledger, spouts and targets; used by one thread.

    As long as none dies they are like one: the engine goes on with the plans that it has prepared. One that took over
    from a dead one begins with an engine of its own, and so does each
    where a target is kept as it is, whose connections end with its run.
    """

    def __init__(
        self,
        compiled: CompiledTopology,
        spark: SparkSession,
        spouts: Mapping[str, ScriptedSpout],
        places: Mapping[str, Place],
        max_tries: int,
        ackers: int,
    ) -> None:
        self._compiled = compiled
        self._spark = spark
        self._spouts = spouts
        self._places = places
        self._max_tries = max_tries
        self._ackers = ackers
        self._engine: SparkProcessor | None = None
        self.database = MemoryDatabase()
        self.clock = PlayedClock()

    def live(self, life: Life) -> bool:
        """Run until all that the spouts have is done, or until the life's death; returns whether it died.

        A dead one leaves its lease and whatever it was at as they are. Raises what ends a run otherwise: that so many
        attempts of this one have failed, for example, not counting those that others have died in.
        """
        options = RunOptions(
            max_tries=self._tries() + self._max_tries,
            retry_pause=_PAUSE,
            idle_interval=_PAUSE,
            lease=_LEASE,
            until=Until.CAUGHT_UP,
        )
        ledger = MortalLedger(self.clock, database=MortalDatabase(self.database, life))
        run = TopologyRun(self._topology(life), ledger, options, self.clock)
        with _one_at_a_time, armed(life.reach):
            try:
                run.run()
            except CoordinatorDiedError:
                self.clock.outlive(_LEASE)
                self._engine = None
        return life.is_dead

    @property
    def done(self) -> int:
        """The last txid that is done."""
        status = self._status()
        return status.done if status is not None else 0

    def is_decided(self, txid: int) -> bool:
        """Whether a txid is pinned or done, so that it holds what it holds."""
        status = self._status()
        return status is not None and (status.done >= txid or status.pinned == txid)

    @property
    def is_planned(self) -> bool:
        """Whether the txid behind the last one that is done was planned: its transactional records are fixed then."""
        return self._tries() > 0

    def last_batch(self) -> BatchRow:
        """Return what the ledger keeps of the last txid that is done."""
        return self._view().batches(self._compiled.name, 1)[0]

    def _tries(self) -> int:
        """Return how often the txid that is not done has been attempted."""
        if self._compiled.name not in self._view().topologies():
            return 0
        attempts = self._view().txid(self._compiled.name, self.done + 1).attempts
        return max((attempt.tries for attempt in attempts), default=0)

    def _status(self) -> TopologyStatus | None:
        view = self._view()
        return view.status(self._compiled.name) if self._compiled.name in view.topologies() else None

    def _view(self) -> MemoryLedgerView:
        return MemoryLedger(self.clock, database=self.database).view()

    def _topology(self, life: Life) -> RunnableTopology:
        return RunnableTopology(
            spec=self._compiled.spec(),
            spouts=self._spouts,
            targets={name: place.opens(life) for name, place in self._places.items()},
            make_processor=self._processor,
            works_in_turn=bool(self._compiled.stages.turn),
        )

    def _processor(self, sources: Mapping[str, Source], stores: Mapping[str, Target]) -> SparkProcessor:
        engine = self._engine or SparkProcessor(self._compiled, self._spark, sources, stores, ackers=self._ackers)
        if not any(isinstance(place, KeptPlace | MapPlace) for place in self._places.values()):
            self._engine = engine
        return engine
