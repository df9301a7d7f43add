"""What the proxy in front of Kafka reads of a request: whose transaction it is of, in both forms of the protocol."""

from __future__ import annotations

import struct

import pytest

from trident.testing.kafka_proxy import _END_TXN, _PRODUCE, _transactional_id


def request(kind: int, version: int, client: bytes | None, rest: bytes) -> bytes:
    """Return a frame as a client writes it."""
    name = struct.pack(">h", -1) if client is None else struct.pack(">h", len(client)) + client
    body = struct.pack(">hhi", kind, version, 7) + name + rest
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize("client", [b"rdkafka", None])
@pytest.mark.parametrize("kind", [_PRODUCE, _END_TXN])
@pytest.mark.parametrize("id_", ["chaos.sent", "x" * 200])
def test_the_transactional_id_is_found_in_short_and_in_variable_lengths(client, kind, id_):
    text = id_.encode()
    fixed = struct.pack(">h", len(text)) + text + b"rest"
    assert _transactional_id(request(kind, 1, client, fixed), kind, 1) == id_
    length = len(text) + 1
    varied = bytes([length]) if length < 128 else bytes([length & 0x7F | 0x80, length >> 7])
    assert _transactional_id(request(kind, 9, client, b"\0" + varied + text + b"rest"), kind, 9) == id_


def test_what_is_sent_outside_of_transactions_is_of_nobody():
    assert _transactional_id(request(_PRODUCE, 8, b"c", struct.pack(">h", -1) + b"rest"), _PRODUCE, 8) == ""
    assert _transactional_id(request(_PRODUCE, 9, b"c", b"\0\0rest"), _PRODUCE, 9) == ""
