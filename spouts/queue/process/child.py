"""The process of an `AckingSpout`: one thread calls the spout, another one hears the coordinator.

Run as a module with the number of its end of the pipe, through which the spout comes, and the coordinator's process id.
When the coordinator is gone, the pipe ends: the process closes the spout and ends too, whatever it is doing after a
while, so that the source gives again what is pending. So it does when the coordinator stands still: its successor would
not be given what this process goes on taking.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import threading
import time
from functools import partial
from multiprocessing.connection import Connection
from typing import Final

from trident.base.user_code import type_and_place
from trident.spouts.queue.acking import AckingSpout
from trident.spouts.queue.process.calling import SpoutError, SpoutLoop
from trident.spouts.queue.process.wire import Beat, Logged, Raised, Stop
from trident.spouts.queue.process.writing import Writer

GRACE_S: Final = 5.0
"""How long a call may still take when the coordinator is gone."""
LINGER_S: Final = 1.0
"""How long threads that the spout has left behind may still keep the process, which has said its last word."""
_LOOK_S: Final = 1.0
_STILL_LOOKS: Final = 30
"""After so many looks in which the coordinator has said nothing it stands still: one that was only slow, or stopped
together with this process, opens another one."""


class _ToCoordinator(logging.Handler):
    """Has the library's own lines logged where the topology runs: here nobody has set up a log."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(logging.INFO)
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        """Send a line."""
        self._writer.send(Logged(record.name, record.levelno, record.getMessage()))


class _Listening:
    """Hears the coordinator, in one thread; another one watches whether it is there and says anything."""

    def __init__(self, end: Connection, loop: SpoutLoop) -> None:
        self._end = end
        self._loop = loop
        self._heard = 0

    def listen(self) -> None:
        """Hand over what the coordinator says."""
        try:
            while True:
                said = self._end.recv()
                self._heard += 1
                if not isinstance(said, Beat):
                    self._loop.hear(said)
        except (EOFError, OSError):
            _end(self._loop)

    def watch(self, coordinator: int) -> None:
        """Notice that it is gone although a process that it has forked keeps the pipe open, or that it stands still."""
        heard, silent = self._heard, 0
        while os.getppid() == coordinator and silent < _STILL_LOOKS:
            time.sleep(_LOOK_S)
            silent = silent + 1 if heard == self._heard else 0
            heard = self._heard
        _end(self._loop)


def _end(loop: SpoutLoop) -> None:
    loop.hear(Stop())
    time.sleep(GRACE_S)
    os._exit(1)


def _unpickled(pickled: bytes) -> AckingSpout:
    try:
        spout: AckingSpout = pickle.loads(pickled)  # noqa: S301 - of the process that has started this one
    except Exception as error:  # noqa: BLE001 - users' code is imported
        raise SpoutError(Raised("its unpickling", f"raised {type_and_place(error)}", may_pass=False)) from None
    return spout


def _leave() -> None:
    time.sleep(LINGER_S)
    os._exit(1)


def main() -> None:
    """Run the spout that comes through the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal's whole group: the coordinator says what is to be done
    end = Connection(int(sys.argv[1]))
    sys.path[:], pickled, context = end.recv()
    writer = Writer(end)
    log = logging.getLogger("trident")
    log.setLevel(logging.INFO)
    log.addHandler(_ToCoordinator(writer))
    try:
        spout = _unpickled(pickled)
    except SpoutError as error:
        writer.send(error.raised)
        return
    loop = SpoutLoop(spout, context, writer)
    listening = _Listening(end, loop)
    watch = partial(listening.watch, int(sys.argv[2]))
    for run in (listening.listen, watch, loop.tell_of_hangs, writer.send_collected):
        threading.Thread(target=run, daemon=True).start()
    try:
        loop.run()
    finally:
        threading.Thread(target=_leave, daemon=True).start()


if __name__ == "__main__":
    main()
