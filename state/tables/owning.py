"""Whose a table is: who has a position for it, or a note at a weaker level, in this schema or in another one.

The one place that is asked before a target takes a table, or empties it: whoever comes second is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, text

from trident.base.advice import DROP
from trident.base.errors import MismatchError
from trident.state.databases.base import HasSchemas, SqlDatabase
from trident.state.tables.dialect import Dialect
from trident.state.tables.names import quote
from trident.state.tables.versions import PLAIN_TABLES

POSITIONS: Final = "trident_applied"
NOTES: Final = "trident_plain"
_OTHERS: Final = "NOT (topology = :topology AND state = :state)"
_RELEASE: Final = f"UPDATE trident_plain SET has_left = TRUE WHERE {_OTHERS} AND NOT has_left AND ({{}})"
_LEFT: Final = f"SELECT 1 FROM trident_plain WHERE {_OTHERS} AND has_left AND ({{}})"
_FORGET: Final = f"DELETE FROM trident_plain WHERE {_OTHERS} AND has_left AND ({{}})"


@dataclass(frozen=True, slots=True)
class Claim:
    """That a table is a state's or sink's of some topology."""

    topology: str
    state: str
    is_placed: bool
    """Whether its rows stand at a txid."""
    may_share: bool = False
    """Whether others that only append may write there, too."""
    schema: str | None = None
    """Where that is kept, None where names without a schema lead to."""
    relation: str | None = None
    """Which table was noted, and beside which notes."""

    def __str__(self) -> str:
        kept = POSITIONS if self.is_placed else NOTES
        where = "" if self.schema is None else f" ({kept} in schema {self.schema!r} of this database says so)"
        return f"{self.state!r} of topology {self.topology!r}{where}"


@dataclass(frozen=True, slots=True)
class Ownership:
    """Asks for one table; every method runs inside the caller's transaction."""

    database: SqlDatabase
    dialect: Dialect
    table: str

    def claims(self, connection: Connection) -> list[Claim]:
        """Return all that there are, those of positions first."""
        return [*self._here(connection, POSITIONS), *self.elsewhere(connection, POSITIONS), *self.notes(connection)]

    def notes(self, connection: Connection) -> list[Claim]:
        """Return those of the weaker levels."""
        return [*self._here(connection, NOTES), *self.elsewhere(connection, NOTES)]

    def elsewhere(self, connection: Connection, kept: str) -> Iterator[Claim]:
        """Find those of other schemas by the table's number: each address has a path of its own to where they are.

        Notes that came from a dump know none that is true; those are found by a name that says the table's schema.
        """
        number = self._number(connection)
        if number is None or not isinstance(self.database, HasSchemas):
            return
        for schema in self.database.elsewhere(connection, kept, "relation", number, begins=True).schemas:
            where, asked = _of_number(number, self._beside(connection, schema) if kept == NOTES else None)
            yield from self._found(connection, kept, _place(schema, kept), where, asked, schema)
        if kept != NOTES or "." not in self.table:
            return
        for schema in self.database.elsewhere(connection, kept, "table_name", self.table).schemas:
            asked = {"table": self.table, "beside": f"%@{self._beside(connection, schema)}"}
            where = "table_name = :table AND NOT relation LIKE :beside"
            yield from self._found(connection, kept, _place(schema, kept), where, asked, schema)

    def were_two(self, connection: Connection, mine: Claim, other: Claim) -> bool:
        """Whether another one's note, which is found by name only, was of another table than one's own.

        Both are of before a restore; or one's own was noted since, when the other one was there and did not hold.
        """
        if other.schema is not None or mine.relation is None or other.relation is None:
            return False
        is_of_now = other.relation.endswith(f"@{self._beside(connection)}")
        return not is_of_now and number_of(mine.relation) != number_of(other.relation)

    def release_if_missing(self, connection: Connection, topology: str, state: str, *, numbered: bool = True) -> None:
        """Let notes of others go while there is no table of the name: what is made now is none of theirs.

        One that says which table it is of needs nothing: that is another one. Of before a restore, where the name may
        lead its owner to a table that is there, it goes only for who has no note of his own to hold against it
        (`numbered`).
        """
        if not self.dialect.may_read(connection, NOTES) or self._has(connection, self.table):
            return
        where, asked = self._noted_here(connection)
        if any((claim.topology, claim.state) != (topology, state) for claim in self._of_notes(connection)):
            PLAIN_TABLES.migrate(connection, self.database.schema_terms)
            named = {"topology": topology, "state": state}
            released = where if numbered else f"relation IS NULL AND ({where})"
            connection.execute(text(_RELEASE.format(released)), {**asked, **named})

    def forget_who_left(self, connection: Connection, topology: str, state: str) -> None:
        """Let those who have left the table be new to it, should they come back: it has been another's since."""
        where, asked = self._noted_here(connection)
        named = {**asked, "topology": topology, "state": state}
        # asked first: the right to delete is needed by nobody who has nothing to delete
        if connection.execute(text(_LEFT.format(where)), named).first() is not None:
            connection.execute(text(_FORGET.format(where)), named)

    def _here(self, connection: Connection, kept: str) -> list[Claim]:
        if kept == POSITIONS:
            if not self._has(connection, kept):
                return []
            return list(self._found(connection, kept, kept, self.dialect.same_table, {"table": self.table}))
        # a note of a table that is not there holds nothing; a position does: a restore may have left its rows out. Of
        # notes that only others may read nothing is known here, as of those of other schemas
        if not (self.dialect.may_read(connection, kept) and self._has(connection, self.table)):
            return []
        return self._of_notes(connection)

    def _of_notes(self, connection: Connection) -> list[Claim]:
        where, asked = self._noted_here(connection)
        return list(self._found(connection, NOTES, NOTES, where, asked))

    def _noted_here(self, connection: Connection) -> tuple[str, dict[str, str]]:
        """Return how the notes of the table are found: by its number, and by name those that know none.

        A name means another table wherever another search path leads. Numbers say nothing that were noted beside other
        notes than these: those came from a dump, and so may the table have, which has another one since.
        """
        asked, columns = {"table": self.table}, self.dialect.find_columns(connection, NOTES) or ()
        by_name = f"({self.dialect.same_table})"
        if not any(column.name == "relation" for column in columns):
            return by_name, asked
        beside, number = self._beside(connection), self._number(connection)
        if beside is None:
            return f"relation IS NULL AND {by_name}", asked
        by_name = f"(relation IS NULL OR NOT relation LIKE :beside) AND {by_name}"
        where, numbered = ("FALSE", {"beside": f"%@{beside}"}) if number is None else _of_number(number, beside)
        return f"({by_name}) OR ({where})", {**asked, **numbered}

    def _beside(self, connection: Connection, schema: str | None = None) -> str | None:
        """Return the number of the notes themselves."""
        return number_of(self.dialect.relation(connection, NOTES if schema is None else f"{schema}.{NOTES}"))

    def _number(self, connection: Connection) -> str | None:
        """Return what a note of the table begins with where databases number theirs; None where it is not there."""
        relation = self.dialect.relation(connection, self.table)
        return None if relation is None else f"{number_of(relation)}:"

    def _found(
        self,
        connection: Connection,
        kept: str,
        place: str,
        where: str,
        asked: dict[str, str],
        schema: str | None = None,
    ) -> Iterator[Claim]:
        is_placed = kept == POSITIONS
        known = () if is_placed or schema is not None else self.dialect.find_columns(connection, NOTES) or ()
        # those of elsewhere are found by a column that came with the two others
        is_told = not is_placed and (schema is not None or any(column.name == "has_left" for column in known))
        told, live = ("may_share, relation", " AND NOT has_left") if is_told else ("NULL, NULL", "")
        statement = text(f"SELECT topology, state, {told} FROM {place} WHERE ({where}){live} ORDER BY 1, 2")
        for topology, state, shares, relation in connection.execute(statement, asked).all():
            # of a note that an older version made nothing says whether it is a sink's
            may_share = not is_placed and (shares is None or bool(shares))
            yield Claim(topology, state, is_placed, may_share, schema, relation)

    def _has(self, connection: Connection, table: str) -> bool:
        return self.dialect.find_columns(connection, table) is not None


