"""Which Java and which packages there are, held against what this library asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

from trident.base.errors import ConfigurationError
from trident.doctor.findings import Finding, ok, problem, warning
from trident.local.java import find_java

_ABOUT: Final = "versions"
_OWN: Final = "trident-pyspark"
_SHOWN: Final = ("pyspark", "kafka-python", "confluent-kafka", "psycopg", "pyarrow", "sqlalchemy")
_BOUND: Final = re.compile(r"(>=|<)\s*([0-9][0-9.]*)")


def look_at_versions() -> Iterator[Finding]:
    """Say what is installed, and what of it this library was not made for."""
    found = {name: _version_of(name) for name in _SHOWN}
    bounds = {name: bound for name in _SHOWN if (bound := bounds_of(name, requires_of()))}
    for name, there in found.items():
        wanted = bounds.get(name, "")
        if there is None or not fits(there, wanted):
            yield problem(
                _ABOUT,
                f"{name} {there or 'is not installed'}, and {wanted or 'any version'} is wanted",
                "what it would do to the data nobody has tried",
                f"install {name}{wanted}",
            )
    yield ok(_ABOUT, ", ".join(f"{name} {there}" for name, there in found.items() if there is not None))


def look_at_java() -> Iterator[Finding]:
    """Say whether there is a Java that Spark can run on."""
    try:
        yield ok(_ABOUT, f"Java at {find_java()}")
    except ConfigurationError as error:
        yield warning(_ABOUT, str(error), "without it this machine runs no Spark of its own", "with Spark Connect none")


def requires_of() -> tuple[str, ...]:
    """Return what this library says that it needs."""
    try:
        return tuple(requires(_OWN) or ())
    except PackageNotFoundError:  # it lies on the path, and was never installed
        return ()


def bounds_of(name: str, required: tuple[str, ...]) -> str:
    """Return the bounds of a package's version, as `>=4.0,<4.4`."""
    for line in required:
        word = re.match(r"[A-Za-z0-9._-]+", line)
        if word is not None and word[0].lower() == name and "extra" not in line:
            return ",".join(sorted("".join(bound) for bound in _BOUND.findall(line)))
    return ""


def fits(there: str, wanted: str) -> bool:
    """Tell whether a version is within bounds; of what is no number only what comes before it counts."""
    for sign, bound in _BOUND.findall(wanted):
        is_below = _numbers(there) < _numbers(bound)
        if is_below == (sign == ">="):
            return False
    return True


def _numbers(version_: str) -> tuple[int, ...]:
    digits = re.match(r"[0-9.]*", version_)
    found = [int(part) for part in (digits[0] if digits else "").split(".") if part]
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)


def _version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
