"""States that a rename is recorded of and that have not followed it: they lie under their former names."""

from __future__ import annotations

from collections.abc import Iterator

from trident.coordinators.ledger.rules.renaming import rename_way
from trident.coordinators.ledger.sql.reads import read_spec
from trident.doctor.clients import reading
from trident.doctor.databases import DatabaseAt
from trident.doctor.findings import Finding, warning
from trident.doctor.standing import standing_of
from trident.doctor.subject import Subject
from trident.state.databases.base import SqlDatabase


def look_at_names(subject: Subject, at: DatabaseAt) -> Iterator[Finding]:
    """Say which of the states in a database stand there under a name that the ledger knows as a former one."""
    database = subject.ledger.database
    if not isinstance(database, SqlDatabase) or standing_of(subject) is None:
        return
    with reading(database) as connection:
        renamed = read_spec(connection, subject.topology).renamed
    for table in at.tables:
        renaming = table.capabilities.renaming
        for each in renamed:
            if each.state != table.name or renaming is None:
                continue
            if renaming.lies_under(subject.topology, each.former):
                yield warning(
                    f"state {each.state!r}",
                    f"it was renamed after txid {each.txid}, which the ledger has recorded, and lies under its former "
                    f"name {each.former!r} still",
                    "a rename was cut off, or the state was restored to before it; its rows are there",
                    "the next start, or the rename given again "
                    f"({rename_way({each.former: each.state})}), lets it follow where it stands as the ledger says",
                )
