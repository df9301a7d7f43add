"""The ledger's tables by version: each step's place plus one is the version that it leads to."""

from __future__ import annotations

from trident.coordinators.ledger.sql.tables import SCHEMA
from trident.coordinators.ledger.versions.version_1 import VERSION_1
from trident.coordinators.ledger.versions.version_2 import VERSION_2
from trident.coordinators.ledger.versions.version_3 import VERSION_3
from trident.coordinators.ledger.versions.version_4 import VERSION_4
from trident.coordinators.ledger.versions.version_5 import VERSION_5
from trident.coordinators.ledger.versions.version_6 import VERSION_6
from trident.coordinators.ledger.versions.version_7 import VERSION_7
from trident.state.databases.versions import NumberedTables, step

_VERSIONS = (VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7)
LEDGER_TABLES = NumberedTables("the ledger's tables", SCHEMA.name, tuple(step(each) for each in _VERSIONS))
