"""The warm-up runs a topology's own jobs on Spark, and gives no function of a user's a single record."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from trident import Count, MemoryLedger, Sum, Topology
from trident.engine import warming as module
from trident.engine.lowering import Lowering
from trident.engine.warming import WarmUp
from trident.graph.nodes import End
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState

_LOADS_S = 20.0
ROWS = [("a", 1), ("b", 2), ("a", 4)]


class Noting:
    """A user's function with an effect."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        (Path(self._folder) / f"called-with-{batch.num_rows}").touch()
        amounts = batch.column("amount")
        return pa.RecordBatch.from_arrays([pc.add(amounts, amounts)], names=["double"])


def topology(folder: Path, limit: int | None) -> Topology:
    """Two ends on one source, so that both kinds of jobs would be run, with a Python step on the way to one of them."""
    made = Topology("warmed")
    stream = made.stream("rows", FixedBatchSpout("key string, amount bigint", ROWS, max_records_per_batch=limit))
    stream.filter(F.col("amount") > 0).group_by("key").persistent_aggregate(MemoryState("plain"), n=Count())
    doubled = stream.each(Noting(folder), "double bigint")
    doubled.group_by("key").persistent_aggregate(MemoryState("doubled"), total=Sum("double"))
    return made


def test_once_it_is_enough_no_job_begins(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm_up = WarmUp(topology(tmp_path, None).compile(), spark)
    warm_up.enough()
    monkeypatch.setattr(module, "from_sources", None)  # what would be the first step of one
    warm_up.run()


def test_every_job_runs_and_users_code_is_given_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm_up = WarmUp(topology(tmp_path, None).compile(), spark)
    run, real = Counter[str](), Lowering.updates

    def updates(lowering: Lowering, end: End, *, for_driver: bool) -> DataFrame:
        run[end.name] += 1
        return real(lowering, end, for_driver=for_driver)

    monkeypatch.setattr(Lowering, "updates", updates)
    warm_up.run()
    as_large_and_as_small = 2
    assert run == dict.fromkeys(("plain", "doubled"), as_large_and_as_small * module._ROUNDS)
    assert list(tmp_path.iterdir()) == []


def test_a_run_beside_its_warm_up_gives_what_it_gives_without(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0)
    ended: list[BaseException | None] = []
    leave = WarmUp.__exit__

    def noted(warm_up: WarmUp, *exc_info: object) -> None:
        leave(warm_up, *exc_info)
        assert warm_up._done is not None
        assert warm_up._done.done()
        ended.append(warm_up._done.exception())

    monkeypatch.setattr(WarmUp, "__exit__", noted)
    summary = topology(tmp_path, 1000).run(spark, ledger=MemoryLedger(), until="caught_up")
    assert summary.batches == 1
    assert len(ended) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["called-with-3"]


class Loading(Noting):
    """A user's function that takes long to load."""

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__dict__.update(state)
        (Path(self._folder) / "began").touch()
        time.sleep(_LOADS_S)
        (Path(self._folder) / "loaded").touch()


def test_what_it_has_begun_ends_when_it_is_enough(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch waited for the cores until a function was loaded that was not its own to load."""
    monkeypatch.setattr(module, "_PATIENCE_S", 0)
    made = Topology("loading")
    stream = made.stream("rows", FixedBatchSpout("key string, amount bigint", ROWS))
    stream.each(Loading(tmp_path), "double bigint").persistent_aggregate(MemoryState("s"), total=Sum("double"))
    with WarmUp(made.compile(), spark) as warm_up:
        deadline = time.monotonic() + 60
        while not (tmp_path / "began").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert (tmp_path / "began").exists()
        warm_up.enough()
        assert spark.range(0, 8, 1, 8).count() == 8
        assert not (tmp_path / "loaded").exists()
