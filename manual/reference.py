"""The reference: every public name with its signature and what its docstring says, as Markdown."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

PACKAGES: Final[Mapping[str, str]] = {
    "trident": "Topologies, operations, runs and decisions",
    "trident.spouts": "Where records come from",
    "trident.state": "Where results go",
    "trident.testing": "Tests of topologies and stores",
}
"""What users import from, and what each holds."""
BESIDE: Final = (
    ("trident.local.kafka", "LocalKafka"),
    ("trident.local.kafka_cluster", "LocalKafkaCluster"),
    ("trident.local.postgres", "LocalPostgres"),
    ("trident.local.rabbitmq", "LocalRabbit"),
    ("trident.local.redis", "LocalRedis"),
    ("trident.local.spark_cluster", "LocalSparkCluster"),
)
"""Servers for trying and for tests, each in a module of its own."""
_OURS: Final = {"open_plain", "check_plain", "describe", "compile", "description", "places", "expression", "columns"}
"""Methods that the library calls on what a user has made, and nobody else."""


def pages() -> dict[str, str]:
    """Return the reference's pages by their names."""
    found = {f"reference/{name}.md": _page(name, title, _exported(name)) for name, title in PACKAGES.items()}
    servers = [(name, getattr(importlib.import_module(module), name), module) for module, name in BESIDE]
    found["reference/trident.local.md"] = _page("trident.local", "Servers for trying and for tests", servers)
    return found


def _exported(package: str) -> list[tuple[str, object, str]]:
    module: ModuleType = importlib.import_module(package)
    return [(name, getattr(module, name), package) for name in module.__all__]


def _page(name: str, title: str, things: list[tuple[str, object, str]]) -> str:
    parts = [f"# {name}", f"{title}."]
    parts.append(documented(importlib.import_module(name)))
    for called, thing, module in things:
        parts += list(_of(called, thing, module))
    return "\n\n".join(parts) + "\n"


def _of(name: str, thing: object, module: str) -> Iterator[str]:
    yield f"## {name}"
    if inspect.isclass(thing):
        yield _fenced(f"from {module} import {name}")
        yield from _of_class(name, thing)
    elif inspect.isfunction(thing):
        yield _fenced(f"from {module} import {name}\n\n{name}{signature(thing)}")
        yield documented(thing)
    else:
        yield _fenced(f"from {module} import {name}\n\n{name} = {thing}")


def _of_class(name: str, kind: type) -> Iterator[str]:
    if _has_own_signature(kind):
        yield _fenced(f"{name}{signature(kind)}")
    yield documented(kind)
    notes = attributes(kind)
    if notes:
        yield "\n".join(f"- `{attribute}`: {_in_one(text)}" for attribute, text in notes.items())
    for each, method in inspect.getmembers(kind, inspect.isroutine):
        if _is_for_users(kind, each, method):
            yield f"### {name}.{each}"
            yield _fenced(f"{each}{signature(method)}")
            yield documented(method)


def _is_for_users(kind: type, name: str, method: object) -> bool:
    is_ours = str(getattr(method, "__module__", "")).startswith("trident.")
    is_plain = not name.startswith("_") and not issubclass(kind, BaseException) and name not in _OURS
    return is_ours and is_plain and not hasattr(kind, "__members__") and bool(inspect.getdoc(method))


def _has_own_signature(kind: type) -> bool:
    is_protocol = getattr(kind, "_is_protocol", False)
    return not (is_protocol or issubclass(kind, BaseException) or hasattr(kind, "__members__"))


def documented(thing: object) -> str:
    """Return a docstring as it stands."""
    return inspect.getdoc(thing) or ""


def shown_in(thing: object) -> str:
    """Return the example in a docstring: its lines that are indented, without the indentation."""
    lines = [line for line in documented(thing).splitlines() if line.startswith("    ") or not line]
    return textwrap.dedent("\n".join(lines)).strip("\n")


def attributes(kind: type) -> dict[str, str]:
    """Return what stands below each attribute of a class, and of the classes of ours that it is made of.

    Members of an enum without a text are listed by their value.
    """
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each.__module__.startswith("trident."):
            found |= dict(_noted(each))
    members: Mapping[str, object] = getattr(kind, "__members__", {})
    values = {name: str(getattr(member, "value", member)) for name, member in members.items()}
    shown = {name: f"`{value!r}` {found.get(name, '')}".strip() for name, value in values.items()}
    return shown or {name: text for name, text in found.items() if not name.startswith("_")}


def _noted(kind: type) -> Iterator[tuple[str, str]]:
    # pickles may name it by a module that it does not stand in any more, which may be loaded or not
    written = _classes(inspect.getfile(kind)).get(kind.__name__) if kind.__module__ in sys.modules else None
    for node, below in itertools.pairwise(written.body if written is not None else ()):
        if not (isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)):
            continue
        target: ast.expr | None = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign):
            (target,) = node.targets
        if isinstance(target, ast.Name):
            yield target.id, inspect.cleandoc(str(below.value.value))


@cache
def _classes(file: str) -> Mapping[str, ast.ClassDef]:
    tree = ast.parse(Path(file).read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def signature(thing: Callable[..., object]) -> str:
    """Return a signature with its annotations as they are written, without `self`."""
    try:
        found = inspect.signature(thing)
    except ValueError:
        return "(…)"
    words: list[str] = []
    is_keyword_only = False
    parameters = [each for name, each in found.parameters.items() if name != "self"]
    for number, each in enumerate(parameters):
        if each.kind is each.KEYWORD_ONLY and not is_keyword_only:
            is_keyword_only = True
            words.append("*")
        is_keyword_only = is_keyword_only or each.kind is each.VAR_POSITIONAL
        words.append(_parameter(each))
        following = parameters[number + 1].kind if number + 1 < len(parameters) else None
        if each.kind is each.POSITIONAL_ONLY and following is not each.POSITIONAL_ONLY:
            words.append("/")
    result = "" if found.return_annotation in (found.empty, None) else f" -> {_written(found.return_annotation)}"
    flat = f"({', '.join(words)}){result}"
    return flat if len(flat) < 90 else "(\n    " + ",\n    ".join(words) + f",\n){result}"


def _parameter(each: inspect.Parameter) -> str:
    stars = "*" if each.kind is each.VAR_POSITIONAL else "**" if each.kind is each.VAR_KEYWORD else ""
    kind = "" if each.annotation is each.empty else f": {_written(each.annotation)}"
    if each.default is each.empty:
        return f"{stars}{each.name}{kind}"
    return f"{stars}{each.name}{kind} = {_default(each.default)}"


def _written(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _default(value: object) -> str:
    shown = (
        repr(str(value))
        if hasattr(type(value), "__members__")
        else repr(value).replace("datetime.timedelta", "timedelta")
    )
    return "…" if shown.startswith("<") or len(shown) > 60 else shown


def _in_one(text: str) -> str:
    return " ".join(text.split())


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```"
