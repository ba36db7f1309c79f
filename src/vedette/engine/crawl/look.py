"""One look: robots, permits, hops.  Every request takes its own permit in the lane of the host it goes to."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from vedette.contracts.copies import quick, replace
from vedette.contracts.fetch import Fetched, FetchRequest, FetchSettings, RobotsRules, RobotsState
from vedette.contracts.lane import TOR, Wait
from vedette.contracts.ports import Clock, Fetcher, Renderer
from vedette.contracts.watch import Job, Watch
from vedette.contracts.words import ContentClass, LaneKey, Outcome, Reason, SourceId
from vedette.core.evidence.secret_guard import without_secrets
from vedette.core.health.remedies import LEADS_TO
from vedette.core.lanes.outcomes import MEANING
from vedette.core.lanes.waiting_requests import WaitingRequest, WaitStep, asks_again_after, next_step
from vedette.core.schedule.due import asks_anew
from vedette.core.urls.canonical import canonical, lane_of, origin_of
from vedette.engine.crawl.memory_room import MemoryBudget
from vedette.engine.crawl.session_cookies import SessionCookies
from vedette.extract import content_class
from vedette.fetch.browser import agent_of
from vedette.fetch.proxy_address import is_socks
from vedette.lanes import LaneKeeper
from vedette.lanes.keeper import BROWSER, ROOM

NO_RENDERER = "the source asks for a browser (requires_headless) and this run has none"
ROBOTS_REDIRECTS = 5  # RFC 9309 section 2.3.1.2
ROBOTS_LIMIT = 512 * 1024  # RFC 9309 section 2.5: at least 500 KiB
CUT = "nothing was heard, and too many others are silent too"
_T = TypeVar("_T")


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Where a look ended and what it passed on the way."""

    fetched: Fetched
    hops: tuple[str, ...] = ()
    is_permanent: bool = False  # every hop said so (301, 308)
    shut: LaneKey | None = None  # the lane that ended the look by being shut
    reasons: tuple[Reason, ...] = ()


class RobotsLookup(Protocol):
    """Remembers and judges robots.txt."""

    def rules(self, origin: str) -> RobotsRules | None: ...
    def keep(self, fetched: Fetched, origin: str, agent: str) -> RobotsRules: ...
    def refuses(self, rules: RobotsRules, url: str, agent: str) -> Reason | None: ...


