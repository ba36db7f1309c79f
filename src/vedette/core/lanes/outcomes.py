"""What an outcome means for the retry, the lane, the source and the next look.  One table for all stages.

Transport failures count against the lane, content failures against the source (docs/adr/README.md).
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from vedette.contracts.errors import NO_MORE_FILES
from vedette.contracts.words import Outcome, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """One row: what we do after a look that ended so."""

    retry: bool = False  # try again soon, up to the attempts of the retry rule
    counts_against_lane: bool = False
    counts_against_source: bool = False
    has_content: bool = False  # a body came that may be compared with what was seen before
    keeps_schedule: bool = True  # False: look again at the long interval
    is_refusal: bool = False  # we refused; the far end did nothing wrong
    is_ours: bool = False  # this machine lacked something: tried again, and never parked
    is_look: bool = True  # False: nothing was asked; no attempt is used up and the due time stays
    answered: bool = False  # the far end answered as a healthy one does
    words: str = ""  # for people

    @property
    def lane_verdict(self) -> bool | None:
        """Healthy, failed, or nothing to say: the `ok` of `lane.finished`."""
        if self.counts_against_lane:
            return False
        return True if self.answered else None


def _transport(words: str, *, retry: bool = True) -> Meaning:
    return Meaning(retry=retry, counts_against_lane=True, words=words)


def _content(words: str, *, retry: bool = False, keeps_schedule: bool = True) -> Meaning:
    return Meaning(
        retry=retry, counts_against_source=True, keeps_schedule=keeps_schedule, answered=True, words=words
    )


def _refusal(words: str, *, answered: bool = False) -> Meaning:
    return Meaning(is_refusal=True, keeps_schedule=False, answered=answered, words=words)


def _no_look(words: str) -> Meaning:
    return Meaning(is_look=False, words=words)


MEANING: Mapping[Outcome, Meaning] = MappingProxyType(
    {
        Outcome.OK: Meaning(has_content=True, answered=True, words="fetched"),
        Outcome.NOT_MODIFIED: Meaning(answered=True, words="the server says it has not changed"),
        Outcome.EMPTY: _content("an answer without a body"),
        Outcome.GONE: _content("the page is gone", keeps_schedule=False),
        Outcome.CLIENT_ERROR: _content("the server refused the request", keeps_schedule=False),
        Outcome.SERVER_ERROR: _transport("the server failed"),
        Outcome.THROTTLED: _transport("the server asked us to slow down"),
        Outcome.TIMEOUT: _transport("no complete answer in time"),
        Outcome.CONNECT_ERROR: _transport("no connection"),
        # Nothing went out, so it says nothing about the host.
        Outcome.NO_SOCKETS: Meaning(retry=True, is_ours=True, words="this machine has no socket left"),
        Outcome.DNS_ERROR: _transport("the host name has no address"),
        # A certificate does not heal within seconds, so it is not tried again at once.
        Outcome.TLS_ERROR: _transport("no trusted connection", retry=False),
        Outcome.PROTOCOL_ERROR: _transport("the answer is not HTTP as we know it"),
        Outcome.DECODE_ERROR: _content("the body cannot be decoded"),
        Outcome.TOO_LARGE: _content("the body is larger than allowed", keeps_schedule=False),
        Outcome.TRUNCATED: _content("the body ended early", retry=True),
        Outcome.REDIRECT_ERROR: _content("redirects lead nowhere", keeps_schedule=False),
        Outcome.ADDRESS_REFUSED: _refusal("the address is not one we connect to"),
        Outcome.SCHEME_REFUSED: _refusal("only http and https are fetched"),
        Outcome.ROBOTS_REFUSED: _refusal("robots.txt does not allow it"),
        Outcome.NO_BROWSER: _refusal("a browser is asked for and there is none"),
        Outcome.TYPE_REFUSED: _refusal("a content type we do not take", answered=True),
        Outcome.PARSE_FAILED: _content("kept, but no text could be made of it"),
        # The fault is on our side: neither lane nor source did anything wrong.
        Outcome.TOOL_MISSING: Meaning(
            keeps_schedule=False, answered=True, words="kept, but a tool to read it is not installed"
        ),
        # A captcha or a ban page is the host's word about us, so the lane hears it too.
        Outcome.BLOCKED_PAGE: Meaning(
            counts_against_lane=True, counts_against_source=True, words="the far end blocks us"
        ),
        Outcome.LOGIN_WALL: _content("a login is asked for", keeps_schedule=False),
        Outcome.SOFT_404: _content("says not found with status 200", keeps_schedule=False),
        # The site may have been rebuilt, or the filter is wrong: the far end answered as a healthy one does.
        Outcome.FILTER_UNMATCHED: Meaning(
            answered=True, words="kept, but the filters of its source leave nothing of it"
        ),
        Outcome.SCREENED: _refusal("refused by the screen before anything was kept", answered=True),
        Outcome.BUDGET_SPENT: _no_look("the run had nothing left to spend"),
        Outcome.LANE_CLOSED: _no_look("the breaker of the lane is open"),
        Outcome.SHED: _no_look("dropped to keep a deadline"),
        Outcome.CANCELLED: _no_look("stopped before it ended"),
        # A key that is refused, or has nothing left to spend, fails every call: its lane closes, nothing is repeated.
        Outcome.AUTH_ERROR: Meaning(
            counts_against_lane=True, keeps_schedule=False, words="the provider does not accept the key"
        ),
        Outcome.QUOTA_SPENT: Meaning(
            counts_against_lane=True, keeps_schedule=False, words="the key has nothing left to spend"
        ),
        Outcome.OVERLOADED: _transport("the provider has no room for anyone"),
        Outcome.REFUSED_CONTENT: _content("the provider will not answer this", keeps_schedule=False),
        Outcome.MALFORMED_ANSWER: _transport("the answer is not in the provider's own format"),
        Outcome.BAD_SETTINGS: Meaning(
            keeps_schedule=False, words="the settings of its source cannot be used"
        ),
        Outcome.BUG: Meaning(keeps_schedule=False, words="our code failed on it"),
    }
)


_NOT_THE_HOST = "the host is not to blame"
# What the system says when this machine, not the host, has nothing left to connect with.
OWN_LACK: Mapping[int, str] = MappingProxyType(
    {
        errno.EMFILE: f"{NO_MORE_FILES}; {_NOT_THE_HOST}",
        errno.ENFILE: f"{NO_MORE_FILES}; {_NOT_THE_HOST}",
        errno.ENOBUFS: f"this machine has no memory left for connections; {_NOT_THE_HOST}",
        errno.ENOMEM: f"this machine has no memory left for connections; {_NOT_THE_HOST}",
        errno.EADDRNOTAVAIL: f"this machine has no free port, or no address of this kind; {_NOT_THE_HOST}",
    }
)

SEEN = frozenset({Outcome.OK, Outcome.NOT_MODIFIED})  # the look showed the page, or that it is as before


def rests(outcome: Outcome, before: Outcome | None) -> bool:
    """True: after a look that ended so, and the one before it, a page waits its long interval.

    One bad answer is no reason where the look before it showed the page: a firewall, a metered wall and a site that is
    being moved say 403, "log in" and "not found" for minutes, and the page is still the one that is promised in hours.
    """
    meaning = MEANING[outcome]
    # A look that failed says nothing of the page: a site that is deployed answers 503, and then 403.
    was_well = before in SEEN or (before is not None and MEANING[before].retry)
    is_first_bad_answer = meaning.answered and not meaning.is_refusal and was_well
    return not (meaning.keeps_schedule or is_first_bad_answer)


def outcome_of_status(status: int, has_retry_after: bool = False) -> Outcome:
    """The outcome of a bare HTTP status, before the body is looked at.

    401, 407 and 511 ask for credentials: login_wall.  403 and 451 refuse us as we are: client_error.  206 is
    a part that we never ask for: truncated.  A redirect that comes this far could not be followed.
    """
    if status == 503 and has_retry_after:
        return Outcome.THROTTLED
    if status > 599:  # RFC 9110 section 15: treated as a 5xx
        return Outcome.SERVER_ERROR
    return _BY_STATUS.get(status) or _BY_CLASS.get(status // 100, Outcome.PROTOCOL_ERROR)


_BY_STATUS: Mapping[int, Outcome] = MappingProxyType(
    {
        204: Outcome.EMPTY,
        205: Outcome.EMPTY,
        206: Outcome.TRUNCATED,
        304: Outcome.NOT_MODIFIED,
        401: Outcome.LOGIN_WALL,
        404: Outcome.GONE,
        407: Outcome.LOGIN_WALL,
        408: Outcome.TIMEOUT,
        410: Outcome.GONE,
        429: Outcome.THROTTLED,
        511: Outcome.LOGIN_WALL,
    }
)
_BY_CLASS: Mapping[int, Outcome] = MappingProxyType(
    {
        2: Outcome.OK,
        3: Outcome.REDIRECT_ERROR,
        4: Outcome.CLIENT_ERROR,
        5: Outcome.SERVER_ERROR,
    }
)


# When a failed look is tried again: full jitter of spec 001/8.2, three attempts in all.

_NOTHING = timedelta(0)
_MAX_DOUBLINGS = 40  # beyond it every delay is the longest one; keeps 2**n small


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryParams:
    attempts: int = 3  # in all, the first included (spec 001/8.2)
    shortest: timedelta = timedelta(seconds=1)  # baseRetryDelayMs, spec 001/11.2
    longest: timedelta = timedelta(seconds=30)  # maxRetryDelayMs
    max_retry_after: timedelta = timedelta(hours=24)


DEFAULT = RetryParams()


@dataclass(frozen=True, slots=True)
class Retry:
    """Not before `at`; the lane may make it later."""

    at: datetime
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Park:
    """No further attempt for this job; the watch is looked at again when it is due."""

    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A look that did not succeed.  `attempt` counts it: the first look is attempt 1."""

    outcome: Outcome
    attempt: int
    retry_after: timedelta | None = None


