"""What a spout's process writes: no message waits for the next one."""

from __future__ import annotations

import threading
from multiprocessing import Pipe

from trident.spouts.queue.process.wire import Emitted
from trident.spouts.queue.process.writing import Writer

LONG_S = 10


def test_a_message_is_sent_soon_though_none_follows_and_nothing_else_is_said() -> None:
    here, there = Pipe()
    writer = Writer(there)
    threading.Thread(target=writer.send_collected, daemon=True).start()
    for serial in range(2):
        assert writer.emit(b"a message") == serial
        assert here.poll(LONG_S)
        assert here.recv() == Emitted(serial, (b"a message",))