@dataclass(slots=True, kw_only=True)
class Looker:
    fetcher: Fetcher
    keeper: LaneKeeper
    robots: RobotsLookup
    clock: Clock
    settings_of: Callable[[SourceId], FetchSettings]
    needs_browser: Callable[[SourceId], bool] = lambda source: False
    takes_screenshot: Callable[[SourceId], bool] = lambda source: False
    renderer: Renderer | None = None
    memory: MemoryBudget | None = None  # None: one look at a time, nothing to share
    sessions: dict[SourceId, SessionCookies] = field(default_factory=dict)  # of sources that keep cookies

    async def fetch_robots(self, origin: str, settings: FetchSettings) -> Fetched:
        """Only the robots.txt of an origin, with a permit of its own."""
        walk = _Walk(self, settings, home=origin)
        try:
            return await walk.fetch_robots(origin)
        finally:
            walk.leave()

    async def look(self, job: Job) -> Reached:
        """Ask for the watch's URL and follow where it leads.  The first permit is already taken."""
        try:
            settings = self.settings_of(job.watch.source)
            is_shown = self.needs_browser(job.watch.source)
        except BaseException:  # nothing went out: the lane must not wait for it for ever
            self.keeper.give_back(job.lanes, self.clock.now())
            raise
        if is_shown:
            settings = replace(settings, user_agent=agent_of(settings))
        walk = _Walk(self, settings, home=origin_of(job.watch.url), held=job.lanes)
        if settings.keep_cookies:
            walk.session = self.sessions.setdefault(job.watch.source, SessionCookies())
        if self.memory is not None:
            walk.reserve = functools.partial(self.memory.claim, job.watch.id)
        try:
            reached = (
                await self._by_tor(walk, job.watch, is_shown)
                if is_socks(settings.proxy)
                else (await (self._go_with_browser(walk, job.watch) if is_shown else walk.go(job.watch)))
            )
            return reached if walk.shut is None else replace(reached, shut=walk.shut)
        finally:
            walk.leave()

    async def render(self, fetched: Fetched, source: SourceId) -> Fetched:
        """An answer as scripts make it, with a permit of the browser's lane; `no_browser` when there is none."""
        missing = self._browser_problem()
        if missing:
            return replace(fetched, outcome=Outcome.NO_BROWSER, detail=missing)
        wait = await self.keeper.enter((BROWSER,))
        if wait is not None:
            return _shut(fetched.url, wait, self.clock)
        try:
            return await self._rendered(fetched, self.settings_of(source), source)
        finally:
            self.keeper.give_back((BROWSER,), self.clock.now())

    async def _by_tor(self, walk: _Walk, watch: Watch, is_shown: bool) -> Reached:
        """With a permit of the proxy's own lane, which hears how it went: a proxy that is down rests."""
        wait = await self.keeper.enter((TOR,))
        if wait is not None:
            return Reached(fetched=_shut(watch.url, wait, self.clock), shut=TOR)
        ok: bool | None = None
        self.keeper.sent((TOR,), self.clock.now())
        try:
            reached = await (self._go_with_browser(walk, watch) if is_shown else walk.go(watch))
            ok = MEANING[reached.fetched.outcome].lane_verdict
            return reached
        finally:
            self.keeper.finish((TOR,), ok=ok, now=self.clock.now())

    async def _go_with_browser(self, walk: _Walk, watch: Watch) -> Reached:
        """The browser's turn comes first: nobody is asked for a page that would then have to wait.

        Only robots.txt comes before: what it refuses, and who cannot be reached, takes no turn from others.
        """
        missing = self._browser_problem()
        if missing:
            return Reached(fetched=_without_browser(watch.url, missing, self.clock))
        is_blocked = bool(self.keeper.state(BROWSER).blocked_by)
        refused = None if is_blocked else await walk.robots_refuse(watch.url)
        if refused is not None:
            return Reached(fetched=refused)
        wait = await self.keeper.enter((BROWSER,))
        if wait is not None:
            # Who only waited too long stands in line again; a lane that is blocked says so in the ledger.
            shut = BROWSER if wait.reason.code == "lane_blocked" else None
            return Reached(fetched=_shut(watch.url, wait, self.clock), shut=shut)
        try:
            reached = await walk.go(watch)
            if not _is_page(reached.fetched):
                return reached
            shown = await self._rendered(reached.fetched, walk.settings, watch.source)
            return replace(reached, fetched=shown)
        finally:
            self.keeper.give_back((BROWSER,), self.clock.now())

    async def _rendered(self, fetched: Fetched, settings: FetchSettings, source: SourceId) -> Fetched:
        assert self.renderer is not None  # noqa: S101  whoever has a permit asked for it
        self.keeper.sent((BROWSER,), self.clock.now())
        with_screenshot = self.takes_screenshot(source)
        shown = await self.renderer.render(fetched, settings, with_screenshot=with_screenshot)
        return without_secrets(shown, settings)

    def _browser_problem(self) -> str:
        return NO_RENDERER if self.renderer is None else self.renderer.problem()


