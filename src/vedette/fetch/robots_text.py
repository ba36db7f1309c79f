"""The lines of a robots.txt that are about us, in time and space that do not depend on who wrote it.

Protego decides what a rule matches.  Given a hostile file whole it needs minutes (12,000 agents over
20,000 rules took nine), and it reads `User-agent: vedette/1.0` as someone else and `User-agent: ved` as
us.  So the groups are picked here, by RFC 9309, and Protego gets only our own rules, within a budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

import re2

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
