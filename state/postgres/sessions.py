"""Sessions of PostgreSQL that show for whom they are at work, and how a successor ends those of a stopped owner.

A process that was stopped, or cut off, in the middle of a COPY or of a long message leaves a backend that waits for it
without any limit of the server's, with all its locks. So each fenced transaction shows topology and epoch as its
`application_name`, and who takes over ends the sessions of older epochs: what they have not committed is void anyway.

Whoever raises an epoch, or makes tables, has none yet that could be older. Such a session says that instead, and is
ended by whoever can't get past it once it has waited for its client for half a lease, in the middle of a statement: it
could commit nothing that is not looked at again under the same lock.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping

import psycopg
from sqlalchemy import Connection, text

from trident.base.identity import Epoch
from trident.state.databases.base import Work
from trident.state.postgres.schema import MAKING_TABLES

_log = logging.getLogger("trident.postgres")
_MARK = text("SELECT set_config('application_name', :mark, true)")
_SESSIONS = """
    SELECT a.pid, a.application_name, coalesce(r.rolname, '?'), current_user::text, coalesce(r.rolsuper, false)
    FROM pg_stat_activity AS a LEFT JOIN pg_roles AS r ON r.oid = a.usesysid
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.application_name LIKE 'trident %'"""
_END = "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity WHERE pid = %s AND application_name = %s"
"""The name is compared again: a number may belong to another session by now."""
_TAKING = "trident taking"
_LONG_OPEN = """
    SELECT a.pid, coalesce(r.rolname, '?'), a.application_name FROM pg_stat_activity AS a
    LEFT JOIN pg_roles AS r ON r.oid = a.usesysid
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
          AND a.xact_start < clock_timestamp() - make_interval(secs => %s)
    ORDER BY a.xact_start LIMIT 5"""


_UNTRACKED = "untracked"
_HIDDEN = "hidden"
_IS_STUCK = "wait_event = 'ClientRead' AND query_start < clock_timestamp() - make_interval(secs => %s)"
_STUCK = f"""
    SELECT a.pid, a.application_name, coalesce(r.rolname, '?'), current_user::text, coalesce(r.rolsuper, false),
           CASE WHEN a.state = 'disabled' THEN '{_UNTRACKED}' WHEN a.state IS NULL THEN '{_HIDDEN}' ELSE '' END
    FROM pg_stat_activity AS a LEFT JOIN pg_roles AS r ON r.oid = a.usesysid
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.application_name = ANY(%s)
          AND (a.state IS NULL OR a.state = 'disabled' OR {_IS_STUCK})"""
"""What a session of another role does is shown to few, with track_activities off to nobody; its name to everybody."""
_END_STUCK = f"{_END} AND {_IS_STUCK}"


def mark_of(work: Work) -> str:
    """Return what `application_name` is while a session is at work for a topology."""
    assert work.epoch is not None
    if work.raises:
        return f"{_TAKING} {_digest_of(f'{work.raises} {work.topology}')}"
    return f"trident {work.epoch.number} {_digest(work.topology, work.epoch)}"


def show_mark(connection: Connection, work: Work) -> None:
    """Show the mark up to the end of the transaction."""
    connection.execute(_MARK, {"mark": mark_of(work)})


def end_older(connection: psycopg.Connection, work: Work, wait_seconds: float) -> list[str]:
    """End the sessions of older epochs in this database, waiting so long for each; returns what could not be ended.

    The connection commits by itself. No session without such a mark is ever ended, whatever it holds.
    """
    left = []
    for pid, name, role, own_role, is_super in connection.execute(_SESSIONS).fetchall():
        if not is_older(name, work):
            continue
        try:
            ended = connection.execute(_END, (int(wait_seconds * 1000), pid, name)).fetchone()
        except psycopg.errors.InsufficientPrivilege:
            left.append(_may_not(pid, role, own_role, f"at work for an older epoch of {work.topology!r}", is_super))
        else:
            if ended is not None:
                _log.warning("ended backend %d, left open by an older epoch of topology %r", pid, work.topology)
    for each in left:
        _log.warning("%s", each)
    return left


def end_stuck(
    connection: psycopg.Connection, raising: Mapping[str, str], seconds: float, wait_seconds: float
) -> list[str]:
    """End sessions that have waited so long, in the middle of a statement, for a client that is gone.

    Those that make tables, and those that raise an epoch under one of these marks (of each: its topology), have no
    epoch yet; a live one never waits for its client there. Returns what could not be ended.
    """
    left, known = [], {MAKING_TABLES: "that stopped while it made tables"}
    known |= {mark: f"that stopped while it took the lease of {topology!r}" for mark, topology in raising.items()}
    found = connection.execute(_STUCK, (list(known), seconds)).fetchall()
    for pid, name, role, own_role, is_super, unseen in found:
        if unseen:
            why = (
                "the server does not say what it does (track_activities is off)"
                if unseen == _UNTRACKED
                else f'role {own_role!r} may not see it (GRANT pg_read_all_stats, pg_signal_backend TO "{own_role}")'
            )
            left.append(
                f"backend {pid} of role {role!r}, perhaps of a process {known[name]}: {why}. If its client is gone, "
                f"{_by_hand(pid, is_super)}"
            )
            continue
        try:
            ended = connection.execute(_END_STUCK, (int(wait_seconds * 1000), pid, name, seconds)).fetchone()
        except psycopg.errors.InsufficientPrivilege:
            left.append(_may_not(pid, role, own_role, f"of a process {known[name]}", is_super))
        else:
            if ended is not None:
                _log.warning("ended backend %d, left open by a process %s", pid, known[name])
    return left


def _may_not(pid: int, role: str, own_role: str, what: str, is_super: bool) -> str:
    what = f"backend {pid} of role {role!r}, {what}, may not be ended by role {own_role!r}"
    if is_super:  # no grant leads there
        return f"{what}: {_by_hand(pid, is_super)}, and let the topology run under a role that is none"
    return f'{what}: GRANT pg_signal_backend TO "{own_role}" (or GRANT "{role}" TO "{own_role}"), or {_by_hand(pid)}'


def _by_hand(pid: int, is_super: bool = False) -> str:
    whose = " as a superuser, since its role is one" if is_super else ""
    return f"end it by hand{whose}: SELECT pg_terminate_backend({pid})"


def long_open(connection: psycopg.Connection, seconds: float) -> list[str]:
    """Return which sessions have been in a transaction for longer than a wait for a lock, as far as may be seen."""
    rows = connection.execute(_LONG_OPEN, (seconds,)).fetchall()
    return [
        f"backend {pid} of role {role!r} ({name or 'no application_name'}; if its client is gone, {_by_hand(pid)})"
        for pid, role, name in rows
    ]


def is_older(name: str, work: Work) -> bool:
    """Tell whether a session of this name is at work for the same ledger's topology under an older epoch."""
    words = name.split(" ")
    if work.epoch is None or len(words) != 3 or words[0] != "trident":
        return False
    is_of_this_line = words[2] == _digest(work.topology, work.epoch)
    return is_of_this_line and words[1].isdecimal() and int(words[1]) < work.epoch.number


def _digest(topology: str, epoch: Epoch) -> str:
    """Return what stands for one ledger's topology: another ledger may have one of this name on the same server."""
    return _digest_of(f"{epoch.line} {topology}")


def _digest_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