class Held:
    """The permit of one request, and what happens to it while nobody answers."""

    def __init__(self, keeper: LaneKeeper, clock: Clock, lanes: tuple[LaneKey, ...]) -> None:
        self.lanes = lanes
        self.is_sent = False
        self.is_heard = False
        self.waited = clock.stopwatch()  # a stepped world never waits
        self._keeper = keeper
        self._clock = clock
        self._is_doubtful = keeper.is_doubtful(lanes[0])
        self._is_new = keeper.is_new(lanes[0])
        self._is_cut = False
        self._task: asyncio.Task[object] | None = None

    async def within(self, asking: Awaitable[_T]) -> _T | None:
        """What the request gives; None: it was cut."""
        task = self._task = asyncio.current_task()
        assert task is not None  # noqa: S101  whoever looks is a task
        cancels = task.cancelling()
        self._timer = self._later(0.0)
        try:
            return await asking
        except asyncio.CancelledError:
            if self._is_cut and task.uncancel() <= cancels:
                return None
            raise
        finally:
            self._timer.cancel()
            self._task = None

    def _later(self, waited_s: float) -> asyncio.TimerHandle:
        after = asks_again_after(waited_s, is_doubtful=self._is_doubtful)
        return asyncio.get_running_loop().call_later(after, self._look)

    def _look(self) -> None:
        one = WaitingRequest(
            waited_s=self.waited().total_seconds(),
            is_heard=self.is_heard,
            is_doubtful=self._is_doubtful,
            is_new=self._is_new,
            is_aside=ROOM in self.lanes,
        )
        match next_step(one, crowd=self._keeper.aside, room=self._keeper.room):
            case WaitStep.ASIDE:
                self.lanes = self._keeper.step_aside(self.lanes, self._clock.now())
            case WaitStep.CUT if self._task is not None:
                self._is_cut = True
                self._task.cancel()
                return
        self._timer = self._later(one.waited_s)


