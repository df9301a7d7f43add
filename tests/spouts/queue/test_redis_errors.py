"""What Redis' answers mean: those that no test can have a server say, and that none quotes an address."""

from __future__ import annotations

import pytest
from redis import exceptions

from trident.base.errors import ConfigurationError, FatalError, RetryableError
from trident.spouts.queue.redis.errors import RedisPlace, classify
from trident.spouts.queue.redis.group import StreamGroup
from trident.spouts.queue.redis.spout import RedisStreamSpout

PLACE = RedisPlace("127.0.0.1:9", "s", "g")


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (exceptions.BusyLoadingError("hunter2"), RetryableError, "BusyLoadingError"),
        (exceptions.ResponseError("LOADING Redis is loading"), RetryableError, "can't answer now"),
        (exceptions.ReadOnlyError("You can't write against a read only replica."), RetryableError, "ReadOnlyError"),
        (exceptions.ResponseError("MISCONF Redis is configured to save"), RetryableError, "can't answer now"),
        (exceptions.ResponseError("BUSY Redis is busy running a script."), RetryableError, "can't answer now"),
        (exceptions.ResponseError("BUSYKEY Target key name already exists."), FatalError, "BUSYKEY"),
        (exceptions.OutOfMemoryError("command not allowed"), RetryableError, "OutOfMemoryError"),
        (exceptions.TimeoutError("hunter2"), RetryableError, "TimeoutError"),
        (OSError("hunter2"), RetryableError, "OSError"),
        (exceptions.MovedError("7 127.0.0.1:7"), FatalError, "part of a cluster"),
        (exceptions.ResponseError("unknown command 'XAUTOCLAIM'"), FatalError, "Redis 7 or newer"),
        (exceptions.ResponseError("NOAUTH Authentication required."), FatalError, "the rights that are needed"),
        (exceptions.ResponseError("SOMETHING new"), FatalError, "SOMETHING new"),
        (exceptions.DataError("hunter2"), FatalError, "DataError"),
        (
            exceptions.ResponseError("Command # 3 (XREADGROUP) of pipeline caused error: NOGROUP No such key"),
            FatalError,
            "XGROUP CREATE s g 0",
        ),
    ],
)
def test_an_answer_is_named_by_what_to_do(error: exceptions.RedisError, kind: type[Exception], said: str) -> None:
    found = classify(error, PLACE)
    assert type(found) is kind
    assert said in str(found)
    assert "hunter2" not in str(found)


class OldClient:
    """Answers as Redis 6.2 does, which does not say what is gone."""

    def xautoclaim(self, *_: object, **__: object) -> list[object]:
        return [b"0-0", []]


def test_a_server_that_does_not_say_what_is_gone_is_refused() -> None:
    group = StreamGroup(OldClient(), PLACE, "me")  # type: ignore[arg-type]
    with pytest.raises(FatalError, match="Redis 7 or newer"):
        group.idle(1, 1, ())


def test_the_database_is_said_in_the_path() -> None:
    with pytest.raises(ConfigurationError, match="say the database in the path"):
        RedisStreamSpout("s", "g", url="redis://h:6379/0?db=3")


@pytest.mark.parametrize("streams", [[], ["a", "a"], ["a", ""], 5, b"a"])
def test_streams_are_named_once_each(streams: object) -> None:
    with pytest.raises(FatalError, match="stream"):
        RedisStreamSpout(streams, "g", url="redis://127.0.0.1:9")  # type: ignore[arg-type]
