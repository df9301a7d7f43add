"""Policies: enums that also take their own names as text and refuse all else."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from trident.base.checks import refused

Policy = TypeVar("Policy", bound=StrEnum)


def policy_of(kind: type[Policy], value: object, what: str, *, beside: str = "") -> Policy:
    """Return the member that the value is or names; raises ConfigurationError with the names that there are.

    `beside` says what else the caller takes.
    """
    names = ", ".join(repr(member.value) for member in kind)
    if isinstance(value, str):
        for member in kind:
            if member.value == value:
                return member
    raise refused(what, f"one of {names} (or a member of {kind.__name__}){beside}", value)
