"""Whether a Spark can give tasks what a stream asks for."""

from __future__ import annotations

import logging
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from trident.base.errors import ConfigurationError
from trident.engine.spark import is_classic
from trident.operations.needs import TaskNeeds
from trident.operations.tasks import profile_of

_log = logging.getLogger("trident.engine")


def offered(spark: SparkSession, needs: TaskNeeds, stream: str) -> TaskNeeds:
    """Return what can be asked of this Spark; raises ConfigurationError where it can't."""
    if (spark.conf.get("spark.master", "") or "").startswith("local"):
        _log.warning(
            "stream %r: resources(%s) has no effect in local mode: all tasks are in one process",
            stream,
            needs.told(),
        )
        return replace(needs, is_local=True)
    if is_classic(spark):
        manager = spark.sparkContext._jsc.sc().resourceProfileManager()
        profile = profile_of(needs.cpus, needs.memory, spark.sparkContext.applicationId)._java_resource_profile
        try:
            manager.isSupported(profile)
        except Py4JJavaError as error:
            why = str(error.java_exception.getMessage())
            raise ConfigurationError(
                f"stream {stream!r}: resources({needs.told()}) is not to be had here: {why} Leave it out, or run on a "
                "cluster that offers it (memory= needs spark.dynamicAllocation.enabled)"
            ) from None
    return needs
