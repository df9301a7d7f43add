"""Spark sessions that suit small, frequent batches."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from trident.base.checks import check_count, check_flag, check_text
from trident.engine.recommended import recommended_options

_log = logging.getLogger("trident.local")
_QUIET_LOG = Path(__file__).parents[1] / "executor" / "quiet-log4j2.properties"


def local_session(app_name: str, *, cores: int = 2, connector: bool = False) -> SparkSession:
    """Start Spark inside this process with `cores` task slots, bound to 127.0.0.1, without its web page.

    With `connector` its Kafka connector is on the class path (fetched once, see `trident.local.jars`). It starts in
    about half of the time where `python -m trident.local.class_data` was run once for this Java and this PySpark.
    Raises `ConfigurationError` when Java 17 or newer is missing. A session that runs already is returned
    as it is, as Spark does: stop it first where other options are wanted.
    """
    check_text("app_name", app_name)
    check_count("cores", cores)
    check_flag("connector", connector)
    # local use only: no cluster needs these
    from trident.local.class_data import sharing_options
    from trident.local.java import find_java

    sharing = sharing_options(find_java())
    try:
        return started(app_name, sharing, cores=cores, connector=connector)
    except PySparkException:
        if not sharing:
            raise
    _log.warning("Spark did not start with %s: it starts without. If it does, delete that file, it is damaged", sharing)
    return started(app_name, "", cores=cores, connector=connector)


def started(app_name: str, java_options: str, *, cores: int = 2, connector: bool = False) -> SparkSession:
    """Start Spark as `local_session` does, with these options of its JVM."""
    # Spark's default is whatever `python3` is on PATH, which may not have this library
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = recommended_options() | {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f'-Dlog4j2.configurationFile="{_QUIET_LOG}" {java_options}'.strip(),
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }
    if connector:
        from trident.local.jars import connector_jars

        options["spark.jars"] = ",".join(str(jar) for jar in connector_jars())
    return SparkSession.builder.master(f"local[{cores}]").appName(app_name).config(map=dict(options)).getOrCreate()
