"""Finding a topology by `module:object` or `path/to/file.py:object`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from trident.base.errors import ConfigurationError

if TYPE_CHECKING:
    from trident.language.topology import Topology


def load_topology(named: str) -> Topology:
    """Import the module and return its topology; the object may also be a function without arguments that makes one.

    For a function a local Spark session is started unless one is active; a topology that is made while
    its module is imported needs a session that the module makes. Raises ConfigurationError.
    """
    from trident.language.topology import Topology  # brings Spark, which commands that only read do without

    place, colon, name = named.partition(":")
    if not (place and colon and name):
        raise ConfigurationError(f"{named!r} names no topology: write module:object or file.py:object")
    module = _imported(place)
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(f"{place!r} has no {name!r}; nothing was done")
        found = getattr(found, part)
    if not isinstance(found, Topology) and callable(found):
        _have_session()
        found = found()
    if not isinstance(found, Topology):
        raise ConfigurationError(f"{named!r} is a {type(found).__name__}, not a Topology; nothing was done")
    return found


def _imported(place: str) -> ModuleType:
    if not place.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise ConfigurationError(f"can't import {place!r}: {error}; nothing was done") from error
    path = Path(place)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ConfigurationError(f"there is no file {place!r}; nothing was done")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _have_session() -> None:
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is None:
        from trident.local.session import local_session

        local_session("trident-cli")