def _of_number(number: str, beside: str | None) -> tuple[str, dict[str, str]]:
    """Return what finds a table's positions, or its notes, beside which notes they were made."""
    if beside is None:
        return "relation LIKE :number", {"number": f"{number}%"}
    return "relation LIKE :number AND relation LIKE :beside", {"number": f"{number}%", "beside": f"%@{beside}"}


def _place(schema: str, kept: str) -> str:
    return f"{quote(schema)}.{kept}".replace(":", "\\:")


def number_of(relation: str | None) -> str | None:
    """Return the table's number, without that of its file, which maintenance changes."""
    return None if relation is None else relation.partition(":")[0]


def refuse_noted(connection: Connection, ownership: Ownership) -> None:
    """Raise MismatchError for a table in which a state or sink of a weaker level writes rows without a txid."""
    for claim in ownership.notes(connection):
        raise MismatchError(
            f"table {ownership.table!r} belongs to {claim}, which writes there without a txid (its level is a weaker "
            f"one): what stands at a txid can't be mixed with that. Nothing was changed: use another table{_RELEASED}"
        )


def refuse_placed(connection: Connection, ownership: Ownership, name: str) -> None:
    """Raise MismatchError for a table whose rows stand at a txid of some topology."""
    for claim in ownership.claims(connection):
        if claim.is_placed:
            raise MismatchError(
                f"table {ownership.table!r} is {claim}, which knows up to which txid its rows are: what is written by "
                f"{name!r} without one can't be mixed with it. Nothing was changed: use another table"
            )


def refuse_others(connection: Connection, ownership: Ownership, topology: str, name: str, *, may_share: bool) -> None:
    """Raise MismatchError for a table that is noted for another one, unless both only append to it."""
    notes = ownership.notes(connection)
    mine = next((each for each in notes if (each.topology, each.state, each.schema) == (topology, name, None)), None)
    for claim in notes:
        if (claim.topology, claim.state) == (topology, name) and (claim.schema is None or mine is not None):
            continue
        if mine is not None and ownership.were_two(connection, mine, claim):
            continue
        if not (may_share and claim.may_share):
            raise MismatchError(
                f"table {ownership.table!r} belongs to state or sink {claim}, not to {name!r} of topology "
                f"{topology!r}; nothing was changed: use another table{_RELEASED}"
            )


_RELEASED: Final = (
    f". If that one does not write there any more, take it out of its topology ({DROP}), or drop the table"
)