class _Walk:
    """The state of one look: which permit it holds."""

    def __init__(
        self, looker: Looker, settings: FetchSettings, *, home: str, held: tuple[LaneKey, ...] | None = None
    ) -> None:
        self._of = looker
        self.settings = settings
        self._home = home  # the origin that the settings are for: credentials go nowhere else
        self._held = held
        self._permit: Held | None = None  # of the last request
        self.shut: LaneKey | None = None
        self.reserve: Callable[[int], Awaitable[bool]] | None = None
        self.session: SessionCookies | None = None
        self._posts = settings.post is not None
        self.robots_state = RobotsState.UNKNOWN  # of the last address

    async def go(self, watch: Watch) -> Reached:
        url, is_permanent = watch.url, True
        hops: tuple[str, ...] = ()
        asked: set[tuple[str, str]] = set()
        cookies = self._cookies(url)
        while True:
            refused = await self.robots_refuse(url)
            if refused is not None:
                return Reached(fetched=_led_to(refused, hops), hops=hops)
            fetched = replace(
                await self._request(watch, url, is_first=not hops), robots_state=self.robots_state
            )
            target = fetched.redirect_to
            if target is None:
                fetched = _led_to(fetched, hops)
                return Reached(fetched=fetched, hops=hops, is_permanent=bool(hops) and is_permanent)
            is_permanent = is_permanent and fetched.status in (301, 308)
            # Only these repeat the request (RFC 9110), and never to another origin.
            self._posts = self._posts and fetched.status in (307, 308) and origin_of(target) == self._home
            hops, asked = (*hops, url), {*asked, (url, cookies)}
            cookies = self._cookies(target)
            is_loop = (target, cookies) in asked  # a site that sets a cookie first may send back to itself
            if len(hops) > self.settings.redirects or is_loop:
                why = _endless(fetched, self.settings, is_loop=is_loop)
                failed = replace(
                    fetched, outcome=Outcome.REDIRECT_ERROR, redirect_to=None, detail=f"redirect {why}"
                )
                return Reached(fetched=failed, hops=hops)
            url = target

    def leave(self) -> None:
        """A look that ends while it holds a permit gives it back."""
        held, self._held = self._held, None
        if held is not None and self._permit is not None and self._permit.is_sent:
            self._of.keeper.finish(held, ok=None, now=self._of.clock.now())
        elif held is not None:
            self._of.keeper.give_back(held, self._of.clock.now())

    async def _request(self, watch: Watch, url: str, *, is_first: bool) -> Fetched:
        is_foreign, posts = origin_of(url) != self._home, self._posts
        is_conditional = is_first and may_be_conditional(watch) and not posts
        request = FetchRequest(
            url=url,
            settings=self.settings,
            etag=watch.etag if is_conditional else None,
            last_modified=watch.last_modified if is_conditional else None,
            is_foreign=is_foreign,
            on_sent=self._on_sent,
            on_heard=self._on_heard,
            reserve=self.reserve,
            post=self.settings.post if posts else None,
            post_type=self.settings.post_type,
            cookies=self._cookies(url),
            is_fresh=watch.pending is not None,
        )
        fetched = await self._ask(request)
        if self.session is not None and not is_foreign:
            self.session.take(fetched)
        return without_secrets(fetched, self.settings)

    def _cookies(self, url: str) -> str:
        """What a request to it carries of the cookies that its site set."""
        is_foreign = origin_of(url) != self._home
        return "" if is_foreign or self.session is None else self.session.header(url, self.settings)

    async def _ask(self, request: FetchRequest) -> Fetched:
        """One request with a permit of its own."""
        of, host = self._of, lane_of(request.url)
        if self._held is None or self._held[0] != host:
            self.leave()
            lanes = of.keeper.lanes_to(host)
            wait = await of.keeper.enter(lanes)
            if wait is not None:
                self.shut = host
                return _shut(request.url, wait, of.clock)
            self._held = lanes
        permit = self._permit = Held(of.keeper, of.clock, self._held)
        fetched = await self._fetch(request, permit)
        held, self._held = permit.lanes, None
        if not permit.is_sent:
            of.keeper.sent(held, fetched.at + fetched.sent_after)
        now = of.clock.now()
        if not permit.is_heard:
            of.keeper.heard(held, now)
        ok = MEANING[fetched.outcome].lane_verdict
        of.keeper.finish(held, ok=ok, now=now, retry_after=fetched.retry_after)
        return fetched

    async def _fetch(self, request: FetchRequest, permit: Held) -> Fetched:
        """Leaves in `_held` the lanes that the request holds at its end."""
        at = self._of.clock.now()
        try:
            fetched = await permit.within(self._of.fetcher.fetch(request))
        finally:
            self._held = permit.lanes
        if fetched is not None:
            return fetched
        spent = permit.waited()
        return Fetched(
            url=request.url, outcome=Outcome.TIMEOUT, at=at, took=spent, sent_after=spent, detail=CUT
        )

    def _on_sent(self) -> None:
        if (permit := self._permit) is not None:
            permit.is_sent = True
            self._of.keeper.going_out(permit.lanes, self._of.clock.now())

    def _on_heard(self) -> None:
        if (permit := self._permit) is not None:
            permit.is_heard = True
            self._of.keeper.heard(permit.lanes, self._of.clock.now())

    async def robots_refuse(self, url: str) -> Fetched | None:
        """Not None: what the look ends with, because robots.txt forbids it or cannot be reached."""
        if not self.settings.respect_robots:
            self.robots_state = RobotsState.IGNORED
            return None
        self.robots_state = RobotsState.UNKNOWN
        of, origin, agent = self._of, origin_of(url), self.settings.robots_agent
        rules = of.robots.rules(origin)
        fetched = None
        if rules is None:
            fetched = await self.fetch_robots(origin)
            if fetched.outcome is Outcome.LANE_CLOSED:
                return replace(fetched, url=url)
            rules = of.robots.keep(fetched, origin, agent)
        if rules.verdict == "deny_all":
            return _unreachable(url, rules, fetched, of.clock.now())
        of.keeper.crawl_delay(lane_of(url), rules.crawl_delay)
        reason = of.robots.refuses(rules, url, agent)
        if reason is None:
            self.robots_state = RobotsState.ALLOWED
            return None
        return Fetched(
            url=url,
            outcome=Outcome.ROBOTS_REFUSED,
            at=of.clock.now(),
            took=timedelta(0),
            detail=reason.note or reason.code,
            robots_state=RobotsState.FORBIDDEN,
        )

    async def fetch_robots(self, origin: str) -> Fetched:
        url = canonical(origin + "/robots.txt") or origin
        for _ in range(ROBOTS_REDIRECTS + 1):
            request = FetchRequest(
                url=url,
                settings=self.settings,
                accept="text/plain,*/*;q=0.5",
                body_limit=ROBOTS_LIMIT,
                is_foreign=origin_of(url) != self._home,
                on_sent=self._on_sent,
                on_heard=self._on_heard,
                reserve=self.reserve,
            )
            fetched = without_secrets(await self._ask(request), self.settings)
            if fetched.redirect_to is None:
                return fetched
            url = fetched.redirect_to
        return replace(
            fetched, outcome=Outcome.GONE, redirect_to=None, detail="robots.txt redirects without end"
        )


