"""The cache of robots.txt: memory first, then the store, then the far end."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

from vedette.contracts.fetch import Fetched, RobotsRules
from vedette.contracts.ports import Clock
from vedette.contracts.words import Reason
from vedette.core.limits.clock_limits import ROBOTS, is_ahead
from vedette.fetch.robots import RobotsJudge, merge_robots, parse_robots

SHELF = 20_000  # origins kept in memory


class RobotsCache:
    """Remembers what each origin's robots.txt said and judges by it."""

    def __init__(
        self,
        *,
        load: Callable[[str], RobotsRules | None],
        save: Callable[[RobotsRules], None],
        clock: Clock,
    ) -> None:
        self._load = load
        self._save = save
        self._clock = clock
        self._judge = RobotsJudge()
        self._rules: OrderedDict[str, RobotsRules] = OrderedDict()

    def rules(self, origin: str) -> RobotsRules | None:
        """Rules that still hold; None: ask the far end."""
        known, now = self._rules.get(origin), self._clock.now()
        if known is not None and known.expires_at <= now:
            known = None  # another worker may have asked since
        kept = known or self._load(origin)
        if kept is None or kept.expires_at <= now:
            return None
        if is_ahead(kept.fetched_at, now) or kept.expires_at > now + ROBOTS:
            return None  # kept by a clock that stood ahead: how old it is, nobody knows
        if known is None:
            self._remember(origin, kept)
        else:
            self._rules.move_to_end(origin)
        return kept

    def keep(self, fetched: Fetched, origin: str, agent: str) -> RobotsRules:
        """What a fresh fetch says, merged with what was known: a failed refresh does not forget the rules."""
        now = self._clock.now()
        fresh = parse_robots(fetched, origin=origin, agent=agent, now=now)
        kept = filter(None, (self._rules.get(origin), self._load(origin)))
        rules = merge_robots(max(kept, key=_newest, default=None), fresh, now)
        is_unreachable = rules.verdict == "deny_all" and rules.status is None
        if not is_unreachable:  # the next look must try again, not read our memory of a bad moment
            self._remember(origin, rules)
            self._save(rules)
        return rules

    def refuses(self, rules: RobotsRules, url: str, agent: str) -> Reason | None:
        return self._judge.allows(rules, url, agent)

    def _remember(self, origin: str, rules: RobotsRules) -> None:
        self._rules[origin] = rules
        self._rules.move_to_end(origin)
        while len(self._rules) > SHELF:
            self._rules.popitem(last=False)


def _newest(rules: RobotsRules) -> tuple[datetime, datetime]:
    return rules.fetched_at, rules.expires_at
