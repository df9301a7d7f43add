"""The contract of a state as a suite of tests; public as `trident.testing`."""

from __future__ import annotations

from trident.testing.evolution_contract import EvolutionContract
from trident.testing.position_contract import PositionContract
from trident.testing.query_contract import QueryContract
from trident.testing.renaming_contract import RenamingContract
from trident.testing.reset_contract import ResetContract
from trident.testing.row_contract import RowContract
from trident.testing.undo_contract import UndoContract
from trident.testing.value_contract import ValueContract


class StateContract(
    PositionContract,
    RowContract,
    UndoContract,
    ResetContract,
    QueryContract,
    ValueContract,
    EvolutionContract,
    RenamingContract,
):
    """What every store promises; subclass it and define the fixture `harness`.

    What a store can't do at all (its capabilities leave it out) is not asked of it.
    """
