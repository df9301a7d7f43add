"""How a listener greets a client with these options: what does not fit is told apart before the real clients come.

kafka-python goes on connecting whatever a listener answers, and says at the end of its patience that time is up.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from kafka.net.sasl import get_sasl_mechanism

from trident.base.errors import FatalError
from trident.base.kafka.clients import AUTHORITIES, OF_THE_SYSTEM, for_kafka_python
from trident.base.kafka.words import HOSTNAME_CHECK

_SECONDS: Final = 5.0
"""How long one answer may take: a slow broker is the client's matter."""
_PORT: Final = 9092
_API_VERSIONS: Final = (18, 0)
_HANDSHAKE: Final = (17, 1)
_AUTHENTICATE: Final = (36, 0)
_UNSUPPORTED_MECHANISM: Final = 33
_ILLEGAL_STATE: Final = 34
_REFUSED: Final = 58
_WITH_PASSWORDS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MOST_BYTES: Final = 1 << 20
_CERTIFICATE, _KEY = "ssl.certificate.location", "ssl.key.location"
_NOTHING: Final = "Nothing was read or sent"

_Ask = Callable[[tuple[int, int], bytes], bytes]


class _Listener(NamedTuple):
    """A bootstrap server at one of the addresses that its name has."""

    server: str
    name: str
    address: str
    port: int


def check_greeting(servers: str, options: Mapping[str, str], seconds: float) -> None:
    """Raise FatalError, which names the option, where no listener that answers takes these options.

    Returns where one does, and where nobody can tell: a broker that goes away meanwhile is the client's matter. While
    certificates or logins are changed from broker to broker, one that refuses is passed, as the clients do.
    """
    wants_tls = options.get("security.protocol", "PLAINTEXT").endswith("SSL")
    context = _context(options) if wants_tls else None
    patience = min(seconds, _SECONDS)
    refused: FatalError | None = None
    for listener in (each for server in servers.split(",") for each in _listeners(server)):
        try:
            socket.create_connection((listener.address, listener.port), patience).close()
        except (OSError, ValueError):
            continue
        try:
            _greet(listener, context, options, patience)
        except FatalError as error:
            refused = refused or error
        else:
            return
    if refused is not None:
        raise refused


def address_of(server: str) -> tuple[str, int]:
    """Return host and port of a bootstrap server, as the clients read it: the port may be left out; -1 for none."""
    _, _, address = server.strip().rpartition("://")
    host, colon, port = address.rpartition(":")
    if not colon or port.endswith("]") or (":" in host.strip("[]") and not host.startswith("[")):
        host, port = address, str(_PORT)
    return host.strip("[]"), int(port) if port.isdecimal() else -1


def _listeners(server: str) -> list[_Listener]:
    """Return a server at each of its addresses: one name may stand for all brokers of a cluster."""
    host, port = address_of(server)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError):  # what is no address, the client says
        return []
    addresses = dict.fromkeys(str(place[0]) for *_, place in found)
    return [_Listener(server.strip(), host, address, port) for address in addresses]


def _greet(listener: _Listener, context: ssl.SSLContext | None, options: Mapping[str, str], seconds: float) -> None:
    server = listener.server
    try:
        with closing(_connected(listener, context, seconds)) as sock:
            _first_answer(sock)
            ask = partial(_asked, sock)
            if options.get("security.protocol", "").startswith("SASL"):
                _log_in(server, ask, options, listener.name)
            else:
                _refuse_without_login(server, ask, "SASL_PLAINTEXT" if context is None else "SASL_SSL")
    except ssl.SSLCertVerificationError as error:
        raise _not_trusted(server, error) from None
    except (OSError, EOFError) as error:
        if context is None and _speaks_tls(listener, seconds):
            raise _wrong_protocol(server, "speaks TLS", "SSL or SASL_SSL") from None
        if context is not None and _speaks_plainly(listener, seconds):
            raise _wrong_protocol(server, "does not speak TLS", "PLAINTEXT or SASL_PLAINTEXT") from None
        if isinstance(error, ssl.SSLError) and "CERTIFICATE_REQUIRED" in (error.reason or ""):
            raise FatalError(
                f"the Kafka listener at {server} asks for a client's certificate. {_NOTHING}. Give client option "
                f"{_CERTIFICATE!r}, with {_KEY!r}"
            ) from None
    except (ValueError, LookupError, struct.error):
        return  # an answer that is none: the client's matter


def _context(options: Mapping[str, str]) -> ssl.SSLContext:
    """Return what a client of these options trusts and shows."""
    authorities = options.get(AUTHORITIES, OF_THE_SYSTEM)
    for name in (AUTHORITIES, _CERTIFICATE, _KEY):
        if options.get(name, OF_THE_SYSTEM) != OF_THE_SYSTEM and not Path(options[name]).exists():
            raise FatalError(f"client option {name!r} names a file that is not there. {_NOTHING}. Correct it")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = options.get(HOSTNAME_CHECK) != "none"
    try:
        if authorities == OF_THE_SYSTEM:
            context.load_default_certs()
        elif Path(authorities).is_file():
            context.load_verify_locations(authorities)
        else:
            context.load_verify_locations(capath=authorities)
    except (OSError, ValueError) as error:
        raise _unreadable(repr(AUTHORITIES), error) from None
    if _CERTIFICATE in options:
        try:  # a password that is empty is not asked of a terminal
            context.load_cert_chain(options[_CERTIFICATE], options.get(_KEY), options.get("ssl.key.password", ""))
        except (OSError, ValueError) as error:
            raise _unreadable(f"{_CERTIFICATE!r}, {_KEY!r} or 'ssl.key.password'", error) from None
    return context


