"""What a person is asked before a reset."""

from __future__ import annotations

from trident.base.ranges import PartitionId
from trident.cli.prospects import outcome, question
from trident.cli.reckoning import numbers
from trident.coordinators.decisions.beginning import Prospect
from trident.managing.offsets import Apart


def test_what_stays_in_topics_and_tables_is_told_apart() -> None:
    said = outcome(Prospect("clear", "earliest", sinks=("alerts",), appended=("suspicious",), rewritten=("latest",)))
    assert "What 'alerts' has sent stays, and what is read again is sent again" in said
    assert "Rows of 'suspicious' stay, and what is read again is appended again: empty the table first" in said
    assert "Rows of 'latest' stay, and what is read again is written again by its key" in said
    assert "stay" not in outcome(Prospect("clear", "resume", sinks=("alerts",), appended=("suspicious",)))


def test_the_numbers_of_each_partition_are_told() -> None:
    places = [PartitionId("t", n) for n in range(60)]
    unknown = numbers([Apart("s", places[0], None, 7), Apart("s", places[1], None, 9)])
    assert unknown == (
        "Nobody knows up to where the rows had been read, so nobody can say how many that are. As Kafka is now, they "
        "begin: stream 's' t[0] at 7, stream 's' t[1] at 9."
    )
    assert numbers([Apart("s", places[0], 7, 7)]).endswith("nothing is counted twice or skipped.")
    many = numbers([Apart("s", place, 7, 5) for place in places])
    assert "at most 120 records are counted twice and at most 0 skipped" in many
    assert many.endswith("stream 's' t[49] stood at 7 and begins at 5 (2 twice), and 10 more partitions.")
    assert numbers([]) == ""
    asked = question("jobs:payments", Prospect("adopt", "t:0=5"), many)
    assert "the streams begin at t:0=5. " in asked
    assert f"{many} Begin jobs:payments anew?" in asked
