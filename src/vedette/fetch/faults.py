"""What went wrong, as an Outcome and a line for people.  One table from exceptions to outcomes."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass

import aiohttp
from aiohttp.http_exceptions import ContentLengthError, HttpProcessingError, TransferEncodingError

from vedette.contracts.words import Outcome
from vedette.core.outcomes import OWN_LACK
from vedette.fetch.guard import AddressRefused
from vedette.fetch.resolver import DnsFault

DETAIL_SIZE = 300


@dataclass(frozen=True, slots=True)
class Fault:
    outcome: Outcome
    detail: str


# What a fetch can meet.  Anything else is a bug and flies.
WEATHER = (AddressRefused, DnsFault, aiohttp.ClientError, HttpProcessingError, OSError, ValueError)

# First match wins.  `_within` has already looked behind aiohttp's wrappers.
_MEANING: tuple[tuple[type[BaseException], Outcome], ...] = (
    (AddressRefused, Outcome.ADDRESS_REFUSED),
    (aiohttp.InvalidURL, Outcome.ADDRESS_REFUSED),  # 127.1, 0177.0.0.1: aiohttp refuses to guess the address
    (DnsFault, Outcome.DNS_ERROR),
    (TimeoutError, Outcome.TIMEOUT),
    (ssl.SSLError, Outcome.TLS_ERROR),
    (ContentLengthError, Outcome.TRUNCATED),
    (TransferEncodingError, Outcome.TRUNCATED),
    (HttpProcessingError, Outcome.PROTOCOL_ERROR),
    (aiohttp.ClientHttpProxyError, Outcome.CONNECT_ERROR),
    (aiohttp.ClientResponseError, Outcome.PROTOCOL_ERROR),
    (aiohttp.ClientPayloadError, Outcome.TRUNCATED),
    (OSError, Outcome.CONNECT_ERROR),
    (aiohttp.ClientError, Outcome.CONNECT_ERROR),
    (ValueError, Outcome.TLS_ERROR),  # a host name that TLS cannot carry
)


def fault_of(error: BaseException, *, is_tls: bool) -> Fault:
    """The outcome of one failed exchange."""
    inner = _within(error)
    if is_tls and isinstance(error, aiohttp.ClientConnectorError) and _is_cut(inner):
        return Fault(Outcome.TLS_ERROR, "the line was cut during the TLS handshake")
    if isinstance(inner, OSError) and (lack := OWN_LACK.get(inner.errno or 0)):
        return Fault(Outcome.NO_SOCKETS, lack)
    if isinstance(inner, aiohttp.ServerDisconnectedError):
        return _disconnect_fault(inner)
    for kind, outcome in _MEANING:
        if isinstance(inner, kind):
            return Fault(outcome, _words(inner))
    raise error


def plain(text: str, limit: int = DETAIL_SIZE) -> str:
    """One printable line, for logs, terminals and archives alike."""
    if len(text) <= limit and text.isprintable():
        return text
    line = " ".join(text[: limit * 4].split())
    return "".join(char if char.isprintable() else "?" for char in line)[:limit]


def _within(error: BaseException) -> BaseException:
    """The error that aiohttp wrapped."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return error.os_error
    cause = error.__cause__
    is_wrapped = (isinstance(error, aiohttp.ClientOSError) and isinstance(cause, ssl.SSLError)) or (
        isinstance(error, aiohttp.ClientPayloadError) and isinstance(cause, HttpProcessingError)
    )
    return cause if is_wrapped and cause is not None else error


def _is_cut(error: BaseException) -> bool:
    """Refused is the port's word; any other cut while connecting came after TCP stood."""
    return isinstance(error, ConnectionError) and not isinstance(error, ConnectionRefusedError)


def _disconnect_fault(error: aiohttp.ServerDisconnectedError) -> Fault:
    if isinstance(error.message, str):
        return Fault(Outcome.CONNECT_ERROR, "closed without an answer")
    return Fault(Outcome.PROTOCOL_ERROR, "closed inside the head of the answer")


_TIMEOUTS: tuple[tuple[type[BaseException], str], ...] = (
    (aiohttp.ConnectionTimeoutError, "connecting took too long"),
    (aiohttp.SocketTimeoutError, "the far end went silent"),
    (TimeoutError, "the total deadline passed"),
)


def _words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError):
        return plain(error.strerror or str(error))
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)  # the loops word the same error differently
    for kind, words in _TIMEOUTS:
        if isinstance(error, kind):
            return words
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status}"
    if isinstance(error, aiohttp.ClientResponseError | HttpProcessingError):
        return plain(str(error.message)) or "not HTTP"
    return plain(str(error)) or type(error).__name__
