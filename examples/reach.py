"""How many people a link may have reached: who has shared it, who follows them, each person once.

    python examples/reach.py

Two static states, as in Trident's second example: a table says who shared a link, an object that is asked in tasks who
follows a person. Nothing of either is kept by the topology; a link that nobody has shared has a reach of 0.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from trident import CollectionGet, CountDistinct, QueryFunction, SqliteLedger, Topology
from trident.local.session import local_session
from trident.spouts import FixedBatchSpout
from trident.state import SqliteTable

SHARED = (
    ("news/eclipse", "ines"),
    ("news/eclipse", "omar"),
    ("news/eclipse", "yuki"),
    ("shop/kettle", "omar"),
    ("blog/tides", "lena"),
)
FOLLOWERS = {
    "ines": ["omar", "lena", "paul"],
    "omar": ["paul", "yuki"],
    "yuki": ["ines", "lena", "paul", "rosa"],
}
QUESTIONS = ("news/eclipse", "shop/kettle", "blog/tides", "news/nothing", "news/eclipse")


class Directory:
    """Stands for a service: in a task it would open its connection in `prepare(context)`."""

    def __init__(self, followers: Mapping[str, Sequence[str]]) -> None:
        self._followers = followers

    def followers_of(self, people: Sequence[object]) -> list[Sequence[str]]:
        """Return the followers of each person, in one call for all."""
        return [self._followers.get(str(person), []) for person in people]


class Followers(QueryFunction[Directory]):
    """A row for each follower of the person that a record names."""

    schema = "follower string"

    def batch_retrieve(self, state: Directory, keys: Sequence[tuple[object, ...]]) -> Sequence[object]:
        """Ask for all people of a part of the batch at once."""
        return [list(found) for found in state.followers_of([person for (person,) in keys])]


def reach(spark: SparkSession, questions: Sequence[str] = QUESTIONS, batch: int = 2) -> Topology:
    """Return the topology: questions, numbered, each with the reach of its link in the table `reach`."""
    topology = Topology("reach")
    shared = topology.new_static_state(spark.createDataFrame(SHARED, "link string, person string"), keys="link")
    directory = topology.new_static_state(Directory(FOLLOWERS))
    spout = FixedBatchSpout("number int, link string", list(enumerate(questions, 1)), max_records_per_batch=batch)
    asked = topology.stream("questions", spout)
    reached = (
        asked.state_query(shared, CollectionGet("link"))
        .state_query(directory, Followers("person"))
        .group_by("number")
        .aggregate(people=CountDistinct("follower"))
    )
    (
        asked.join(reached, on="number", how="left")
        .map(number=F.col("number"), link=F.col("link"), reach=F.coalesce("people", F.lit(0)))
        .to_table(SqliteTable("reach"))
    )
    return topology


def main() -> None:
    """Run it, and print the answers."""
    spark = local_session("reach")
    file = Path(tempfile.mkdtemp(prefix="trident-reach-")) / "reach.sqlite"
    try:
        reach(spark).run(spark, ledger=SqliteLedger(file), until="caught_up")
    finally:
        spark.stop()
    with sqlite3.connect(file) as connection:
        for number, link, people in connection.execute("SELECT number, link, reach FROM reach ORDER BY number"):
            print(f"{number}: {link} may have reached {people}")


if __name__ == "__main__":
    main()
