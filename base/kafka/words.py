"""Options whose values are words of a fixed set, in the one spelling that all three clients take.

librdkafka ignores the case of some, Java and kafka-python take such a word for another one or for none: a coordinator
could talk without a login where its tasks log in. So what no client is known to take is refused, by the option's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from trident.base.checks import refused
from trident.base.errors import ConfigurationError
from trident.base.kafka.known import check_known

HOSTNAME_CHECK: Final = "ssl.endpoint.identification.algorithm"
_MECHANISM_NAMES: Final = ("sasl.mechanism", "sasl.mechanisms")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "AWS_MSK_IAM")
_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "security.protocol": ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        **dict.fromkeys(_MECHANISM_NAMES, _MECHANISMS),
        HOSTNAME_CHECK: ("https", "none"),
    }
)
_SPELLED_ALIKE: Final[Mapping[str, str]] = MappingProxyType({HOSTNAME_CHECK: "none"})
"""What an empty value means to Java, where librdkafka has a word for it."""


def checked_options(options: Mapping[str, str], reserved: Mapping[str, str], also: frozenset[str]) -> dict[str, str]:
    """Return options as all clients understand them; raises ConfigurationError, which shows no value.

    `reserved` says of each option that is not a user's to set what to use instead; `also` are names that librdkafka
    does not know, and which are taken all the same.
    """
    for name in options:
        if name in reserved:
            raise ConfigurationError(f"client option {name!r} can't be set; use {reserved[name]}")
        if name != name.strip().lower():
            raise ConfigurationError(
                f"client option {name!r} can't be set: names of options are in lower case and without blanks; "
                "nothing was started or changed"
            )
    check_known(options, also)
    found = {name: _spelled(name, value) for name, value in options.items()}
    if len({found[name] for name in _MECHANISM_NAMES if name in found}) > 1:
        raise ConfigurationError(
            f"client options {' and '.join(map(repr, _MECHANISM_NAMES))} are one option, and differ; nothing was "
            "started or changed"
        )
    return found


def _spelled(name: str, value: str) -> str:
    words = _WORDS.get(name)
    if words is None:
        return value
    given = value.strip() or _SPELLED_ALIKE.get(name, "")
    for word in words:
        if given.upper() == word.upper():
            return word
    raise refused(f"client_options[{name!r}]", f"one of {', '.join(words)}", value, secret=True)
