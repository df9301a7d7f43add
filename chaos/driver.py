"""The driver as a process of its own: waits for the lease, runs the job, says how it ended by its exit code."""

from __future__ import annotations

import logging
import os
import sys

import msgspec

from chaos.job import JobSettings, ledger_of, options_of, session_of, topology_of
from chaos.words import READY, arm, say
from trident.base.errors import FatalError, FencedError

SETTINGS = "CHAOS_JOB"
DRAINED, FENCED, STOPPED = 0, 3, 4
"""How it ended: told to stop, owned by another coordinator meanwhile, or by an error that a person has to see."""


def main() -> int:
    """Run until stopped; returns the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    for chatty in ("py4j", "kafka"):
        logging.getLogger(chatty).setLevel(logging.CRITICAL)
    settings = msgspec.json.decode(os.environ[SETTINGS], type=JobSettings)
    spark = session_of(settings)
    try:
        topology = topology_of(settings)
        arm("driver")
        say("driver", READY)
        topology.run(spark, ledger=ledger_of(settings), options=options_of(), staging=settings.staging)
    except FencedError as error:
        logging.getLogger("chaos").error("FencedError: %s", error)
        return FENCED
    except FatalError as error:
        logging.getLogger("chaos").error("%s: %s", type(error).__name__, error)
        return STOPPED
    finally:
        spark.stop()
    return DRAINED


if __name__ == "__main__":
    sys.exit(main())
