"""Before the first plan: where sources that can't be read again put what they receive, and what is not promised."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from trident.base.ranges import PartitionId
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.lifecycle import Activity
from trident.coordinators.planned import Plan, StartPosition
from trident.coordinators.registered import Snapshot
from trident.coordinators.retrying import Repeater
from trident.spouts.base import NamesMessages, ReceivesRows, Source

_log = logging.getLogger("trident.coordinator")


def used_positions(spout: str, plans: Iterable[Plan], starts: Iterable[StartPosition] = ()) -> dict[PartitionId, int]:
    """Return, for every partition that a plan or the start names, the position behind all that were ever planned.

    Dropped plans count: their rows were received by a process that has ended. No position gets another row, so what
    lies between the batch that is done and there is lost, and no decision about a refused batch finds others.
    """
    used: dict[PartitionId, int] = {}
    stops = [(item.range.id, item.range.stop) for plan in plans for item in plan.ranges if item.spout == spout]
    for id_, stop in (*((item.id, item.start) for item in starts if item.spout == spout), *stops):
        used[id_] = max(stop, used.get(id_, 0))
    return used


def begin_receiving(ledger: Ledger, snapshot: Snapshot, sources: Mapping[str, Source], repeater: Repeater) -> None:
    """Tell the sources that keep their rows in this process where they begin, and the log what that means."""
    for name, source in sources.items():
        if isinstance(source, NamesMessages):
            _begin_named(ledger, snapshot, name, source, repeater)
    receiving = {name: source for name, source in sources.items() if isinstance(source, ReceivesRows)}
    if not receiving:
        return
    plans = repeater.call("reading what was planned before", partial(_plans_of, ledger, snapshot))
    for name, source in receiving.items():
        source.begin(used_positions(name, plans, snapshot.starts or ()))
        _log.warning(
            "topology=%s stream=%s is non-transactional: each of its batches is applied once, but exactly once from "
            "end to end is not promised. Rows that this process has received and not finished are gone when it ends, "
            "or counted again if their source gives them again",
            snapshot.owner.topology,
            name,
        )


def _begin_named(ledger: Ledger, snapshot: Snapshot, name: str, source: NamesMessages, repeater: Repeater) -> None:
    """Tell a source where all that is done stops, and which of its messages are done or pinned.

    Those of the plan that is done are told whatever the horizon: the next plan may have none of them.
    """
    last = snapshot.done_plan.received if snapshot.done_plan is not None else ()
    most = max(source.horizon, *(len(item.ids) for item in last if item.spout == name), 0)
    done = repeater.call(
        "reading which messages are done", partial(ledger.done_ids, snapshot.owner.topology, name, most)
    )
    before = [(item.id, item.start) for item in snapshot.starts or () if item.spout == name]
    if snapshot.done_plan is not None:
        before += [(item.range.id, item.range.stop) for item in snapshot.done_plan.ranges if item.spout == name]
    pinned = snapshot.pin.plan.received if snapshot.pin is not None else ()
    source.set_active(snapshot.activity is Activity.ACTIVE)
    under_way = dict(each for item in pinned if item.spout == name for each in item.messages)
    source.begin_from(dict(before), done, under_way)


def _plans_of(ledger: Ledger, snapshot: Snapshot) -> tuple[Plan, ...]:
    return tuple(_plans(ledger, snapshot))


def _plans(ledger: Ledger, snapshot: Snapshot) -> Iterator[Plan]:
    """Yield what is done, pinned, live or refused, and the newest plan of every txid behind that."""
    yield from (*snapshot.live, *snapshot.refused)
    if snapshot.done_plan is not None:
        yield snapshot.done_plan
    if snapshot.pin is not None:
        yield snapshot.pin.plan
    for txid in range(snapshot.done + 1, snapshot.last_txid + 1):
        plan = ledger.last_plan_of(snapshot.owner, txid)
        if plan is not None:
            yield plan
