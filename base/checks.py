"""What a public argument may be: every check returns the value, or refuses it by the argument's name.

One kind of error and one form of words for all of them: which argument, what is allowed, what was given. It is raised
where the argument is given, before anything is opened, started or changed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeGuard, TypeVar

from trident.base.errors import ConfigurationError

Kind = TypeVar("Kind")

_LONGEST_SHOWN: Final = 60
_NOBODYS: Final = "an attribute of nobody"
"""A Spark column has every attribute that it is asked for."""
_PLAIN: Final = (str, int, float, bool, bytes, timedelta, datetime, Path, type(None))
_LIKE_AN_ADDRESS: Final = re.compile(r"://|:[^@]*@|passw|pwd *=|secret", re.IGNORECASE)


def refused(what: str, allowed: str, given: object, *, secret: bool = False) -> ConfigurationError:
    """Return the error for an argument; of what may hold a secret, or is no plain value, its type alone is shown."""
    hidden = secret or not isinstance(given, _PLAIN) or may_hold_a_secret(given)
    shown = f"a value of type {type(given).__name__}" if hidden else repr(given)
    short = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"
    return ConfigurationError(f"{what} must be {allowed}, not {short}; nothing was started or changed")


def may_hold_a_secret(given: object) -> bool:
    """Tell whether a text is like a server's address or settings, wherever it was given: no error may show it."""
    return isinstance(given, str | bytes | Path) and _LIKE_AN_ADDRESS.search(str(given)) is not None


def check_text(what: str, given: object, *, allowed: str = "a text that is not empty", secret: bool = False) -> str:
    """Return a text that has more than blanks in it."""
    if not isinstance(given, str) or not given.strip():
        raise refused(what, allowed, given, secret=secret)
    return given


def check_count(what: str, given: object, *, least: int = 1, most: int | None = None) -> int:
    """Return a whole number of at least that much, and at most `most`; True and 3.0 are none."""
    if not _is_count(given, least):
        wanted = {1: "a whole number above zero", 0: "a whole number from zero on"}
        raise refused(what, wanted.get(least, f"a whole number from {least} on"), given)
    if most is not None and given > most:
        raise refused(what, f"at most {most:,}", given)
    return given


def check_limit(what: str, given: object) -> int | None:
    """Return a whole number above zero, or None for no limit."""
    if given is None or _is_count(given, 1):
        return given
    raise refused(what, "a whole number above zero, or None for no limit", given)


def _is_count(given: object, least: int) -> TypeGuard[int]:
    return isinstance(given, int) and not isinstance(given, bool) and given >= least


def check_share(what: str, given: object, *, least: float, most: float) -> float:
    """Return a number within these bounds."""
    if not is_within(given, least, most):
        raise refused(what, f"a number from {least} to {most}", given)
    return given


def is_within(given: object, least: float, most: float) -> TypeGuard[float]:
    """Tell whether it is a number within these bounds; True and a NaN are none."""
    return isinstance(given, int | float) and not isinstance(given, bool) and least <= given <= most


def check_seconds(what: str, given: object, *, may_be_zero: bool = False) -> float:
    """Return a finite number of seconds."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
    if not is_number or given < 0 or (given == 0 and not may_be_zero):  # type: ignore[operator]  # a number, as asked
        raise refused(what, f"a number of seconds {'from' if may_be_zero else 'above'} zero", given)
    return given  # type: ignore[return-value]  # a number, as asked


def check_duration(
    what: str, given: object, *, may_be_zero: bool = False, longest: timedelta = timedelta.max
) -> timedelta:
    """Return a duration; a plain number is none, since nobody could tell its unit."""
    if not isinstance(given, timedelta):
        raise refused(what, "a duration such as timedelta(seconds=30)", given)
    if given < timedelta(0) or (not given and not may_be_zero):
        raise refused(what, f"{'from' if may_be_zero else 'above'} zero", given)
    if given > longest:
        raise refused(what, f"at most {longest}", given)
    return given


def check_flag(what: str, given: object) -> bool:
    """Return True or False; a text such as "no" would be taken for true."""
    if not isinstance(given, bool):
        raise refused(what, "True or False", given)
    return given


def check_path(what: str, given: object) -> str | Path:
    """Return the path of a file, which is shown in errors; so what is like a server's address is none."""
    if not isinstance(given, str | Path) or not str(given).strip() or "\0" in str(given):
        raise refused(what, "the path of a file", given)
    if may_hold_a_secret(given):
        raise refused(what, "the path of a file, and no server's address", given)
    return given


def check_instance(what: str, given: object, kind: type[Kind], *, allowed: str = "") -> Kind:
    """Return an object of that class."""
    if not isinstance(given, kind):
        raise refused(what, allowed or f"a {kind.__name__}", given)
    return given


def check_able(what: str, given: Kind, methods: tuple[str, ...], allowed: str, *, has: tuple[str, ...] = ()) -> Kind:
    """Return an object that has these methods and attributes, as one that a user wrote may; a class is no object."""
    able = not isinstance(given, type) and all(callable(getattr(given, name, None)) for name in methods)
    if not able or not all(hasattr(given, name) for name in has) or hasattr(given, _NOBODYS):
        raise refused(what, allowed, given)
    return given


def check_function(what: str, given: Callable[..., Kind], allowed: str) -> Callable[..., Kind]:
    """Return a function, or another object that can be called; a class is none."""
    if not callable(given) or isinstance(given, type):
        raise refused(what, allowed, given)
    return given


def check_texts(what: str, given: object, *, secret: bool = False) -> dict[str, str]:
    """Return options: texts by name, of which only the names are ever shown."""
    if not isinstance(given, Mapping):
        raise refused(what, "a mapping of names to texts", given, secret=secret)
    for name, value in given.items():
        check_text(f"a name in {what}", name)
        if not isinstance(value, str):
            raise refused(f"{what}[{name!r}]", "a text", value, secret=secret)
    return dict(given)
