"""An asynchronous replica of a local PostgreSQL server, which can fall behind and then be made the new primary."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from trident.base.errors import FatalError
from trident.local.postgres import LocalPostgres

_NOBODY = "host=127.0.0.1 port=1"


class PostgresReplica(LocalPostgres):
    """Follows the primary that it was made from; use it as a context manager.

    Clients may read from it. `fall_behind()` ends the copying, `promote()` lets it accept writes: what the
    primary committed in between is not there, as after a failover in earnest.
    """

    def __init__(self, primary: LocalPostgres) -> None:
        super().__init__()
        self._primary = primary
        self._password = urlsplit(primary.dsn).password or ""

    def fall_behind(self) -> None:
        """Receive nothing any more, from now on; what was received stays."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET primary_conninfo = '{_NOBODY}'")
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute("SELECT 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'").fetchone():
                connection.execute("SELECT pg_sleep(0.05)")

    def catch_up(self) -> None:
        """Return once everything that the primary has committed by now is here too."""
        with psycopg.connect(self._primary.dsn, autocommit=True) as connection:
            row = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
        assert row is not None
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            behind = "SELECT pg_last_wal_replay_lsn() < %s::pg_lsn"
            while (connection.execute(behind, row).fetchone() or (True,))[0]:
                connection.execute("SELECT pg_sleep(0.05)")

    def promote(self) -> None:
        """Become a primary; returns when writes are accepted."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            row = connection.execute("SELECT pg_promote(true, 60)").fetchone()
        if row != (True,):
            raise FatalError(f"{self!r} did not become a primary within 60 s")

    def _make(self, data: Path) -> None:
        if self._user is not None:
            self._copy_binaries()
            os.chown(self._folder, pwd.getpwnam(self._user).pw_uid, pwd.getpwnam(self._user).pw_gid)
        words = [str(self._binaries() / "pg_basebackup"), "-D", str(data), "-d", self._primary.dsn]
        words += ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-password"]
        answer = subprocess.run(words, capture_output=True, text=True, user=self._user, cwd="/", check=False)  # noqa: S603
        if answer.returncode != 0:
            raise FatalError(f"PostgreSQL's pg_basebackup failed, no replica was started: {answer.stderr[-500:]}")
