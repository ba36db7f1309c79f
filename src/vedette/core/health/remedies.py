"""What to do about a look that did not show its page, and which settings could make the next one succeed.

One table for every verb that reports it (`run`, `why-not`, `health`, `sources`), and for the start of a run, which
makes due again what a changed setting could heal.  A setting is named by its field: of FetchSettings, of
ListerOptions, or one of OTHER_SETTINGS.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from vedette.contracts.fetch import FetchSettings
from vedette.contracts.source import ListerOptions, Source
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import SEEN

FETCHING = frozenset(field.name for field in fields(FetchSettings))
FILTERS = "filters"
READING = frozenset(
    {"lister", *(field.name for field in fields(ListerOptions))} - {FILTERS}
)  # how a listing is read
OTHER_SETTINGS = frozenset({"scope", "render", "ocr_languages", "screen", "version"})
ALL_SETTINGS = FETCHING | READING | OTHER_SETTINGS | {FILTERS, "cookies", "basic_auth"}

LEADS_TO = "leads to "  # how the detail of a refused redirect begins
_METADATA = "metadata"  # nobody watches such an address: no advice to open it

_WAYS = frozenset({"proxy", "nameservers"})
_TIMES = frozenset({"connect_timeout", "read_timeout", "total_timeout"})
LOGIN = frozenset({"cookies", "basic_auth", "post", "keep_cookies"})  # of `fetch`, beside its headers
_WHO_ASKS = frozenset({"user_agent", "headers", "accept_language", "proxy"}) | LOGIN
_BROWSER = frozenset({"requires_headless", "render"})


@dataclass(frozen=True, slots=True)
class Remedy:
    """One row.  `advice` may name {url}."""

    advice: str
    healed_by: frozenset[str] = frozenset()


_SITE = "It is tried again by itself; look at the page in a browser: {url}"
_HOST = "It is tried again by itself; is the host up, and can this machine reach it?"
_BLOCKED = (
    "The site wants no programs, or not this one: ask its owner, or say who you are (fetch.user_agent)."
)
_MOVED = (
    "Look where it went, and watch the new address (vedette add URL); this one is tried again now and then."
)
_PROVIDER = "See docs/runbook.md; `vedette panel status` shows the provider."
_NO_LOOK = "Nothing was asked; it stays due and is looked at as soon as it may."

REMEDIES: Mapping[Outcome, Remedy] = MappingProxyType(
    {
        Outcome.EMPTY: Remedy(_SITE, _WHO_ASKS | _BROWSER),
        Outcome.GONE: Remedy(
            _MOVED,
            frozenset({"headers", "proxy"}),
        ),
        Outcome.CLIENT_ERROR: Remedy(_BLOCKED, _WHO_ASKS),
        Outcome.SERVER_ERROR: Remedy(_SITE, frozenset({"proxy"})),
        Outcome.THROTTLED: Remedy("Wait; to ask less often set a longer gap for its lane (lanes.host:NAME)."),
        Outcome.TIMEOUT: Remedy(f"{_HOST} Slow sites: fetch.total_timeout", _WAYS | _TIMES),
        Outcome.CONNECT_ERROR: Remedy(_HOST, _WAYS | {"connect_timeout"}),
        Outcome.NO_SOCKETS: Remedy("Raise ulimit -n for the program, or lower run.at_once."),
        Outcome.DNS_ERROR: Remedy(
            "Check the spelling of the host, and the name servers of this machine (fetch.nameservers).", _WAYS
        ),
        Outcome.TLS_ERROR: Remedy(
            "For a certificate of your own set fetch.ca_file; else the site's owner has to renew it.",
            frozenset({"ca_file", "proxy"}),
        ),
        Outcome.PROTOCOL_ERROR: Remedy(_HOST, frozenset({"proxy"})),
        Outcome.DECODE_ERROR: Remedy(_SITE, frozenset({"proxy"})),
        Outcome.TOO_LARGE: Remedy(
            "Raise fetch.body_limit and fetch.wire_limit, for this source or for all.",
            frozenset({"wire_limit", "body_limit", "ratio_limit"}),
        ),
        Outcome.TRUNCATED: Remedy(_SITE, _TIMES | {"proxy"}),
        Outcome.REDIRECT_ERROR: Remedy(
            "Watch the address that it should lead to; more hops: fetch.redirects; "
            "if it sets a cookie first: `vedette add {url} --keep-cookies`",
            _WHO_ASKS | {"redirects"},
        ),
        Outcome.ADDRESS_REFUSED: Remedy(
            "Such an address is only for fetch.allow_networks in vedette.yaml to open; is it meant?",
            _WAYS | {"allow_networks", "allow_ports"},
        ),
        Outcome.SCHEME_REFUSED: Remedy("Only http and https can be watched; add another address of it."),
        Outcome.ROBOTS_REFUSED: Remedy(
            "vedette robots {url} shows the rule; the site's owner can allow our agent.",
            frozenset({"robots_agent", "user_agent", "respect_robots"}),
        ),
        Outcome.NO_BROWSER: Remedy(
            "Once it is installed the page is looked at again by itself, at the next start or within minutes.",
            _BROWSER,
        ),
        Outcome.TYPE_REFUSED: Remedy(
            "Watch another form of it, or name its type in fetch.types of its source.", frozenset({"types"})
        ),
        Outcome.PARSE_FAILED: Remedy(
            "vedette test {url} shows what came; for a listing check its lister and selectors.",
            READING | {"scope", "ocr_languages", "version"},
        ),
        Outcome.TOOL_MISSING: Remedy(
            "Install what is named; then it is looked at again by itself, at the next start or within minutes.",
            frozenset({"ocr_languages"}),
        ),
        Outcome.BLOCKED_PAGE: Remedy(_BLOCKED, _WHO_ASKS | _BROWSER),
        Outcome.LOGIN_WALL: Remedy(
            "With an account: `vedette add {url} --basic-auth USER:env:NAME`, or --cookie or --header.",
            LOGIN | {"headers", "proxy"},
        ),
        Outcome.SOFT_404: Remedy(
            _MOVED,
            _WHO_ASKS | _BROWSER,
        ),
        Outcome.FILTER_UNMATCHED: Remedy(
            "The page was rebuilt, or a filter is wrong: `vedette test {url}` shows what each step leaves.",
            _WHO_ASKS | _BROWSER | {FILTERS},
        ),
        Outcome.SCREENED: Remedy("A row of `screen` in vedette.yaml refuses it.", frozenset({"screen"})),
        Outcome.BUDGET_SPENT: Remedy(_NO_LOOK),
        Outcome.LANE_CLOSED: Remedy(
            "Its host failed too often, or asked us to wait; `vedette lanes` says until when it is left alone."
        ),
        Outcome.SHED: Remedy(_NO_LOOK),
        Outcome.CANCELLED: Remedy(_NO_LOOK),
        Outcome.AUTH_ERROR: Remedy(_PROVIDER),
        Outcome.QUOTA_SPENT: Remedy(_PROVIDER),
        Outcome.OVERLOADED: Remedy(_PROVIDER),
        Outcome.REFUSED_CONTENT: Remedy(_PROVIDER),
        Outcome.MALFORMED_ANSWER: Remedy(_PROVIDER),
        Outcome.BAD_SETTINGS: Remedy(
            "Mend the settings of its source: in vedette.yaml, or by `vedette add` or `vedette import` again.",
            ALL_SETTINGS,
        ),
        Outcome.BUG: Remedy("The fault is ours: please report it with the detail.", ALL_SETTINGS),
    }
)


def advice(outcome: Outcome, *, url: str, detail: str = "") -> str:
    """What to do about a look that ended so; empty when there is nothing to be done."""
    if outcome in SEEN:
        return ""
    line = _line_to_write(detail) if outcome is Outcome.ADDRESS_REFUSED else ""
    if line and detail.startswith(LEADS_TO):
        return f"The site itself leads there; only if that is meant, write into vedette.yaml: {line}"
    if line:
        return f"To allow it write into vedette.yaml: {line}"
    return REMEDIES[outcome].advice.format(url=url)


def healed_by(changed: Iterable[str]) -> frozenset[Outcome]:
    """Outcomes that could be another with the changed settings."""
    names = frozenset(changed)
    return frozenset(outcome for outcome, remedy in REMEDIES.items() if remedy.healed_by & names)


def changed_settings(before: Source, after: Source) -> frozenset[str]:
    """Which settings of its own a source has now that it had not before."""
    options = {
        field.name
        for field in fields(ListerOptions)
        if getattr(before.options, field.name) != getattr(after.options, field.name)
    }
    old, new = dict(before.fetch), dict(after.fetch)
    fetching = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    lister = {"lister"} if before.lister is not after.lister else set()
    return frozenset(options | fetching | lister)


_ADDRESS = re.compile(r"(?:^|[\s:,])([0-9a-fA-F.:]*[.:][0-9a-fA-F.:]+) is ")
_PORT = re.compile(r"\bport (\d{1,5}) is ")


def _line_to_write(detail: str) -> str:
    """From the guard's words to what opens exactly this address and port."""
    if _METADATA in detail:
        return ""
    ports = [f"allow_ports: [{port}]" for port in _PORT.findall(detail)[:1]]
    networks = [f'allow_networks: ["{network}"]' for network in _networks(detail)[:1]]
    return f"fetch: {{{', '.join(networks + ports)}}}" if networks or ports else ""


def _networks(detail: str) -> list[str]:
    found = []
    for word in _ADDRESS.findall(detail):
        try:
            found.append(str(ipaddress.ip_network(word)))
        except ValueError:
            continue
    return found
