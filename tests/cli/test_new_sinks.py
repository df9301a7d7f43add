"""What `trident status` says of a sink that is new: a reset would send everything again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from typer.testing import CliRunner

from tests.coordinators.test_dropping import drop_sink
from tests.coordinators.test_outbox_lives import Life
from trident.cli.app import app


def status(life: Life) -> str:
    answer = CliRunner().invoke(app, ["status", "payments", "--ledger", str(life.folder / life.ledger_file)])
    assert answer.exit_code == 0
    return answer.output


def test_nobody_is_told_to_reset_for_the_sake_of_a_sink(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.come("a")
    life.run()
    drop_sink(life)
    renamed = replace(life, sink="warnings")
    life.come("b")
    renamed.run()
    said = status(renamed)
    assert "sink 'warnings' is new since txid 1: what came before that does not leave by it." in said
    assert "trident reset" not in said
    assert "alerts after txid 1" in said


def test_who_fills_a_new_state_is_told_what_sinks_do_then(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.come("a")
    life.run()
    life.ask("""UPDATE trident_incarnation SET births = replace(births, '"state":"balances","txid":0',
                '"state":"balances","txid":1')""")
    assert "sends and appends again what its sinks (alerts) have sent or written before" in status(life)
