"""`python -m trident.local`: what it prints and makes, and that both servers end whatever happens; no server runs."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from trident.base.errors import FatalError
from trident.local import __main__ as trying


class Server:
    """Stands for one of the two."""

    bootstrap_servers = "127.0.0.1:1"
    dsn = "postgresql://postgres:a'b@127.0.0.1:2/postgres"

    def __init__(self) -> None:
        self.topics: list[tuple[str, int]] = []
        self.runs = False

    def __call__(self) -> Server:
        return self

    def __enter__(self) -> Server:
        self.runs = True
        return self

    def __exit__(self, *_: object) -> None:
        self.runs = False

    def create_topic(self, name: str, partitions: int) -> None:
        if partitions < 1:
            raise FatalError("no such topic")
        self.topics.append((name, partitions))


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, Server]]:
    kafka, postgres = Server(), Server()
    monkeypatch.setattr(trying, "LocalKafka", kafka)
    monkeypatch.setattr(trying, "LocalPostgres", postgres)
    before = signal.getsignal(signal.SIGTERM)
    yield kafka, postgres
    signal.signal(signal.SIGTERM, before)


def test_it_prints_what_a_shell_takes_and_ends_both_with_sigterm(
    servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka, postgres = servers
    seen: list[bool] = []

    def stopped() -> None:
        seen.extend([kafka.runs, postgres.runs])
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(trying, "wait", stopped)
    trying.main(["payments", "refunds", "--partitions", "2"])
    assert seen == [True, True]
    assert (kafka.runs, postgres.runs) == (False, False)
    assert kafka.topics == [("payments", 2), ("refunds", 2)]
    assert capsys.readouterr().out.splitlines() == [
        "export KAFKA=127.0.0.1:1",
        "export TRIDENT_LEDGER='postgresql://postgres:a'\"'\"'b@127.0.0.1:2/postgres'",
    ]


def test_an_error_is_said_in_one_line_and_ends_both(servers: tuple[Server, Server]) -> None:
    with pytest.raises(SystemExit, match="no such topic"):
        trying.main(["payments", "--partitions", "0"])
    assert [server.runs for server in servers] == [False, False]
