"""What a run does, as Prometheus reads it."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from trident.base.errors import ConfigurationError
from trident.coordinators import measuring
from trident.coordinators.measuring import measured
from trident.coordinators.options import RunOptions
from trident.coordinators.run_events import (
    BatchCommitted,
    BatchFailed,
    BatchPlanned,
    OffsetsLost,
    PartitionLag,
    RunListener,
    TookOver,
)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def read(port: int) -> dict[tuple[str, str], float]:
    """Return each sample by its name and the values of its labels but for the topology's."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert {sample.labels["topology"] for sample in samples} == {"payments"}
    return {
        (each.name, ",".join(value for name, value in sorted(each.labels.items()) if name != "topology")): each.value
        for each in samples
    }


def committed(txid: int, records: int, lag: int) -> BatchCommitted:
    return BatchCommitted(
        topology="payments", epoch=3, txid=txid, attempt=txid, tries=1, records=records, keys=2, dead_letters=1,
        plan_ms=10, process_ms=200, turn_ms=0, commit_ms=30,
        lags=(PartitionLag(stream="in", topic="t", partition=4, lag=lag),),
    )  # fmt: skip


def test_figures_are_those_of_the_events() -> None:
    port = free_port()
    with measured("payments", port) as (heard,):
        assert read(port)["trident_batches_total", ""] == 0
        heard.took_over(TookOver(topology="payments", epoch=3, incarnation="i", done=6, pinned=None))
        assert read(port)["trident_txid", ""] == 6
        for txid in (7, 8):
            heard.planned(BatchPlanned(topology="payments", epoch=3, txid=txid, attempt=txid, tries=1, offsets=9))
            heard.committed(committed(txid, 5, 100 - txid))
        heard.failed(BatchFailed(topology="payments", epoch=3, txid=9, attempt=9, kind="OSError", error="away"))
        heard.lost(
            OffsetsLost(
                topology="payments",
                epoch=3,
                txid=8,
                stream="in",
                topic="t",
                partition=4,
                start=3,
                stop=8,
                reason="gone",
            )
        )
        found = read(port)
    assert {
        "batches": found["trident_batches_total", ""],
        "records": found["trident_records_total", ""],
        "attempts": found["trident_attempts_total", ""],
        "dead letters": found["trident_dead_letters_total", ""],
        "failures": found["trident_failures_total", "OSError"],
        "lost": found["trident_lost_offsets_total", "in"],
        "lag": found["trident_lag", "4,in,t"],
        "txid": found["trident_txid", ""],
        "epoch": found["trident_epoch", ""],
        "process": found["trident_phase_seconds_sum", "process"],
        "commits": found["trident_phase_seconds_count", "commit"],
    } == {
        "batches": 2, "records": 10, "attempts": 2, "dead letters": 2, "failures": 1, "lost": 5, "lag": 92, "txid": 8,
        "epoch": 3, "process": 0.4, "commits": 2,
    }  # fmt: skip
    with pytest.raises(urllib.error.URLError):
        read(port)


def test_without_a_port_nobody_measures() -> None:
    with measured("payments", None) as nobody:
        assert nobody == ()


def test_two_runs_have_figures_of_their_own() -> None:
    first, second = free_port(), free_port()
    with measured("payments", first) as (one,), measured("payments", second):
        one.committed(committed(1, 5, 0))
        assert (read(first)["trident_records_total", ""], read(second)["trident_records_total", ""]) == (5, 0)


def test_a_port_that_is_taken_is_said_and_nothing_is_run() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"metrics_port={port}: .*nothing was run"), measured("p", port):
            raise AssertionError


def test_without_the_library_it_is_said_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
    with pytest.raises(ConfigurationError, match=r"trident-pyspark\[metrics\]"), measured("p", 0):
        raise AssertionError


@pytest.mark.parametrize("port", [-1, 65_536, "9100", 1.5, True])
def test_what_is_no_port_is_refused(port: object) -> None:
    with pytest.raises(ConfigurationError, match="metrics_port"):
        RunOptions(metrics_port=port)  # type: ignore[arg-type]


def test_a_free_port_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", measuring._log.name), measured("payments", 0) as heard:
        assert isinstance(heard[0], RunListener)
        [line] = caplog.messages
        assert read(int(line.rsplit(":", 1)[1].partition("/")[0]))["trident_refusals_total", ""] == 0
