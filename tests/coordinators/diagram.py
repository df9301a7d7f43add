"""The protocol's diagram, drawn from its table; `python -m tests.coordinators.diagram` renews it in docs/design.md."""

from __future__ import annotations

from pathlib import Path

from trident.coordinators.protocol.transitions import TRANSITIONS, Status

PAGE = Path(__file__).parents[2] / "docs" / "design.md"
_BEGIN = "<!-- drawn from coordinators/protocol/transitions.py -->\n"
_END = "<!-- end of drawing -->\n"
_ENDS = (Status.DONE, Status.DROPPED)


def diagram() -> str:
    """Return the legal moves of a batch as a Mermaid state diagram."""
    moves = [f"    {before} --> {after}: {word}" for (before, word), after in TRANSITIONS.items()]
    ends = [f"    {status} --> [*]" for status in _ENDS]
    return "\n".join(["```mermaid", "stateDiagram-v2", f"    [*] --> {Status.PLANNING}", *moves, *ends, "```", ""])


def with_diagram(page: str) -> str:
    """Return the page with the diagram that its table gives."""
    before, rest = page.split(_BEGIN)
    _, after = rest.split(_END)
    return before + _BEGIN + diagram() + _END + after


if __name__ == "__main__":
    PAGE.write_text(with_diagram(PAGE.read_text()))
