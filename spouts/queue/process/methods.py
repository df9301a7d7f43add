"""Whether a spout's methods, its hooks' and its wait's can be called as its process does: said when it is given."""

from __future__ import annotations

import inspect
from typing import Final

from trident.base.errors import ConfigurationError
from trident.spouts.queue.acking import AckingSpout

_OF_SPOUTS: Final = {
    "open": ("context",),
    "next_tuple": (),
    "is_waiting": (),
    "holds_back": (),
    "reached": ("progress",),
    "ack": ("id_",),
    "fail": ("id_",),
    "refuse": ("id_",),
    "activate": (),
    "deactivate": (),
    "close": (),
    "identity": (),
    "shared_out": (),
}
_OF_HOOKS: Final = {
    "emitted": ("message",),
    "acked": ("id_", "latency_s"),
    "failed": ("id_", "reason"),
    "refused": ("id_",),
}


def check_methods(kind: str, spout: AckingSpout) -> None:
    """Raise `ConfigurationError` for a method that takes other arguments, or whose call would run nothing of it."""
    for method, given in _OF_SPOUTS.items():
        _check(kind, spout, method, given)
    _check(f"{type(spout.wait).__qualname__}, the wait of {kind},", spout.wait, "pause", ("streak",))
    for hook in spout.hooks:
        for method, given in _OF_HOOKS.items():
            _check(f"{type(hook).__qualname__}, a hook of {kind},", hook, method, given)


def _check(kind: str, owner: object, method: str, given: tuple[str, ...]) -> None:
    wanted = f"def {method}({', '.join(('self', *given))})"
    found = getattr(owner, method, None)
    if not callable(found):
        raise ConfigurationError(f"{kind} must have {wanted}, which its process calls; nothing was started")
    is_lazy = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(each(found) for each in is_lazy):
        raise ConfigurationError(
            f"{method} of {kind} must be a plain {wanted}: a call of one that is async, or has a yield, runs nothing "
            "of it; nothing was started"
        )
    try:
        inspect.signature(found).bind(*[None] * len(given))
    except TypeError as error:
        raise ConfigurationError(
            f"{method} of {kind} must be {wanted}, as its process calls it: {error}; nothing was started"
        ) from None
    except ValueError:  # one that does not say what it takes is believed
        return
