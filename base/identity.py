"""Who is writing, and which go at which batch: compared before anything is acted on."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class BatchId:
    """One attempt at one txid by one coordinator; every word that comes back carries it."""

    owner: Owner
    epoch: Epoch
    txid: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.owner.topology} txid {self.txid} attempt {self.attempt}"
