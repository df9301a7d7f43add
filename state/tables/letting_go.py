"""What is left in a database of each state and sink that was let go of: that it was so, and of which life it was.

That it has no position alone would not say it: a database that was exchanged for another one, or restored, has none
either. It lies beside the fences, since it is what is left of one, under a name that no topology can have.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from trident.base.identity import Epoch, Owner

_PUT = text("""
    INSERT INTO trident_state_fence (topology, epoch, token) VALUES (:named, :epoch, :incarnation)
    ON CONFLICT (topology) DO UPDATE SET epoch = excluded.epoch, token = excluded.token""")
_FIND = text("SELECT 1 FROM trident_state_fence WHERE topology = :named AND token = :incarnation")


def note_let_go(connection: Connection, owner: Owner, state: str, epoch: Epoch) -> None:
    """Keep that a state or sink of this life is let go of; in the transaction in which its position goes."""
    values = {"named": _named(owner, state), "epoch": epoch.number, "incarnation": owner.incarnation}
    connection.execute(_PUT, values)


def was_let_go(connection: Connection, owner: Owner, state: str) -> bool:
    """Tell whether that is kept here of this very life."""
    values = {"named": _named(owner, state), "incarnation": owner.incarnation}
    return connection.execute(_FIND, values).first() is not None


def _named(owner: Owner, state: str) -> str:
    return f"{owner.topology}\n{state}"  # names are printable
