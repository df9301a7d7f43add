"""What a name may be: one rule for topologies, streams, states, tables and columns, which every store can keep."""

from __future__ import annotations

import unicodedata
from typing import Final

from trident.base.checks import refused

LONGEST_NAME: Final = 63
"""In bytes of UTF-8: PostgreSQL cuts a longer name without a word, so that two of them become one."""
RESERVED: Final = "trident_"
"""How the names of this library's own tables and columns begin, whatever their case."""

_LONGEST_OLD: Final = 200
"""In characters: what an older version took."""
_UNSAFE: Final = '":%\\'
_RULE: Final = (
    f"a name of 1 to {LONGEST_NAME} bytes of printable characters, in Unicode's composed form (NFC), with no blank at "
    'either end and none of " : % \\'
)


def check_name(what: str, given: object) -> str:
    """Return a name that every store holds as it is; raises ConfigurationError otherwise."""
    name = check_identifier(what, given)
    if name != name.strip() or not unicodedata.is_normalized("NFC", name):
        raise refused(what, _RULE, given)
    return name


def check_given_name(what: str, given: object) -> str:
    """Return a name of a topology, stream or state as any version of this library took it.

    Whether it is new, so that `check_name` holds, only the ledger can say: it is asked before anything is begun, and
    what an older version began goes on under its name. These names are only ever values in stores, never identifiers.
    """
    if not isinstance(given, str) or not given.strip() or len(given) > _LONGEST_OLD or not given.isprintable():
        raise refused(what, _RULE, given)
    return given


def check_identifier(what: str, given: object) -> str:
    """Return a name that can be quoted as that of a table or column, and that no store cuts."""
    if not isinstance(given, str) or not given.isprintable() or not 1 <= len(given.encode()) <= LONGEST_NAME:
        raise refused(what, _RULE, given)
    if not given.strip() or any(character in given for character in _UNSAFE):
        raise refused(what, _RULE, given)
    return given


def check_table_name(what: str, given: object, *, is_new: bool = False) -> str:
    """Return `table` or `schema.table`, and not one that this library uses itself.

    Each part can be quoted; those of a new state's table are names that every store holds as they are.
    """
    parts = given.split(".") if isinstance(given, str) else []
    if len(parts) not in (1, 2):
        raise refused(what, "a table's name, or schema.table", given)
    for part in parts:
        (check_name if is_new else check_identifier)(what, part)
    if parts[-1].casefold().startswith(RESERVED):
        raise refused(what, f"a name that does not begin with {RESERVED!r}, as this library's own tables do", given)
    return ".".join(parts)
