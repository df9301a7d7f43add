"""Ending a transaction of a topology that nobody runs, by what its next start would do: beginning a session."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from trident.base.errors import LeaseHeldError, MismatchError
from trident.doctor.standing import standing_of
from trident.doctor.subject import KafkaOutput, Subject
from trident.doctor.transactions import OpenTransaction, open_transactions
from trident.state.kafka.clients.producing import ConfluentProducers

_PATIENCE: Final = timedelta(seconds=30)
_ANY_SIZE: Final = 1_000_000
"""How large messages are matters to who sends any."""
AFTER_ABORT: Final = (
    "none of its records can be read, and where the sink stands has not changed; what it was to send is kept, in the "
    "ledger's database or the sources, and the next start of the topology sends it"
)


@dataclass(frozen=True, slots=True)
class Abortable:
    """A transaction that may be ended, and whose it is."""

    transaction: OpenTransaction
    output: KafkaOutput


def abortable(subject: Subject, id_: str) -> Abortable:
    """Return the open transaction of an id; raises for one that is not the topology's, and while it is held.

    Raises MismatchError where nothing of this id is open, LeaseHeldError while a coordinator runs the topology.
    """
    if not subject.outputs:
        raise MismatchError(f"topology {subject.topology!r} has no sink in Kafka; nothing was aborted")
    own = {known: output for output in subject.outputs for known in output.ids(subject.topology)}
    if id_ not in own:
        raise MismatchError(
            f"{id_!r} is no transactional id of topology {subject.topology!r}, which has {', '.join(sorted(own))}; "
            "nothing was aborted: another program's transaction is its own to end"
        )
    _require_free(subject)
    for found in open_transactions(own[id_].cluster, (id_,)):
        return Abortable(found, own[id_])
    raise MismatchError(f"no transaction of {id_!r} is open, or its sink may not describe it; nothing was aborted")


def abort(subject: Subject, wanted: Abortable) -> None:
    """Begin a session of its id, which ends every older one, settles its transaction, and sends nothing itself.

    Raises LeaseHeldError where a coordinator has come meanwhile.
    """
    _require_free(subject)
    sink = wanted.output.sink
    producers = ConfluentProducers(sink.name, sink.bootstrap_servers, sink.client_options, _PATIENCE)
    with closing(producers.open(wanted.transaction.id, {sink.marker_topic: _ANY_SIZE})):
        pass


def _require_free(subject: Subject) -> None:
    standing = standing_of(subject)
    if standing is None:
        raise MismatchError(
            f"this ledger knows no topology {subject.topology!r}, so it can't tell whether a coordinator runs it; "
            "nothing was aborted. Is it the ledger that the topology runs with?"
        )
    if standing.is_held:
        raise LeaseHeldError(
            f"topology {subject.topology!r} is held by {standing.holder}; nothing was aborted: a coordinator that runs "
            "ends its own transactions"
        )
