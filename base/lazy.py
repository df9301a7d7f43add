"""Packages whose names are imported when they are first asked for.

Spark's Python workers unpickle functions of this package and need next to nothing of it, and whoever only looks at a
ledger needs no Spark.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_exports(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a package's `__getattr__` and `__dir__`; `modules` says which module of which names is home."""
    home = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return find, names
