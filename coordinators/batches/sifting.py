"""Which rows of a state are refused: counted when a run stops, and taken out of the attempt that a person has decided.

Nothing of it is seen by a reader: every trial is rolled back. What is found is kept with the very transaction that
applies the rest, so whoever dies in between has neither taken out nor applied a row.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from trident.base.advice import DIVERT, REAPPLY
from trident.base.errors import RefusedError, RetryableError, TridentError
from trident.base.identity import BatchId
from trident.coordinators.batches.trying import sift_beside, sift_first
from trident.coordinators.decided import Diverted
from trident.state.capabilities import diverting_of
from trident.state.rows import json_rows
from trident.state.sifting import Sifted, Sifts, Verdict, in_lasting_order, sift
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.target import Target

_log = logging.getLogger("trident.coordinator")

MOST_TRIES: Final = 10_000
"""How often rows are tried for a person who takes them out: about 400 bad ones of a million."""
_MOST_COUNTED: Final = 200_000
"""Up to how many rows are tried while a run stops: it tells how many are refused, and takes none out."""
_MOST_TRIES_COUNTING: Final = 200
_COUNTS: Final = 3
"""How often they are counted while a store has something else to do."""


@dataclass(frozen=True, slots=True)
class Parted:
    """A state's rows of a batch, told apart."""

    kept: pa.Table
    refused: pa.Table
    found: Sifted

    def followed_by(self, later: Parted) -> Parted:
        """Return what is left and what was refused once what was left is told apart too."""
        if not later.refused.num_rows:
            return self
        return Parted(later.kept, pa.concat_tables([self.refused, later.refused]), later.found)


def sifted_of(
    stores: Mapping[str, Target], batch: BatchId, made: Mapping[str, StagedUpdates], states: Sequence[str]
) -> tuple[dict[str, StagedUpdates], tuple[Diverted, ...]]:
    """Return what was made without the rows that these states refuse, and those rows.

    Where no single rows can be told, all of a state's are taken out, which is said in the log. The states must stand
    right before the batch.
    """
    left, told = dict(made), dict[str, Parted]()
    names = [each for each in made if each in states]  # each behind those that come before it
    for name in names:
        rows = rows_to_try(stores[name], batch, left[name])
        told[name] = part_rows(stores, batch, left, name, rows)
        left[name] = HeldUpdates(told[name].kept)
    for name in names[:-1]:  # what it refuses late may show only once those behind it refuse nothing at once
        told[name] = told[name].followed_by(part_rows(stores, batch, left, name, told[name].kept))
        left[name] = HeldUpdates(told[name].kept)
    for name in names:
        _tell(batch, name, told[name])
    return left, tuple(Diverted(name, json_rows(told[name].refused)) for name in names)


def rows_to_try(store: Target, batch: BatchId, updates: StagedUpdates) -> pa.Table:
    """Return a state's rows of a batch in the order in which they are tried, and merged without those that leave."""
    return in_lasting_order(diverting_of(store).staged_rows(batch, updates))


def part_rows(
    stores: Mapping[str, Target], batch: BatchId, made: Mapping[str, StagedUpdates], name: str, rows: pa.Table
) -> Parted:
    """Tell a state's rows apart; all are refused where no single ones can be told."""
    store = stores[name]
    sifting = store.capabilities.sifting
    assert sifting is not None, "only states that can be asked are"
    unfit = unfit_of(sifting, rows, MOST_TRIES)
    if not _is_told(unfit):
        return _whole(rows, unfit)
    fit = _taken(rows, unfit.kept)
    found = Sifted(Verdict.FITS, fit.num_rows)
    if store.capabilities.beside is not None and fit.num_rows:
        try:
            found = sift_beside(stores, batch, made, name, fit, MOST_TRIES)
        except RefusedError as error:
            _log.warning(
                "state %r, %s: what it refuses is not looked for, one before it refuses: %s", name, batch, error
            )
            return Parted(fit, _taken(rows, unfit.refused), Sifted(Verdict.UNTOLD, fit.num_rows))
    if found.verdict is Verdict.NO_ROW:
        return Parted(rows, rows.slice(0, 0), found)
    if not _is_told(found):
        return _whole(rows, found)
    refused = sorted({*unfit.refused, *(unfit.kept[number] for number in found.refused)})
    return parted(rows, refused)


