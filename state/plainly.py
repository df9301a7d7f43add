"""Targets of the two weaker levels: they write what they are given at once, and store of it only whose they are.

What the coordinator applies by txid is a `Target` that stands somewhere. These stand nowhere: a take-over asks them
whose they are and whether their rows are there, not up to where; no pin names what they were given, and the same rows
given twice are there twice. Whoever has to hold them to a level decides when they are given rows: before the batch is
recorded as done, or after.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn, Protocol, runtime_checkable

import pyarrow as pa

from trident.base.errors import ConfigurationError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.levels import Level
from trident.base.timeouts import Timeouts
from trident.state.capabilities import Capabilities, Transaction, TriesTogether, WritableByTasks
from trident.state.layout import Merge, StateLayout
from trident.state.positions import Position
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.surroundings import KnowsItsPlace
from trident.state.target import LedgerDatabase, Target

Holds = Callable[[Transaction], None]
"""Raises FencedError unless the writer still holds its topology; in that transaction it does so until the end of it."""


@dataclass(frozen=True, slots=True)
class PlainMark:
    """Whose a plain target was when its owner last began; not up to where its rows are, which nothing says."""

    owner: Owner
    epoch: Epoch
    had_rows: bool
    """Whether it has had any rows, of what values are kept in: then it is not empty unless somebody has emptied it."""
    newest_txid: int
    """The newest txid of which the coordinator itself has written rows: older ones may be missing, or be written later.
    0 where that is none of this incarnation."""
    is_of_another: bool = False
    """Whether the table that is there now is another one than it was noted of, as far as the store tells."""


@dataclass(frozen=True, slots=True)
class PlainFound:
    """What is found where a plain target lives."""

    mark: PlainMark | None
    is_missing: bool = False
    """Whether there is no table at all."""
    has_rows: bool | None = None
    """None where that says nothing: rows that were appended may be taken away by whoever reads them."""


class WritesPlainly(Protocol):
    """Writes what it is given at once and keeps no position; what is written twice is there twice."""

    @property
    def is_beside(self) -> bool:
        """Whether it writes in transactions of the ledger's database, and calls `holds` as the last thing in each."""

    def write(self, batch: BatchId, rows: pa.Table, holds: Holds | None = None) -> None:
        """Write a batch's rows as they are; from several threads at once, in no order.

        Raises `RetryableError` when nothing was written, `OutcomeUnknownError` when nobody knows, `RefusedError`.
        One that is not beside the ledger has no transaction in which `holds` could be asked, and leaves it.
        """

    def found(self, topology: str) -> PlainFound | None:
        """Return what is there, None where nothing can be told; raises `MismatchError` where it is another one's."""

    def own(self, owner: Owner, epoch: Epoch, *, emptied: bool = False, holds: Holds | None = None) -> None:
        """Do what `Target.prepare` does, and note whose it is from now on. Idempotent.

        `emptied` deletes all rows that it keeps in the same transaction; what has left stays where it went. Raises,
        nothing changed, `MismatchError` where the rows are another one's, and `FencedError` where a newer epoch has
        noted this already: its owner may have filled it since. `holds` is as in `write`.
        """

    def leave(self, owner: Owner, epoch: Epoch) -> None:
        """Let others have the place; the rows stay, and what was noted of them for who comes back."""


