"""An `AckingSpout` as a topology's spout: checked and pickled when its stream is built."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from trident.base.checks import check_count, check_duration
from trident.spouts.base import BadRecord, Limits, LostOffsets, SpoutKind
from trident.spouts.queue.acking import AckingSpout
from trident.spouts.queue.process.instance import SpoutInstance
from trident.spouts.queue.process.methods import check_methods
from trident.spouts.queue.source import AckingSource


class QueueSpout:
    """The spout over a user's `AckingSpout`: opaque, since an attempt takes what has come."""

    has_moments: ClassVar[bool] = False
    """What a queue holds, it gives; nothing can start at a moment."""
    takes_messages_back: ClassVar[bool] = True
    """Its source gives again what it was told to have failed."""

    def __init__(self, spout: AckingSpout, pickled: bytes) -> None:
        kind = type(spout).__qualname__
        check_count(f"{kind}.max_batch_size", spout.max_batch_size)
        check_count(f"{kind}.max_pending", spout.max_pending)
        check_count(f"{kind}.horizon", spout.horizon, least=0)
        check_duration(f"{kind}.message_timeout", spout.message_timeout)
        check_methods(kind, spout)
        self._spout = spout
        self._pickled = pickled

    @property
    def kind(self) -> SpoutKind:
        """Opaque: an attempt takes what has come, and each message succeeds in one txid."""
        return SpoutKind.OPAQUE

    @property
    def limits(self) -> Limits:
        """How much of it one batch may take."""
        return Limits(max_records=self._spout.max_batch_size)

    @property
    def on_lost_offsets(self) -> LostOffsets:
        """Stop: nothing of it is ever lost, since its source keeps what was not acked."""
        return LostOffsets.STOP

    @property
    def on_bad_record(self) -> BadRecord:
        """Fail: values that do not fit the schema are a mistake of the spout."""
        return BadRecord.FAIL

    def description(self) -> dict[str, str]:
        """Return what the ledger holds a restart to."""
        return {"spout": type(self._spout).__qualname__, **self._spout.identity()}

    @property
    def shared_out(self) -> frozenset[str]:
        """What gives each message to one of its readers alone."""
        said = self._spout.shared_out()
        return frozenset([said] if isinstance(said, str) else said)

    def open(self, name: str) -> AckingSource:
        """Return the source over it; its process is started when the topology has been taken over."""
        return AckingSource(name, self._spout, partial(SpoutInstance, self._pickled))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self._spout).__qualname__})"
