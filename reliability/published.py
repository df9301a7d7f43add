"""The figures of the study, by level and fault: its path is Kafka, an operation, Kafka, a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reliability.cases import Fault

LOST: Final[Mapping[int, int]] = {1: 225_060, 2: 692_913, 3: 917_177, 4: 1_579_275}
"""At most once: numbers of 3,000,000 that did not arrive, by faults; the study does not say where they struck."""
LOST_OF: Final = 3_000_000
WITHOUT_FAULT_AT_MOST_ONCE: Final = (500_000, 1_000_000, 2_000_000, 3_000_000)

TWICE: Final[Mapping[Fault, Mapping[int, int]]] = {
    Fault.ACKER: {1: 2_000, 2: 4_001, 3: 6_000, 4: 8_000},
    Fault.SPOUT: {1: 2_052, 2: 4_414, 4: 9_008, 6: 9_690},
    Fault.BEFORE_EMIT: {1: 0, 2: 0, 4: 0, 8: 0, 10: 0},
    Fault.AFTER_EMIT: {1: 2, 2: 3, 4: 5, 8: 9, 10: 11},
}
"""At least once: numbers of 100,000 that came twice; none was lost. With six spouts dead 1,675 came three times."""
TWICE_OF: Final = 100_000
WITHOUT_FAULT_AT_LEAST_ONCE: Final = (100_000, 200_000, 300_000, 400_000)

ONCE_OF: Final = 10_000
"""Exactly once: of so many numbers each arrived once, with one, two and three faults of each kind."""
WITHOUT_FAULT_EXACTLY_ONCE: Final = (10_000, 100_000, 1_000_000)
