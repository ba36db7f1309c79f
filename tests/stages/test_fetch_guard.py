"""The address guard: the ranges, the forms that hide them, and the proof that nothing else connects."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.errors import ConfigError
from vedette.fetch.guard import AddressRefused, Guard

WEB = (80, 443)
SHUT = Guard((), WEB)


@pytest.mark.parametrize(
    "address",
    """127.0.0.1 127.255.255.254 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 169.254.1.1
    169.254.169.254 100.64.0.1 100.127.255.255 100.100.100.200 0.0.0.0 0.1.2.3 192.0.0.1 192.0.0.192 192.0.2.1
    192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1
    255.255.255.255 168.63.129.16
    :: ::1 ::7f00:1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 ::ffff:169.254.169.254
    ::ffff:0:127.0.0.1 2001:db8::1
    fe80::1 fe80::1%eth0 febf::1 fec0::1 fc00::1 fd00::1 fd00:ec2::254 fdff::1 ff02::1 ff00:: 100::1
    2001:2::1 2001:10::1 2001:20::1 3fff::1 5f00::1 4000::1 1::1 64:ff9b:1::1 64:ff9b:1:fffe::8.8.8.8
    2002:808:808:: 2002:7f00:1:: 2002:a00:1::1 2002:a9fe:a9fe:: 64:ff9b::127.0.0.1 64:ff9b::10.1.2.3 64:ff9b::a9fe:a9fe
    2001:0:7f00:1:: 2001:0:808:808::80ff:fffe 2a00::5efe:7f00:1 2a00::200:5efe:a00:1
    127.1 0177.0.0.1 0x7f.0.0.1 2130706433 localhost 1.2.3.4.5 256.1.1.1 １２７.０.０.１ 8.8.8.8%1""".split(),
)
def test_an_inner_address_is_refused_in_every_form(address: str) -> None:
    reason = SHUT.refuses(address, 443)
    assert reason is not None
    assert reason.code == "address_refused"


@pytest.mark.parametrize(
    "address",
    """8.8.8.8 1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 172.15.0.1
    172.32.0.1 192.167.1.1 192.169.1.1 169.253.1.1 169.255.1.1 198.17.1.1 198.20.1.1 223.255.255.255
    2001:4860:4860::8888 2a00:1450:4001::200e 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
    2a00::5efe:808:808""".split(),
)
def test_a_public_address_is_open(address: str) -> None:
    assert SHUT.refuses(address, 443) is None


@pytest.mark.parametrize("port", [22, 25, 0, -1, 6379, 8081, 65536])
def test_a_port_outside_the_list_is_refused(port: int) -> None:
    reason = SHUT.refuses("8.8.8.8", port)
    assert reason is not None
    assert reason.code == "port_refused"


def test_allow_networks_opens_exactly_what_it_lists() -> None:
    guard = Guard(("127.0.0.0/16", "fd12::/48", "10.1.2.3"), WEB)
    for address in ("127.0.0.1", "127.0.255.255", "fd12::1", "10.1.2.3"):
        assert guard.refuses(address, 80) is None
    for address in (
        "127.1.0.0",
        "fd12:0:1::1",
        "10.1.2.4",
        "::ffff:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "169.254.169.254",
    ):
        assert guard.refuses(address, 80) is not None


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("127.0.0.1/8", "write 127.0.0.0/8"),
        ("10.0.0.0/33", "not a network"),
        ("home", "not a network"),
        ("", "not a network"),
    ],
)
def test_a_network_that_cannot_be_is_named_with_its_cure(network: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Guard((network,), WEB)


@pytest.mark.parametrize("port", [0, 70000, True, "80"])
def test_a_port_that_cannot_be_is_named(port: int) -> None:
    with pytest.raises(ConfigError, match="allow_ports"):
        Guard((), (port,))


def test_a_socket_is_made_only_for_a_checked_address() -> None:
    with pytest.raises(AddressRefused, match="loopback"):
        SHUT.open_socket((2, 1, 6, "", ("127.0.0.1", 80)))
    with pytest.raises(AddressRefused, match="scoped"):
        SHUT.open_socket((10, 1, 6, "", ("2a00::1", 80, 0, 3)))
    SHUT.open_socket((2, 1, 6, "", ("8.8.8.8", 80))).close()


@given(st.ip_addresses(v=4))
def test_hiding_an_address_in_ipv6_changes_nothing(address: ipaddress.IPv4Address) -> None:
    bare = SHUT.refuses(str(address), 80) is not None
    number = int(address)
    for form in (0xFFFF << 32 | number, 0x64FF9B << 96 | number):
        assert (SHUT.refuses(str(ipaddress.IPv6Address(form)), 80) is not None) == bare


@given(st.ip_addresses())
def test_what_python_calls_not_global_is_never_open(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    is_form = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    if not address.is_global and not is_form:
        assert SHUT.refuses(str(address), 80) is not None


@given(st.text(max_size=50))
def test_no_text_breaks_the_guard(text: str) -> None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        assert SHUT.refuses(text, 80) is not None


def test_a_listed_port_opens_itself_and_closes_no_usual_one() -> None:
    guard = Guard((), (41234,))
    assert [guard.refuses("93.184.216.34", port) is None for port in (41234, 80, 443, 8080, 8443, 22)] == [
        *[True] * 5,
        False,
    ]
