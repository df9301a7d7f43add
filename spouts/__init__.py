"""Where batches come from: spouts, their readers and decoders."""

from trident.spouts.base import BadRecord, LostOffsets, OffsetsLostError, SpoutKind, StartAt
from trident.spouts.decoders.json import Json
from trident.spouts.decoders.raw import Raw
from trident.spouts.kafka.spout import OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.spouts.memory import FeederBatchSpout, FixedBatchSpout

__all__ = [
    "BadRecord",
    "FeederBatchSpout",
    "FixedBatchSpout",
    "Json",
    "LostOffsets",
    "OffsetsLostError",
    "OpaqueKafkaSpout",
    "Raw",
    "SpoutKind",
    "StartAt",
    "TransactionalKafkaSpout",
]
