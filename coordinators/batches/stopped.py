"""A txid that a coordinator can't go on with, said with an error."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from trident.base.errors import FatalError
from trident.base.identity import BatchId
from trident.coordinators.decided import Refusal, StopKind
from trident.coordinators.gone import Gone

_NOTHING: Final = re.compile(r"([.;:] nothing of the batch was applied)?[. ]*$", re.IGNORECASE)
"""How a reason may end: of the whole txid it is said once."""


class StoppedError(FatalError):
    """A coordinator stops at a txid; carries what the ledger is to say of it.

    `left_out` are the states whose rows a person had taken out of that attempt. A txid that `is_pinned` can be undone,
    if its states can. `goes_on` is the sentence of what the next start does with the txid.
    """

    def __init__(
        self,
        text: str,
        refusal: Refusal,
        left_out: tuple[str, ...] = (),
        *,
        is_pinned: bool = False,
        goes_on: str = "",
    ) -> None:
        super().__init__(text, refusal, left_out)
        self.text = text
        self.refusal = refusal
        if refusal.state:
            self.place = f"state {refusal.state!r}"
        self.left_out = left_out
        self.is_pinned = is_pinned
        self.goes_on = goes_on
        self.gone: Gone | None = None
        """What the next attempt can't have, of one that is not pinned; who records the stop says it."""

    def of_records(self, records: str) -> StoppedError:
        """Return a refusal that says which records the attempt has read; any other stop as it is."""
        if not records or not self.refusal.blocks:
            return self
        told = StoppedError(
            f"{self.text} The txid has the records {records}.",
            replace(self.refusal, reason=f"{self.refusal.reason.rstrip('.')}; the txid has the records {records}"),
            self.left_out,
            is_pinned=self.is_pinned,
            goes_on=self.goes_on,
        )
        told.batch, told.__cause__ = self.batch, self.__cause__
        return told.with_traceback(self.__traceback__)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.text, self._then)))

    @property
    def _then(self) -> str:
        if self.gone is None:
            return self.goes_on
        then = self.goes_on.removesuffix(".") or "The next attempt at this txid goes on"
        return f"{then} without {self.gone.rows}: {self.gone.fate}."


def gave_up(batch: BatchId, tries: int, reason: str) -> StoppedError:
    """Return the error of a txid that failed too often; the next start tries it again."""
    said = _NOTHING.sub("", reason)
    return StoppedError(
        f"{batch} failed {tries} times; the last reason was: {said}. Nothing of this txid was applied, "
        "all before it is done.",
        Refusal(batch.txid, batch.attempt, StopKind.GAVE_UP, "", f"failed {tries} times, at last: {reason}"),
        goes_on="Mend the cause and run the topology again: it goes on with this txid.",
    )
