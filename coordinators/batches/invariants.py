"""What holds of the live batches and their flights whenever the loop waits.

A bug in the loop or in the protocol must not get further: each of these is a stop, in production as in the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping

from trident.coordinators.batches.flight import NEVER, Flight
from trident.coordinators.protocol.state import ProtocolState
from trident.coordinators.protocol.transitions import Status

_WITH_A_CLOCK = (Status.PROCESSING, Status.TURNING)
_WITHOUT_OUTCOME = (Status.PLANNING, Status.PROCESSING, Status.BLOCKED)
_WAITS = (*_WITHOUT_OUTCOME, Status.READY)


def check(state: ProtocolState, flights: Mapping[int, Flight]) -> None:
    """Assert it of a loop that goes on; one that an error has ended lets go of its flights as it likes."""
    txid = state.done
    for item in state.live:
        txid += 1
        status = item.status
        flight = flights.get(item.batch.attempt)
        assert item.batch.txid == txid, f"live txids have no gap: {state.live}"
        assert flight is not None, f"each live batch has a flight, not {item.batch}"
        assert (flight.deadline == NEVER) is (status not in _WITH_A_CLOCK), f"a clock runs while {status}: {flight}"
        assert (flight.acks is not None) is (status is Status.PROCESSING), f"acks while {status}: {flight}"
        assert (flight.outcome is None) is (status in _WITHOUT_OUTCOME), f"an outcome while {status}: {flight}"
        assert (flight.blocked_by is not None) is (status is Status.BLOCKED), f"blocked while {status}: {flight}"
        assert txid == state.done + 1 or status in _WAITS, f"only the first live batch has the turn: {state.live}"
    assert len(flights) == len(state.live), f"only live batches have a flight: {list(flights)}, {state.live}"
