"""Messages over HTTP: 200 only for what is done, and every other request told what to do."""

from __future__ import annotations

import http.client
import json
import pickle
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest

from trident.base.errors import ConfigurationError, FatalError, RetryableError
from trident.spouts import HttpPushSpout, JsonBody
from trident.spouts.queue.acking import SpoutContext
from trident.spouts.queue.http import server
from trident.spouts.queue.http.desk import Answer, PushDesk
from trident.spouts.queue.message import Message

SECRET = "of-ann-only"
SOON = timedelta(milliseconds=200)


@contextmanager
def opened(spout: HttpPushSpout) -> Iterator[HttpPushSpout]:
    spout.open(SpoutContext("in", 1))
    spout.activate()
    try:
        yield spout
    finally:
        spout.close()


@pytest.fixture
def senders() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(64) as pool:
        yield pool


def post(port: int, id_: str | None, body: bytes = b"{}", path: str = "/", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    given = headers if id_ is None else {"Idempotency-Key": id_, **headers}
    try:
        connection.request("POST", path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.read().decode().strip()
    finally:
        connection.close()


def taken(spout: HttpPushSpout, count: int) -> list[Message]:
    found: list[Message] = []
    deadline = time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < deadline
        message = spout.next_tuple()
        if message is None:
            time.sleep(0.001)
        else:
            found.append(message)
    return found


def test_200_is_answered_behind_the_ack_and_503_behind_a_failure(senders: ThreadPoolExecutor) -> None:
    with opened(HttpPushSpout(port=0, body=JsonBody("n int"))) as spout:
        answers = [senders.submit(post, spout.port, f"m-{n}", b'{"n": %d}' % n) for n in range(2)]
        messages = {message.id: message.values for message in taken(spout, 2)}
        assert messages == {"m-0": {"n": 0}, "m-1": {"n": 1}}
        time.sleep(0.1)
        assert not any(answer.done() for answer in answers)
        spout.ack("m-0")
        spout.fail("m-1")
        assert [answer.result(10)[0] for answer in answers] == [200, 503]
        again = senders.submit(post, spout.port, "m-1", b'{"n": 1}')
        spout.ack(taken(spout, 1)[0].id)
        assert again.result(10) == (200, "done")


def test_one_id_that_is_posted_twice_is_one_message(senders: ThreadPoolExecutor) -> None:
    with opened(HttpPushSpout(port=0)) as spout:
        answers = [senders.submit(post, spout.port, "same") for _ in range(8)]
        taken(spout, 1)
        time.sleep(0.2)
        assert spout.next_tuple() is None
        spout.ack("same")
        assert {answer.result(10)[0] for answer in answers} == {200}
        spout.ack("same")  # of no emission: says nothing


def test_of_two_bodies_with_one_id_neither_is_told_a_verdict_before_there_is_one(senders: ThreadPoolExecutor) -> None:
    with opened(HttpPushSpout(port=0)) as spout:  # what is done may be either of them
        first = senders.submit(post, spout.port, "same")
        (message,) = taken(spout, 1)
        code, text = post(spout.port, "same", b"another")
        assert (code, "one of the two will be refused: send it again, with the same id" in text) == (503, True)
        spout.refuse(message.id)
        assert first.result(10)[0] == 422
        second = senders.submit(post, spout.port, "same", b"another")
        taken(spout, 1)
        spout.ack("same")
        assert second.result(10)[0] == 200


def test_one_who_has_waited_too_long_may_send_again_and_join(senders: ThreadPoolExecutor) -> None:
    with opened(HttpPushSpout(port=0, wait=SOON)) as spout:
        assert post(spout.port, "m")[0] == 503
        (message,) = taken(spout, 1)
        again = senders.submit(post, spout.port, "m")
        time.sleep(0.05)
        spout.ack(message.id)
        assert again.result(10)[0] == 200
        assert spout.next_tuple() is None


def test_ten_thousand_from_many_senders(senders: ThreadPoolExecutor) -> None:
    def send(sender: int) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        done = 0
        for number in range(200):
            connection.request("POST", "/", b"{}", {"Idempotency-Key": f"{sender}-{number}"})
            answer = connection.getresponse()
            answer.read()
            done += answer.status == 200
        connection.close()
        return done

    with opened(HttpPushSpout(port=0)) as spout:
        port = spout.port
        answers = [senders.submit(send, sender) for sender in range(50)]
        found = 0
        while not all(answer.done() for answer in answers):
            message = spout.next_tuple()
            if message is None:
                time.sleep(0.001)
                continue
            found += 1
            spout.ack(message.id)
        assert sum(answer.result() for answer in answers) == found == 10_000


@pytest.mark.parametrize(
    ("id_", "body", "headers", "status", "said"),
    [
        (None, b"{}", {}, 400, "there is no id"),
        (" ", b"{}", {}, 400, "is empty"),
        ("x" * 501, b"{}", {}, 400, "501 characters"),
        ("a", b"{}", {"Message-Id": "b"}, 400, "several ids"),
        ("a", b"{", {}, 400, "not JSON"),
        ("a", json.dumps({"n": SECRET}).encode(), {}, 400, "field 'n'"),
        ("a", b"x" * 101, {}, 413, "at most 100 bytes"),
        ("a", b"{}", {"Content-Length": "9" * 50}, 413, "at most"),
        ("a", b"{}", {"Content-Length": "-1"}, 400, "no number"),
        ("a", b"{}", {"Transfer-Encoding": "chunked", "Content-Length": "2"}, 411, "Content-Length"),
    ],
)
def test_what_is_no_message_is_refused(
    id_: str | None, body: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    with opened(HttpPushSpout(port=0, body=JsonBody("n int"), max_body=100)) as spout:
        found = post(spout.port, id_, body, **headers)
        assert (found[0], said in found[1], SECRET in found[1]) == (status, True, False), found
        assert spout.next_tuple() is None


LARGE = b"x" * (16 << 20)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {"Authorization": f"Bearer {SECRET}"}, 413),
        ("/", {"Authorization": "Bearer other"}, 401),
        ("/other", {"Authorization": f"Bearer {SECRET}"}, 404),
        ("/", {"Authorization": f"Bearer {SECRET}", "Transfer-Encoding": "chunked"}, 411),
    ],
)
def test_who_sends_its_whole_body_before_it_listens_hears_why_it_is_refused(
    path: str, headers: dict[str, str], status: int
) -> None:
    with opened(HttpPushSpout(port=0, token=SECRET)) as spout:
        assert [post(spout.port, "a", LARGE, path, **headers)[0] for _ in range(3)] == [status] * 3


