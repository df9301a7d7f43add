"""Client options on their way to tasks: nothing that a user gave is in a closure, plan or log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trident.base.kafka.clients import told
from trident.base.secrets import Secret
from trident.spouts.handing_out import learn


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
