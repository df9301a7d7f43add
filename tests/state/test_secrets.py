"""What is pickled or shown has no password in it."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest
from pyspark import cloudpickle

from trident.base.errors import FatalError
from trident.base.secrets import Secret, keep_secret, tell
from trident.engine.staging import StageRows
from trident.state import PostgresState
from trident.state.layout import StateKind
from trident.state.memory.database import MemoryDatabase
from trident.testing.state_harness import COUNTS, batch_of, writing

DSN = "postgresql://ann:hunter2@localhost/payments"
TASKS = "postgresql://tasks:swordfish@localhost/payments"
SECRETS = (b"hunter2", b"swordfish", b"ann:", b"localhost")


def test_a_closure_of_a_task_holds_no_address() -> None:
    for state in (PostgresState("balances", dsn=DSN), PostgresState("balances", dsn=DSN, tasks_dsn=TASKS)):
        target = state.open(COUNTS, MemoryDatabase())
        step = StageRows(writing(target).writer(batch_of(1)), COUNTS.schema(), writing(target).secrets)
        shown = [cloudpickle.dumps(step), pickle.dumps(step), repr(step).encode(), str(step).encode()]
        assert not [each for each in shown if any(secret in each for secret in SECRETS)]
        target.close()


def test_tasks_use_the_role_of_their_own_where_there_is_one() -> None:
    target = PostgresState("balances", dsn=DSN, tasks_dsn=TASKS).open(COUNTS, MemoryDatabase())
    (secret,) = writing(target).secrets
    assert "swordfish" in secret.text
    target.close()


def test_a_state_that_a_function_holds_takes_no_address_along() -> None:
    state = PostgresState("balances", dsn=DSN, tasks_dsn=TASKS, kind=StateKind.TRANSACTIONAL, table="report.sums")
    shown = [cloudpickle.dumps(lambda: state), pickle.dumps(state), repr(state).encode()]
    assert not [each for each in shown if any(secret in each for secret in SECRETS)]
    assert pickle.loads(shown[1]) == copy.deepcopy(state) == state


def test_a_process_that_was_not_told_says_so_and_shows_nothing() -> None:
    pickled = pickle.dumps(PostgresState("balances", dsn=DSN))
    program = f"import pickle; pickle.loads({pickled!r})"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "this process was not told trident-secret-" in answer.stderr
    assert "hunter2" not in answer.stderr
    with pytest.raises(FatalError, match="was not told nothing"):
        Secret("nothing").text  # noqa: B018


def test_one_text_has_one_name_that_says_nothing_of_it() -> None:
    secret = keep_secret("sesame")
    assert keep_secret("sesame") == secret != keep_secret("open sesame")
    assert "sesame" not in repr(secret)
    elsewhere = Secret("trident-secret-elsewhere")
    assert not elsewhere.is_known
    tell(elsewhere, "told")
    assert (elsewhere.is_known, elsewhere.text) == (True, "told")
