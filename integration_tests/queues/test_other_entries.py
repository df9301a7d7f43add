"""Another stream of a real Redis takes the place of one between two runs, with the ids of entries that are done."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from redis import Redis

from tests.coordinators.receiving import receiving_job
from tests.coordinators.test_run import OPTIONS, Place, sqlite_place
from tests.spouts.queue.text_body import TextBody
from trident.base.errors import FatalError
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.local.redis import LocalRedis
from trident.spouts import RedisStreamSpout
from trident.spouts.queue.spout import QueueSpout
from trident.state import StateKind


class Scene:
    """A topology over a stream whose ids its senders make."""

    def __init__(self, server: LocalRedis, folder: Path) -> None:
        self.stream = f"s-{uuid.uuid4().hex[:12]}"
        self.client: Any = Redis.from_url(server.url, protocol=2)
        self._url = server.url
        self._place: Place = sqlite_place(folder)

    def make(self, **entries: str) -> None:
        self.client.delete(self.stream)
        self.client.xgroup_create(self.stream, "g", id="0", mkstream=True)
        self.add(**entries)

    def add(self, **entries: str) -> None:
        for id_, body in entries.items():
            self.client.xadd(self.stream, {"body": body}, id=id_.replace("_", "-").removeprefix("e"))

    def run(self) -> RunSummary:
        spout = RedisStreamSpout(self.stream, "g", url=self._url, body=TextBody())
        pickled = cloudpickle.dumps(spout)
        job = receiving_job(QueueSpout(spout, pickled), self._place.state("counts", kind=StateKind.OPAQUE))
        return TopologyRun(job, self._place.ledger(), OPTIONS).run()

    def counted(self) -> dict[str, int]:
        return {account: n for account, (n, _) in self._place.rows("counts").items()}

    def pending(self) -> int:
        return int(self.client.xpending(self.stream, "g")["pending"])


@pytest.fixture
def scene(redis_server: LocalRedis, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(redis_server, tmp_path)
    yield made
    made.client.delete(made.stream)
    made.client.close()


@pytest.mark.timeout(180)
def test_other_entries_with_the_ids_of_done_ones_stop_the_run_and_stay(scene: Scene) -> None:
    scene.make(e1_0="ann", e2_0="bob")
    scene.run()
    scene.make(e1_0="cid", e3_0="dan")
    with pytest.raises(FatalError, match=f"'1-0' is not the one that is done.*XACK {scene.stream} g 1-0 leaves it out"):
        scene.run()
    assert (scene.counted(), scene.pending()) == ({"ann": 1, "bob": 1, "dan": 1}, 1), "all else goes on"
    scene.client.xadd(scene.stream, {"body": "cid"})  # as the error says
    scene.client.xack(scene.stream, "g", "1-0")
    scene.run()
    assert (scene.counted(), scene.pending()) == ({"ann": 1, "bob": 1, "cid": 1, "dan": 1}, 0)


@pytest.mark.timeout(180)
def test_a_stream_that_is_put_back_counts_once(scene: Scene) -> None:
    scene.make(e1_0="ann", e2_0="bob")
    dumped = scene.client.dump(scene.stream)
    scene.run()
    scene.client.restore(scene.stream, 0, dumped, replace=True)
    assert scene.run().given_again == 2
    assert (scene.counted(), scene.pending()) == ({"ann": 1, "bob": 1}, 0)
