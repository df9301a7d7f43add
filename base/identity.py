"""Who is writing, and which go at which batch: compared before anything is acted on."""

from __future__ import annotations

from dataclasses import dataclass

_OF_A_LINE = "."
"""Between the line and what was drawn for one epoch; no older version's token has it."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One life of a topology's txid sequence; a state belongs to exactly one owner."""

    topology: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class Epoch:
    """Fencing token of a coordinator: a number that each take-over raises and a random token.

    Two epochs are the same only if both parts are: the number orders take-overs, the token tells
    apart two coordinators that were given the same number by a restored backup.
    """

    number: int
    token: str

    @property
    def line(self) -> str:
        """What all epochs of one ledger's topology share, and no other's: the token of the first of them.

        It outlives resets, and is the same in every store, for it travels with the epoch.
        """
        return self.token.partition(_OF_A_LINE)[0]

    def next(self, drawn: str, above: int = 0) -> Epoch:
        """Return the epoch that follows in this line and is above that number, with random text drawn for it."""
        return Epoch(max(self.number, above) + 1, f"{self.line}{_OF_A_LINE}{drawn}")


@dataclass(frozen=True, slots=True)
class BatchId:
    """One attempt at one txid by one coordinator; every word that comes back carries it."""

    owner: Owner
    epoch: Epoch
    txid: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.owner.topology} txid {self.txid} attempt {self.attempt}"