def next_attempt(
    failure: Failure, *, now: datetime, jitter: float, params: RetryParams = DEFAULT
) -> Retry | Park:
    """Try again, and when; or park.  The far end's Retry-After wins over our own delay."""
    outcome, attempt = failure.outcome, failure.attempt
    if not MEANING[outcome].retry:
        return Park((Reason("no_retry", note=f"{outcome} does not change within minutes"),))
    if attempt >= params.attempts:
        return Park((Reason("attempts_used", attempt, f"{attempt} of {params.attempts}: {outcome}"),))
    if failure.retry_after is not None and failure.retry_after > _NOTHING:
        wait = min(failure.retry_after, params.max_retry_after)
        why = Reason("retry_after", wait.total_seconds(), "the far end named the time")
    else:
        doublings = _MAX_DOUBLINGS if MEANING[outcome].is_ours else attempt - 1  # many lack it at once
        wait = delay(doublings, jitter=jitter, params=params)
        why = Reason("backoff", wait.total_seconds(), f"attempt {attempt} of {params.attempts}: {outcome}")
    return Retry(now + wait, (why,))


def delay(attempt: int, *, jitter: float, params: RetryParams = DEFAULT) -> timedelta:
    """jitter * min(longest, shortest * 2**attempt), attempt from 0."""
    doubled = params.shortest * (1 << max(0, min(attempt, _MAX_DOUBLINGS)))
    return jitter * min(params.longest, doubled)
