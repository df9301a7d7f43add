"""What exact results need of a Spark session: set where the engine has a session of its own, checked where it hasn't.

A topology's results depend on its records only, so no option of whoever runs it may change what an expression gives:
each of these has the value that Spark 4 comes with, and the time zone is UTC.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark.sql import SparkSession

from trident.base.errors import ConfigurationError

_log = logging.getLogger("trident.engine")

PINNED: Mapping[str, str] = {
    # an overflow is an error, never a wrapped sum or a silent null; a cast that fails is one too
    "spark.sql.ansi.enabled": "true",
    # days, hours and texts of moments are the same wherever a topology runs; none comes twice a year
    "spark.sql.session.timeZone": "UTC",
    # fields that differ in case only are refused when a topology is built
    "spark.sql.caseSensitive": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.function.concatBinaryAsString": "false",
    "spark.sql.function.eltOutputAsString": "false",
    "spark.sql.jsonGenerator.ignoreNullFields": "true",
    "spark.sql.json.enablePartialResults": "true",
    "spark.sql.chunkBase64String.enabled": "true",
    "spark.sql.icu.caseMappings.enabled": "true",
    "spark.sql.preserveCharVarcharTypeInfo": "false",
    "spark.sql.retainGroupColumns": "true",
}
"""Options by which Spark gives other results, or other types, and what they have to be."""

LEGACY = "spark.sql.legacy."
"""Options of this kind bring results of older versions back; none may be set."""

_SERVERS_OWN = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")
"""Their defaults are no constants: an environment variable, and the zone of the server's machine."""


def astray(spark: SparkSession) -> dict[str, str]:
    """Return the options of a session by which results would differ, with their values."""
    found: dict[str, str] = dict(spark.conf.getAll)
    for name in _SERVERS_OWN:
        found.setdefault(name, str(spark.conf.get(name)))
    return {
        name: value
        for name, value in sorted(found.items())
        if name.startswith(LEGACY) or (name in PINNED and value.upper() != PINNED[name].upper())
    }


def pin(session: SparkSession) -> None:
    """Give a session of the engine's own what exact results need."""
    set_by_users = [name for name in astray(session) if name.startswith(LEGACY)]
    for name in filter(session.conf.isModifiable, set_by_users):
        session.conf.unset(name)
    for name, value in PINNED.items():
        if session.conf.isModifiable(name):  # one that this version of Spark does not know is not
            session.conf.set(name, value)


def require_pinned(spark: SparkSession, when: str) -> None:
    """Raise ConfigurationError, naming each option, unless a session that is the user's has what exact results need."""
    wrong = astray(spark)
    if not wrong:
        return
    raise ConfigurationError(
        f"{when}: {_named(wrong)}. Results would not be exact, or not the same in every run; nothing of it was "
        f"applied. Through Spark Connect a topology runs in your own session: {'; '.join(map(_mended, wrong))}"
    )


def warn_of_pinned(spark: SparkSession) -> None:
    """Say which options of the user's session the topology runs without; their own session stays as it is."""
    wrong = {name: value for name, value in astray(spark).items() if name in spark.conf.getAll}
    if wrong:
        _log.warning(
            "%s: a topology runs without these, so that its results are exact and the same in every run (time zone "
            "UTC); your own session stays as it is",
            _named(wrong),
        )


def _named(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name} is {value!r}" for name, value in options.items())


def _mended(name: str) -> str:
    if name.startswith(LEGACY):
        return f'spark.conf.unset("{name}")'
    return f'spark.conf.set("{name}", "{PINNED[name]}")'
