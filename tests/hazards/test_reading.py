"""H3 and H4: empty ranges and short reads. On a real broker: `integration_tests/kafka_traps`."""

from __future__ import annotations

from dataclasses import replace

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import memory_place, run
from tests.hazards.replays import ranges_of, tries_of
from trident.base.errors import RetryableError
from trident.base.ranges import Edge
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.spouts.base import SpoutKind


def test_h03_an_empty_range_of_a_replayed_batch_reads_no_old_record():
    """Storm stores an empty range as (last, last) and reads that record again: 17 instead of 14, 3 partitions empty."""
    place = memory_place()
    topic = Topic([[("ann", 1)] * 2 for _ in range(4)])

    def fail_once(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == 2 and request.tries == 1:
            raise RetryableError("a task was lost")
        return result

    job = make_job(topic, place.state("balances"), meddle=fail_once, kind=SpoutKind.TRANSACTIONAL)
    run(job, place.ledger())
    topic.partitions[1].extend([("ann", 1)] * 6)
    run(job, place.ledger())
    first, second = ranges_of(job, 2)
    assert first == second
    assert [(span.id.partition, span.start, span.stop) for span in second] == [(1, 2, 8)]
    assert place.rows("balances") == {"ann": (14, 14)}


def test_h04_a_short_read_is_no_whole_batch():
    """Storm reads a batch again with one poll and believes what it gets: with 6 of 10 records, 4 are lost for good."""
    place = memory_place()
    topic = Topic([[("ann", 1)] * 10])

    def short_read(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.tries == 3:
            return result
        (edge,) = request.edges["s"]
        shorter = Edge(edge.id, replace(edge.range, stop=edge.range.stop - 4))
        return job.processor.read("s", [shorter])

    job = make_job(topic, place.state("balances"), meddle=short_read, kind=SpoutKind.TRANSACTIONAL)
    run(job, place.ledger())
    assert tries_of(job) == {1: 3}
    assert place.rows("balances") == {"ann": (10, 10)}
