"""What tasks import, imported once by the daemon before it forks their workers.

A worker that is forked with its modules in place neither imports them again nor looks through their
objects in Spark's `gc.collect()` after every task.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

MODULES: Final = (
    # what Spark's own worker loads for a task with Arrow
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pandas",
    "pyarrow.compute",
    "pyarrow.pandas_compat",
    # what is unpickled in tasks of this library, and all that these import
    "trident.spouts.kafka.readers.arrow_task",
    "trident.spouts.kafka.readers.spark",
    "trident.spouts.decoders.json",
    "trident.spouts.decoders.raw",
    "trident.spouts.memory",
    "trident.operations.arrow",
    "trident.operations.aggregate",
    "trident.engine.staging",
    "trident.engine.warm_tasks",
    "trident.state.postgres.writer",
)
_ARROW_MEMORY: Final = "JE_ARROW_MALLOC_CONF"
_THREADS: Final = Path("/proc/self/task")


def preload(names: Sequence[str] = MODULES) -> bool:
    """Import the modules and put all that is alive out of the collector's sight, for a process that will fork.

    What is not installed is passed over: a task that needs it says so itself. Returns whether this
    process still has one thread only: with more of them it must not fork, since a lock that another
    thread holds at that moment would stay locked in the child for ever.
    """
    keep_arrow_in_one_thread()
    for name in names:
        try:
            # Spark reads the daemon's port from standard output
            with redirect_stdout(sys.stderr):
                importlib.import_module(name)
        except ImportError:
            continue
    os.register_at_fork(after_in_child=_draw_other_numbers)
    gc.collect()
    gc.freeze()
    return _threads() == 1


def keep_arrow_in_one_thread() -> None:
    """Before Arrow is imported: one of its two allocators starts a thread then, to give memory back."""
    os.environ.setdefault(_ARROW_MEMORY, "background_thread:false")


def _draw_other_numbers() -> None:
    """Seed numpy's global generator anew: forked workers would all draw the same numbers otherwise."""
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()


def _threads() -> int:
    try:
        return len(list(_THREADS.iterdir()))
    except FileNotFoundError:
        return 1  # not Linux: nobody counts them for us
