"""Client options on their way to tasks: which of them say how to log in nobody can tell, so all that a user gave hide.

A denied list of names would miss the next secret option of one of three clients.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from trident.base.secrets import Secret, keep_secret
from trident.spouts.handing_out import learn


def hidden(options: Mapping[str, str]) -> Secret | None:
    """Return the name under which options may be pickled and shown; None for no options."""
    return keep_secret(json.dumps(dict(options), sort_keys=True)) if options else None


def told(secret: Secret | None) -> dict[str, str]:
    """Return hidden options; raises FatalError in a process that was not told."""
    return {} if secret is None else dict(json.loads(secret.text))


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """The configuration of a task's consumer; may be pickled and shown."""

    ours: Mapping[str, str]
    """What has to be, whatever a user wants."""
    defaults: Mapping[str, str]
    given: Secret | None
    """What the user gave."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """What has to be handed out to tasks."""
        return () if self.given is None else (self.given,)

    def whole(self) -> dict[str, str]:
        """Return all of it, in a task or in the driver."""
        learn(self.secrets)
        return {**self.defaults, **told(self.given), **self.ours}
