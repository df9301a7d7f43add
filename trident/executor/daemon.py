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
imported ahead, as it does with Spark's own daemon.
"""

from __future__ import annotations

import os
import sys
import traceback
import zipimport
from collections.abc import Callable
from functools import wraps
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

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
        _preload()
    prefer_shipped()
    from pyspark.daemon import manager

    manager()  # type: ignore[no-untyped-call, unused-ignore]


def prefer_shipped() -> None:
    """Let each worker forget what was imported ahead and is shipped to its task, once it knows what is shipped."""
    import pyspark.worker as worker

    set_up: Callable[..., object] | None = getattr(worker, "setup_spark_files", None)
    if set_up is None:  # another Spark's: the modules that were imported ahead stay
        return

    @wraps(set_up)
    def and_forget(*arguments: object, **named: object) -> object:
        before = set(sys.path)
        answer = set_up(*arguments, **named)
        added = [entry for entry in sys.path if entry not in before]
        if added:  # a worker's first task, as a rule
            _forget_shadowed(added)
        return answer

    worker.setup_spark_files = and_forget  # type: ignore[assignment, attr-defined, unused-ignore]


def _forget_shadowed(added: list[str]) -> None:
    for name in {name.partition(".")[0] for name in sys.modules}:
        if PathFinder.find_spec(name, added) is not None:
            for known in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
                del sys.modules[known]


def _preload() -> None:
    """Import ahead; if a library starts threads or breaks, begin again as the daemon that imports nothing."""
    from trident.executor.preload import preload  # after `drop_archives`, so that all of it comes from files

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


if __name__ == "__main__":
    main()