def _log_in(server: str, ask: _Ask, options: Mapping[str, str], host: str) -> None:
    name = options.get("sasl.mechanism") or options.get("sasl.mechanisms") or ""
    if name not in _WITH_PASSWORDS:
        return  # a ticket or a token is the client's matter
    missing = [each for each in ("sasl.username", "sasl.password") if each not in options]
    if missing:
        raise FatalError(f"client option {missing[0]!r} is missing: {name} needs it. {_NOTHING}")
    answer = ask(_HANDSHAKE, _counted(name.encode()))
    (code,) = struct.unpack_from(">h", answer)
    if code == _UNSUPPORTED_MECHANISM:
        raise FatalError(
            f"the Kafka listener at {server} does not take the mechanism {name}. {_NOTHING}. Correct client option "
            "'sasl.mechanism'"
        )
    if code == _ILLEGAL_STATE:
        raise FatalError(
            f"the Kafka listener at {server} takes no login. {_NOTHING}. Correct client option 'security.protocol', or "
            "bootstrap_servers"
        )
    mechanism = get_sasl_mechanism(name)(host=host, **for_kafka_python(server, options))
    while code == 0 and not mechanism.is_done():
        token = mechanism.auth_bytes()
        answer = ask(_AUTHENTICATE, struct.pack(">i", len(token)) + token)
        code, length = struct.unpack_from(">hh", answer)
        token = answer[4 + max(length, 0) + 4 :]
        if code == 0 and token.startswith(b"e="):  # SCRAM's word for a login that it does not take
            code = _REFUSED
        if code == 0:
            mechanism.receive(token)
    if code == _REFUSED:
        raise FatalError(
            f"the Kafka listener at {server} refuses the login ({name}). {_NOTHING}. Correct client options "
            "'sasl.username' and 'sasl.password'"
        )


def _refuse_without_login(server: str, ask: _Ask, protocol: str) -> None:
    """Raise where a login is asked for: only there a handshake is answered with the mechanisms that it may have."""
    code, mechanisms = struct.unpack_from(">hi", ask(_HANDSHAKE, _counted(_WITH_PASSWORDS[0].encode())))
    if code in (0, _UNSUPPORTED_MECHANISM) and mechanisms > 0:
        raise FatalError(
            f"the Kafka listener at {server} asks for a login. {_NOTHING}. Set client option 'security.protocol' "
            f"({protocol}), with 'sasl.mechanism', 'sasl.username' and 'sasl.password', or correct the port in "
            "bootstrap_servers"
        )


def _connected(listener: _Listener, context: ssl.SSLContext | None, seconds: float) -> socket.socket:
    sock = socket.create_connection((listener.address, listener.port), seconds)
    if context is None:
        return sock
    try:
        return context.wrap_socket(sock, server_hostname=listener.name)
    except BaseException:
        sock.close()
        raise


def _speaks_tls(listener: _Listener, seconds: float) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is told to it
    try:
        _connected(listener, context, seconds).close()
    except OSError:
        return False
    return True


def _speaks_plainly(listener: _Listener, seconds: float) -> bool:
    try:
        with closing(_connected(listener, None, seconds)) as sock:
            _first_answer(sock)
    except (OSError, EOFError):
        return False
    return True


def _first_answer(sock: socket.socket) -> None:
    _asked(sock, _API_VERSIONS, b"")


def _asked(sock: socket.socket, api: tuple[int, int], body: bytes) -> bytes:
    """Return the body of an answer; raises EOFError for what is none, TimeoutError for one that comes too slowly."""
    latest = time.monotonic() + (sock.gettimeout() or 0.0)
    request = struct.pack(">hhi", *api, api[0]) + _counted(b"trident") + body
    sock.sendall(struct.pack(">i", len(request)) + request)
    length, number = struct.unpack(">ii", _received(sock, 8, latest))
    if number != api[0] or not 6 <= length <= _MOST_BYTES:
        raise EOFError("no answer of Kafka's")
    return _received(sock, length - 4, latest)


def _received(sock: socket.socket, count: int, latest: float) -> bytes:
    found = b""
    while len(found) < count:
        if time.monotonic() > latest:  # the socket's own patience is with each piece
            raise TimeoutError("the listener answers too slowly")
        more = sock.recv(count - len(found))
        if not more:
            raise EOFError("the listener has closed the connection")
        found += more
    return found


def _counted(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def _wrong_protocol(server: str, does: str, words: str) -> FatalError:
    return FatalError(
        f"the Kafka listener at {server} {does}. {_NOTHING}. Correct client option 'security.protocol' ({words}), or "
        "the port in bootstrap_servers"
    )


def _not_trusted(server: str, error: ssl.SSLCertVerificationError) -> FatalError:
    is_name = "ostname mismatch" in error.verify_message or "IP address mismatch" in error.verify_message
    way = f"the name in bootstrap_servers, or {HOSTNAME_CHECK!r}" if is_name else repr(AUTHORITIES)
    return FatalError(
        f"the certificate of the Kafka listener at {server} is not trusted ({error.verify_message.rstrip('.')}). "
        f"{_NOTHING}. Correct {way} (client_options)"
    )


def _unreadable(names: str, error: OSError | ValueError) -> FatalError:
    why = error.reason if isinstance(error, ssl.SSLError) and error.reason else type(error).__name__
    return FatalError(f"client option {names} can't be used ({why}). {_NOTHING}. Correct it")
