"""How tasks get secrets: as a file of the session, which no plan, closure, log of events or exception shows.

It lies here since spouts are the lowest that speak to Spark; the engine hands out what states need by the same way.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from trident.base.errors import FatalError
from trident.base.secrets import Secret, tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _Given:
    """What one session's tasks know."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.secrets: set[Secret] = set()


_lock: Final = threading.Lock()
_sessions: Final[WeakKeyDictionary[SparkSession, _Given]] = WeakKeyDictionary()


def hand_out(spark: SparkSession, secrets: Iterable[Secret]) -> None:
    """Make secrets known to tasks of this session that begin from now on; each is given once, from any thread.

    The file is on the driver and, as long as the application runs, on each machine whose tasks use it; only the user
    that runs them may read it.
    """
    with _lock:
        given = _sessions.setdefault(spark, _Given())
    with given.lock:  # one session that hangs holds up no other one
        for secret in secrets:
            if secret in given.secrets:
                continue
            spark.addArtifacts(str(_file_of(secret)), file=True)
            given.secrets.add(secret)


def learn(secrets: Iterable[Secret]) -> None:
    """Tell this process, one of the session's workers, what was handed out."""
    for secret in secrets:
        if secret.is_known:
            continue
        from pyspark.core.files import SparkFiles  # in a worker it is there; who only holds secrets needs no Spark

        try:
            text = Path(SparkFiles.get(secret.name)).read_text("utf-8")
        except OSError as error:
            raise FatalError(
                f"the file {secret.name} did not reach a task ({type(error).__name__}); nothing was read or written"
            ) from None
        tell(secret, text)


def _file_of(secret: Secret) -> Path:
    with _lock:
        path = _folder() / secret.name
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secret.text, "utf-8")
        return path


@cache
def _folder() -> Path:
    """Return this process's folder: Spark refuses a file of the same name from another one."""
    folder = Path(tempfile.mkdtemp(prefix="trident-"))  # nobody else may enter it
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
