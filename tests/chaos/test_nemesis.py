"""What the nemesis relies on: who is held, who goes on, and that an easy run does not pass for a hard one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from chaos.run import idle_strikes, is_hard_enough, well_behaved
from chaos.strikes import Strike
from chaos.switchboard import Switchboard
from chaos.words import ADDRESS, say


@pytest.fixture
def board(monkeypatch):
    with Switchboard() as board:
        monkeypatch.setenv(ADDRESS, str(board.port))
        yield board


def saying(point, txid=0):
    thread = threading.Thread(target=say, args=("driver", point, txid))
    thread.start()
    return thread


def test_who_is_not_waited_for_goes_on(board):
    say("driver", "AFTER_PIN", 7)
    assert board.heard("AFTER_PIN") == 1
    last = board.last_of(os.getpid())
    assert last is not None
    assert (last.point, last.txid) == ("AFTER_PIN", 7)


def test_the_first_that_fits_is_held_until_it_is_let_go(board):
    watch = board.watch(lambda word: word.point == "AFTER_PIN" and word.txid > 1)
    say("driver", "AFTER_PIN", 1)
    held_one = saying("AFTER_PIN", 2)
    held = watch.wait(30)
    assert held is not None
    assert held.word.txid == 2
    say("driver", "AFTER_PIN", 3)  # only the first is held
    held_one.join(0.2)
    assert held_one.is_alive()
    held.let_go()
    held_one.join(5)
    assert not held_one.is_alive()


def test_a_new_watch_lets_go_whom_the_old_one_held(board):
    watch = board.watch(lambda word: True)
    held_one = saying("AFTER_PIN")
    assert watch.wait(30) is not None
    board.watch(lambda word: False)
    held_one.join(5)
    assert not held_one.is_alive()


def test_nobody_plans_while_plans_are_stopped(board):
    board.stop_plans()
    say("driver", "AFTER_PIN")
    planning = saying("BEFORE_PLAN")
    planning.join(0.2)
    assert planning.is_alive()
    board.allow_plans()
    planning.join(5)
    assert not planning.is_alive()


def test_a_process_that_dies_while_it_is_held_is_forgotten(board):
    watch = board.watch(lambda word: word.point == "AFTER_COPY")
    program = "from chaos.words import say; say('worker', 'AFTER_COPY')"
    process = subprocess.Popen([sys.executable, "-c", program])
    held = watch.wait(20)
    assert held is not None
    assert held.word.pid == process.pid
    waiting = threading.active_count()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 10
    while threading.active_count() >= waiting:
        assert time.monotonic() < deadline
        time.sleep(0.02)


KILLED = Strike(
    "SIGKILL", "driver A", "AFTER_PIN", 3, (3, 4), "pinned, not done", "", 1.0, 1, driver_kills=1, kills_after_pin=1
)


def test_an_easy_run_is_no_good_run():
    assert idle_strikes([KILLED]) == well_behaved(1, 1) == []
    assert len(idle_strikes([KILLED, replace(KILLED, in_flight=())])) == 1
    assert len(well_behaved(0, 1)) == len(well_behaved(1, 0)) == 1
    early = replace(KILLED, kills_after_pin=0)
    assert is_hard_enough([KILLED, early], 2)
    assert not is_hard_enough([KILLED, early], 3)
    assert not is_hard_enough([KILLED, early, early], 2)
