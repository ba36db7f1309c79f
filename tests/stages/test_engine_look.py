"""One look: robots before the page, a permit for every request, and where redirects lead."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from engine_kit import POLITE, WIDE
from machine import patient
from settlements import ALL, HOUR, NOON, SECOND, a_job, a_look, a_watch

from vedette.config.model import parse
from vedette.config.pace_policies import lane_policies
from vedette.contracts.fetch import Fetched, FetchRequest, FetchSettings, RobotsRules, RobotsState
from vedette.contracts.lane import LaneState
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.lanes.outcomes import MEANING, outcome_of_status
from vedette.engine.crawl.look import ROBOTS_LIMIT, ROBOTS_REDIRECTS, Looker, Reached
from vedette.engine.crawl.robots_cache import SHELF, RobotsCache
from vedette.lanes import LaneKeeper, LanePolicies
from vedette.lanes.keeper import BROWSER
from vedette.telemetry.clock import JumpingClock

A, B = LaneKey("host:a.example"), LaneKey("host:b.example")
PAGE, ROBOTS = "https://a.example/page", "https://a.example/robots.txt"
OTHER, OTHER_ROBOTS = "https://b.example/new", "https://b.example/robots.txt"
NO_ROBOTS = {ROBOTS: 404, OTHER_ROBOTS: 404}
SECRET = (("Authorization", "Bearer x"),)


class FakeWeb:
    """Answers by table: a status, a redirect (where to), a body, or an Outcome that means nobody answered."""

    def __init__(self, keeper: LaneKeeper, clock: JumpingClock, answers: dict[str, object]) -> None:
        self.asked: list[FetchRequest] = []
        self.under_way: list[tuple[int, int]] = []  # permits of the host and of the machine, while asking
        self.answers = answers
        self._keeper = keeper
        self._clock = clock

    async def fetch(self, request: FetchRequest) -> Fetched:
        self.asked.append(request)
        lane = LaneKey("host:" + request.url.split("/")[2])
        self.under_way.append((self._keeper.state(lane).under_way, self._keeper.state(ALL).under_way))
        await asyncio.sleep(0)
        answer = self.answers.get(request.url, 200)
        fetched = Fetched(
            url=request.url, outcome=Outcome.OK, at=self._clock.now(), took=timedelta(0), status=200
        )
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Outcome):
            return replace(fetched, outcome=answer, status=None, detail="nobody answered")
        if isinstance(answer, int):
            return replace(fetched, status=answer, outcome=outcome_of_status(answer))
        if isinstance(answer, tuple):
            return replace(fetched, status=answer[0], outcome=Outcome.REDIRECT_ERROR, redirect_to=answer[1])
        return replace(fetched, body=str(answer).encode())

    async def close(self) -> None:
        pass


class Walks:
    def __init__(
        self, answers: dict[str, object], *, known: dict[LaneKey, LaneState] | None = None, **settings
    ) -> None:
        self.clock = JumpingClock(NOON)
        policies = LanePolicies(default=WIDE, named={"all": replace(WIDE, at_once=64), B: WIDE})
        self.closed: list[LaneKey] = []
        self.keeper = LaneKeeper(
            policies,
            load=(known or {}).get,
            clock=self.clock,
            on_closed=lambda key, reason: self.closed.append(key),
        )
        self.web = FakeWeb(self.keeper, self.clock, answers)
        self.kept: dict[str, RobotsRules] = {}
        self.looker = Looker(
            fetcher=self.web,
            keeper=self.keeper,
            robots=RobotsCache(load=self.kept.get, save=self._save, clock=self.clock),
            clock=self.clock,
            settings_of=lambda source: FetchSettings(**settings),
        )

    async def look(self, url: str = PAGE, **fields: object) -> Reached:
        job = a_job(a_watch(url, **fields))
        self.keeper.start(job.lanes, self.clock.now())
        try:
            return await asyncio.wait_for(self.looker.look(job), patient(10))
        finally:
            assert self.keeper.state(ALL).under_way == 0, "a permit was kept"
            assert self.keeper.state(job.watch.lane).under_way == 0

    def _save(self, rules: RobotsRules) -> None:
        self.kept[rules.origin] = rules

    @property
    def urls(self) -> list[str]:
        return [request.url for request in self.web.asked]


async def test_robots_is_asked_before_the_page_and_once_per_origin():
    walks = Walks({ROBOTS: "User-agent: *\nAllow: /\n"})
    assert (await walks.look()).fetched.outcome is Outcome.OK
    await walks.look()
    assert walks.urls == [ROBOTS, PAGE, PAGE]
    assert walks.web.asked[0].body_limit == ROBOTS_LIMIT


async def test_every_request_has_a_permit_of_its_own_while_it_is_under_way():
    walks = Walks({PAGE: (302, OTHER), **NO_ROBOTS})
    await walks.look()
    assert walks.urls == [ROBOTS, PAGE, OTHER_ROBOTS, OTHER]
    assert walks.web.under_way == [(1, 1)] * 4


async def test_a_page_that_robots_forbids_is_not_asked_for():
    walks = Walks({ROBOTS: "User-agent: *\nDisallow: /page\n"})
    fetched = (await walks.look()).fetched
    assert (fetched.outcome, fetched.url) == (Outcome.ROBOTS_REFUSED, PAGE)
    assert "/page" in fetched.detail
    assert walks.urls == [ROBOTS]


@pytest.mark.parametrize(
    ("robots", "settings", "state"),
    [
        ("User-agent: *\nDisallow: /x\n", {}, RobotsState.ALLOWED),
        (404, {}, RobotsState.ALLOWED),
        ("User-agent: *\nDisallow: /page\n", {}, RobotsState.FORBIDDEN),
        (503, {}, RobotsState.UNREACHABLE),
        (Outcome.TIMEOUT, {}, RobotsState.UNREACHABLE),
        ("User-agent: *\nDisallow: /page\n", {"respect_robots": False}, RobotsState.IGNORED),
    ],
)
async def test_what_a_look_brought_says_what_robots_said_of_it(
    robots: object, settings: dict[str, bool], state: RobotsState
):
    fetched = (await Walks({ROBOTS: robots}, **settings).look()).fetched
    assert fetched.robots_state is state


async def test_the_robots_state_is_that_of_the_last_address():
    walks = Walks({ROBOTS: 404, PAGE: (302, OTHER), OTHER_ROBOTS: "User-agent: *\nDisallow: /\n"})
    fetched = (await walks.look()).fetched
    assert (fetched.url, fetched.robots_state) == (OTHER, RobotsState.FORBIDDEN)


async def test_a_crawl_delay_holds_from_the_request_that_brought_it():
    walks = Walks({ROBOTS: "User-agent: *\nCrawl-delay: 7\n"})
    task = asyncio.create_task(walks.look())
    await asyncio.sleep(0.01)
    assert walks.urls == [ROBOTS]
    walks.clock.advance(7 * SECOND)
    walks.keeper.wake(A)
    await task
    assert walks.urls == [ROBOTS, PAGE]
    assert walks.keeper.gap(A) == 7 * SECOND


async def test_robots_that_cannot_be_reached_ends_the_look_as_the_host_did():
    walks = Walks({ROBOTS: Outcome.TIMEOUT})
    fetched = (await walks.look()).fetched
    assert (fetched.outcome, fetched.url, walks.urls) == (Outcome.TIMEOUT, PAGE, [ROBOTS])
    assert fetched.detail.startswith("robots.txt")
    walks.web.answers = NO_ROBOTS
    assert (await walks.look()).fetched.outcome is Outcome.OK  # the bad moment is not remembered


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(503, Outcome.SERVER_ERROR), (511, Outcome.SERVER_ERROR), (429, Outcome.THROTTLED)],
)
async def test_robots_that_the_server_fails_to_give_puts_the_page_off_for_minutes_and_not_for_days(
    status: int, outcome: Outcome
):
    walks = Walks({ROBOTS: status})
    fetched = (await walks.look()).fetched
    assert (fetched.outcome, fetched.url, walks.urls) == (outcome, PAGE, [ROBOTS])
    assert fetched.detail.startswith("robots.txt")
    assert fetched.retry_after == timedelta(minutes=10)
    assert MEANING[fetched.outcome].retry
    assert (fetched.status, fetched.body) == (None, b""), "what came is not the page"
    walks.clock.advance(timedelta(minutes=4))
    again = (await walks.look()).fetched  # another page of the host
    assert walks.urls == [ROBOTS], "not asked again so soon"
    assert (again.outcome, again.retry_after) == (outcome, timedelta(minutes=6))
    assert again.detail.startswith(f"robots.txt: status {status}")
    walks.clock.advance(timedelta(minutes=6))
    walks.web.answers = NO_ROBOTS
    assert (await walks.look()).fetched.outcome is Outcome.OK


async def test_robots_that_redirects_is_followed_as_far_as_the_standard_says():
    chain = {f"https://a.example/r{n}": (301, f"https://a.example/r{n + 1}") for n in range(9)}
    walks = Walks({ROBOTS: (301, "https://a.example/r0"), **chain})
    assert (await walks.look()).fetched.outcome is Outcome.OK  # no robots.txt is leave to fetch
    assert len(walks.urls) == 1 + ROBOTS_REDIRECTS + 1


def test_the_shelf_forgets_the_origin_that_was_not_asked_about_for_longest():
    rules = RobotsRules(
        origin="",
        fetched_at=NOON,
        expires_at=NOON + HOUR,
        status=404,
        outcome=Outcome.GONE,
        text="",
        verdict="allow_all",
    )
    loaded: list[str] = []

    def load(origin: str) -> RobotsRules:
        loaded.append(origin)
        return rules

    text_cache = RobotsCache(load=load, save=lambda rules: None, clock=JumpingClock(NOON))
    origins = [f"https://{n}.example" for n in range(SHELF + 1)]
    for origin in (*origins[:-1], origins[0], origins[-1]):
        text_cache.rules(origin)
    loaded.clear()
    for origin in (origins[0], origins[-1], origins[1]):
        text_cache.rules(origin)
    assert loaded == [origins[1]]


async def test_robots_are_not_asked_for_where_the_source_says_so():
    walks = Walks({}, respect_robots=False)
    await walks.look()
    assert walks.urls == [PAGE]


async def test_redirects_are_followed_and_told():
    steps = {PAGE: (301, "https://a.example/2"), "https://a.example/2": (308, "https://a.example/3")}
    reached = await Walks({**NO_ROBOTS, **steps}).look()
    assert reached.fetched.url == "https://a.example/3"
    assert reached.hops == (PAGE, "https://a.example/2")
    assert reached.is_permanent
    steps["https://a.example/2"] = (302, "https://a.example/3")
    assert not (await Walks({**NO_ROBOTS, **steps}).look()).is_permanent


async def test_a_redirect_that_comes_back_to_itself_ends():
    steps = {PAGE: (302, "https://a.example/2"), "https://a.example/2": (302, PAGE)}
    walks = Walks({**NO_ROBOTS, **steps})
    fetched = (await walks.look()).fetched
    assert (fetched.outcome, fetched.redirect_to) == (Outcome.REDIRECT_ERROR, None)
    assert "itself" in fetched.detail
    assert len(walks.urls) == 3


async def test_a_redirect_without_end_is_cut():
    chain = {f"https://a.example/{n}": (302, f"https://a.example/{n + 1}") for n in range(50)}
    walks = Walks({**NO_ROBOTS, **chain}, redirects=4)
    fetched = (await walks.look("https://a.example/0")).fetched
    assert (fetched.outcome, len(walks.urls)) == (Outcome.REDIRECT_ERROR, 1 + 5)


async def test_another_host_is_asked_in_its_own_lane_and_by_its_own_robots():
    walks = Walks({PAGE: (302, OTHER), ROBOTS: 404, OTHER_ROBOTS: "User-agent: *\nDisallow: /new\n"})
    reached = await walks.look()
    assert (reached.fetched.outcome, reached.fetched.url) == (Outcome.ROBOTS_REFUSED, OTHER)
    assert walks.urls == [ROBOTS, PAGE, OTHER_ROBOTS]
    assert walks.keeper.state(B).next_start_at is not None


async def test_credentials_go_to_the_origin_of_the_source_and_nowhere_else():
    """The robots.txt of the other host too: it is asked with the settings of the source that led there."""
    walks = Walks({PAGE: (302, OTHER), OTHER: (302, "https://a.example/back"), **NO_ROBOTS}, headers=SECRET)
    await walks.look()
    told = {request.url: request.is_foreign for request in walks.web.asked}
    assert told == {
        ROBOTS: False,
        PAGE: False,
        OTHER_ROBOTS: True,
        OTHER: True,
        "https://a.example/back": False,
    }


@pytest.mark.parametrize("elsewhere", ["http://a.example/page", "https://a.example:8443/page", OTHER])
async def test_another_scheme_or_port_is_another_origin(elsewhere: str):
    walks = Walks({PAGE: (302, elsewhere), **NO_ROBOTS}, headers=SECRET)
    await walks.look()
    assert walks.web.asked[-1].url == elsewhere
    assert walks.web.asked[-1].is_foreign


async def test_a_robots_redirect_to_another_host_takes_no_credentials_along():
    walks = Walks({ROBOTS: (301, OTHER_ROBOTS), OTHER_ROBOTS: 404}, headers=SECRET)
    await walks.look()
    assert [request.is_foreign for request in walks.web.asked] == [False, True, False]


async def test_only_the_first_request_of_a_look_is_conditional():
    seen = a_look(a_watch(PAGE), 1).watch.seen
    walks = Walks({PAGE: (302, OTHER), **NO_ROBOTS})
    await walks.look(PAGE, seen=seen, etag='"1"')
    assert [request.etag for request in walks.web.asked] == [None, '"1"', None, None]


async def test_a_lane_that_is_shut_ends_the_look_and_says_which_it_was():
    walks = Walks({PAGE: (302, OTHER), **NO_ROBOTS}, known={B: LaneState(closed_until=NOON + HOUR)})
    reached = await walks.look()
    assert (reached.fetched.outcome, reached.shut) == (Outcome.LANE_CLOSED, B)
    assert walks.urls == [ROBOTS, PAGE]


async def test_failures_count_in_the_lane_of_the_host_that_failed():
    walks = Walks({PAGE: (302, OTHER), OTHER: Outcome.TIMEOUT, **NO_ROBOTS})
    await walks.look()
    assert (walks.keeper.state(A).failures, walks.keeper.state(B).failures) == (0, 1)


async def test_a_lane_that_closes_by_it_is_told():
    walks = Walks({ROBOTS: Outcome.CONNECT_ERROR})
    walks.keeper._policies = LanePolicies(default=replace(POLITE, trips_after=1))
    await walks.look()
    assert walks.closed == [A]


async def test_a_fetcher_that_breaks_gives_its_permit_back():
    walks = Walks({**NO_ROBOTS, PAGE: RuntimeError("a bug of ours")})
    with pytest.raises(RuntimeError):
        await walks.look()


async def test_a_look_that_is_cancelled_gives_its_permit_back():
    walks = Walks(NO_ROBOTS)
    task = asyncio.create_task(walks.look())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class FakeBrowser:
    """Shows a page by adding a word to it, and says when it was asked."""

    def __init__(self, walks: Walks, missing: str = "") -> None:
        self.shown: list[tuple[str, object]] = []
        self._walks = walks
        self._missing = missing

    def problem(self) -> str:
        return self._missing

    async def render(
        self, fetched: Fetched, settings: FetchSettings, *, with_screenshot: bool = False
    ) -> Fetched:
        assert self._walks.keeper.state(BROWSER).under_way == 1, "shown without a permit"
        self.shown.append((settings.user_agent, self._walks.clock.now()))
        return replace(fetched, body=fetched.body + b" shown")

    async def close(self) -> None:
        pass


def with_browser(
    answers: dict[str, object], missing: str = "", **known: LaneState
) -> tuple[Walks, FakeBrowser]:
    walks = Walks(
        answers, known=dict.fromkeys([BROWSER], *known.values()) if known else None, user_agent="V/1"
    )
    browser = walks.looker.renderer = FakeBrowser(walks, missing)
    walks.looker.needs_browser = lambda source: True
    return walks, browser


async def test_a_source_that_needs_a_browser_gets_its_page_shown_under_the_browsers_name():
    walks, browser = with_browser({PAGE: "<html><p>x", **NO_ROBOTS})
    reached = await walks.look()
    assert reached.fetched.body == b"<html><p>x shown"
    assert {request.settings.user_agent for request in walks.web.asked} == {"V/1 HeadlessFetcher"}
    assert [agent for agent, _ in browser.shown] == ["V/1 HeadlessFetcher"]
    assert walks.keeper.state(BROWSER).under_way == 0


@pytest.mark.parametrize("answer", ["%PDF-1.7 x", 404, 503, Outcome.TIMEOUT, '{"a": 1}'])
async def test_only_pages_are_shown(answer: object):
    walks, browser = with_browser({PAGE: answer, **NO_ROBOTS})
    await walks.look()
    assert browser.shown == []
    assert walks.keeper.state(BROWSER).under_way == 0


@pytest.mark.parametrize("robots", ["User-agent: *\nDisallow: /page\n", Outcome.DNS_ERROR])
async def test_a_page_that_cannot_be_asked_for_takes_no_turn_of_the_browser(robots: object):
    walks, _ = with_browser({ROBOTS: robots})
    await walks.look()
    assert walks.urls == [ROBOTS]
    assert walks.keeper.state(BROWSER) == LaneState()


async def test_without_a_browser_nothing_is_asked_and_the_way_to_get_one_is_said():
    walks, _ = with_browser({}, missing="chromium is not installed: apt-get install chromium")
    fetched = (await walks.look()).fetched
    assert (fetched.outcome, walks.urls) == (Outcome.NO_BROWSER, [])
    assert "apt-get install chromium" in fetched.detail


async def test_nothing_is_asked_while_the_browser_is_blocked_and_the_look_says_which_lane():
    walks, _ = with_browser({}, blocked=LaneState(blocked_by="maintenance"))
    reached = await walks.look()
    assert (reached.fetched.outcome, reached.shut, walks.urls) == (Outcome.LANE_CLOSED, BROWSER, [])


async def test_pages_are_shown_twelve_seconds_apart_by_default():
    policy = lane_policies(parse({})).of(BROWSER)
    assert (policy.gap_min, policy.per_minute, policy.at_once) == (12 * SECOND, 5, 1)  # 001 section 9.1
    slower = lane_policies(parse({"lanes": {"engine:browser": {"gap_min": "60s"}}})).of(BROWSER)
    assert (slower.gap_min, slower.gap_max, slower.at_once) == (60 * SECOND, 60 * SECOND, 1)


async def test_a_page_that_turned_out_to_be_a_shell_is_shown_with_a_permit_too():
    walks, _ = with_browser({})
    fetched = Fetched(url=PAGE, outcome=Outcome.OK, at=NOON, took=timedelta(0), status=200, body=b"<html>")
    assert (await walks.looker.render(fetched, a_watch(PAGE).source)).body == b"<html> shown"
    walks.looker.renderer = None
    assert (await walks.looker.render(fetched, a_watch(PAGE).source)).outcome is Outcome.NO_BROWSER
