"""How often each thing happened, over many seeds: what was never tried is not tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

from tests.simulation.faults import HAPPENS_BY_ITSELF, IN_TURN, FaultKind
from tests.simulation.message_broker import ACK_LOST, FAILED, GIVEN_BACK, SPOUT_DIED
from tests.simulation.message_broker import GIVEN_AGAIN as MESSAGE_GIVEN_AGAIN
from trident.coordinators.protocol import step as protocol
from trident.coordinators.protocol.transitions import TRANSITIONS, Status, Word, move

OUTCOMES = (
    "a command was given",
    "a start found it killed",
    "take-over",
    "reset carried out",
    "a reset died after it was recorded",
    "a decision died after it was recorded",
    "mismatch noticed",
    "healed by restoring together",
    "restored without what was sent since",
    "what is done was refused by its topic",
    "what waited in an outbox was taken out",
    "healed by a reset",
    "stopped for lost offsets",
    "stopped, run again",
    "a refusal waited for a person",
    "retry carried out",
    "divert carried out",
    "undo carried out",
    "an undo was not possible",
    "too late for a decision",
    "a batch without records",
    "two spouts",
    "a stream that can't be read again",
    "a row was given again",
    "a stream of messages with ids",
    MESSAGE_GIVEN_AGAIN,
    ACK_LOST,
    SPOUT_DIED,
    FAILED,
    GIVEN_BACK,
    "a state was born late",
    "a state was born after a txid that was pinned without it",
    "a refused version was rolled back",
    "a version was rolled back before it was registered",
    "an older version was refused",
    "a person's older version was refused",
    "healed by correcting an address",
    "a lost state was noticed in mid-run",
)


@contextmanager
def counted_moves() -> Iterator[Counter[tuple[Status, Word]]]:
    """Count the protocol's moves while the block runs, in this process."""
    moves: Counter[tuple[Status, Word]] = Counter()

    def counting(status: Status, word: Word) -> Status:
        after = move(status, word)
        moves[status, word] += 1
        return after

    names = vars(protocol)
    before, names["move"] = names["move"], counting
    try:
        yield moves
    finally:
        names["move"] = before


@dataclass
class Failure:
    """A seed that broke a rule."""

    seed: int
    what: str


@dataclass
class Report:
    """What a number of seeds did."""

    seeds: int = 0
    commits: list[int] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)
    moves: Counter[tuple[Status, Word]] = field(default_factory=Counter)
    losses: int = 0
    cpu_seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Report) -> None:
        """Take in what another process did."""
        self.seeds += other.seeds
        self.commits += other.commits
        self.faults += other.faults
        self.happened += other.happened
        self.moves += other.moves
        self.losses += other.losses
        self.cpu_seconds += other.cpu_seconds
        self.failures += other.failures

    def never(self) -> list[str]:
        """Return what should have happened and did not, even once."""
        moves = [f"{status} --{word}-->" for status, word in TRANSITIONS if not self.moves[status, word]]
        kinds = [*(kind.value for kind in FaultKind), *IN_TURN.values(), *HAPPENS_BY_ITSELF, *OUTCOMES]
        return moves + [kind for kind in kinds if not self.happened[kind]]

    def table(self) -> str:
        """Return the verdict as text."""
        lines = ["moves of the protocol"]
        lines += [f"{self.moves[pair]:>12,}  {pair[0]} --{pair[1]}--> {after}" for pair, after in TRANSITIONS.items()]
        lines += ["", "faults"]
        kinds = (*(kind.value for kind in FaultKind), *IN_TURN.values(), *HAPPENS_BY_ITSELF)
        lines += [f"{self.happened[kind]:>12,}  {kind}" for kind in kinds]
        lines += ["", "what became of it"]
        lines += [f"{self.happened[what]:>12,}  {what}" for what in OUTCOMES]
        lines += [f"{self.losses:>12,}  recorded losses", ""]
        if self.commits:
            lines.append(
                f"{self.seeds:,} seeds, {sum(self.commits):,} committed txids (median {median(self.commits):g})"
            )
            lines.append(f"{sum(self.faults):,} faults (median {median(self.faults):g})")
            per_seed, per_txid = (1000 * self.cpu_seconds / number for number in (self.seeds, sum(self.commits)))
            lines.append(f"{per_seed:.1f} ms of CPU per seed, {per_txid:.2f} ms per committed txid")
        lines += [f"never happened: {what}" for what in self.never()]
        lines += [f"seed {failure.seed} FAILED: {failure.what}" for failure in self.failures[:20]]
        lines.append("NOTHING LOST, NOTHING TWICE" if not self.failures else f"{len(self.failures)} SEEDS FAILED")
        return "\n".join(lines)
