"""Guards of keys that expire by the times of batches."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_RULES: Final = ("tests/state/test_ageing.py",)
_MAP: Final = ("tests/state/test_expiring.py",)
_RUNS: Final = ("tests/coordinators/test_expiring_keys.py",)

EXPIRING: Final = (
    Mutant(
        "a key that has expired starts from nothing",
        "state/maps/ageing.py",
        "update(None if is_over else before)",
        "update(before)",
        _RULES,
    ),
    Mutant(
        "a key has expired when its time is over, not after that",
        "state/maps/ageing.py",
        "self.at - last >= self.after",
        "self.at - last > self.after",
        _RULES,
    ),
    Mutant(
        "a replay goes by the time of the value before",
        "state/maps/ageing.py",
        "return stored.before if is_in else stored.at",
        "return stored.at",
        _RULES,
    ),
    Mutant(
        "an undone value has the time that it had",
        "state/maps/ageing.py",
        "TimedValue(back, last, last)",
        "TimedValue(back, stored.at, last)",
        _RULES,
    ),
    Mutant(
        "the time that decides lies with the staged rows",
        "state/maps/expiring.py",
        "marked(rows, Ageing(at, self._after))",
        "rows",
        _MAP,
    ),
    Mutant(
        "a batch does not find what has expired",
        "state/maps/querying.py",
        "        if ageing is not None and ageing.is_over(last_before(stored, txid + 1)):\n",
        "        if False:\n",
        _MAP,
    ),
    Mutant(
        "removed is what had expired when the txid before was done",
        "state/maps/expiring.py",
        "limit, left = found.at - ageing.after,",
        "limit, left = ageing.at - ageing.after,",
        _MAP,
    ),
    Mutant(
        "what a map says of expired keys is looked at",
        "state/maps/expiring.py",
        " and value.at <= limit",
        "",
        _MAP,
    ),
    Mutant(
        "a batch removes as many keys as it puts",
        "state/maps/expiring.py",
        "max(puts, self._place.chunk_rows)",
        "self._place.chunk_rows",
        _MAP,
    ),
    Mutant(
        "a removed key is in no cache",
        "state/maps/expiring.py",
        "        place.cache.drop([key for key, _ in over])\n",
        "",
        _MAP,
    ),
    Mutant(
        "a removal of what has expired is not waited for",
        "state/maps/expiring.py",
        "place.remove(over, aim, may_be_left=True)",
        "place.remove(over, aim)",
        _MAP,
    ),
    Mutant(
        "a fence keeps the time of the position",
        "state/maps/target.py",
        "reserved_value(position, epoch, time_of(found))",
        "reserved_value(position, epoch)",
        _MAP,
    ),
    Mutant(
        "held updates are staged with the batch's planned time",
        "state/capabilities.py",
        "return target.stage(batch, updates) if expiring is None else",
        "return target.stage(batch, updates) if True else",
        _RUNS,
    ),
    Mutant(
        "a state is asked with the batch's planned time",
        "trident/engine/turning.py",
        "        if expiring is None:\n",
        "        if True:\n",
        ("tests/dsl/test_turning.py",),
    ),
    Mutant(
        "expired keys are counted in the line of the batch",
        "coordinators/batches/work.py",
        "expired_keys(self._parts.stores, batch.txid)",
        "0",
        _RUNS,
    ),
)
"""Each guard removed by one change."""
