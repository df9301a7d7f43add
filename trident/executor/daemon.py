"""Spark's Python daemon with the tasks' modules in place, and without two taxes that every task pays.

Run as `spark.python.daemon.module`. Before any worker is forked it imports what tasks need
(`trident.executor.preload`): a worker has it from the start, and Spark's `gc.collect()` after each task
does not go through it.

Spark's worker also calls `importlib.invalidate_caches()` before each task. Up to Python 3.11 every zip
file on `sys.path` is then read again at the next import: Spark puts three there (its own Python
sources, py4j's, and a 15 MB jar), which costs a small task more than its work does. They are taken away
where the same sources are installed as plain files; where they are not, nothing is changed. Archives of
users stay.

A module that Spark ships to a task (`addPyFile`, `--py-files`) wins over the one of that name that was
imported ahead, as it does with Spark's own daemon. What Spark's daemon itself has imported before any
task, and the standard library, stay as they are with either.
"""

from __future__ import annotations

import os
import sys
import traceback
import zipimport
from collections.abc import Callable, Collection
from functools import wraps
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

Listing = frozenset[str]
_ARCHIVES = (".zip", ".jar", ".egg")
_PLAIN = "TRIDENT_PLAIN_DAEMON"
"""Set in the environment of a daemon that imports nothing ahead of its tasks."""


def drop_archives() -> bool:
    """Take Spark's zips and jars off the import path; returns whether it did. May be called again.

    Only when `pyspark` and `py4j` are installed as files and Spark's zip is that installation's own.
    """
    plain = [entry for entry in sys.path if not entry.endswith(_ARCHIVES)]
    home = _installed_as_files("pyspark", plain)
    if home is None or _installed_as_files("py4j", plain) is None:
        return False
    foreign = [entry for entry in sys.path if entry.endswith("pyspark.zip") and home not in Path(entry).parents]
    if foreign:
        return False
    archives = [entry for entry in sys.path if entry.endswith(_ARCHIVES) and _is_sparks(entry, home)]
    sys.path[:] = [entry for entry in sys.path if entry not in archives]
    for module in list(sys.modules.values()):
        _point_at_files(module, archives, home.parent)
    for entry, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimport.zipimporter) and finder.archive in archives:
            del sys.path_importer_cache[entry]
    return True


def _is_sparks(archive: str, home: Path) -> bool:
    return home in Path(archive).parents


def _installed_as_files(package: str, path: list[str]) -> Path | None:
    spec = PathFinder.find_spec(package, path)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _point_at_files(module: ModuleType, archives: list[str], site: Path) -> None:
    """Let a package that came from an archive find modules that are imported later among the files."""
    found = getattr(module, "__path__", None)
    if not isinstance(found, list):
        return
    for archive in archives:
        found[:] = [str(site) + entry.removeprefix(archive) if entry.startswith(archive) else entry for entry in found]


def main() -> None:
    """Serve Spark as `pyspark.daemon` does; ends when Spark closes standard input."""
    drop_archives()
    if os.environ.get(_PLAIN) is None:
        prefer_shipped(_preload())
    from pyspark.daemon import manager

    manager()  # type: ignore[no-untyped-call, unused-ignore]


def prefer_shipped(ahead: Collection[str]) -> None:
    """Let each worker forget those of the packages imported ahead that are shipped to its task, once it knows them."""
    import pyspark.worker as worker

    set_up: Callable[..., object] | None = getattr(worker, "setup_spark_files", None)
    if set_up is None:  # another Spark's: the modules that were imported ahead stay
        return
    left, seen = set(ahead), dict[str, Listing]()

    @wraps(set_up)
    def and_forget(*arguments: object, **named: object) -> object:
        before = set(sys.path)
        answer = set_up(*arguments, **named)
        added = [entry for entry in sys.path if entry not in before]
        # a folder that was there at the last task may hold more by now
        found = {entry: _listed(entry) for entry in (*seen, *added)}
        grown = [entry for entry, listing in found.items() if seen.get(entry) != listing]
        seen.update(found)
        if grown:  # a worker's first task, as a rule
            left.difference_update(_forget_shadowed(left, grown))
        return answer

    worker.setup_spark_files = and_forget  # type: ignore[assignment, attr-defined, unused-ignore]


def _listed(entry: str) -> Listing:
    try:
        return frozenset(os.listdir(entry))  # noqa: PTH208 - for every task, so the quickest
    except OSError:  # an archive, or gone
        return frozenset({entry})


def _forget_shadowed(names: Collection[str], shipped: list[str]) -> set[str]:
    """Forget the packages of these names that are shipped; returns them."""
    forgotten = set()
    for name in names:
        spec = PathFinder.find_spec(name, shipped)
        if spec is None or spec.loader is None:  # not there, or a folder of data that has a package's name
            continue
        forgotten.add(name)
        for known in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
            del sys.modules[known]
    return forgotten


def _preload() -> frozenset[str]:
    """Import ahead, and return the packages that Spark's own daemon would not have.

    If a library starts threads or breaks, begin again as the daemon that imports nothing.
    """
    from trident.executor.preload import (  # after `drop_archives`: all of it from files
        keep_arrow_in_one_thread,
        preload,
    )

    keep_arrow_in_one_thread()
    import pyspark.daemon
    import pyspark.worker  # noqa: F401 - both are what Spark's own daemon has

    known = {name.partition(".")[0] for name in sys.modules} - {"trident"} | sys.stdlib_module_names
    alone = False
    try:
        alone = preload()
    finally:
        if not alone:
            # whatever it was: a task that does without that library must not fail because of it
            if sys.exception() is not None:
                traceback.print_exc()
            sys.stderr.flush()
            os.execve(sys.executable, sys.orig_argv, {**os.environ, _PLAIN: "1"})  # noqa: S606
    return frozenset({name.partition(".")[0] for name in sys.modules} - known)


if __name__ == "__main__":
    main()