class PlainTarget(ABC):
    """See `Target`, as far as one without a position can be it; the rest is never asked of it, and refused.

    `write` may be called from several threads at once, each with a batch of its own.
    """

    def __init__(
        self,
        name: str,
        writing: WritableByTasks | None = None,
        *,
        beside: bool,
        keeps_what_left: bool = False,
        placing: KnowsItsPlace | None = None,
        trying: TriesTogether | None = None,
    ) -> None:
        self._name = name
        self._is_beside = beside
        self._capabilities = Capabilities(
            plain=self, writing=writing, keeps_what_left=keeps_what_left, placing=placing, trying=trying
        )

    @property
    def name(self) -> str:
        """See `Target.name`."""
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        """See `Target.capabilities`."""
        return self._capabilities

    @property
    def is_beside(self) -> bool:
        """See `WritesPlainly.is_beside`."""
        return self._is_beside

    @abstractmethod
    def check(self) -> None:
        """Raise what `prepare` would raise; changes nothing."""

    @abstractmethod
    def prepare(self) -> None:
        """See `Target.prepare`."""

    @abstractmethod
    def write(self, batch: BatchId, rows: pa.Table, holds: Holds | None = None) -> None:
        """See `WritesPlainly.write`."""

    @abstractmethod
    def close(self) -> None:
        """See `Target.close`."""

    def look(self, topology: str, registers: bool = False) -> Position | None:
        """Raise what `prepare` would raise; it stands nowhere."""
        self.check()
        return None

    def found(self, topology: str) -> PlainFound | None:
        """Return None: nothing is noted where it lives."""
        return None

    def own(self, owner: Owner, epoch: Epoch, *, emptied: bool = False, holds: Holds | None = None) -> None:
        """Make it ready: nothing is noted, and no rows are kept that could be deleted."""
        self.prepare()

    def leave(self, owner: Owner, epoch: Epoch) -> None:
        """Do nothing: nothing is noted."""
        return

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse: nothing here keeps an older epoch from writing."""
        self._refuse()

    def position(self, topology: str) -> Position | None:
        """Return None: it stands nowhere."""
        return None

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Refuse: it is nobody's."""
        self._refuse()

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Refuse: it writes at once."""
        self._refuse()

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Refuse: nothing is staged."""
        self._refuse()

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Refuse: nothing is staged."""
        self._refuse()

    def forget_staging(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse: nothing is staged."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TypeError(f"{self._name!r} writes at once and stands nowhere: it has no fence, no staging and no pin")


@runtime_checkable
class PlainState(Protocol):
    """A state that can be kept without anything beside its values."""

    def open_plain(self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts) -> PlainTarget:
        """Connect as `State.open` does; raises ConfigurationError for what it can't keep so."""

    def check_plain(self, layout: StateLayout) -> None:
        """Raise ConfigurationError for what `open_plain` could not keep so; connects to nothing."""


@runtime_checkable
class PlainSink(Protocol):
    """A sink that can be written to without positions and markers."""

    def open_plain(self, ledger_database: LedgerDatabase, timeouts: Timeouts) -> PlainTarget:
        """Connect as `Sink.open` does; raises ConfigurationError for what it can't write so."""

    def check_plain(self) -> None:
        """Raise ConfigurationError for what `open_plain` could not write so; connects to nothing."""


OpensPlain = Callable[[LedgerDatabase, Timeouts], PlainTarget]
"""How the target of an end is opened at a weaker level."""


def with_positions(targets: Mapping[str, Target]) -> dict[str, Target]:
    """Return those that stand at a txid, which a take-over holds against the ledger and a pin is applied to."""
    return {name: target for name, target in targets.items() if target.capabilities.plain is None}


def without_positions(targets: Mapping[str, Target]) -> dict[str, Target]:
    """Return the others: all of a topology at one of the weaker levels, none of one at the first."""
    return {name: target for name, target in targets.items() if target.capabilities.plain is not None}


def check_merges(state: str, layout: StateLayout) -> None:
    """Raise ConfigurationError for columns whose values depend on the order of batches, or on a user's function.

    A function would have to be called while the rows are locked, for as long as it likes.
    """
    for column in layout.values:
        if column.merge in (Merge.REPLACE, Merge.COMBINE):
            raise no_plain_form(
                f"state {state!r}: column {column.name!r}, which is made of the stored value by Python code or order,",
                "keep what can be added or compared (counts, sums, least and greatest)",
            )


def no_plain_form(what: str, instead: str) -> ConfigurationError:
    """Return the error of what can't be had at the two weaker levels; `instead` says what can."""
    return ConfigurationError(
        f"{what} can't be had at level {Level.AT_LEAST_ONCE} or {Level.AT_MOST_ONCE}: {instead}, or run the topology "
        f"at level {Level.EXACTLY_ONCE}. Nothing was started or changed"
    )
