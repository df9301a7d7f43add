"""The spout over a real RabbitMQ: what is acked is gone, all else comes again, and what is wrong is said."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator

import pika
import pytest

from integration_tests.queues.rabbit_queues import channel, publish, queue_of, waiting
from integration_tests.queues.spouts import ids, none_within, opened, taken, taken_by_a_process_that_is_killed
from trident.base.errors import FatalError, RetryableError
from trident.local.rabbitmq import LocalRabbit
from trident.spouts.queue.acking import SpoutContext
from trident.spouts.queue.bodies.body import JsonBody
from trident.spouts.queue.rabbitmq.spout import RabbitSpout

PAYLOAD = "of-ann-only"


@pytest.fixture
def queue(rabbitmq: LocalRabbit) -> Iterator[str]:
    with queue_of(rabbitmq) as name:
        yield name


def numbered(count: int) -> list[tuple[str | None, bytes]]:
    return [(f"m-{number}", json.dumps({"n": number}).encode()) for number in range(count)]


def test_what_is_acked_is_gone_and_all_else_comes_again(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, numbered(5))
    with opened(RabbitSpout(queue, url=rabbitmq.url, body=JsonBody("n int"))) as spout:
        messages = taken(spout, 5)
        assert ids(messages) == [f"m-{n}" for n in range(5)]
        assert [message.values for message in messages] == [{"n": n} for n in range(5)]
        assert not any(message.is_redelivered for message in messages)
        for id_ in ("m-0", "m-3"):
            spout.ack(id_)
    with opened(RabbitSpout(queue, url=rabbitmq.url), instance=2) as spout:
        again = taken(spout, 3)
        assert ids(again) == ["m-1", "m-2", "m-4"]
        assert all(message.is_redelivered for message in again)
        for message in again:
            spout.ack(message.id)
    assert waiting(rabbitmq, queue) == 0


def test_ten_thousand_in_order(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, numbered(10_000))
    with opened(RabbitSpout(queue, url=rabbitmq.url, body=JsonBody("n int"))) as spout:
        messages = taken(spout, 10_000, seconds=60)
        assert [message.values for message in messages] == [{"n": n} for n in range(10_000)]
        for message in messages:
            spout.ack(message.id)
    assert waiting(rabbitmq, queue) == 0


def test_what_failed_comes_again_at_once(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, numbered(3))
    with opened(RabbitSpout(queue, url=rabbitmq.url)) as spout:
        taken(spout, 3)
        spout.ack("m-0")
        spout.fail("m-1")
        (again,) = taken(spout, 1)
        assert (again.id, again.is_redelivered) == ("m-1", True)
        spout.ack("m-1")
        spout.ack("m-1")  # one too many says nothing about another message
        spout.ack("m-2")
    assert waiting(rabbitmq, queue) == 0


def test_one_id_delivered_twice_is_acked_once_for_each(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, [("same", b"1"), ("other", b"2"), ("same", b"3")])
    with opened(RabbitSpout(queue, url=rabbitmq.url)) as spout:
        assert ids(taken(spout, 3)) == ["same", "other", "same"]
        spout.ack("same")
    with opened(RabbitSpout(queue, url=rabbitmq.url)) as spout:
        left = taken(spout, 2)
        assert ids(left) == ["other", "same"]
        spout.ack("same")
        spout.fail("other")
        spout.ack(taken(spout, 1)[0].id)
    assert waiting(rabbitmq, queue) == 0


def test_a_killed_process_loses_nothing(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, numbered(20))
    made = f"__import__('trident.spouts', fromlist=['RabbitSpout']).RabbitSpout({queue!r}, url={rabbitmq.url!r})"
    taken_by_a_process_that_is_killed(made, 20)
    with opened(RabbitSpout(queue, url=rabbitmq.url)) as spout:
        again = taken(spout, 20)
        assert ids(again) == [f"m-{n}" for n in range(20)]
        assert all(message.is_redelivered for message in again)


def test_no_more_than_max_pending_are_delivered_ahead(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, numbered(10))
    with opened(RabbitSpout(queue, url=rabbitmq.url, max_pending=4)) as spout:
        taken(spout, 4)
        assert none_within(spout)
        spout.ack("m-2")
        assert ids(taken(spout, 1)) == ["m-4"]


def consumers(server: LocalRabbit, queue: str) -> int:
    with channel(server) as open_:
        return open_.queue_declare(queue, passive=True).method.consumer_count or 0


def test_deactivated_it_leaves_what_comes_in_the_queue_and_keeps_what_it_has(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, numbered(3))
    with opened(RabbitSpout(queue, url=rabbitmq.url)) as spout:
        taken(spout, 2)
        spout.deactivate()
        deadline = time.monotonic() + 10
        while consumers(rabbitmq, queue) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert consumers(rabbitmq, queue) == 0
        publish(rabbitmq, queue, [("late", b"")])
        assert waiting(rabbitmq, queue) == 1
        spout.ack("m-0")
        spout.fail("m-1")
        assert ids(taken(spout, 1)) == ["m-2"]  # delivered before
        assert none_within(spout)
        spout.activate()
        later = taken(spout, 2)
        assert set(ids(later)) == {"late", "m-1"}
        assert none_within(spout)
        for id_ in ("m-1", "m-2", "late"):
            spout.ack(id_)
    assert waiting(rabbitmq, queue) == 0


def test_what_is_opened_and_not_activated_takes_nothing(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, numbered(3))
    spout = RabbitSpout(queue, url=rabbitmq.url)
    spout.open(SpoutContext("in", 1))
    try:
        assert none_within(spout, 1)
        assert (consumers(rabbitmq, queue), waiting(rabbitmq, queue)) == (0, 3)
    finally:
        spout.close()


def test_heartbeats_are_answered_while_nobody_calls(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, numbered(2))
    with opened(RabbitSpout(queue, url=f"{rabbitmq.url}?heartbeat=1")) as spout:
        taken(spout, 2)
        time.sleep(4)
        spout.ack("m-0")
        spout.ack("m-1")
        publish(rabbitmq, queue, [("late", b"")])
        assert ids(taken(spout, 1)) == ["late"]
        spout.ack("late")
    assert waiting(rabbitmq, queue) == 0


def test_the_raw_form_and_an_id_in_a_header(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, [(None, b"\xff")], event="e-1", n=5)
    with opened(RabbitSpout(queue, url=rabbitmq.url, id_header="event")) as spout:
        (message,) = taken(spout, 1)
    assert message.id == "e-1"
    assert message.values == ("e-1", queue, queue.encode(), {"event": b"e-1", "n": b"5"}, b"\xff")


@pytest.mark.parametrize(
    ("id_", "said"),
    [
        (None, "has no message_id.*horizon = 0"),
        ("", "is empty"),
        ("a\0b", "no text that every store holds"),
    ],
)
def test_an_id_that_can_be_none_stops(rabbitmq: LocalRabbit, queue: str, id_: str | None, said: str) -> None:
    publish(rabbitmq, queue, [(id_, PAYLOAD.encode())])
    with opened(RabbitSpout(queue, url=rabbitmq.url)) as spout, pytest.raises(FatalError, match=said):
        taken(spout, 1)
    assert waiting(rabbitmq, queue) == 1


def test_a_header_may_be_too_long_for_an_id(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, [(None, b"")], event="x" * 501)
    spout = RabbitSpout(queue, url=rabbitmq.url, id_header="event")
    with opened(spout), pytest.raises(FatalError, match="has 501 characters, more than 500"):
        taken(spout, 1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_property_that_the_client_can_not_read_is_said(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, [(b"\xff", b"")])  # type: ignore[list-item]
    said = refused(RabbitSpout(queue, url=rabbitmq.url))
    assert "the client pika failed" in said or "no text" in said
    assert waiting(rabbitmq, queue) == 1


def test_without_a_memory_a_message_needs_no_id(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, [(None, b"a"), (None, b"b")])
    spout = RabbitSpout(queue, url=rabbitmq.url)
    spout.horizon = 0
    with opened(spout):
        first, second = taken(spout, 2)
        assert first.id != second.id
        spout.ack(second.id)
    with opened(spout):
        (again,) = taken(spout, 1)
        assert again.id not in (first.id, second.id)


def test_a_body_that_can_not_be_read_is_named_by_its_id_alone(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, [("m-1", json.dumps({"n": PAYLOAD}).encode())])
    spout = RabbitSpout(queue, url=rabbitmq.url, body=JsonBody("n int"))
    with opened(spout), pytest.raises(FatalError, match="'m-1' can't be read: field 'n'") as caught:
        taken(spout, 1)
    assert PAYLOAD not in str(caught.value)
    assert caught.value.__cause__ is None
    assert waiting(rabbitmq, queue) == 1


def refused(spout: RabbitSpout, kind: type[Exception] = FatalError) -> str:
    with pytest.raises(kind) as caught, opened(spout):
        taken(spout, 1)
    assert type(caught.value) is kind
    return str(caught.value)


def test_a_queue_that_is_not_there(rabbitmq: LocalRabbit) -> None:
    assert "there is no such queue" in refused(RabbitSpout("nowhere", url=rabbitmq.url))


def test_a_vhost_that_is_not_there(rabbitmq: LocalRabbit, queue: str) -> None:
    said = refused(RabbitSpout(queue, url=rabbitmq.url_of("trident", vhost="nowhere")))
    assert "'nowhere'" in said
    assert "no such vhost" in said


def test_a_login_that_is_refused(rabbitmq: LocalRabbit, queue: str) -> None:
    url = rabbitmq.url.replace("amqp://trident:", f"amqp://trident:{PAYLOAD}")
    said = refused(RabbitSpout(queue, url=url))
    assert "the login was refused" in said
    assert PAYLOAD not in said


def test_a_user_who_may_not_read(rabbitmq: LocalRabbit, queue: str) -> None:
    assert "may not read it" in refused(RabbitSpout(queue, url=rabbitmq.url_of("nobody")))


def test_the_right_to_read_is_enough(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, numbered(2))
    with opened(RabbitSpout(queue, url=rabbitmq.url_of("reader"))) as spout:
        taken(spout, 2)
        spout.ack("m-0")
        spout.fail("m-1")
        spout.ack(taken(spout, 1)[0].id)
    assert waiting(rabbitmq, queue) == 0


def test_a_queue_that_is_deleted_while_it_is_read(rabbitmq: LocalRabbit) -> None:
    with queue_of(rabbitmq) as name, opened(RabbitSpout(name, url=rabbitmq.url)) as spout:
        publish(rabbitmq, name, numbered(1))
        taken(spout, 1)
        with channel(rabbitmq) as open_:
            open_.queue_delete(name)
        with pytest.raises(FatalError, match="deleted with all that was not acked"):
            taken(spout, 1)
        with pytest.raises(FatalError, match="deleted"):
            spout.ack("m-0")


def test_a_queue_of_another_connection_alone(rabbitmq: LocalRabbit) -> None:
    with channel(rabbitmq) as open_:
        name = open_.queue_declare("", exclusive=True).method.queue or ""
        assert "exclusive to the connection" in refused(RabbitSpout(name, url=rabbitmq.url))


def test_another_consumer_that_reads_exclusively(rabbitmq: LocalRabbit, queue: str) -> None:
    with channel(rabbitmq) as open_:
        open_.basic_consume(queue, lambda *_: None, exclusive=True)
        assert "another consumer reads it exclusively" in refused(RabbitSpout(queue, url=rabbitmq.url))


def test_a_stream_is_no_queue(rabbitmq: LocalRabbit) -> None:
    with queue_of(rabbitmq, **{"x-queue-type": "stream"}) as name, opened(RabbitSpout(name, url=rabbitmq.url)) as spout:
        publish(rabbitmq, name, numbered(1))
        with pytest.raises(FatalError, match="it is a stream"):
            taken(spout, 2)


def test_a_quorum_queue(rabbitmq: LocalRabbit) -> None:
    with queue_of(rabbitmq, **{"x-queue-type": "quorum"}) as name:
        publish(rabbitmq, name, numbered(3))
        with opened(RabbitSpout(name, url=rabbitmq.url)) as spout:
            taken(spout, 3)
            spout.fail("m-1")
            (again,) = taken(spout, 1)
            assert (again.id, again.is_redelivered) == ("m-1", True)
            for id_ in ("m-0", "m-1", "m-2"):
                spout.ack(id_)
        assert waiting(rabbitmq, name) == 0


def test_nobody_listens() -> None:
    said = refused(RabbitSpout("q", url=f"amqp://ann:{PAYLOAD}@127.0.0.1:9/"), RetryableError)
    assert "127.0.0.1:9" in said
    assert PAYLOAD not in said


def test_options_that_the_client_does_not_have(rabbitmq: LocalRabbit) -> None:
    said = refused(RabbitSpout("q", url=f"{rabbitmq.url}?heartbeat={PAYLOAD}"))
    assert "options in the address" in said
    assert PAYLOAD not in said


def test_a_broker_that_dies_is_said_and_what_it_had_comes_again(pytestconfig: pytest.Config) -> None:
    from integration_tests.fix_servers import or_skip

    with or_skip(pytestconfig, LocalRabbit) as server, queue_of(server) as name:
        with channel(server) as open_:
            open_.confirm_delivery()
            for id_, body in numbered(3):
                open_.basic_publish("", name, body, pika.BasicProperties(message_id=id_, delivery_mode=2))
        with opened(RabbitSpout(name, url=server.url)) as spout:
            taken(spout, 3)
            time.sleep(3)  # a broker that is killed at once may not have written yet which queues it has
            server.kill()
            with pytest.raises(RetryableError, match="lost"):
                taken(spout, 1)
            with pytest.raises(RetryableError, match="lost"):
                spout.ack("m-0")
            server.start()
        with opened(RabbitSpout(name, url=server.url)) as spout:
            assert ids(taken(spout, 3)) == ["m-0", "m-1", "m-2"]


def test_it_shows_no_secret_and_is_pickled(rabbitmq: LocalRabbit) -> None:
    spout = RabbitSpout("q", url=rabbitmq.url_of("ann", vhost="bills"))
    assert repr(spout) == "RabbitSpout('q', vhost='bills')"
    assert spout.identity() == {"spout": "rabbitmq", "vhost": "bills", "queue": "q", "id": ""}
    assert repr(pickle.loads(pickle.dumps(spout))) == repr(spout)


def test_a_channel_that_the_broker_closes_is_noticed_at_once_and_says_why(rabbitmq: LocalRabbit, queue: str) -> None:
    with opened(RabbitSpout(queue, url=rabbitmq.url)) as spout:
        spout._opened().settle(1_000_000, is_acked=True)  # no delivery has that number
        with pytest.raises(FatalError, match=r"refused the consumer \(406: .*unknown delivery tag"):
            none_within(spout, 10)