def _unreachable(url: str, rules: RobotsRules, fetched: Fetched | None, now: datetime) -> Fetched:
    """A robots.txt that cannot be had forbids all for now (RFC 9309), and says nothing of what it allows.

    So the look ends as the request for it did, and is made again when robots.txt is: minutes, not days.
    None: it failed at an earlier look, and is not asked again so soon.
    """
    wait = None if rules.status is None else rules.expires_at - now
    if fetched is None:
        words = f"robots.txt: status {rules.status}, when it was asked last"
        failed = Fetched(url=url, outcome=rules.outcome, at=now, took=timedelta(0), detail=words)
    else:
        is_of_host = fetched.outcome is Outcome.ADDRESS_REFUSED and origin_of(fetched.url) == rules.origin
        words = f"{'' if is_of_host else 'robots.txt: '}{fetched.detail or fetched.outcome.value}"
        failed = replace(fetched, url=url, detail=words, status=None, headers=(), body=b"", wire=b"")
    meaning = MEANING[failed.outcome]
    if not (meaning.keeps_schedule or meaning.is_refusal):  # as a 511: of a page it would mean a long rest
        failed = replace(failed, outcome=Outcome.SERVER_ERROR)
    later = max(filter(None, (wait, failed.retry_after)), default=None)
    return replace(failed, retry_after=later, robots_state=RobotsState.UNREACHABLE)


def _led_to(fetched: Fetched, hops: tuple[str, ...]) -> Fetched:
    """An address that was refused after a redirect is not the one that the operator chose: it is named."""
    if not hops or fetched.outcome is not Outcome.ADDRESS_REFUSED:
        return fetched
    return replace(fetched, detail=f"{LEADS_TO}{fetched.url}: {fetched.detail}")


def _endless(fetched: Fetched, settings: FetchSettings, *, is_loop: bool) -> str:
    if not is_loop:
        return f"passed {settings.redirects} hops"
    sets_cookie = any(name.lower() == "set-cookie" for name, _ in fetched.headers)
    return f"comes back to itself{' after it set a cookie' if sets_cookie else ''}"


def _is_page(fetched: Fetched) -> bool:
    """Only what a browser would show as a page: not a PDF, not an error, not "not modified"."""
    kind = content_class(fetched.body, url=fetched.url, content_type=fetched.content_type)
    return fetched.outcome is Outcome.OK and kind is ContentClass.HTML


def _without_browser(url: str, missing: str, clock: Clock) -> Fetched:
    """Fetched plainly, such a page would show an empty frame, and its absence of text would be kept as what it says."""
    return Fetched(url=url, outcome=Outcome.NO_BROWSER, at=clock.now(), took=timedelta(0), detail=missing)


def _shut(url: str, wait: Wait, clock: Clock) -> Fetched:
    words = f"{wait.reason.code}{f' until {wait.until.isoformat()}' if wait.until else ''}"
    return Fetched(url=url, outcome=Outcome.LANE_CLOSED, at=clock.now(), took=timedelta(0), detail=words)


def may_be_conditional(watch: Watch) -> bool:
    """A second look must see for itself, and so must one look in so many: the validator could be what is wrong."""
    is_known = watch.seen is not None and watch.pending is None
    return is_known and not asks_anew(watch.id, watch.scan_count, watch.interval)
