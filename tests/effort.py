"""How much the suite does: `make test` takes a small sample of everything, `make verify` the long forms.

No test holds a number of its own: what is drawn, searched or played through is read from `effort()`.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, replace
from enum import StrEnum


class Length(StrEnum):
    """Which of the two runs this is."""

    TEST = "test"
    VERIFY = "verify"
    WHOLE = "whole"
    """What `verify` draws from, all of it: an hour or two more, for a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What one run does of each search."""

    length: Length
    seeds: int
    """Worlds of the simulation, from the base seed on."""
    must_meet_everything: bool
    """Whether so many worlds have to show every move, fault and outcome that there is."""
    every_scope: bool
    """Whether every small scope is explored, or one that is drawn."""
    scenes: int
    """How many scenes of a scope are visited at most, those with the shortest ways first."""
    loop_walks: int
    """Random walks over the bare loop."""
    folder_lives: int
    """Lives of a folder whose files are replaced while they are read."""
    level_lives: int
    """Topologies at the weaker levels, whose coordinators die and whose writes fail."""
    state_lives: int
    """Lives of each store beside the model."""
    state_steps: int
    """Steps of each of these lives."""
    server_lives: int
    """Lives of each state in a database, SQLite's or PostgreSQL's."""
    searched_lives: int
    """Within so many lives a broken store has to be found."""
    searched_seeds: int
    """Within so many worlds a planted bug has to be found."""
    json_examples: int
    """Blocks of records that Spark and the fast decoder must agree about."""
    json_from_anew: bool
    """Whether these blocks are drawn anew in each run."""
    matrix_share: float
    """How many of the crash matrix's cases are drawn, beside each border in one variant."""
    matrix_share_with_kafka: float
    """The same, of the cases with a sink in Kafka, which take seconds each."""
    received_borders: int
    """At how many borders of a batch a process is killed that had received its rows, for each place."""
    queue_borders: int
    """The same of one that had messages with ids, whose spout has a process of its own."""
    freezes: int
    """At how many messages to the server an owner freezes, per set-up; a run has some 450."""
    sink_transactions: int
    """Transactions of a sink whose ends are lost, late or answered twice."""
    every_pair: bool
    """Whether a trap of Kafka's is set for every kind of spout with every reader, or for one of them that is drawn."""
    demo_records: int
    """Payments of the demo."""
    history_txids: tuple[int, ...]
    """How many txids are in the ledgers with a long history."""
    history_attempts: int
    """How many attempts one txid has there."""


_EFFORTS = {
    Length.TEST: Effort(
        length=Length.TEST,
        seeds=200,
        must_meet_everything=False,
        every_scope=False,
        scenes=30_000,
        loop_walks=1_000,
        folder_lives=100,
        level_lives=10,
        state_lives=10,
        state_steps=20,
        server_lives=3,
        searched_lives=200,
        searched_seeds=200,
        json_examples=5,
        json_from_anew=False,
        matrix_share=0.0,
        matrix_share_with_kafka=0.0,
        received_borders=3,
        queue_borders=2,
        freezes=1,
        sink_transactions=20,
        every_pair=False,
        demo_records=45_000,
        history_txids=(20_000,),
        history_attempts=5_000,
    ),
    Length.VERIFY: Effort(
        length=Length.VERIFY,
        seeds=3_000,
        must_meet_everything=True,
        every_scope=True,
        scenes=10_000_000,
        loop_walks=5_000,
        folder_lives=1_000,
        level_lives=150,
        state_lives=30,
        state_steps=40,
        server_lives=8,
        searched_lives=200,
        searched_seeds=200,
        json_examples=10,
        json_from_anew=True,
        matrix_share=0.1,
        matrix_share_with_kafka=0.0,
        received_borders=40,
        queue_borders=40,
        freezes=3,
        sink_transactions=400,
        every_pair=True,
        demo_records=60_000,
        history_txids=(400_000,),
        history_attempts=40_000,
    ),
}
_EFFORTS[Length.WHOLE] = replace(
    _EFFORTS[Length.VERIFY],
    length=Length.WHOLE,
    seeds=20_000,
    loop_walks=10_000,
    folder_lives=2_000,
    level_lives=300,
    state_lives=60,
    server_lives=15,
    received_borders=100,
    queue_borders=100,
    freezes=6,
    history_txids=(1_000_000,),
    history_attempts=100_000,
    matrix_share=1.0,
    matrix_share_with_kafka=1.0,
    json_examples=60,
    sink_transactions=10_000,
    demo_records=1_000_000,
)
_MOST_SEEDS = 10**9


@dataclass(slots=True)
class _Chosen:
    effort: Effort
    base_seed: int


_chosen = _Chosen(_EFFORTS[Length.TEST], 0)


def draw_base_seed() -> int:
    """Return a seed that nobody has used on purpose: code that has not changed meets new worlds in each run."""
    return secrets.randbelow(_MOST_SEEDS)


def choose(length: Length, seed: int) -> None:
    """Say for this process how much is done, and from which seed on."""
    _chosen.effort, _chosen.base_seed = _EFFORTS[length], seed


def effort() -> Effort:
    """Return what was chosen; the small sample outside of pytest."""
    return _chosen.effort


def base_seed() -> int:
    """Return the seed that everything drawn in this run comes from."""
    return _chosen.base_seed


def processes() -> int:
    """Return how many processes a search may use: the cores, shared with the other workers of pytest-xdist."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return max(1, (os.cpu_count() or 1) // workers)
