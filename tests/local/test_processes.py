from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from trident.base.errors import FatalError
from trident.local.processes import ServerCommand, ServerProcess, free_ports


def sleeper(log: Path) -> ServerCommand:
    return ServerCommand([sys.executable, "-c", "import time; time.sleep(600)"], log, signal.SIGKILL)


def test_a_server_that_ends_is_reported_with_its_log(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; sys.exit('port is taken')"]
    process = ServerProcess(ServerCommand(words, tmp_path / "log", signal.SIGKILL))
    with pytest.raises(FatalError, match=r"ended; the end of its log:\nport is taken"):
        process.wait_until(lambda: False, timeout=30)


def test_a_server_that_never_answers_is_ended(tmp_path: Path) -> None:
    process = ServerProcess(sleeper(tmp_path / "log"))
    with pytest.raises(FatalError, match="did not answer"):
        process.wait_until(lambda: False, timeout=0)
    assert not process.is_alive


def test_kill_and_stop_may_be_called_again(tmp_path: Path) -> None:
    process = ServerProcess(sleeper(tmp_path / "log"))
    assert process.is_alive
    process.stop(signal.SIGTERM)
    process.stop(signal.SIGTERM)
    process.kill()
    assert not process.is_alive
    assert process.exit_code == -signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_a_server_ends_with_a_killed_parent(tmp_path: Path) -> None:
    parent = textwrap.dedent(
        f"""
        import signal, sys, time
        from pathlib import Path
        from trident.local.processes import ServerCommand, ServerProcess
        words = [sys.executable, "-c", "import time; time.sleep(600)"]
        print(ServerProcess(ServerCommand(words, Path({str(tmp_path / "log")!r}), signal.SIGKILL)).pid, flush=True)
        time.sleep(600)
        """
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        server = psutil.Process(int(process.stdout.readline()))
        os.kill(process.pid, signal.SIGKILL)
    # reaped by whoever adopts it: gone, or a zombie where nobody does
    try:
        server.wait(timeout=10)
    except psutil.TimeoutExpired:
        assert server.status() == psutil.STATUS_ZOMBIE


def test_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20
