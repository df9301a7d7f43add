"""What lies in a sink's staging folder that nobody reads any more: found, deleted, and told where it can't be."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from trident.base.errors import ConfigurationError, RetryableError
from trident.base.identity import Owner
from trident.state.kafka.bulk.folder import StagingFolder
from trident.state.staged import up_to

_log = logging.getLogger("trident.state")
_UNTIDY: Final = (RetryableError, ConfigurationError)
"""What a folder raises where nothing can be listed or deleted, now or until somebody lets us."""

_TOLD: Final = (
    "topology=%s incarnation=%s %s. Nothing waits for what is sent: all goes on, and the next clean-up tries again"
)


class StagedFiles:
    """The staged files of one sink, for the driver; called from any thread, keeps what it has told and nothing else."""

    def __init__(self, folder: StagingFolder) -> None:
        self._folder = folder
        self._has_told = False

    def at_drop(self, owner: Owner) -> Mapping[str, int]:
        """Return the places that were staged in this life, each with its txid, of a sink that is given up."""
        with self._of_a_drop(owner):
            return self._folder.files_of(owner)

    def delete_at_drop(self, owner: Owner, places: Collection[str]) -> None:
        """Delete what `at_drop` returned, as far as it is there still."""
        with self._of_a_drop(owner):
            self._folder.delete(places, are_sent=False)

    def to_clean(self, owner: Owner) -> Mapping[str, int]:
        """Return the places that were staged in this life, sent or not, each with its txid.

        Nothing waits for what is sent, so a folder that is away, or where nothing may be listed or deleted, ends no
        run: the log says so, and the next clean-up tries again.
        """
        self._has_told = False
        with self._or_tell(owner):
            return self._folder.files_of(owner)
        return {}

    def clean(self, owner: Owner, places: Collection[str]) -> None:
        """Delete places of txids that are sent, as far as that can be done now."""
        with self._or_tell(owner):
            self._folder.delete(places, are_sent=True)

    def forget_soon(self, owner: Owner, txid: int) -> None:
        """Delete files of txids up to one that is sent, as far as it can be done now: they are large."""
        with self._or_tell(owner):
            self._folder.delete(up_to(txid, self._folder.files_of(owner)), are_sent=True)

    def forget_life(self, owner: Owner) -> None:
        """Delete the files of an incarnation that a reset has ended, as far as it can be done now."""
        with self._or_tell(owner):
            self._folder.forget_life(owner)

    @contextmanager
    def _or_tell(self, owner: Owner) -> Iterator[None]:
        """Log what can't be deleted now: once, and again with each clean-up."""
        try:
            yield
        except _UNTIDY as error:
            if self._has_told:
                return
            self._has_told = True
            _log.warning(_TOLD, owner.topology, owner.incarnation, error)

    @contextmanager
    def _of_a_drop(self, owner: Owner) -> Iterator[None]:
        try:
            yield
        except ConfigurationError as error:
            raise ConfigurationError(
                f"{error}; or, since all that waited is sent, delete what lies in {self._folder.shown_life(owner)} "
                "yourself. Then give the command again"
            ) from None
