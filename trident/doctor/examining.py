"""The examination: every look in turn, each with an end; what fails is a finding, and the next one is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from trident.base.errors import TridentError
from trident.doctor.bounded import bounded
from trident.doctor.clusters import (
    look_at_cluster,
    look_at_topics,
    look_at_transactional_ids,
    place_of,
)
from trident.doctor.databases import (
    databases_of,
    look_at_database,
    look_at_plain,
    look_at_tasks_login,
    plain_databases_of,
)
from trident.doctor.findings import Check, Finding, ok, problem
from trident.doctor.folders import look_at_folder
from trident.doctor.markers import look_at_markers
from trident.doctor.names import look_at_names
from trident.doctor.rights import look_at_rights
from trident.doctor.sessions import look_at_sessions
from trident.doctor.staging import look_at_staging
from trident.doctor.standing import LEDGER, look_at_clean_up, look_at_ledger, look_at_queues
from trident.doctor.subject import Subject
from trident.doctor.transactions import look_at_held_back, look_at_own
from trident.doctor.versions import look_at_java, look_at_versions
from trident.state.databases.base import SqlDatabase

_LONGEST: Final = 2.0
"""How many times the patience of one answer a look may take; it asks several."""


def examine(subject: Subject) -> Iterator[Finding]:
    """Yield what every look finds, as soon as it is found. Changes nothing."""
    away: set[str] = set()
    for check in checks_of(subject):
        if check.place in away:
            continue
        found, is_answered = _looked(check, subject.seconds * _LONGEST)
        if check.opens and not is_answered:
            away.add(check.place)
        yield from found


def checks_of(subject: Subject) -> tuple[Check, ...]:
    """Return all that is looked at, in order: a place first, then what is to be seen there."""
    return (
        Check("versions", look_at_versions),
        Check("versions", look_at_java),
        *_of_databases(subject),
        *_of_plain(subject),
        *_of_clusters(subject),
        Check("queues", partial(look_at_queues, subject)),
    )


def _of_databases(subject: Subject) -> Iterator[Check]:
    ledger, seconds = subject.ledger.database, subject.open_longer_than.total_seconds()
    if not isinstance(ledger, SqlDatabase):
        yield Check(LEDGER, lambda: [ok(LEDGER, "it is in memory, and known to its own process only")])
    for at in databases_of(subject):
        yield Check(at.place, partial(look_at_database, at), at.place, opens=True)
        if at.has_ledger:
            yield Check(LEDGER, partial(look_at_ledger, subject), at.place)
            yield Check("clean-up", partial(look_at_clean_up, subject), at.place)
        yield Check(f"names in {at.place}", partial(look_at_names, subject, at), at.place)
        yield Check(at.place, partial(look_at_rights, at), at.place)
        for writing in at.tasks:
            yield Check(f"tasks_dsn of {writing.state!r}", partial(look_at_tasks_login, writing), at.place)
        yield Check(f"sessions in {at.place}", partial(look_at_sessions, at, seconds), at.place)
        yield Check(f"staging in {at.place}", partial(look_at_staging, subject, at), at.place)


def _of_plain(subject: Subject) -> Iterator[Check]:
    for at, target in plain_databases_of(subject):
        if not at.has_ledger:  # which is looked at already
            yield Check(at.place, partial(look_at_database, at), at.place, opens=True)
        yield Check(f"the table of {target.name!r}", partial(look_at_plain, subject, target), at.place)


def _of_clusters(subject: Subject) -> Iterator[Check]:
    for cluster in subject.clusters:
        place = place_of(cluster)
        yield Check(place, partial(look_at_cluster, cluster), place, opens=True)
        looks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
            ("topics", partial(look_at_topics, subject, cluster)),
            ("transactional ids", partial(look_at_transactional_ids, subject, cluster)),
            ("transactions", partial(look_at_own, subject, cluster)),
            ("open ends", partial(look_at_held_back, subject, cluster)),
        )
        for about, look in looks:
            yield Check(f"{about} in {place}", look, place)
        for output in subject.outputs:
            if output.cluster is cluster:
                yield Check(f"marker of sink {output.sink.name!r}", partial(look_at_markers, subject, output), place)
    for output in subject.outputs:
        about = f"staging folder of sink {output.sink.name!r}"
        yield Check(about, partial(look_at_folder, subject, output), about)


def _looked(check: Check, seconds: float) -> tuple[tuple[Finding, ...], bool]:
    """Return what a look found, and whether it came to its end."""
    try:
        return bounded(lambda: tuple(check.look()), seconds, check.about), True
    except TimeoutError:
        said = f"no answer within {seconds:.0f} s"
    except TridentError as error:
        said = str(error)
    left = "; nothing else was asked there" if check.opens else ""
    means = "a run waits for it, or stops; what is done stays" if check.opens else "what it would tell is not known"
    return (problem(check.about, said, f"{means}{left}", "mend that, and ask again"),), False
