"""Spark options that small, frequent batches run best with."""

from __future__ import annotations


def recommended_options() -> dict[str, str]:
    """Return Spark options that batches of this library run best with, on any cluster.

    They are for `SparkSession.builder.config(map=...)`; all but `spark.sql.*` must be set before the session starts.
    """
    return {
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
        # workers are forked with their modules in place; the library must be installed on the executors
        "spark.python.daemon.module": "trident.executor.daemon",
    }
