"""The daemon that has imported what tasks need: each test looks from a process that began anew, as workers do."""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.types import LongType, StringType, StructField, StructType

from trident.base.control import CONTROL
from trident.base.ranges import Edge, OffsetRange, PartitionId
from trident.engine.recommended import recommended_options
from trident.executor.preload import MODULES
from trident.operations.arrow import Add, Keep
from trident.spouts.decoders.fast_json import plan_of
from trident.spouts.decoders.json import JsonTaskDecoder
from trident.spouts.decoders.raw import RawTaskDecoder
from trident.spouts.kafka.hiding import ConsumerOptions
from trident.spouts.kafka.readers.arrow_task import ReadRanges

FIELDS = StructType([StructField("n", LongType()), StructField(CONTROL, StringType())])
TYPES: dict[str, pa.DataType] = {"n": pa.int64(), CONTROL: pa.string()}
SCHEMA = pa.schema(TYPES)
TASKS = """
import pickle, sys
from pathlib import Path
import pyarrow as pa
from trident.executor.preload import preload
preload()
before = set(sys.modules)
for task, batches in pickle.loads(Path(sys.argv[1]).read_bytes()):
    assert sum(batch.num_rows for batch in task(batches)) > 0
print(*sorted(set(sys.modules) - before))
"""
COUNTS = """
import gc, json, sys
from trident.executor.preload import preload
alone = preload(["pandas", "no.such.module", "shouts"])
print(json.dumps([alone, gc.get_freeze_count(), sys.modules.get("pandas") is not None]))
"""
DRAWS = """
import os
from trident.executor.preload import preload
preload(["numpy.random"])
import numpy as np
for _ in range(2):
    if os.fork() == 0:
        print(np.random.random(), flush=True)
        os._exit(0)
    os.wait()
"""
STARTS_A_THREAD = """
import importlib, sys, threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
# and is the real library for all who import it: one that is broken would be found out for that
sys.path.remove(__file__.rpartition("/")[0])
del sys.modules["msgspec"]
sys.modules["msgspec"] = importlib.import_module("msgspec")
"""


def run(script: str, *arguments: str, path: Path | None = None) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": "" if path is None else str(path)}
    command = [sys.executable, "-W", "ignore", "-c", script, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", MODULES)
def test_what_is_imported_ahead_is_there(name: str) -> None:
    """The daemon passes over what is missing, so nothing else would tell of a module that has moved."""
    assert importlib.util.find_spec(name) is not None


def test_tasks_import_nothing_more(tmp_path: Path) -> None:
    nothing = Edge(1, OffsetRange(PartitionId("topic", 0), "id", 5, 5))
    groups = ((nothing,),)
    records = pa.RecordBatch.from_pydict({"n": [1, 2], CONTROL: [None, None]}, schema=SCHEMA)
    tasks: list[tuple[object, list[pa.RecordBatch]]] = [
        (ReadRanges(ConsumerOptions({}, {}, None), groups, decoder, 10, 1.0), [pa.RecordBatch.from_pydict({"id": [0]})])
        for decoder in (RawTaskDecoder(), JsonTaskDecoder(FIELDS, plan_of(FIELDS)))
    ]
    tasks.append((Keep(lambda batch: pa.array([True] * batch.num_rows), SCHEMA), [records]))
    more = pa.schema([*SCHEMA, ("m", pa.int64())])
    tasks.append((Add(lambda batch: [batch.column("n")], pa.schema([("m", pa.int64())]), more), [records]))
    file = tmp_path / "tasks"
    file.write_bytes(cloudpickle.dumps(tasks))
    later = run(TASKS, str(file)).split()
    assert [name for name in later if not name.startswith("pyarrow.vendored.")] == []


def test_all_is_out_of_the_collectors_sight_and_missing_modules_are_passed_over(tmp_path: Path) -> None:
    # standard output has the daemon's port and nothing else
    (tmp_path / "shouts.py").write_text("print('on import')")
    alone, frozen, pandas = json.loads(run(COUNTS, path=tmp_path))
    assert alone
    assert frozen > 50_000
    assert pandas


def test_forked_workers_draw_different_numbers() -> None:
    first, second = run(DRAWS).split()
    assert first != second


@contextmanager
def daemon(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run it as Spark does; it serves when it has said its port, and ends with its standard input."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(path)}
    command = [sys.executable, "-m", "trident.executor.daemon", "pyspark.worker"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        (port,) = struct.unpack("!i", process.stdout.read(4))
        assert 0 < port < 65536
        yield process
        process.stdin.close()
        process.wait(30)


def plain(process: subprocess.Popen[bytes]) -> bool:
    return b"TRIDENT_PLAIN_DAEMON=1" in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")


def test_the_daemon_serves_with_everything_imported(tmp_path: Path) -> None:
    with daemon(tmp_path) as process:
        assert not plain(process)
        assert "/pandas/" in Path(f"/proc/{process.pid}/maps").read_text()


@pytest.mark.parametrize("library", [STARTS_A_THREAD, "raise OSError('broken')"], ids=["threads", "broken"])
def test_a_library_with_threads_or_errors_makes_it_the_daemon_that_imports_nothing(
    tmp_path: Path, library: str
) -> None:
    """A fork beside a thread that holds a lock leaves it locked in the child for ever."""
    (tmp_path / "msgspec.py").write_text(library)
    with daemon(tmp_path) as process:
        assert plain(process)
        assert len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 1


def test_it_is_recommended_for_every_python() -> None:
    assert recommended_options()["spark.python.daemon.module"] == "trident.executor.daemon"
