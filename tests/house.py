"""The rooms of the house (folders of the product) and the arrows between them (imports), as they are in the files.

`python -m tests.house` prints the picture that docs/design.md holds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYERS = ("trident", "coordinators", "state", "spouts", "base")
"""From the roof down; all but the first are linked into the package `trident`."""

Arrows = dict[str, set[str]]
"""Of each room, the rooms that it imports."""


def rooms() -> dict[str, list[Path]]:
    """Return every room with its files; a layer's own modules are the room of the layer's name.

    `__init__.py` files are doors, not rooms: they import what they show.
    """
    found: dict[str, list[Path]] = {}
    for layer in LAYERS:
        for file in sorted((ROOT / layer).rglob("*.py")):
            if file.name != "__init__.py" and not _is_linked(file):
                found.setdefault(_room(file.relative_to(ROOT).parts[:-1]), []).append(file)
    return found


def arrows() -> Arrows:
    """Return which room imports which, itself left out."""
    found: Arrows = {}
    for room, files in rooms().items():
        targets = {target for file in files for name in imported(file) if (target := _room_of_module(name))}
        found[room] = targets - {room}
    return found


def imported(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports, those that it needs for types only included."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the rooms of one way that comes back to where it began; empty when there is none."""
    done: set[str] = set()

    def walk(room: str, way: list[str]) -> list[str]:
        if room in way:
            return [*way[way.index(room) :], room]
        if room in done:
            return []
        for following in sorted(graph.get(room, ())):
            if back := walk(following, [*way, room]):
                return back
        done.add(room)
        return []

    return next((back for room in sorted(graph) if (back := walk(room, []))), [])


def reduced(graph: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Return the arrows that no way over other rooms replaces; the graph has no cycle."""

    def reaches(start: str, end: str) -> bool:
        return end in graph.get(start, ()) or any(reaches(middle, end) for middle in graph.get(start, ()))

    return sorted(
        (room, target)
        for room, targets in graph.items()
        for target in targets
        if not any(reaches(other, target) for other in targets if other != target)
    )


def picture() -> str:
    """Return the house as a Mermaid flowchart: an arrow for each import that no way over other rooms replaces."""
    graph = arrows()
    lines = ["flowchart TD"]
    for layer in LAYERS:
        inside = sorted(room for room in graph if room.split("/")[0] == layer)
        lines.append(f"    subgraph {layer}_[{layer}/]")
        lines += [f'        {_id(room)}["{room}"]' for room in inside]
        lines.append("    end")
    lines += [f"    {_id(room)} --> {_id(target)}" for room, target in reduced(graph)]
    return "\n".join(lines)


def _id(room: str) -> str:
    return room.replace("/", "_")


def _is_linked(file: Path) -> bool:
    parts = file.relative_to(ROOT).parts
    return parts[0] == "trident" and parts[1] in LAYERS


def _room(folders: tuple[str, ...]) -> str:
    return "/".join(folders[:2])


def _room_of_module(name: str) -> str:
    parts = name.split(".")
    if parts[0] != "trident" or len(parts) == 1:
        return ""
    place = parts[1:] if parts[1] in LAYERS else parts
    if (ROOT / Path(*place)).is_dir():
        return _room(tuple(place))
    return _room(tuple(place[:-1]))


if __name__ == "__main__":
    print(picture())