def parted(rows: pa.Table, refused: Sequence[int]) -> Parted:
    """Return rows without those of some numbers, and these."""
    verdict = Verdict.ALL if len(refused) == rows.num_rows else Verdict.SOME if refused else Verdict.FITS
    found = Sifted(verdict, rows.num_rows, tuple(refused))
    return Parted(_taken(rows, found.kept), _taken(rows, found.refused), found)


def unfit_of(sifting: Sifts, rows: pa.Table, most: int) -> Sifted:
    """Return which rows can't even be staged."""

    def refuses(numbers: Sequence[int]) -> bool:
        try:
            sifting.check(_taken(rows, numbers))
        except RefusedError:
            return True
        return False

    return sift(rows.num_rows, refuses, most)


def how_many(
    stores: Mapping[str, Target], batch: BatchId, made: Mapping[str, StagedUpdates], name: str
) -> Sifted | None:
    """Return how many rows of a state that has refused a batch are refused; None where that is not to be told.

    For a text, and nothing depends on it: what goes wrong meanwhile is left to whoever meets it again.
    """
    store, updates = stores.get(name), made.get(name)
    if store is None or store.capabilities.sifting is None:
        return None
    if updates is None or not 0 < updates.count <= _MOST_COUNTED:
        return None
    for _ in range(_COUNTS):
        try:
            rows = rows_to_try(store, batch, updates)
            search = sift_first if store.capabilities.beside is None else sift_beside  # as a divert would
            found = search(stores, batch, made, name, rows, _MOST_TRIES_COUNTING)
        except TridentError as error:
            _log.debug("how many rows state %r refuses of %s is not known: %s", name, batch, error)
            if not isinstance(error, RetryableError):
                return None
        else:
            return None if found.verdict is Verdict.FITS else found
    return None


def how_many_unfit(store: Target, rows: pa.Table) -> Sifted | None:
    """Return how many rows can't be staged; None where that is not to be told."""
    sifting = store.capabilities.sifting
    if sifting is None or rows.num_rows > _MOST_COUNTED:
        return None
    found = unfit_of(sifting, rows, _MOST_TRIES_COUNTING)
    return None if found.verdict is Verdict.FITS else found


def _is_told(found: Sifted) -> bool:
    return found.verdict in (Verdict.FITS, Verdict.SOME, Verdict.ALL)


def _whole(rows: pa.Table, found: Sifted) -> Parted:
    return Parted(rows.slice(0, 0), rows, found)


def _taken(rows: pa.Table, numbers: Sequence[int]) -> pa.Table:
    return rows.take(pa.array(numbers, pa.int64()))


def _tell(batch: BatchId, name: str, parted: Parted) -> None:
    where = f"state {name!r}, {batch}"
    if parted.found.verdict is Verdict.NO_ROW:
        _log.warning("%s: %s; nothing is taken out", where, parted.found)
        return
    if not parted.refused.num_rows:
        all_rows = f"{DIVERT} {batch.txid} --state {shlex.quote(name)} --all-rows"
        _log.warning(
            "%s: %s; nothing is taken out. If it is refused again, %s takes all of its rows out",
            where,
            parted.found,
            all_rows,
        )
        return
    back = f"{REAPPLY} {batch.txid} --state {shlex.quote(name)} puts it back, once, when the cause is mended"
    if parted.kept.num_rows:
        _log.warning("%s: %s; what is refused is kept in trident_diverted: %s", where, parted.found, back)
        return
    _log.warning(
        "%s: %s; so all %d are taken out and kept in trident_diverted: %s",
        where,
        parted.found,
        parted.refused.num_rows,
        back,
    )
