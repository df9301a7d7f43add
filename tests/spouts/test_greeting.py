"""What a listener's first answers mean, of listeners that are a few lines long."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

import pytest

from trident.base.errors import FatalError
from trident.base.kafka import greeting
from trident.base.kafka.greeting import check_greeting

LOGIN = {
    "sasl.mechanism": "PLAIN",
    "sasl.username": "me",
    "sasl.password": "hush",
    "security.protocol": "SASL_PLAINTEXT",
}
Answers = Callable[[int], bytes | None]


@contextmanager
def listener(answers: Answers, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Give the address of one that answers each kind of request so, and closes the connection for None."""
    with socket.create_server((host, port)) as server:
        threading.Thread(target=serve, args=(server, answers), daemon=True).start()
        yield f"{host}:{server.getsockname()[1]}"


def serve(server: socket.socket, answers: Answers) -> None:
    while True:
        try:
            talk, _ = server.accept()
        except OSError:
            return
        with talk, suppress(ConnectionError):
            while (head := talk.recv(12, socket.MSG_WAITALL)) and len(head) == 12:
                length, api, _, number = struct.unpack(">ihhi", head)
                body = answers(api) if length < 1000 else None
                if body is None:
                    break
                talk.recv(length - 8, socket.MSG_WAITALL)
                talk.sendall(struct.pack(">ii", len(body) + 4, number) + body)


def answering(handshake: int, login: int) -> Answers:
    codes = {17: struct.pack(">hi", handshake, 0), 36: struct.pack(">hhi", login, -1, 0)}
    return lambda api: codes.get(api, bytes(6))


def asking(handshake: int) -> Answers:
    """Answer a handshake with the one mechanism that logins may have."""
    return lambda api: struct.pack(">hih", handshake, 1, 5) + b"PLAIN" if api == 17 else bytes(6)


@pytest.mark.parametrize(
    ("answers", "options", "named"),
    [
        (asking(0), {}, "asks for a login. Nothing was read or sent. Set client option 'security.protocol' (SASL_PL"),
        (asking(33), {"security.protocol": "PLAINTEXT"}, "'sasl.mechanism', 'sasl.username' and 'sasl.password'"),
        (answering(0, 58), LOGIN, "'sasl.username' and 'sasl.password'"),
        (answering(33, 0), LOGIN, "'sasl.mechanism'"),
        (answering(34, 0), LOGIN, "'security.protocol'"),
        (answering(0, 0), {"security.protocol": "SSL"}, "does not speak TLS"),
        (answering(0, 0), {"security.protocol": "SSL", "ssl.key.location": "/no"}, "'ssl.key.location' names a file"),
    ],
)
def test_what_does_not_fit_is_named_and_stops(answers: Answers, options: Mapping[str, str], named: str) -> None:
    with listener(answers) as address, pytest.raises(FatalError) as caught:
        check_greeting(address, options, 2.0)
    assert named in str(caught.value)
    assert "Nothing was read or sent" in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("answers", "options"),
    [
        (answering(0, 0), LOGIN),
        (answering(0, 0), {}),
        (answering(33, 0), {}),
        (answering(34, 0), {}),
        (answering(0, 15), LOGIN),  # no coordinator: it passes by itself
        (answering(7, 0), LOGIN),
        (lambda _: None, LOGIN),
        (lambda _: None, {}),
        (lambda _: None, {"security.protocol": "SSL"}),
        (lambda _: b"?", {}),
    ],
    ids=[
        "let in",
        "open",
        "open, without a mechanism",
        "takes no login",
        "not now",
        "not yet",
        "gone",
        "gone, open",
        "gone, by TLS",
        "no Kafka",
    ],
)
def test_what_may_pass_by_itself_is_left_to_the_client(answers: Answers, options: Mapping[str, str]) -> None:
    with listener(answers) as address:
        check_greeting(address, options, 2.0)


def test_who_is_away_is_left_to_the_client() -> None:
    check_greeting("127.0.0.1:1", LOGIN, 2.0)


def test_the_first_that_is_there_is_asked() -> None:
    with listener(answering(0, 58)) as address, pytest.raises(FatalError, match="refuses the login"):
        check_greeting(f"127.0.0.1:1, {address}", LOGIN, 2.0)


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("broker", ("broker", 9092)),
        (" broker:9093 ", ("broker", 9093)),
        ("PLAINTEXT://broker:9093", ("broker", 9093)),
        ("SASL_SSL://broker", ("broker", 9092)),
        ("[::1]:9093", ("::1", 9093)),
        ("[::1]", ("::1", 9092)),
        ("::1", ("::1", 9092)),
        ("broker:x", ("broker", -1)),
    ],
)
def test_servers_are_read_as_the_clients_read_them(server: str, address: tuple[str, int]) -> None:
    assert greeting.address_of(server) == address


@pytest.mark.parametrize("server", ["broker.invalid", "localhost:x", "", "localhost:99999", "::1"])
def test_what_is_no_server_is_the_clients_matter(server: str) -> None:
    greeting.check_greeting(server, {}, 0.5)


def test_one_that_refuses_is_passed_while_another_one_does_not() -> None:
    with listener(answering(0, 58)) as bad, listener(answering(0, 0)) as good:
        check_greeting(f"{bad},{good}", LOGIN, 5)
        check_greeting(f"{good},{bad}", LOGIN, 5)
        with pytest.raises(FatalError, match=f"{bad} refuses the login"):
            check_greeting(f"{bad},{bad}", LOGIN, 5)


def test_an_answer_that_is_none_is_the_clients_matter() -> None:
    with listener(lambda api: bytes(6) if api == 18 else b"\0") as odd:
        check_greeting(odd, LOGIN, 5)


def test_a_login_that_scram_does_not_take_is_refused() -> None:
    token = b"e=unknown-user"
    answer = struct.pack(">hhi", 0, -1, len(token)) + token
    answers = {17: struct.pack(">hi", 0, 0), 36: answer}
    with (
        listener(lambda api: answers.get(api, bytes(6))) as server,
        pytest.raises(FatalError, match="refuses the login"),
    ):
        check_greeting(server, {**LOGIN, "sasl.mechanism": "SCRAM-SHA-256"}, 5)


def drip(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            talk, _ = server.accept()
            with talk, suppress(OSError):
                talk.sendall(struct.pack(">ii", 1 << 20, 18))
                while True:
                    time.sleep(0.02)
                    talk.sendall(b"?")


@pytest.mark.timeout(30)
def test_one_that_answers_drop_by_drop_is_the_clients_matter() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drip, args=(server,), daemon=True).start()
        check_greeting(f"127.0.0.1:{server.getsockname()[1]}", {}, 0.3)


def test_a_name_of_several_addresses_is_as_good_as_their_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_brokers(host: str, port: int, *given: object, **more: object) -> list[tuple[object, ...]]:
        hosts = ("127.0.0.1", "127.0.0.2") if host == "brokers.example" else (host,)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in hosts]

    monkeypatch.setattr(socket, "getaddrinfo", all_brokers)
    with listener(answering(0, 58)) as bad:
        port = int(bad.rpartition(":")[2])
        with pytest.raises(FatalError, match="refuses the login"):
            check_greeting(f"brokers.example:{port}", LOGIN, 5)
        with listener(answering(0, 0), "127.0.0.2", port):
            check_greeting(f"brokers.example:{port}", LOGIN, 5)
