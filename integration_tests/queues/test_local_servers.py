"""The servers for tests end with whoever started them, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from trident.local.rabbitmq import LocalRabbit
from trident.local.redis import LocalRedis


def processes_of_a_starter_that_is_killed(made: str, folder: Path) -> list[psutil.Process]:
    code = textwrap.dedent(
        f"""
        import time
        {made}
        print("up", flush=True)
        time.sleep(600)
        """
    )
    environment = {**os.environ, "TMPDIR": str(folder)}  # what it can't delete is deleted with the test's
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "up\n"
        started = psutil.Process(starter.pid).children(recursive=True)
        starter.send_signal(signal.SIGKILL)
    return started


def still_running(processes: list[psutil.Process]) -> list[str]:
    _, alive = psutil.wait_procs(processes, timeout=10)
    return [each.name() for each in alive if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def test_a_rabbitmq_ends_with_its_killed_starter(rabbitmq: LocalRabbit, tmp_path: Path) -> None:
    made = "from trident.local.rabbitmq import LocalRabbit; LocalRabbit().start()"
    started = processes_of_a_starter_that_is_killed(made, tmp_path)
    assert len(started) >= 2
    assert still_running(started) == []


def test_a_redis_ends_with_its_killed_starter(redis_server: LocalRedis, tmp_path: Path) -> None:
    made = "from trident.local.redis import LocalRedis; LocalRedis().start()"
    started = processes_of_a_starter_that_is_killed(made, tmp_path)
    assert len(started) == 1
    assert still_running(started) == []


@pytest.mark.parametrize("kind", [LocalRabbit, LocalRedis])
def test_no_password_is_shown(kind: type[LocalRabbit | LocalRedis]) -> None:
    server = kind()
    password = server.url.partition("@")[0].rpartition(":")[2]
    assert password not in repr(server)
    server.close()
