"""Pages whose tables are made from figures that lie beside them."""

from __future__ import annotations

_BEGIN, _END = "<!-- figures -->", "<!-- end of figures -->"


def with_table(page: str, made: str) -> str:
    """Return the page with another table; raises ValueError when it has no place for one."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page has no place for the table: {_BEGIN} … {_END}")
    return f"{before}{_BEGIN}\n{made}\n{_END}{after}"
