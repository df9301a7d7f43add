"""`trident doctor`: looks at all that a topology stands on; ends a transaction that hangs when it is told to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from trident.base.errors import ConfigurationError
from trident.base.timeouts import Timeouts
from trident.cli.confirming import Yes, confirm, require_yes
from trident.cli.deciding import Named
from trident.cli.exits import Exit
from trident.cli.ledgers import LedgerOption, opened
from trident.cli.loading import load_topology
from trident.cli.output import JsonOption, show_fields

if TYPE_CHECKING:
    from trident.doctor.findings import Finding
    from trident.doctor.subject import Subject

_PATIENCE: Final = Timeouts(lease=timedelta(seconds=8), give_up_after=timedelta(seconds=8))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(
    topology: Named,
    open_longer_than: Annotated[
        float, typer.Option(min=0.0, help="from how many seconds on an open transaction is one that hangs")
    ] = 30.0,
    abort: Annotated[
        str, typer.Option(metavar="TRANSACTIONAL_ID", show_default=False, help="abort this sink's open transaction")
    ] = "",
    ledger: LedgerOption = "",
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """Look at all that a topology stands on, and change nothing; ends with 6 when something is to be done.

    Servers and versions, rights, transactions that hang, markers, staged rows and history left behind.
    """
    from trident.doctor.subject import opened_subject

    if abort:
        require_yes(yes, as_json)
    loaded = load_topology(topology)
    with (
        opened(ledger) as found,
        opened_subject(loaded, found, _PATIENCE, timedelta(seconds=open_longer_than)) as subject,
    ):
        if abort:
            _abort(subject, abort, yes, as_json)
            return
        _examine(subject, as_json)


def _examine(subject: Subject, as_json: bool) -> None:
    from trident.doctor.examining import examine

    if _shown(examine(subject), as_json):
        raise typer.Exit(Exit.PROBLEM)


def _shown(findings: Iterable[Finding], as_json: bool) -> bool:
    """Print each as soon as it is there; return whether one is a problem."""
    is_ill = False
    for finding in findings:
        is_ill = is_ill or finding.is_problem
        print(json.dumps(finding.record(), ensure_ascii=False) if as_json else finding, flush=True)
    return is_ill


def _abort(subject: Subject, id_: str, yes: bool, as_json: bool) -> None:
    from trident.doctor.aborting import AFTER_ABORT, abort, abortable

    wanted = abortable(subject, id_)
    if wanted.transaction.state != "Ongoing":
        raise ConfigurationError(
            f"the transaction of {id_!r} is being ended ({wanted.transaction.state}) and can't be aborted any more; "
            "nothing was done: wait, or look at its coordinator's broker"
        )
    confirm(f"Abort the transaction of {id_} in {', '.join(wanted.transaction.partitions)}?", yes)
    abort(subject, wanted)
    fields = {"aborted": id_, "producer": wanted.transaction.producer, "next": AFTER_ABORT}
    show_fields("aborted", fields, as_json)
