"""What a batch would do to the states beside the ledger, tried for some rows of one of them and rolled back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from trident.base.errors import RefusedError
from trident.base.identity import BatchId
from trident.coordinators.batches.steps import Steps
from trident.state.sifting import Sifted, Sifts, Verdict
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.target import Target


def sift_beside(
    stores: Mapping[str, Target],
    batch: BatchId,
    made: Mapping[str, StagedUpdates],
    name: str,
    rows: pa.Table,
    most: int,
) -> Sifted:
    """Return which rows of a state beside the ledger are refused, among all that the pin's transaction would do.

    Raises what a state before it refuses at once: there is something else to decide first. What that one refuses at
    the COMMIT is about that one, and what this one refuses is found nevertheless.
    """

    def refuser(numbers: Sequence[int]) -> str | None:
        """Return who refuses, "" where the database does not say whose it is; None where nobody does."""
        some = HeldUpdates(rows.take(pa.array(numbers, pa.int64())))
        steps = Steps(batch, stores, {**made, name: some})
        try:
            steps.make_ready()
            sifting.try_in(batch, steps.do)
        except RefusedError:
            if not steps.is_late and steps.state in names[: names.index(name)]:
                raise
            return steps.state
        return None

    def fails(refusing: str | None) -> bool:  # another one's refusal, behind its merge, is about that one
        return refusing == name or (refusing == "" and without != "")

    names, sifting = list(made), _sifting(stores[name])
    whole, without = refuser(range(rows.num_rows)), None
    if whole in (name, ""):
        without = refuser(())
    if not fails(whole):
        return Sifted(Verdict.FITS, rows.num_rows)
    if without == name:
        return Sifted(Verdict.NO_ROW, rows.num_rows)
    found = sift_first(stores, batch, made, name, rows, most)
    # refused once the others are there too, or at the COMMIT
    late = found.verdict is Verdict.FITS or (found.verdict is Verdict.SOME and fails(refuser(found.kept)))
    return Sifted(Verdict.TOGETHER, rows.num_rows) if late else found


def sift_first(
    stores: Mapping[str, Target],
    batch: BatchId,
    made: Mapping[str, StagedUpdates],
    name: str,
    rows: pa.Table,
    most: int,
) -> Sifted:
    """Return which rows are refused as soon as they are merged, behind what comes first in the same transaction.

    A state's table may refer to, or look at, what another state writes before it; one elsewhere stands alone.
    """
    names = list(made)
    is_beside = stores[name].capabilities.beside is not None
    earlier = {each: made[each] for each in names[: names.index(name)]} if is_beside else {}
    steps = Steps(batch, stores, earlier)
    steps.make_ready()  # now, as it may take long and needs transactions of its own
    return _sifting(stores[name]).sift(batch, rows, steps.do_first, most)


def _sifting(store: Target) -> Sifts:
    sifting = store.capabilities.sifting
    assert sifting is not None, "only states that can be asked are"
    return sifting
