"""The ledger's tables by version: each step's place plus one is the version that it leads to."""

from __future__ import annotations

from trident.coordinators.ledger.sql.tables import SCHEMA
from trident.coordinators.ledger.versions.version_1 import VERSION_1
from trident.coordinators.ledger.versions.version_2 import VERSION_2
from trident.coordinators.ledger.versions.version_3 import VERSION_3
from trident.state.databases.versions import NumberedTables, step

LEDGER_TABLES = NumberedTables("the ledger's tables", SCHEMA.name, (step(VERSION_1), step(VERSION_2), step(VERSION_3)))
