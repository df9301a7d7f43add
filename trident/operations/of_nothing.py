"""What a `RecordOperation` is besides, where it may make rows of no records."""

from __future__ import annotations

from abc import ABC, abstractmethod


class OfNothing(ABC):
    """Base of an operation on several streams that may make rows of no records: a job with one runs in every batch."""

    @property
    @abstractmethod
    def makes_of_nothing(self) -> bool:
        """Whether it does."""
