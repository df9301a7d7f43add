"""Finding a topology by `module:object` or `path/to/file.py:object`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from trident.base.checks import may_hold_a_secret
from trident.base.errors import ConfigurationError
from trident.base.loading import only_loading
from trident.coordinators.options import RunOptions

if TYPE_CHECKING:
    from trident.language.topology import Topology


def load_topology(named: str) -> Topology:
    """Import the module and return its topology; the object may also be a function without arguments that makes one.

    For a function a local Spark session is started unless one is active; a topology that is made while
    its module is imported needs a session that the module makes. Nothing runs meanwhile: a topology that its
    module or function runs is refused. Raises ConfigurationError, whatever the module raises.
    """
    return load_run(named, "")[0]


def load_run(named: str, options: str) -> tuple[Topology, RunOptions]:
    """Return the topology, and the RunOptions that its module has under a name (without one the defaults).

    See `load_topology`; the module is imported once.
    """
    from trident.language.topology import Topology  # brings Spark, which commands that only read do without

    place, colon, name = named.partition(":")
    if not (place and colon and name):
        raise ConfigurationError(f"{named!r} names no topology: write module:object or file.py:object")
    module = _imported(place)
    with _as_wrong_use(place, f"when {name!r} is looked up"):  # a module's __getattr__ or a property is code as well
        found = _found(module, place, name)
        needed = _needed(found) if callable(found) and not isinstance(found, Topology) else None
    if needed is not None:
        found = _made(named, place, found, needed)
    if not isinstance(found, Topology):
        raise ConfigurationError(f"{named!r} is a {type(found).__name__}, not a Topology; nothing was done")
    return found, _options(module, place, options) if options else RunOptions()


def _options(module: ModuleType, place: str, name: str) -> RunOptions:
    with _as_wrong_use(place, f"when {name!r} is looked up"):
        found = _found(module, place, name)
    if not isinstance(found, RunOptions):
        raise ConfigurationError(f"{name!r} of {place!r} is a {type(found).__name__}, no RunOptions; nothing was done")
    return found


def _found(module: ModuleType, place: str, name: str) -> object:
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(f"{place!r} has no {name!r}; nothing was done")
        found = getattr(found, part)
    return found


def _imported(place: str) -> ModuleType:
    if not place.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        with _as_wrong_use(place, "when it is imported"):
            return importlib.import_module(place)
    path = Path(place)
    spec = importlib.util.spec_from_file_location(_name_of(path), path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ConfigurationError(f"there is no file {place!r}; nothing was done")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module  # what it defines is found there, by pickle for one
    sys.path.insert(0, str(path.parent.resolve()))  # as for `python file.py`: it may import its neighbours
    try:
        with _as_wrong_use(place, "when it is imported"):
            spec.loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[spec.name]
        else:
            sys.modules[spec.name] = before
        raise
    return module


def _name_of(path: Path) -> str:
    """Return the file's own name, or another one if that is some other module's, which nothing may replace."""
    there = sys.modules.get(path.stem)
    known = there.__spec__ if there is not None else _spec_of(path.stem)
    is_free = (there is None and known is None) or (known is not None and _is_of(known, path))
    return path.stem if is_free else f"trident_loaded_{path.stem}"


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name) if name.isidentifier() else None
    except ValueError:  # there is no telling whose it is: it is not this file's
        return None


def _is_of(spec: ModuleSpec, path: Path) -> bool:
    return spec.origin is not None and Path(spec.origin).resolve() == path.resolve()


def _made(named: str, place: str, make: object, needed: list[str]) -> object:
    assert callable(make)  # whoever calls has looked
    if needed:
        raise ConfigurationError(
            f"{named!r} needs arguments ({', '.join(needed)}): name a function without any that returns the topology; "
            "nothing was decided"
        )
    with _as_wrong_use(place, f"in {named!r}"):
        _have_session()
        return make()


def _needed(make: Callable[..., object]) -> list[str]:
    """Return the arguments without which it can't be called."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except ValueError:  # one of Python's own that does not tell
        return []
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in parameters if each.default is each.empty and each.kind not in optional]


@contextmanager
def _as_wrong_use(place: str, when: str) -> Iterator[None]:
    """Refuse runs meanwhile, and say what a module of the user's raises as what is wrong with the command's use."""
    from trident.engine.spark import NoSessionError

    try:
        with only_loading(place, when):
            yield
    except NoSessionError as error:
        raise ConfigurationError(
            f"{error}. Or name a function that returns it ({place}:make), for which a session is made; nothing was "
            "decided"
        ) from error
    except ConfigurationError:
        raise
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"can't import {place!r}: {error}; nothing was done") from error
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{place} raised {_raised(error)} {when}; nothing was decided") from error


def _raised(error: BaseException) -> str:
    """Return what was raised and where; not what it says if there may be an address in it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" (line {frames[-1].lineno} of {Path(frames[-1].filename).name})" if frames else ""
    text = str(error)
    said = f": {text.splitlines()[0]}" if text and not may_hold_a_secret(text) else ""
    return f"{type(error).__name__}{said}{where}"


def _have_session() -> None:
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is None:
        from trident.local.session import local_session

        local_session("trident-cli")
