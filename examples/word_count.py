"""Words of sentences, counted over all batches: Trident's first example.

    python examples/word_count.py

Everything is in a SQLite file of a temporary folder; started again over the same file it would go on where it stood.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trident import Count, Split, SqliteLedger, Topology
from trident.local.session import local_session
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState

SENTENCES = (
    "the cow jumped over the moon",
    "the man went to the store and bought some candy",
    "four score and seven years ago",
    "how many apples can you eat",
    "to be or not to be the person",
)


def word_count(sentences: Sequence[str] = SENTENCES, batch: int = 3) -> Topology:
    """Return the topology: sentences, split into words, a count for each word in the table `words`."""
    topology = Topology("word count")
    spout = FixedBatchSpout("sentence string", [(each,) for each in sentences], max_records_per_batch=batch)
    (
        topology.stream("sentences", spout)
        .flat_map(word=Split("sentence"))
        .group_by("word")
        .persistent_aggregate(SqliteState("words"), n=Count())
    )
    return topology


def main() -> None:
    """Count, and print the most frequent words."""
    spark = local_session("word-count")
    file = Path(tempfile.mkdtemp(prefix="trident-words-")) / "words.sqlite"
    try:
        word_count().run(spark, ledger=SqliteLedger(file), until="caught_up")
    finally:
        spark.stop()
    with sqlite3.connect(file) as connection:
        for word, n in connection.execute("SELECT word, n FROM words ORDER BY n DESC, word LIMIT 5"):
            print(f"{n:3} {word}")


if __name__ == "__main__":
    main()
