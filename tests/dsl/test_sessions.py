"""A session that is the user's own, as through Spark Connect: looked at before and after each job, refused by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from trident.base.errors import ConfigurationError
from trident.engine.session import PINNED
from trident.engine.spark import engine_session, watched


class _Conf:
    """Options of a session: those that were set, above what its server has."""

    def __init__(self, **changed: str) -> None:
        self.server = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "Etc/UTC"} | changed
        self.getAll: dict[str, str] = {"spark.sql.session.timeZone": "utc", "spark.sql.ansi.enabled": "TRUE"}

    def get(self, name: str) -> str:
        return self.getAll.get(name, self.server[name])


def session(conf: _Conf) -> SparkSession:
    return cast("SparkSession", SimpleNamespace(conf=conf))


@pytest.mark.parametrize("name", [*PINNED, "spark.sql.legacy.sizeOfNull"])
def test_a_shared_session_is_refused_by_the_options_name(name: str) -> None:
    conf = _Conf()
    shared = session(conf)
    assert engine_session(shared, 2) is shared
    conf.getAll[name] = "something else"
    with pytest.raises(ConfigurationError, match=f"{name} is 'something else'") as refusal:
        engine_session(session(conf), 2)
    assert f'set("{name}"' in str(refusal.value) or f'spark.conf.unset("{name}")' in str(refusal.value)


def test_what_nobody_has_set_is_what_the_server_says() -> None:
    """The time zone is that of its machine, and an environment variable turns ANSI off."""
    conf = _Conf()
    conf.getAll.clear()
    with pytest.raises(ConfigurationError, match="timeZone is 'Etc/UTC'"):
        engine_session(session(conf), 2)
    conf.server |= {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "false"}
    with pytest.raises(ConfigurationError, match=r"ansi\.enabled is 'false'"):
        engine_session(session(conf), 2)


def test_options_that_change_while_a_job_runs_make_its_result_void() -> None:
    conf = _Conf()
    with pytest.raises(ConfigurationError, match=r"changed while the batch was processed: spark\.sql\.ansi"):  # noqa: SIM117
        with watched(session(conf)):
            conf.getAll["spark.sql.ansi.enabled"] = "false"
    with pytest.raises(ConfigurationError, match="the batch can't be processed"), watched(session(conf)):
        pytest.fail("the job was begun")
    with pytest.raises(ZeroDivisionError), watched(session(_Conf())):
        raise ZeroDivisionError
