"""What a drawn life does at one time: it may die at a border, or be refused, and what became of it is told."""

from __future__ import annotations

from collections.abc import Callable

from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import TridentError


class _Died(BaseException):
    """The process is gone."""


def goes_well(what: str, action: Callable[[], object], told: list[str], point: CrashPoint | None, left: int) -> bool:
    """Do something that dies when this point is reached so often, if any is given; returns whether it succeeded."""

    def die(reached: CrashPoint, txid: int) -> None:
        nonlocal left
        left -= reached is point
        if point is not None and left <= 0 and (txid or reached is point):
            raise _Died

    try:
        with armed(die):
            action()
    except _Died:
        told.append(f"{what}: died at {point}")
        return False
    except TridentError as error:
        told.append(f"{what}: {error}")
        return False
    told.append(f"{what}: went well")
    return True
