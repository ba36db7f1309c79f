"""May we connect to this address?  THE guard: every new connection of ours asks here, and nowhere else.

Refused unless listed in `fetch.allow_networks`: everything that is not a public unicast address, and
every IPv6 form that carries such an IPv4 address inside.  The rows follow the IANA special-purpose
registries (RFC 6890 and its updates), not Python's `is_private`, which moves between releases.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterable
from typing import Any

from vedette.contracts.errors import ConfigError
from vedette.contracts.words import Reason
from vedette.core.urls.canonical import canonical
from vedette.fetch.proxy_address import is_socks, read_socks

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# First match names the kind, so the narrow rows stand above the wide ones that hold them.
_REFUSED: tuple[tuple[Network, str], ...] = tuple(
    (ipaddress.ip_network(network), kind)
    for network, kind in (
        ("169.254.169.254/32", "a cloud metadata address"),
        ("100.100.100.200/32", "a cloud metadata address"),  # Alibaba
        ("192.0.0.192/32", "a cloud metadata address"),  # Oracle
        ("168.63.129.16/32", "a cloud metadata address"),  # Azure: a public address that is none
        ("fd00:ec2::254/128", "a cloud metadata address"),
        ("0.0.0.0/32", "the unspecified address"),
        ("0.0.0.0/8", "in this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared carrier space"),  # RFC 6598
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "a 6to4 relay"),  # RFC 7526
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarking"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
        ("::/128", "the unspecified address"),
        ("::1/128", "loopback"),
        ("64:ff9b:1::/48", "local NAT64"),  # RFC 8215
        ("100::/64", "a discard address"),
        ("2001:2::/48", "for benchmarking"),
        ("2001::/23", "reserved for protocols"),  # Teredo is in here
        ("2001:db8::/32", "for documentation"),
        ("2002::/16", "6to4, which is no longer routed"),  # RFC 7526; newer Pythons agree
        ("3fff::/20", "for documentation"),  # RFC 9637
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")  # all that IANA hands out for public unicast
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052
_ISATAP = frozenset((0x00005EFE, 0x02005EFE))  # RFC 5214, upper half of the interface id
_LOW_32 = 0xFFFFFFFF
_MEMO_SIZE = 8192
_UNKNOWN = Reason("unknown")


class AddressRefused(Exception):
    """Carries the guard's word out of aiohttp.  Not an OSError: aiohttp would wrap it, or try elsewhere."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.note)
        self.reason = reason


USUAL_PORTS = frozenset({80, 443, 8080, 8443})  # docs/politeness.md


class Guard:
    """Deny by default; `allow_networks` opens exactly the listed networks, `allow_ports` ports beside the usual."""

    def __init__(self, allow_networks: Iterable[str], allow_ports: Iterable[int]) -> None:
        self._open = tuple(_read_network(text) for text in allow_networks)
        self._ports = USUAL_PORTS | {_read_port(port) for port in allow_ports}
        self._memo: dict[str, Reason | None] = {}

    def refuses(self, address: str, port: int) -> Reason | None:
        """Why we may not connect there, or None.  All that is in the way is named at once."""
        of_address = self._refuses_address(address)
        if port in self._ports:
            return of_address
        also = f"; {of_address.note}" if of_address else ""
        return Reason("port_refused", note=f"port {port} is neither usual nor in fetch.allow_ports{also}")

    def _refuses_address(self, address: str) -> Reason | None:
        verdict = self._memo.get(address, _UNKNOWN)
        if verdict is not _UNKNOWN:
            return verdict
        if len(self._memo) >= _MEMO_SIZE:
            self._memo.clear()
        verdict = self._memo[address] = self._judge(address)
        return verdict

    def check(self, address: str, port: int) -> None:
        """Raises AddressRefused instead of telling."""
        reason = self.refuses(address, port)
        if reason is not None:
            raise AddressRefused(reason)

    def open_socket(self, place: tuple[Any, Any, int, str, tuple[Any, ...]]) -> socket.socket:
        """The socket for one `getaddrinfo` row.  The connector gets its sockets here and nowhere else."""
        family, kind, protocol, _, where = place
        address, port, *scope = where
        self.check(f"{address}%{scope[-1]}" if scope and scope[-1] else address, port)
        return GuardedLine(family, kind, protocol)

    def _judge(self, text: str) -> Reason | None:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return Reason("address_refused", note=f"{text[:60]!r} is not an IP address")
        if "%" in text:
            return Reason("address_refused", note=f"{text[:60]} is scoped to one of our own interfaces")
        if any(address in network for network in self._open if network.version == address.version):
            return None
        kind = _kind_of(address)
        if kind is None:
            return None
        return Reason("address_refused", note=f"{text} is {kind}; only fetch.allow_networks can open it")


