"""A broker that knows who may do what: a user who logs in needs a right for everything, the open listener none."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLFilter, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from integration_tests.spouts.sasl import USER, KafkaWithLogin, login

PASSWORD = "of-ann-only"
_GUARD = """\
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
transactional.id.expiration.ms=4000
transaction.remove.expired.transaction.cleanup.interval.ms=500
producer.id.expiration.ms=4000
"""


class GuardedKafka(KafkaWithLogin):
    """A broker with an authorizer, which forgets transactional ids that have not been used for four seconds."""

    def __init__(self) -> None:
        super().__init__(PASSWORD)

    @property
    def options(self) -> dict[str, str]:
        """How the one user logs in."""
        return login(PASSWORD)

    def _format(self, base: list[str], properties: Path) -> None:
        super()._format(base, properties)
        properties.write_text(properties.read_text() + _GUARD)

    @contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        """Give a client that may do everything."""
        with closing(KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)) as admin:
            yield admin

    def allow_topic(self, topic: str, *operations: str) -> None:
        """Let the user do something with a topic."""
        self._allow(ResourceType.TOPIC, topic, operations)

    def allow_id(self, id_: str, *operations: str) -> None:
        """Let the user do something with a transactional id."""
        self._allow(ResourceType.TRANSACTIONAL_ID, id_, operations)

    def _allow(self, kind: ResourceType, name: str, operations: tuple[str, ...]) -> None:
        acls = [
            ACL(f"User:{USER}", "*", ACLOperation[each], ACLPermissionType.ALLOW, ResourcePattern(kind, name))
            for each in operations
        ]
        with self.admin() as admin:
            assert not admin.create_acls(acls)["failed"]
            while not _are_known(admin, acls):  # the controller has answered, and the broker hears of it later
                time.sleep(0.02)


def _are_known(admin: KafkaAdminClient, acls: Sequence[ACL]) -> bool:
    pattern = acls[0].resource_pattern
    everyone = ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)
    found, _ = admin.describe_acls(everyone)
    return {each.operation for each in acls} <= {each.operation for each in found}
