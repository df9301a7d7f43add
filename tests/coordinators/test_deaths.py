"""Coordinators that die again and again, and topologies of one process that share a ledger object."""

from __future__ import annotations

from dataclasses import replace

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS, run, sqlite_place
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.state import SqliteState


class DiedError(BaseException):
    """The process is gone."""


def test_a_batch_that_kills_its_coordinator_again_and_again_is_given_up_and_then_tried_anew(tmp_path):
    place, topic = sqlite_place(tmp_path), Topic([[("ann", n) for n in range(40)]])
    options = replace(OPTIONS, max_tries=4, max_pending=2)
    deadly = True
    attempts: list[tuple[int, int]] = []

    def kill(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        attempts.append((request.batch.txid, request.tries))
        if deadly and request.batch.txid == 2:
            raise DiedError
        return result

    def start() -> None:
        run(make_job(topic, place.state("balances"), meddle=kill), place.ledger(), options)

    def told() -> str:
        """Start it as a supervisor does, until it says why it does not go on."""
        for _ in range(9):
            try:
                start()
            except DiedError:
                continue
            except StoppedError as error:
                return str(error)
        return "nothing"

    for times in (4, 5):  # told once, a start tries once more
        assert f"failed {times} times; the last reason was: its coordinator died, or ended without saying why" in told()
        refusal = place.ledger().view().status("payments").refusal
        assert refusal is not None
        assert (refusal.kind, refusal.txid) == ("gave up", 2)
    assert max(tries for txid, tries in attempts if txid != 2) <= 2
    deadly = False
    start()
    assert place.rows("balances") == topic.expected()


def test_topologies_of_one_process_share_a_ledger_object_and_keep_their_leases(tmp_path, monkeypatch):
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    ended: list[str] = []
    closed: list[list[str]] = []
    presence_close = ledger._presence.close

    def close() -> None:
        closed.append(list(ended))
        presence_close()

    monkeypatch.setattr(ledger._presence, "close", close)
    topic = Topic([[("ann", n) for n in range(30)]])

    def second(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if not ended:
            TopologyRun(make_job(topic, SqliteState("others")).plan("second"), ledger, OPTIONS).run()
            ended.append("second")
        return result

    job = make_job(topic, SqliteState("balances"), meddle=second)
    TopologyRun(job.plan("first"), ledger, replace(OPTIONS, max_pending=1)).run()
    assert closed == [["second"]], "when the last of them has ended"
