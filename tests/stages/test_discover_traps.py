"""The traps of the living web, walked with the real link reader and admission: each ends within its budget."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime

import pytest

from vedette.contracts.source import ListerKind, ListerOptions, TrapBudgets
from vedette.core.urls.admission import Admitted, Candidate, admit, rules_of
from vedette.core.urls.trap_counters import SourceTally
from vedette.discover.crawl import LinkReader
from vedette.livingweb.chance import Chance
from vedette.livingweb.faults import trap_entry, trap_links

NOW = datetime(2026, 11, 15, tzinfo=UTC)
HOST = "https://trap.example"
BUDGETS = TrapBudgets()


def walk(trap: str, **options: int) -> tuple[int, set[str]]:
    """Follows every link that admission lets in, breadth first, until none is left: how many, and what stopped it."""
    rules = rules_of(ListerKind.CRAWL, ListerOptions(**{"max_depth": 10**6, "max_urls": 10**6} | options))
    reader, tally, chance = LinkReader(HOST + "/"), SourceTally(), Chance("traps", trap)
    queue, seen, codes = deque([(HOST + trap_entry(trap), 0)]), set(), set()
    while queue:
        url, depth = queue.popleft()
        hrefs = [href for href, _ in trap_links(trap, url.removeprefix(HOST), chance) or []]
        for identity, found in reader.links(url, url, hrefs):
            if identity in seen:
                continue
            answer = admit(rules, tally, Candidate(url=found, depth=depth + 1), now=NOW)
            if isinstance(answer, Admitted):
                seen.add(identity)
                tally.take(answer)
                queue.append((found, depth + 1))
            else:
                codes.add(answer.code)
    return tally.admitted, codes


@pytest.mark.parametrize(
    ("trap", "budget", "code"),
    [
        ("calendar", 2 * BUDGETS.calendar, "trap_calendar"),  # two shapes: a month, a day
        ("facets", BUDGETS.facets + 30, "trap_facets"),  # and the addresses with one filter
        ("session_path", BUDGETS.session, "trap_session"),
        ("session_query", BUDGETS.session, "trap_session"),
        ("nesting", 100, "trap_repeats"),
    ],
)
def test_a_trap_ends_within_its_budget_even_without_other_limits(trap, budget, code):
    taken, codes = walk(trap)
    assert 20 < taken <= budget
    assert codes == {code}


def test_an_endless_pager_ends_at_max_urls_and_at_the_depth_of_a_crawl():
    assert walk("endless_pager", max_urls=2000) == (2000, {"max_urls"})
    assert walk("endless_pager", max_depth=4) == (4, {"max_depth"})
