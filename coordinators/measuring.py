"""What a run does as figures for Prometheus, on a port of this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from trident.base.errors import ConfigurationError
from trident.coordinators.run_events import (
    BatchCommitted,
    BatchFailed,
    BatchPlanned,
    BatchRefused,
    OffsetsLost,
    RunListener,
    TookOver,
)

_log = logging.getLogger("trident.listeners")
_HOST: Final = "127.0.0.1"
_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics(RunListener):
    """Counts what it hears of one run, in a registry of its own; raises ConfigurationError without the library.

    Counts begin at 0 with each run, as Prometheus expects of a process. They are for eyes and alerts: what was done
    exactly is in the ledger.
    """

    def __init__(self, topology: str) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        except ImportError:
            raise ConfigurationError(
                "metrics_port= needs the package prometheus-client: pip install 'trident-pyspark[metrics]'. Nothing "
                "was run"
            ) from None
        self.registry = CollectorRegistry()
        self._topology = topology

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"trident_{name}", text, ("topology", *labels), registry=self.registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"trident_{name}", text, ("topology", *labels), registry=self.registry)

        self._records = counter("records", "Records of txids that are done")
        self._batches = counter("batches", "Txids that are done")
        self._attempts = counter("attempts", "Attempts that were planned")
        self._failures = counter("failures", "Attempts that failed", "kind")
        self._refusals = counter("refusals", "Stops at a refused txid")
        self._dead = counter("dead_letters", "Records that did not decode, kept in the ledger")
        self._lost = counter("lost_offsets", "Offsets that were gone", "stream")
        self._lag = gauge("lag", "Positions that are not done yet", "stream", "topic", "partition")
        self._txid = gauge("txid", "The last txid that is done")
        self._epoch = gauge("epoch", "The epoch of the run that owns the topology")
        labels = ("topology", "phase")
        self._phases = Histogram(
            "trident_phase_seconds", "Of a txid that is done", labels, registry=self.registry, buckets=_SECONDS
        )
        for each in (self._records, self._batches, self._attempts, self._refusals, self._dead):
            each.labels(topology)  # so that 0 is shown, not nothing

    def took_over(self, event: TookOver, /) -> None:
        """Note epoch and txid."""
        self._epoch.labels(self._topology).set(event.epoch)
        self._txid.labels(self._topology).set(event.done)

    def planned(self, event: BatchPlanned, /) -> None:
        """Count the attempt."""
        self._attempts.labels(self._topology).inc()

    def committed(self, event: BatchCommitted, /) -> None:
        """Count what is done."""
        self._batches.labels(self._topology).inc()
        self._records.labels(self._topology).inc(event.records)
        self._dead.labels(self._topology).inc(event.dead_letters)
        self._txid.labels(self._topology).set(event.txid)
        phases = {"plan": event.plan_ms, "process": event.process_ms, "turn": event.turn_ms, "commit": event.commit_ms}
        for phase, took_ms in phases.items():
            self._phases.labels(self._topology, phase).observe(took_ms / 1000)
        for each in event.lags:
            self._lag.labels(self._topology, each.stream, each.topic, str(each.partition)).set(each.lag)

    def failed(self, event: BatchFailed, /) -> None:
        """Count the failure by the error's class."""
        self._failures.labels(self._topology, event.kind).inc()

    def refused(self, event: BatchRefused, /) -> None:
        """Count the refusal."""
        self._refusals.labels(self._topology).inc()

    def lost(self, event: OffsetsLost, /) -> None:
        """Count the offsets."""
        self._lost.labels(self._topology, event.stream).inc(event.stop - event.start)


@contextmanager
def measured(topology: str, port: int | None) -> Iterator[tuple[RunListener, ...]]:
    """Yield who measures a run while its figures are served on a port; nobody where none is given."""
    if port is None:
        yield ()
        return
    metrics = Metrics(topology)
    with _served(metrics, port):
        yield (metrics,)


@contextmanager
def _served(metrics: Metrics, port: int) -> Iterator[None]:
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, _HOST, metrics.registry)
    except OSError as error:
        raise ConfigurationError(
            f"metrics_port={port}: {error.strerror or error}; nothing was run. Give another port, or 0 for a free one"
        ) from None
    try:
        _log.info("metrics of the run are at http://%s:%d/metrics", _HOST, server.server_port)
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
