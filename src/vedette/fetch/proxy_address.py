"""What the operator wrote as `fetch.proxy`, and what only a proxy can reach.  Loads nothing that connects."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from vedette.contracts.errors import ConfigError

SCHEME = "socks5h://"
ONION = ".onion"
_LONGEST = 255  # RFC 1929


@dataclass(frozen=True, slots=True)
class SocksProxy:
    """An address, never a name: a name would have to be resolved."""

    host: str
    port: int
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)


def is_socks(proxy: str | None) -> bool:
    return proxy is not None and proxy.startswith(SCHEME)


def read_socks(proxy: str) -> SocksProxy:
    """Raises ConfigError where it is no address of a SOCKS proxy."""
    shown = proxy.rpartition("@")[2]
    try:
        url = urlsplit(proxy)
        address = ipaddress.ip_address(url.hostname or "")
        user, password = (None if word is None else unquote(word) for word in (url.username, url.password))
        is_long = any(len((word or "").encode()) > _LONGEST for word in (user, password))
        if not url.port or url.path not in ("", "/") or url.query or url.fragment or is_long:
            raise ValueError(shown)
        return SocksProxy(str(address), url.port, user, password)
    except ValueError:
        raise ConfigError(
            f"fetch.proxy: {shown!r} is no address of a SOCKS proxy; write it like socks5h://127.0.0.1:9050"
        ) from None
