"""What a simulated coordinator asks of the far side: the loop's requests, and what comes before and after them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.simulation.scripts import Answer
from trident.base.identity import Epoch
from trident.coordinators.batches import requests
from trident.coordinators.batches.requests import Lane, Request

START = "start"
ONE_BY_ONE = (START, Lane.PLAN.value, Lane.COMMIT.value, Lane.HISTORY.value, Lane.RELAY.value)
"""Plain strings: an enum's hash is computed in Python, and these are looked up for every request."""


class Start(NamedTuple):
    """The take-over, with the answers so far."""

    answers: tuple[Answer, ...] = ()


class Release(NamedTuple):
    """Let go of the lease; whoever asks for it has ended and hears no answer."""

    epoch: Epoch


Job = Start | Release | Request
LANES: Mapping[type, str] = {
    Start: START,
    Release: START,
    **{kind: lane.value for kind, lane in requests.LANES.items()},
}
