"""Where batches come from: spouts, their readers and decoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trident.base.lazy import lazy_exports

if TYPE_CHECKING:
    from trident.base.failure import Failure
    from trident.spouts.base import BadRecord, LostOffsets, OffsetsLostError, SpoutKind, StartAt
    from trident.spouts.decoders.json import Json
    from trident.spouts.decoders.raw import Raw
    from trident.spouts.files.spout import FileFormat, FileSpout
    from trident.spouts.kafka.spout import OpaqueKafkaSpout, TransactionalKafkaSpout
    from trident.spouts.memory import FeederBatchSpout, FixedBatchSpout
    from trident.spouts.python.non_transactional import NonTransactionalSpout
    from trident.spouts.python.spout import PythonSpout
    from trident.spouts.queue.acking import AckingSpout, SpoutContext, SpoutHook, StreamProgress
    from trident.spouts.queue.bodies.body import FieldsBody, JsonBody, RawBody
    from trident.spouts.queue.http.spout import HttpPushSpout
    from trident.spouts.queue.kafka.spout import AckingKafkaSpout
    from trident.spouts.queue.message import Message
    from trident.spouts.queue.rabbitmq.spout import RabbitSpout
    from trident.spouts.queue.received import Received, UnreadableError
    from trident.spouts.queue.redis.spout import RedisStreamSpout
    from trident.spouts.queue.waits import ProgressiveWait, SleepWait, WaitStrategy
    from trident.spouts.ticking import MissedTicks
    from trident.spouts.ticks import TickSpout

_MODULES = {
    "trident.spouts.base": (
        "BadRecord",
        "LostOffsets",
        "OffsetsLostError",
        "SpoutKind",
        "StartAt",
    ),
    "trident.spouts.decoders.json": ("Json",),
    "trident.spouts.decoders.raw": ("Raw",),
    "trident.spouts.files.spout": (
        "FileFormat",
        "FileSpout",
    ),
    "trident.spouts.kafka.spout": (
        "OpaqueKafkaSpout",
        "TransactionalKafkaSpout",
    ),
    "trident.spouts.memory": (
        "FeederBatchSpout",
        "FixedBatchSpout",
    ),
    "trident.spouts.python.non_transactional": ("NonTransactionalSpout",),
    "trident.spouts.python.spout": ("PythonSpout",),
    "trident.spouts.queue.acking": ("AckingSpout", "SpoutContext", "SpoutHook", "StreamProgress"),
    "trident.spouts.queue.bodies.body": (
        "FieldsBody",
        "JsonBody",
        "RawBody",
    ),
    "trident.spouts.queue.http.spout": ("HttpPushSpout",),
    "trident.spouts.queue.kafka.spout": ("AckingKafkaSpout",),
    "trident.base.failure": ("Failure",),
    "trident.spouts.queue.message": ("Message",),
    "trident.spouts.queue.rabbitmq.spout": ("RabbitSpout",),
    "trident.spouts.queue.received": (
        "Received",
        "UnreadableError",
    ),
    "trident.spouts.queue.redis.spout": ("RedisStreamSpout",),
    "trident.spouts.queue.waits": ("ProgressiveWait", "SleepWait", "WaitStrategy"),
    "trident.spouts.ticking": ("MissedTicks",),
    "trident.spouts.ticks": ("TickSpout",),
}

__all__ = [
    "AckingKafkaSpout",
    "AckingSpout",
    "BadRecord",
    "Failure",
    "FeederBatchSpout",
    "FieldsBody",
    "FileFormat",
    "FileSpout",
    "FixedBatchSpout",
    "HttpPushSpout",
    "Json",
    "JsonBody",
    "LostOffsets",
    "Message",
    "MissedTicks",
    "NonTransactionalSpout",
    "OffsetsLostError",
    "OpaqueKafkaSpout",
    "ProgressiveWait",
    "PythonSpout",
    "RabbitSpout",
    "Raw",
    "RawBody",
    "Received",
    "RedisStreamSpout",
    "SleepWait",
    "SpoutContext",
    "SpoutHook",
    "SpoutKind",
    "StartAt",
    "StreamProgress",
    "TickSpout",
    "TransactionalKafkaSpout",
    "UnreadableError",
    "WaitStrategy",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)