@pytest.mark.parametrize("method", ["PUT", "PROPFIND"])
def test_so_does_who_uses_another_method(method: str) -> None:
    with opened(HttpPushSpout(port=0)) as spout:
        connection = http.client.HTTPConnection("127.0.0.1", spout.port, timeout=60)
        connection.request(method, "/", LARGE)
        assert connection.getresponse().status in (405, 501)
        connection.close()


def send_on(sender: socket.socket, piece: bytes, pause_s: float) -> None:
    for _ in range(2_000):
        time.sleep(pause_s)
        sender.sendall(piece)


def test_who_never_stops_sending_what_is_refused_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_MOST_UNREAD", 1 << 20)
    monkeypatch.setattr(server, "_UNREAD_S", 600)
    begin = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (1 << 40)
    with (
        opened(HttpPushSpout(port=0)) as spout,
        socket.create_connection(("127.0.0.1", spout.port), timeout=30) as sender,
    ):
        sender.sendall(begin)
        with pytest.raises(ConnectionError):
            send_on(sender, b"x" * (1 << 16), pause_s=0)


def test_who_says_nothing_more_of_what_is_refused_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_UNREAD_S", 0.3)
    with (
        opened(HttpPushSpout(port=0)) as spout,
        socket.create_connection(("127.0.0.1", spout.port), timeout=30) as sender,
    ):
        sender.sendall(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (1 << 40))
        while sender.recv(1 << 16):
            pass  # the answer, and its end
        with pytest.raises(ConnectionError):
            send_on(sender, b"x", pause_s=0.01)


def test_the_other_header_and_the_other_paths_and_methods(senders: ThreadPoolExecutor) -> None:
    with opened(HttpPushSpout(port=0, path="/in")) as spout:
        answer = senders.submit(post, spout.port, None, b"x", "/in", **{"Message-Id": "m", "X-More": "1"})
        (message,) = taken(spout, 1)
        assert isinstance(message.values, tuple)
        assert message.id == "m"
        assert (message.values[1], message.values[4]) == ("/in", b"x")
        assert message.values[3]["x-more"] == b"1"
        spout.ack("m")
        assert answer.result(10)[0] == 200
        assert post(spout.port, "a", path="/")[0] == 404
        connection = http.client.HTTPConnection("127.0.0.1", spout.port, timeout=10)
        connection.request("GET", "/in")
        found = connection.getresponse()
        assert (found.status, found.headers["Allow"]) == (405, "POST")
        connection.close()


def test_back_pressure(senders: ThreadPoolExecutor) -> None:
    with opened(HttpPushSpout(port=0, max_pending=2)) as spout:
        first = [senders.submit(post, spout.port, f"m-{n}") for n in range(2)]
        taken(spout, 2)
        assert post(spout.port, "m-2")[0] == 429
        spout.ack("m-0")
        third = senders.submit(post, spout.port, "m-2")
        taken(spout, 1)
        spout.ack("m-1")
        spout.ack("m-2")
        assert [answer.result(10)[0] for answer in (*first, third)] == [200] * 3


