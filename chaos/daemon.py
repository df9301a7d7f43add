"""Spark's Python daemon with the crash points armed, so that its workers can be killed in the middle of a task."""

from __future__ import annotations

from chaos.words import arm
from trident.executor import daemon

if __name__ == "__main__":
    arm("worker")
    daemon.main()