class GuardedLine(socket.socket):
    """A socket that closes what it opened and nothing else.

    uvloop (0.23.0) closes a line that is reset while TLS begins and leaves the number of the file with this
    object.  The number is soon that of another file, of the archive perhaps, and the object must not close it.
    """

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self._opened = os.fstat(self.fileno()).st_ino

    def __del__(self) -> None:
        number = self.fileno()
        if number < 0:
            return
        try:
            is_mine = os.fstat(number).st_ino == self._opened
        except OSError:
            is_mine = False
        if is_mine:
            self.close()
        else:
            self.detach()


def _kind_of(address: Address) -> str | None:
    """What makes an address unfit, or None for public unicast."""
    if isinstance(address, ipaddress.IPv6Address):
        for inner in _embedded(address):
            kind = _kind_of(inner)
            if kind is not None:
                return f"a form of {inner}, which is {kind}"
        if address.ipv4_mapped is not None or address in _NAT64:
            return None
    for network, kind in _REFUSED:
        if network.version == address.version and address in network:
            return kind
    if address.version == 6 and address not in _GLOBAL_V6:
        return "reserved"
    return None


def _embedded(address: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses that a packet to this address may end up at."""
    number = int(address)
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64 or (number >> 32) & _LOW_32 in _ISATAP:
        inner.append(ipaddress.IPv4Address(number & _LOW_32))
    return [found for found in inner if found is not None]


def _read_network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        pass
    try:
        meant = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ConfigError(
            f"fetch.allow_networks: {text!r} is not a network; write it like 10.1.0.0/16 or fd12::/48"
        ) from None
    raise ConfigError(f"fetch.allow_networks: {text!r} is an address inside a network; write {meant}")


def _read_port(port: int) -> int:
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
        raise ConfigError(f"fetch.allow_ports: {port!r} is not a port; use numbers from 1 to 65535")
    return port


def read_nameserver(text: str) -> str:
    """ "9.9.9.9", "127.0.0.1:5353" or "[2620:fe::9]:53", as c-ares takes it."""
    host, colon, port = text.rpartition(":") if text.count(":") == 1 or "]:" in text else (text, "", "53")
    try:
        ipaddress.ip_address(host.strip("[]"))
        if not 0 < int(port) < 65536:
            raise ValueError(port)
    except ValueError:
        raise ConfigError(
            f"fetch.nameservers: {text!r} is not an address; write it like 127.0.0.1:5353 or [2620:fe::9]:53"
        ) from None
    return text if colon else host


def check_addresses(
    networks: Iterable[str], ports: Iterable[int], nameservers: Iterable[str], proxy: str | None
) -> None:
    """Raises ConfigError for one that cannot be used."""
    Guard(networks, ports)
    for text in nameservers:
        read_nameserver(text)
    if is_socks(proxy):
        read_socks(proxy or "")
    elif proxy and canonical(proxy) is None:
        raise ConfigError(f"fetch.proxy: {proxy!r} is not an http://, https:// or socks5h:// address")
