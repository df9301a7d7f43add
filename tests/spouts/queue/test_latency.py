"""How long messages take: which are measured, what is said of them, and that it is bounded."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.ledger.making import started
from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout
from tests.spouts.queue.processes import running, taken, until
from trident.base.identity import Epoch
from trident.base.latency import MINUTES, SAMPLED, CompleteLatency, RollingLatency
from trident.coordinators.holding.keeping import HearsOfLease, Heartbeat
from trident.coordinators.ledger import MemoryLedger

SECONDS = st.floats(0, 3_600)


def test_what_was_never_measured_says_nothing() -> None:
    assert RollingLatency("s").summary(5.0) is None


def test_a_summary_is_of_the_samples() -> None:
    rolling = RollingLatency("s")
    rolling.add([number / 1_000 for number in range(1, 101)], 10.0)
    assert rolling.summary(10.0) == CompleteLatency("s", 100, 50.5, 50.0, 99.0, 100.0)


def test_a_sample_counts_for_some_minutes() -> None:
    rolling = RollingLatency("s")
    rolling.add([5.0], 0.0)
    rolling.add([1.0], 60.0)
    found = rolling.summary(MINUTES * 60 + 1.0)
    assert found is not None
    assert (found.samples, found.max_ms) == (1, 1_000.0)
    assert rolling.summary(10_000.0) is None


def test_the_newest_samples_stay() -> None:
    rolling = RollingLatency("s")
    for second in range(5_000):
        rolling.add([float(second)], 1.0)
    found = rolling.summary(1.0)
    assert found is not None
    assert (found.samples, found.max_ms) == (1_000, 4_999_000.0)


@given(st.lists(SECONDS, min_size=1, max_size=50))
def test_the_numbers_are_in_their_order(samples: list[float]) -> None:
    rolling = RollingLatency("s")
    rolling.add(samples, 0.0)
    found = rolling.summary(0.0)
    assert found is not None
    assert found.p50_ms <= found.p99_ms <= found.max_ms == round(max(samples) * 1_000, 1)
    assert round(min(samples) * 1_000, 1) - 0.1 <= found.mean_ms <= found.max_ms + 0.1


def test_one_message_in_so_many_is_measured_from_emission_to_ack(tmp_path: Path) -> None:
    queue = FileQueue(tmp_path / "queue.sqlite")
    count = 2 * SAMPLED + 1
    queue.put(f"m{number}" for number in range(count))
    with running(FileQueueSpout(queue.path)) as process:
        found = taken(process, count)
        time.sleep(0.2)
        assert process.latency() is None, "nothing is acked"
        process.ack(tuple(delivery.serial for _, delivery in found))
        until(lambda: (measured := process.latency()) is not None and measured.samples >= 3)  # said one by one, perhaps
        said = process.latency()
    assert said is not None
    assert (said.stream, said.samples) == ("s", 3)
    assert 200 <= said.p50_ms <= said.max_ms < 60_000


def test_a_beat_takes_along_what_is_measured() -> None:
    told, said = threading.Event(), (CompleteLatency("s", 1, 1.0, 1.0, 1.0, 1.0),)

    class Hearing(MemoryLedger):
        def renew(self, topology: str, epoch: Epoch, latencies: object = ()) -> bool:
            if latencies == said:
                told.set()
            return False

    run = started(Hearing())
    hears = HearsOfLease(lambda error: None, latencies=lambda: said)
    with Heartbeat(run.ledger, "payments", run.epoch, timedelta(milliseconds=60), hears):
        assert told.wait(10)
