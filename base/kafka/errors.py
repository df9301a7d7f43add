"""What kafka-python's errors have in common, whatever was asked: who is refused, and what passes by itself."""

from __future__ import annotations

import struct
from typing import Final

from kafka import errors

DENIED: Final = (
    errors.AuthorizationError,
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedSaslMechanismError,
    errors.IllegalSaslStateError,
)
PASSING: Final = (
    errors.RetriableError,
    errors.BrokerNotAvailableError,
    errors.UnknownBrokerIdError,  # a partition without a leader, or a broker that has just gone
    errors.UnknownError,
    OSError,
)
OF_THE_CLIENT: Final = (ValueError, TypeError, RuntimeError, struct.error)
"""What kafka-python raises, beside its own errors, where it can't send what it is asked or read what it is answered."""
