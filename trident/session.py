"""Spark sessions that suit small, frequent batches."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

_QUIET_LOG = Path(__file__).parent / "executor" / "quiet-log4j2.properties"


def recommended_options() -> dict[str, str]:
    """Return Spark options that batches of this library run best with, on any cluster.

    They are for `SparkSession.builder.config(map=...)`; all but `spark.sql.*` must be set before the session starts.
    """
    options = {
        # several batches are processed at once; a small one must not wait behind a large one
        "spark.scheduler.mode": "FAIR",
        # adaptive planning splits a job of milliseconds into stages that are planned one by one
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # one Arrow batch per task and fetch rather than many small ones
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        # tasks come and go every few milliseconds; their workers stay
        "spark.python.worker.reuse": "true",
        # plans of thousands of batches that nobody looks at would stay in the driver's heap
        "spark.sql.ui.retainedExecutions": "20",
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.ui.retainedTasks": "500",
    }
    if sys.version_info < (3, 12):
        options["spark.python.daemon.module"] = "trident.executor.daemon"
    return options


def local_session(app_name: str, *, cores: int = 2, connector: bool = False) -> SparkSession:
    """Start Spark inside this process with `cores` task slots, bound to 127.0.0.1, without its web page.

    With `connector` its Kafka connector is on the class path (fetched once, see `trident.services.jars`).
    Raises `ConfigurationError` when Java 17 or newer is missing. A session that runs already is returned
    as it is, as Spark does: stop it first where other options are wanted.
    """
    from trident.services.java import find_java  # local use only: no cluster needs these

    find_java()
    # Spark's default is whatever `python3` is on PATH, which may not have this library
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = recommended_options() | {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f'-Dlog4j2.configurationFile="{_QUIET_LOG}"',
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }
    if connector:
        from trident.services.jars import connector_jars

        options["spark.jars"] = ",".join(str(jar) for jar in connector_jars())
    return SparkSession.builder.master(f"local[{cores}]").appName(app_name).config(map=dict(options)).getOrCreate()
