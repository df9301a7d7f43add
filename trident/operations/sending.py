"""What goes from the driver to Spark's Python workers: checked when a topology is built, not when its job starts."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable

from pyspark import cloudpickle
from pyspark.errors import PySparkException

from trident.base.errors import ConfigurationError

_REFUSALS = (
    pickle.PicklingError,
    PySparkException,
    TypeError,
    ValueError,
    AttributeError,
    NotImplementedError,
    RecursionError,
)
"""What pickling raises; anything else comes out of the user's own code, and is shown as it is."""


def sendable(what: str, thing: object, where: str) -> bytes:
    """Return a thing pickled, or refuse it as `check_sendable` does; `where` says who is to get it."""
    check_sendable(what, thing, where)
    pickled: bytes = cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]
    return pickled


def check_sendable(what: str, thing: object, where: str = "Spark's workers") -> None:
    """Refuse what can't be sent to Spark's workers, naming what hinders it; `what` says what it is."""
    problem = _problem(thing)
    if problem is None:
        return
    # not shown: the text of an error may hold a value, and what is captured is often a connection with its password
    names = [name for name, value in _captured(thing).items() if _problem(value) is not None]
    captured = f", because of {', '.join(map(repr, names))}, which it uses" if names else ""
    raise ConfigurationError(
        f"{what} can't be sent to {where}{captured} ({problem}); nothing was started. Make connections, locks "
        "and open files inside the function, and give it plain values"
    )


def refuse_asynchronous(what: str, function: Callable[..., object]) -> None:
    """Refuse a function, or an object to be called, whose result would be a promise."""
    if any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in _called(function)):
        raise ConfigurationError(f"{what} is asynchronous; Spark's tasks call it and take what it returns: use def")


def refuse_generators(what: str, function: Callable[..., object], instead: str) -> None:
    """Refuse a function, or an object to be called, of which a call runs nothing; `instead` says what it is to do."""
    if any(map(inspect.isgeneratorfunction, _called(function))):
        raise ConfigurationError(f"{what} has a yield, so that a call of it would run nothing: {instead}")


def _called(function: Callable[..., object]) -> tuple[object, object]:
    return function, type(function).__call__


def check_callable_with_batch(what: str, function: Callable[..., object]) -> None:
    """Refuse a function that can't be called with one batch of records, or whose result would be a promise."""
    refuse_asynchronous(what, function)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of something built in, which does not say
        return
    try:
        signature.bind(None)
    except TypeError as error:
        raise ConfigurationError(
            f"{what} must take one argument, a batch of records, but it is {name_of(function)}{signature}: {error}"
        ) from None


def name_of(function: object) -> str:
    """Return what a user calls a function."""
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


def _problem(thing: object) -> str | None:
    try:
        cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]
    except _REFUSALS as error:
        return type(error).__name__
    return None


def _captured(thing: object) -> dict[str, object]:
    """Return what a function takes from around it, or what an object holds, by name."""
    if inspect.isfunction(thing):
        found = inspect.getclosurevars(thing)
        return {**found.globals, **found.nonlocals}
    return dict(getattr(thing, "__dict__", {}))
