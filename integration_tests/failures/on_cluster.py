"""A session of a program on a cluster of two small executors."""

from __future__ import annotations

from pyspark.sql import SparkSession

from trident.engine.recommended import recommended_options


def session_on(master: str, name: str, **options: str) -> SparkSession:
    """Return a session of that name; `options` are Spark's behind `spark.`, with `_` for each further dot."""
    given = recommended_options() | {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "600m",
        "spark.executor.cores": "1",
    }
    given |= {f"spark.{option.replace('_', '.')}": value for option, value in options.items()}
    builder = SparkSession.builder.master(master).appName(name)
    for option, value in given.items():
        builder = builder.config(option, value)
    return builder.getOrCreate()
