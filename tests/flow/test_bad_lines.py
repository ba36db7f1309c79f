"""Certificates that are wrong and names that lead nowhere or inside: through the program, each by its name."""

from __future__ import annotations

import ssl
from contextlib import AsyncExitStack

import pytest
from bad_kit import GOOD, Field, quick_config
from hostile import Authority, Do, FakeDns, Hostile

pytestmark = pytest.mark.slow
QUIET = {"lister": "page", "fetch": {"respect_robots": False}}
NAMES = {
    "private.example": (["10.0.0.1"], "address_refused"),
    "mixed.example": (["93.184.216.34", "10.0.0.1"], "address_refused"),
    "metadata.example": (["169.254.169.254"], "address_refused"),
    "loopback6.example": (["::1"], "address_refused"),
    "mapped.example": (["::ffff:10.0.0.1"], "address_refused"),
    "translated.example": (["64:ff9b::a00:1"], "address_refused"),
    "failing.example": ("servfail", "dns_error"),
    "silent.example": ("silent", "dns_error"),
    "garbage.example": ("garbage", "dns_error"),
    "empty.example": ([], "dns_error"),
    "unknown.example": ("nxdomain", "dns_error"),
}


def bad_certificates(folder) -> tuple[str, dict[str, tuple[Hostile, str]]]:
    authority = Authority(folder)
    sound = authority.server("127.0.0.1")
    expired = authority.server("127.0.0.1", days=-1)
    unsigned = authority.server("127.0.0.1", is_signed=False)
    old = authority.server("127.0.0.1")
    old.options |= ssl.OP_NO_TLSv1_3 | ssl.OP_NO_TLSv1_2
    return authority.ca_file, {
        "sound": (Hostile(GOOD, tls=sound), "ok"),
        "expired": (Hostile(GOOD, tls=expired), "tls_error"),
        "self-signed": (Hostile(GOOD, tls=unsigned), "tls_error"),
        "of another name": (Hostile(GOOD, tls=authority.server("other.example")), "tls_error"),
        "of an old protocol": (Hostile(GOOD, tls=old), "tls_error"),
        "plain HTTP": (Hostile(GOOD, speaks_first=True), "tls_error"),
        "noise": (Hostile(bytes(range(256)) * 9, speaks_first=True), "tls_error"),
        "closed at once": (Hostile(speaks_first=True), "tls_error"),
        "reset at once": (Hostile(Do.RESET, speaks_first=True), "tls_error"),
        "silent": (Hostile(Do.HOLD, speaks_first=True), "timeout"),
        "cut": (Hostile(GOOD[:-50], tls=sound), "truncated"),
    }


async def test_bad_certificates_and_bad_names_end_as_named_outcomes(tmp_path):
    (tmp_path / "ca").mkdir()
    ca_file, servers = bad_certificates(tmp_path / "ca")
    async with AsyncExitStack() as stack:
        names = await stack.enter_async_context(FakeDns({name: row[0] for name, row in NAMES.items()}))
        wanted = {f"http://{name}/": outcome for name, (_, outcome) in NAMES.items()}
        for server, outcome in servers.values():
            await stack.enter_async_context(server)
            wanted[f"https://127.0.0.1:{server.port}/"] = outcome
        config = quick_config(80, *(server.port for server, _ in servers.values()))
        config["fetch"] |= {
            "allow_networks": ["127.0.0.1/32"],
            "ca_file": ca_file,
            "nameservers": [names.place],
        }
        field = Field(tmp_path, config | {"sources": [{"url": url, **QUIET} for url in wanted]})
        told = await field.run("--until-idle")
    assert (told.code, told.err) == (7, "")  # some are not seen, and that is told
    found = {url: field.explain(url)["outcome"] for url in wanted}
    assert found == wanted
