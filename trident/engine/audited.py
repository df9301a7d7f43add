"""Whether every step of an action has accounted for its records; pure.

What a step was given was counted behind the steps before it, what it did with that behind itself: no step vouches for
itself. Count, sum and XOR of ids together see a record that is lost, doubled or there three times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from trident.base.audit import Accounts
from trident.base.digest import Digest
from trident.base.errors import RetryableError
from trident.operations.accounting import Account

_WHAT_NOW: Final = (
    "Nothing of the batch was applied, and it is tried again. If it is said at every try, the step itself is wrong: a "
    "person has to mend it (a reader, a store's writer or an operation that is not the library's own; else report it)"
)
_NOTHING: Final = Digest()


class AuditError(RetryableError):
    """A step has not accounted for its records; nothing of the batch was applied."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an action; steps before it are named before it."""

    name: str
    says: str
    """How a person calls it."""
    inputs: tuple[str, ...]
    """The steps whose records it was given; none of one that reads."""
    account: Account | None
    """The rule that it keeps; None where its rows are counted as new ones, whatever became of what it was given."""


def require_accounts(
    steps: Sequence[Step], counted: Mapping[str, Accounts], read: Mapping[str, Digest] | None = None
) -> None:
    """Raise `AuditError` for the first step that lost or doubled a record.

    `counted` is what was counted behind each step, nothing where no task had anything to say; `read` what manifests
    say of those that read.
    """
    names = {step.name for step in steps}
    if not names.issuperset(counted):
        raise AuditError(f"audit: a task counted records behind a step that there is not. {_WHAT_NOW}")
    for step in steps:
        given = (read or {}).get(step.name, _NOTHING)
        given = reduce(Digest.__add__, (counted.get(name, Accounts()).passed for name in step.inputs), given)
        _require(step, given, counted.get(step.name, Accounts()))


def _require(step: Step, given: Digest, found: Accounts) -> None:
    match step.account:
        case Account.KEEPS:
            _require_same(step, given, found.passed)
        case Account.SELECTS:
            _require_same(step, given, found.passed + found.done)
        case Account.MAKES:
            _require_same(step, given, found.done)
            _require_same(step, found.made, found.passed, "is said to have made {} rows of them, and {} came out of it")
        case Account.GATHERS:
            _require_same(step, given, found.done)
        case None:
            pass


def _require_same(
    step: Step, given: Digest, found: Digest, said: str = "was given {} records, and {} are accounted for"
) -> None:
    if given == found:
        return
    if given.count == found.count:
        counts = said.format(f"{given.count:,}", "as many, but others,")
        what = "lost some and doubled others"
    else:
        counts = said.format(f"{given.count:,}", f"{found.count:,}")
        what = "lost records" if given.count > found.count else "doubled records"
    raise AuditError(f"audit: {step.says} {what}: it {counts}. {_WHAT_NOW}")
