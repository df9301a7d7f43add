"""Opening what a run works with, and closing it again in the other order, whatever happens in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from trident.base.closing import giving_back
from trident.base.timeouts import Timeouts
from trident.coordinators.ledger.base import Ledger
from trident.spouts.base import Source, Spout
from trident.state.target import OpensTarget, Target


@dataclass(frozen=True)
class Opened:
    """The opened spouts and targets of a topology, by name."""

    sources: Mapping[str, Source]
    stores: Mapping[str, Target]


@contextmanager
def opened(
    ledger: Ledger,
    spouts: Mapping[str, Spout],
    targets: Mapping[str, OpensTarget],
    timeouts: Timeouts,
) -> Iterator[Opened]:
    """Open the ledger, every spout and every target; they are closed again also when a later one fails to open."""
    with ExitStack() as stack:
        stack.enter_context(giving_back("closing the ledger", ledger.close))
        ledger.open(timeouts)
        sources = stack.enter_context(opened_sources(spouts, tuple(spouts)))
        stores: dict[str, Target] = {}
        for name, opens in targets.items():
            store = stores[name] = opens(ledger.database, timeouts)
            stack.enter_context(giving_back(f"closing state {name!r}", store.close))
        yield Opened(sources, stores)


@contextmanager
def opened_sources(spouts: Mapping[str, Spout], names: Sequence[str]) -> Iterator[Mapping[str, Source]]:
    """Open the spouts of these names, as far as they are there; closed again in the other order."""
    with ExitStack() as stack:
        sources: dict[str, Source] = {}
        for name in names:
            if name in spouts:
                source = sources[name] = spouts[name].open(name)
                stack.enter_context(giving_back(f"closing stream {name!r}", source.close))
        yield sources