def test_connections_that_say_nothing_are_bounded() -> None:
    before = threading.active_count()
    with opened(HttpPushSpout(port=0, max_pending=1)) as spout:
        idle = [socket.create_connection(("127.0.0.1", spout.port)) for _ in range(70)]
        try:
            time.sleep(0.3)
            with suppress(ConnectionError):
                assert idle[-1].recv(100).startswith(b"HTTP/1.1 429")
            assert threading.active_count() - before < 90
        finally:
            for each in idle:
                each.close()


def test_nobody_takes_messages_before_it_is_active_or_behind_that(senders: ThreadPoolExecutor) -> None:
    spout = HttpPushSpout(port=0)
    spout.open(SpoutContext("in", 1))
    assert post(spout.port, "a")[0] == 503
    spout.activate()
    waiting = senders.submit(post, spout.port, "b")
    taken(spout, 1)
    spout.deactivate()
    assert post(spout.port, "c")[0] == 503
    spout.ack("b")  # acks still come
    assert waiting.result(10)[0] == 200
    spout.close()


def test_who_waits_when_the_run_ends_is_told(senders: ThreadPoolExecutor) -> None:
    with opened(HttpPushSpout(port=0)) as spout:
        port = spout.port
        answers: list[Future[tuple[int, str]]] = [senders.submit(post, port, f"m-{n}") for n in range(3)]
        taken(spout, 2)
        time.sleep(0.1)
    assert [answer.result(10)[0] for answer in answers] == [503] * 3
    with pytest.raises(OSError, match=r"refused|reset"):
        post(port, "late")


def test_a_sender_that_goes_away_is_no_matter() -> None:
    with opened(HttpPushSpout(port=0, wait=timedelta(seconds=5))) as spout:
        with socket.create_connection(("127.0.0.1", spout.port)) as sender:
            sender.sendall(b"POST / HTTP/1.1\r\nIdempotency-Key: a\r\nContent-Length: 2\r\n\r\n{}")
            taken(spout, 1)
        spout.ack("a")
        with socket.create_connection(("127.0.0.1", spout.port)) as sender:
            sender.sendall(b"POST / HTTP/1.1\r\nIdempotency-Key: b\r\nContent-Length: 20\r\n\r\n{}")
        time.sleep(0.2)
        assert spout.next_tuple() is None  # half of a body is no message


def test_a_token_is_asked_for_where_one_was_given(senders: ThreadPoolExecutor) -> None:
    with opened(HttpPushSpout(port=0, token=SECRET)) as spout:
        assert post(spout.port, "a")[0] == 401
        assert post(spout.port, "a", Authorization="Bearer other")[0] == 401
        answer = senders.submit(post, spout.port, "a", b"{}", "/", Authorization=f"Bearer {SECRET}")
        (message,) = taken(spout, 1)
        assert SECRET not in str(message.values)
        spout.ack("a")
        assert answer.result(10)[0] == 200
        assert SECRET not in repr(spout) + str(spout.identity())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_whoever_can_be_reached_from_elsewhere_needs_a_token(host: str) -> None:
    with pytest.raises(ConfigurationError, match="have to show a token"):
        HttpPushSpout(port=0, host=host)
    HttpPushSpout(port=0, host=host, token=SECRET)


def test_a_port_that_is_taken_and_a_host_that_is_another() -> None:
    with opened(HttpPushSpout(port=0)) as spout, pytest.raises(RetryableError, match="another program listens"):
        HttpPushSpout(port=spout.port).open(SpoutContext("in", 1))
    with pytest.raises(FatalError, match="an address of this machine"):
        HttpPushSpout(port=0, host="192.0.2.1", token=SECRET).open(SpoutContext("in", 1))


def test_without_a_memory_a_message_needs_no_id(senders: ThreadPoolExecutor) -> None:
    spout = HttpPushSpout(port=0)
    spout.horizon = 0
    with opened(spout):
        answers = [senders.submit(post, spout.port, None) for _ in range(2)]
        for message in taken(spout, 2):
            spout.ack(message.id)
        assert [answer.result(10)[0] for answer in answers] == [200, 200]


def test_it_is_pickled() -> None:
    spout = HttpPushSpout(port=8080, token=SECRET)
    assert repr(pickle.loads(pickle.dumps(spout))) == "HttpPushSpout(port=8080, host='127.0.0.1', path='/')"


def test_a_desk_that_has_ended_takes_nothing() -> None:
    desk = PushDesk(1)
    desk.set_open(True)
    desk.end(0)
    assert desk.post(Message((), "a"), b"", 0) is Answer.CLOSED
