"""robots.txt by RFC 9309: what an answer means, how long it holds, and whether a URL may be fetched."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from urllib.parse import quote

import re2
from protego import Protego

from vedette.contracts.fetch import Fetched, RobotsRules
from vedette.contracts.words import Outcome, Reason
from vedette.core.urls.canonical import canonical

TEXT_SIZE = 500 * 1024  # RFC 9309 section 2.5
SHORTEST, LONGEST = timedelta(hours=1), timedelta(hours=24)  # section 2.4
RETRY_FIRST, RETRY_LAST = timedelta(minutes=10), timedelta(hours=1)
KEPT_FOR = timedelta(hours=48)  # a day of validity and a day of grace while the file cannot be had
MAX_CRAWL_DELAY = 86_400.0
CACHED = 2048
CACHED_CHARS = 32_000_000
CACHED_RULES = (
    16_384  # each is a handful of objects that every collection of the oldest generation walks over
)
EXPLAINED = 200  # rules tried to name the one that refused

# Section 2.3.1: unavailable is leave to fetch, unreachable is none.  A status of 4xx is unavailable whatever
# else it means to us, but for 429, which asks us to stay away; else what is not listed is unreachable.
_VERDICTS = {
    Outcome.OK: "rules",
    Outcome.TOO_LARGE: "rules",  # of the part that was read
    Outcome.EMPTY: "allow_all",
    Outcome.GONE: "allow_all",
    Outcome.REDIRECT_ERROR: "allow_all",  # 2.3.1.2
}
_MAX_AGE = re2.compile(r"(?i)(?:^|[,\s])max-age\s*=\s*\"?(\d{1,9})")
_FRESH_ONLY = re2.compile(r"(?i)(?:^|[,\s])no-(?:cache|store)")


def parse_robots(fetched: Fetched, *, origin: str, agent: str, now: datetime) -> RobotsRules:
    """What one answer for /robots.txt says.  Redirects are already followed."""
    verdict = _verdict(fetched)
    text = _text_of(fetched.body) if verdict == "rules" else ""
    if verdict == "rules" and (not text.strip() or _is_page(text)):
        verdict, text = "allow_all", ""  # an empty file, or the site's page for everything it does not have
    own = read_robots(text, agent)
    return RobotsRules(
        origin=origin,
        fetched_at=now,
        expires_at=now + (RETRY_FIRST if verdict == "deny_all" else _validity(fetched)),
        status=fetched.status,
        outcome=fetched.outcome,
        text=text,
        verdict=verdict,
        crawl_delay=_clamped(own.crawl_delay),
        sitemaps=tuple(found for found in (canonical(url, origin + "/") for url in own.sitemaps) if found),
    )


def merge_robots(old: RobotsRules | None, new: RobotsRules, now: datetime) -> RobotsRules:
    """The rules to go by from now on: a refresh that failed does not erase what the site once said."""
    if old is None:
        return new
    if new.outcome is Outcome.NOT_MODIFIED:
        return replace(old, fetched_at=now, expires_at=now + LONGEST)
    if new.verdict != "deny_all":
        return new
    if old.verdict != "deny_all":
        return replace(old, expires_at=now + RETRY_FIRST) if now < old.fetched_at + KEPT_FOR else new
    waited = old.expires_at - old.fetched_at
    return replace(new, expires_at=now + min(max(waited * 2, RETRY_FIRST), RETRY_LAST))


class RobotsJudge:
    """May this URL be fetched?  Keeps the parsed rules of the origins asked about last."""

    def __init__(self) -> None:
        self._parsed: OrderedDict[tuple[str, datetime, str], _Parsed] = OrderedDict()
        self._chars = self._rules = 0

    def allows(self, rules: RobotsRules, url: str, agent: str) -> Reason | None:
        """None when it may; otherwise the rule, or the failure, that forbids it."""
        if rules.verdict == "allow_all":
            return None
        if rules.verdict == "deny_all":
            words = f"{rules.origin}/robots.txt cannot be had ({rules.outcome.value})"
            return Reason("robots_unreachable", note=words)
        return self._of(rules, agent).refuses(url)

    def crawl_delay(self, rules: RobotsRules, agent: str) -> float | None:
        """Seconds between two fetches, as the site asks of `agent`."""
        return _clamped(self._of(rules, agent).own.crawl_delay) if rules.verdict == "rules" else None

    def _of(self, rules: RobotsRules, agent: str) -> _Parsed:
        key = (rules.origin, rules.fetched_at, agent)
        parsed = self._parsed.get(key)
        if parsed is not None:
            self._parsed.move_to_end(key)
            return parsed
        parsed = self._parsed[key] = _Parsed(rules.text, agent)
        self._count(parsed, 1)
        while len(self._parsed) > 1 and self._is_over():
            self._count(self._parsed.popitem(last=False)[1], -1)
        return parsed

    def _count(self, parsed: _Parsed, by: int) -> None:
        self._chars += by * parsed.chars
        self._rules += by * len(parsed.own.rules)

    def _is_over(self) -> bool:
        return len(self._parsed) > CACHED or self._chars > CACHED_CHARS or self._rules > CACHED_RULES


class _Parsed:
    """The rules of one origin for one agent, ready to be asked."""

    def __init__(self, text: str, agent: str) -> None:
        self.own: OwnRules = read_robots(text, agent)
        self.chars = sum(len(rule.path) for rule in self.own.rules)
        self._protego = Protego.parse(as_text(self.own.rules))

    def refuses(self, url: str) -> Reason | None:
        if self._protego.can_fetch(url, "*"):
            return None
        rule = self._find(url)
        words = f"line {rule.line}: {str(rule)[:200]}" if rule is not None else "a rule of robots.txt"
        return Reason("robots_rule", note=words)

    def _find(self, url: str) -> RobotsRule | None:
        """The longest rule that alone would refuse it: Protego tells a verdict only, so each is tried."""
        forbidding = sorted((rule for rule in self.own.rules if not rule.is_allow), key=_by_length)
        alone = ((rule, Protego.parse(as_text((rule,)))) for rule in forbidding[:EXPLAINED])
        return next((rule for rule, one in alone if not one.can_fetch(url, "*")), None)


def _is_page(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n").startswith("<") and not names_agents(text)


def _verdict(fetched: Fetched) -> str:
    status = fetched.status or 0
    if 400 <= status < 500:
        return "deny_all" if status == _TOO_MANY else "allow_all"
    return _VERDICTS.get(fetched.outcome, "deny_all")


_TOO_MANY = 429


def _by_length(rule: RobotsRule) -> int:
    return -len(rule.path)


def _text_of(body: bytes) -> str:
    """Any encoding, read as UTF-8 unless a mark says otherwise; what does not fit is replaced."""
    cut = body[:TEXT_SIZE]
    if len(body) >= TEXT_SIZE:
        cut = cut[: max(cut.rfind(b"\n"), cut.rfind(b"\r")) + 1] or cut
    encoding = "utf-16" if cut.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return cut.decode(encoding, "replace").replace("\0", "")


def _validity(fetched: Fetched) -> timedelta:
    """By Cache-Control, within bounds; a day when it says nothing."""
    control = ",".join(value for name, value in fetched.headers if name.lower() == "cache-control")
    if _FRESH_ONLY.search(control):
        return SHORTEST
    found = _MAX_AGE.search(control)
    return min(max(timedelta(seconds=int(found.group(1))), SHORTEST), LONGEST) if found else LONGEST


def _clamped(delay: float | None) -> float | None:
    return min(delay, MAX_CRAWL_DELAY) if delay is not None else None


# The lines of a robots.txt that are about us, in time and space that do not depend on who wrote it.
#
# Protego decides what a rule matches.  Given a hostile file whole it needs minutes (12,000 agents over 20,000 rules
# took nine), and it reads `User-agent: vedette/1.0` as someone else and `User-agent: ved` as us.  So the groups are
# picked here, by RFC 9309, and Protego gets only our own rules, within a budget.

SPECIALS = 4096  # wildcards in all; one costs Protego about 0.3 us per URL
PATH_SIZE = 2048
SITEMAPS = 500
_FIELDS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "agent"),
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"),
    "allow": "allow",
    **dict.fromkeys(("sitemap", "site-map", "sitemaps"), "sitemap"),
    **dict.fromkeys(("crawl-delay", "crawldelay", "crawl delay"), "delay"),
    "host": "host",
}
# What is no rule must not come between the names of a group (RFC 9309 section 2.2.4).  A Crawl-delay is no rule
# either; but one that a blank line follows closed its group before there was a standard, and sites still mean it.
_NO_RULES = frozenset(("sitemap", "host", "unknown", "blank"))
_PRODUCT = re2.compile(r"^[A-Za-z_-]+")  # RFC 9309 section 2.2.1
_CUT_ESCAPE = re2.compile(r"%[0-9A-Fa-f]?$")


@dataclass(frozen=True, slots=True)
class RobotsRule:
    line: int
    is_allow: bool
    path: str

    def __str__(self) -> str:
        return f"{'Allow' if self.is_allow else 'Disallow'}: {self.path}"


@dataclass(slots=True)
class _Group:
    """All that the file says to one agent; groups with the same name are one (RFC 9309 section 2.2.1)."""

    is_named: bool = False
    rules: list[RobotsRule] = field(default_factory=list)
    crawl_delay: float | None = None


@dataclass(frozen=True, slots=True)
class OwnRules:
    rules: tuple[RobotsRule, ...]
    crawl_delay: float | None
    sitemaps: tuple[str, ...]


def read_robots(text: str, agent: str) -> OwnRules:
    """What the file says to `agent`: the groups that name it, or else those for everyone."""
    ours, everyone = _Group(), _Group()
    sitemaps: list[str] = []
    current: list[_Group] = []
    is_naming = has_delay = False
    for number, name, value in _directives(text):
        if name == "sitemap" and value and len(sitemaps) < SITEMAPS:
            sitemaps.append(value)
        if name == "blank":
            is_naming = is_naming and not has_delay
        if name in _NO_RULES:
            continue
        if name == "agent":
            current = current if is_naming else []
            group = _group_of(value, agent, ours, everyone)
            if group is not None:
                group.is_named = True
                current.append(group)
            is_naming, has_delay = True, False
            continue
        for group in current:
            _add(group, number, name, value)
        has_delay = name == "delay"
        is_naming = is_naming and has_delay
    chosen = ours if ours.is_named else everyone
    return OwnRules(_within_budget(chosen.rules), chosen.crawl_delay, tuple(dict.fromkeys(sitemaps)))


def names_agents(text: str) -> bool:
    """Is there a line that names an agent?  A page that a site serves for everything has none."""
    return any(name == "agent" for _, name, _ in _directives(text))


def as_text(rules: tuple[RobotsRule, ...]) -> str:
    """Rules alone, for everyone: what Protego gets to see."""
    return "\n".join(["User-agent: *", *(str(rule) for rule in rules)])


def _directives(text: str) -> Iterator[tuple[int, str, str]]:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        content = line.partition("#")[0].strip()
        if not content:
            if not line.strip():
                yield number, "blank", ""
            continue
        name, colon, value = content.partition(":")
        if not colon:  # "Disallow /x": not in the standard, and meant all the same
            name, _, value = content.partition(" ")
        known = _FIELDS.get(name.strip().lower())
        if known is not None:
            yield number, known, value.strip()
        elif colon:
            yield number, "unknown", ""


def _group_of(value: str, agent: str, ours: _Group, everyone: _Group) -> _Group | None:
    if value.split(None, 1)[:1] == ["*"]:  # alone, or before a space; "*Bot*" names a bot that we are not
        return everyone
    product = _PRODUCT.match(value)
    return ours if product is not None and product.group(0).lower() == agent.lower() else None


def _add(group: _Group, number: int, name: str, value: str) -> None:
    if name == "delay":
        try:
            delay = float(value)
        except ValueError:
            return
        if math.isfinite(delay) and delay >= 0:
            group.crawl_delay = delay
    elif name in ("allow", "disallow") and value:
        group.rules.append(RobotsRule(number, name == "allow", value))


def _within_budget(rules: list[RobotsRule]) -> tuple[RobotsRule, ...]:
    """Past the budget a Disallow counts by its plain beginning and an Allow not at all: never too much."""
    left = SPECIALS
    kept: dict[tuple[bool, str], RobotsRule] = {}
    for rule in rules:
        path = rule.path
        cost = path.count("*") + path.count("$")
        is_over = cost > left or len(path) > PATH_SIZE
        if is_over and rule.is_allow:
            continue
        if is_over:
            path = _CUT_ESCAPE.sub("", path.partition("*")[0].partition("$")[0][:PATH_SIZE])
        else:
            left -= cost
        path = path if path.isprintable() else "".join(c if c.isprintable() else quote(c) for c in path)
        if path:
            kept.setdefault((rule.is_allow, path), RobotsRule(rule.line, rule.is_allow, path))
    return tuple(kept.values())
