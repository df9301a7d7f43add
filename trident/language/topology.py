"""A topology: named streams, what happens to their records, and the states that results live in."""

from __future__ import annotations

import threading
from typing import Literal

from pyspark.sql import SparkSession

from trident.base.errors import ConfigurationError
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.coordinators.ledger import Ledger
from trident.coordinators.options import RunOptions
from trident.engine.building import prototype
from trident.engine.compiled import CompiledTopology
from trident.engine.running import make_run, run_to_end
from trident.engine.spark import active_session
from trident.engine.staging import Staging
from trident.graph.nodes import End, PersistNode, SourceNode, sources_of
from trident.language.stream import Stream
from trident.spouts.base import Spout

_LONGEST_NAME = 200


class Topology:
    """A graph under construction; build it in one thread, then run it.

    Its name stands for its ledger entry: the same name means the same topology, over restarts.
    """

    def __init__(self, name: str) -> None:
        self.name = _checked_name("topology", name)
        self._spouts: dict[str, Spout] = {}
        self._ends: list[End] = []
        self._run: TopologyRun | None = None
        self._lock = threading.Lock()

    def stream(self, name: str, spout: Spout) -> Stream:
        """Start a stream of a spout's records; needs an active Spark session, reads nothing yet.

        Raises `ConfigurationError` for a name that is taken.
        """
        _checked_name("stream", name)
        if name in self._spouts:
            raise ConfigurationError(f"the topology {self.name!r} has a stream {name!r} already")
        sample = prototype(active_session(), name, spout)
        self._spouts[name] = spout
        return Stream(self, SourceNode(name, spout), sample)

    def compile(self) -> CompiledTopology:
        """Return the topology as it is now, for a coordinator to run; may be called again."""
        used = {source.name for end in self._ends for source in sources_of(end)}
        idle = [name for name in self._spouts if name not in used]
        if idle or not self._ends:
            what = f"the stream {idle[0]!r}" if idle else f"the topology {self.name!r}"
            raise ConfigurationError(
                f"{what} ends in no state, so nothing would come of it; add a persistent_aggregate"
            )
        return CompiledTopology(self.name, dict(self._spouts), tuple(self._ends))

    def run(
        self,
        spark: SparkSession,
        *,
        ledger: Ledger | None = None,
        until: Literal["stopped", "caught_up"] = "stopped",
        options: RunOptions | None = None,
        staging: Staging = Staging.AUTO,
    ) -> RunSummary:
        """Run the topology in this process until it is stopped, or until it has caught up with its spouts.

        Without a ledger, one is kept in the SQLite file `trident-ledger.sqlite` of the working directory.
        In the main thread SIGTERM drains as `stop()` does. Whatever ends it (an error is raised), the next
        run goes on exactly where this one was; it may be in another process or on another machine.
        """
        with self._lock:
            if self._run is not None:
                raise ConfigurationError(f"the topology {self.name!r} is running in this process already")
            self._run = make_run(self.compile(), spark, ledger, until, options, staging)
        try:
            return run_to_end(self._run)
        finally:
            self._run = None

    def stop(self) -> None:
        """Drain a run: live batches are finished, nothing new is planned; `run` then returns.

        May be called from any thread or signal handler, any number of times; a no-op when nothing runs.
        """
        run = self._run
        if run is not None:
            run.stop()

    def _add_end(self, end: End) -> None:
        kind = "state" if isinstance(end, PersistNode) else "sink"
        _checked_name(kind, end.name)
        if any(other.name == end.name for other in self._ends):
            raise ConfigurationError(f"the topology {self.name!r} has a {kind} {end.name!r} already")
        self._ends.append(end)


def _checked_name(kind: str, name: str) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise ConfigurationError(f"a {kind} needs a printable name of 1 to {_LONGEST_NAME} characters, not {name!r}")
    return name
