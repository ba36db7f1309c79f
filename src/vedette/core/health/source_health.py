"""The health of sources: flags, alerts grouped by what is broken, and the judgement of one look at a source.

A host that is down is one finding, however many sources and watches it has.  A source of a host that is up is a
finding of its own.  While the host is in trouble its sources say nothing: their failures are the host's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from vedette.contracts.alerts import AlertKind, Finding, HealthFacts, Sign, SourceHealth
from vedette.contracts.source import SELECTOR_UNMATCHED, ListerKind, Listing, Source
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING, SEEN
from vedette.core.urls.canonical import watch_id

Look = tuple[datetime, Outcome, str]  # when, how it ended, and the detail


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthParams:
    sla: timedelta = timedelta(hours=24)  # spec 001/10.3
    errors: int = 3  # spec 001/10.3
    slack: float = 1.5  # of the interval, where the schedule looks less often than the SLA


DEFAULT = HealthParams()


def health_of(facts: HealthFacts, *, now: datetime, params: HealthParams = DEFAULT) -> SourceHealth:
    """One source, now.

    A source that the schedule looks at once a week is not late after a day, as long as its looks show it.  Once one
    fails the SLA is as configured: the long interval of a failure must not excuse it.
    """
    errors = _errors_in_a_row(facts.looks)
    since = now - (facts.last_success_at or facts.created_at)
    _, last_outcome, last_detail = facts.looks[0] if facts.looks else (now, None, "")
    is_seen = last_outcome is not None and is_success(last_outcome)
    sla = max(params.sla, params.slack * facts.interval) if is_seen else params.sla
    return SourceHealth(
        id=facts.source.id,
        host=facts.host,
        name=facts.source.name,
        tier=facts.source.tier,
        last_success_at=facts.last_success_at,
        consecutive_errors=len(errors),
        own_errors=_own(errors, facts.others_answered_at),
        last_error="" if is_seen or last_outcome is None else _words(last_outcome, last_detail),
        is_sla_breached=since > sla,
        has_consecutive_errors=len(errors) >= params.errors,
        since_success=None if facts.last_success_at is None else since,
        sla=sla,
        pace=facts.interval,
        is_breaker_open=facts.is_breaker_open,
        lane_failures=0 if facts.lane is None else facts.lane.failures,
        is_unseen=_is_unseen(facts, last_outcome),
        last_outcome=last_outcome,
        capped=facts.capped,
        warning=_warning(facts),
        pages_lost=facts.pages_lost,
        url=facts.source.url,
    )


def is_healthy(health: SourceHealth) -> bool:
    in_trouble = health.is_sla_breached or health.has_consecutive_errors or health.is_breaker_open
    in_doubt = health.is_unseen or health.capped or health.warning or health.pages_lost is not None
    return not (in_trouble or in_doubt)


def is_only_late(health: SourceHealth) -> bool:
    """Its last look was well; nobody has looked since."""
    return (
        health.is_sla_breached
        and not health.last_error
        and is_healthy(replace(health, is_sla_breached=False))
    )


def _warning(facts: HealthFacts) -> str:
    """What the last reading of its listing said; a page that was not modified is as it was then."""
    read = next((look for look in facts.looks if look[1] is not Outcome.NOT_MODIFIED), None)
    if read is None or read[1] is not Outcome.OK or not read[2].startswith(SELECTOR_UNMATCHED):
        return ""
    return read[2].partition(": ")[2]


def findings(
    healths: Iterable[SourceHealth], raised: Iterable[str] = (), *, params: HealthParams = DEFAULT
) -> list[Finding]:
    """Every host, then every source whose host is not in trouble.  `raised`: subjects whose alarm stands."""
    by_host: dict[str, list[SourceHealth]] = {}
    for health in healths:
        by_host.setdefault(health.host, []).append(health)
    standing = set(raised)
    found: list[Finding] = []
    for host, members in by_host.items():
        of_host = _host_finding(host, members, params)
        is_quiet = of_host.sign is Sign.GOOD and of_host.subject not in standing
        found += [of_host, *(_source_finding(one, params, is_quiet) for one in members)]
    return found


def _host_finding(host: str, members: Sequence[SourceHealth], params: HealthParams) -> Finding:
    checks = (
        (AlertKind.CIRCUIT_BREAKER_OPEN, any(one.is_breaker_open for one in members)),
        (AlertKind.ENDPOINT_SLA_BREACH, all(one.is_sla_breached for one in members)),
        (
            AlertKind.ENDPOINT_CONSECUTIVE_ERRORS,
            any(one.lane_failures >= params.errors for one in members),
        ),
    )
    kinds = tuple(kind for kind, is_so in checks if is_so)
    return Finding(
        subject=f"host:{host}",
        sign=Sign.BAD if kinds else Sign.GOOD,
        kinds=kinds,
        risk=max(one.tier for one in members),
        sources=tuple(one.id for one in members),
        pace=min(one.pace for one in members),
        detail=next((one.last_error for one in members if one.last_error), ""),
    )


def _source_finding(health: SourceHealth, params: HealthParams, is_host_quiet: bool) -> Finding:
    checks = (
        (AlertKind.ENDPOINT_SLA_BREACH, health.is_sla_breached),
        (AlertKind.ENDPOINT_CONSECUTIVE_ERRORS, health.own_errors >= params.errors),
        (AlertKind.DISCOVERY_CAPPED, health.capped > 0),
    )
    kinds = tuple(kind for kind, is_so in checks if is_so) if is_host_quiet else ()
    sign = (Sign.BAD if kinds else Sign.GOOD) if is_host_quiet else Sign.UNKNOWN
    return Finding(
        subject=f"source:{health.id}",
        sign=sign,
        kinds=kinds,
        risk=health.tier,
        sources=(health.id,),
        pace=health.pace,
        detail=health.last_error
        or (f"{health.capped} addresses left out by a limit" if health.capped else ""),
    )


def _is_unseen(facts: HealthFacts, last: Outcome | None) -> bool:
    """Its last look did not show it: it never was seen, or is left alone for a long time."""
    if last is None or is_success(last):
        return False
    return facts.last_success_at is None or not MEANING[last].keeps_schedule


def failing_since(looks: Sequence[Look]) -> tuple[datetime, datetime] | None:
    """From the oldest to the newest of the failures in a row; None: there are none."""
    times = [at for at, _, _ in _until_good(looks)]
    return (times[-1], times[0]) if times else None


def _own(errors: Sequence[Look], others_answered_at: datetime | None) -> int:
    """Errors that are the source's and not the host's.

    Content errors are.  Transport errors are the host's, unless it answered others between the first of them and
    the last: then it is this page that fails.
    """
    if errors and others_answered_at is not None and errors[-1][0] < others_answered_at < errors[0][0]:
        return len(errors)
    return sum(MEANING[outcome].counts_against_source for _, outcome, _ in errors)


def _errors_in_a_row(looks: Iterable[Look]) -> list[Look]:
    """Newest first, until the last good look.  What we refused ourselves is neither."""
    return list(_until_good(looks))


def _until_good(looks: Iterable[Look]) -> Iterator[Look]:
    for look in looks:
        outcome = look[1]
        if is_success(outcome):
            return
        meaning = MEANING[outcome]
        if meaning.counts_against_lane or meaning.counts_against_source:
            yield look


def is_success(outcome: Outcome) -> bool:
    return outcome in SEEN


def _words(outcome: Outcome, detail: str) -> str:
    return f"{outcome.value}: {detail}" if detail else outcome.value


# One look at a source, judged: as configured, moved, gone, another kind of listing, or nothing listed.


class SourceFinding(StrEnum):
    FINE = "fine"
    MOVED = "moved"  # it answers at another address
    GONE = "gone"
    KIND_CHANGED = "kind_changed"  # the listing is no longer of the kind that the lister reads
    NOTHING_LISTED = "nothing_listed"
    REFUSED = "refused"  # by robots.txt, by us, or by the server
    UNREACHABLE = "unreachable"
    NOT_LOOKED = "not_looked"  # it needs a browser, or its lane is closed


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLook:
    """One look at a source's own address."""

    source: Source
    outcome: Outcome
    answered: str  # the address that answered last
    is_permanent: bool = False  # every hop on the way there said so
    status: int | None = None
    detail: str = ""
    listing: Listing = Listing()
    looks_like: ListerKind | None = None  # what `auto` would make of it

    @property
    def items(self) -> int:
        return len(self.listing.sightings) + len(self.listing.follow)

    @property
    def has_moved(self) -> bool:
        return watch_id(self.answered) != watch_id(self.source.url)


@dataclass(frozen=True, slots=True)
class Checked:
    """What is to be said about a source, and what to do."""

    look: SourceLook
    finding: SourceFinding
    words: str


@dataclass(frozen=True, slots=True)
class _Row:
    finding: SourceFinding
    applies: Callable[[SourceLook], bool]
    words: Callable[[SourceLook], str]


LOST = frozenset({Outcome.GONE, Outcome.SOFT_404, Outcome.REDIRECT_ERROR})
NETWORK = frozenset({Outcome.DNS_ERROR, Outcome.CONNECT_ERROR, Outcome.TIMEOUT})
# Listings that are content themselves: an act without amendments and a list of rates name nothing, and are fine.
CONTENT = frozenset({ListerKind.PAGE, ListerKind.HNB, ListerKind.NN, ListerKind.EURLEX})


def judge_source(look: SourceLook) -> Checked:
    """The first row that applies."""
    row = next(row for row in _ROWS if row.applies(look))
    return Checked(look, row.finding, row.words(look))


def is_offline(checked: Iterable[Checked]) -> bool:
    """True where several hosts were asked and none could be reached: the network of this machine is down."""
    asked = [one.look for one in checked if one.finding is not SourceFinding.NOT_LOOKED]
    hosts = {look.source.url.partition("//")[2].partition("/")[0] for look in asked}
    return len(hosts) > 1 and all(look.outcome in NETWORK for look in asked)


def _moved(look: SourceLook) -> str:
    way = "for good" if look.is_permanent else "for now"
    listed = "" if look.source.lister in CONTENT else f"; {look.items} listed there"
    return f"redirects {way} to {look.answered}{listed}"


def _kind_changed(look: SourceLook) -> bool:
    is_other = look.looks_like not in (None, look.source.lister, ListerKind.PAGE)
    return bool(look.listing.problem) and is_other


def _ended(look: SourceLook) -> str:
    words = MEANING[look.outcome].words
    return f"{words}: {look.detail}" if look.detail else words


_ROWS: tuple[_Row, ...] = (
    _Row(SourceFinding.GONE, lambda look: look.outcome in LOST, _ended),
    _Row(
        SourceFinding.NOT_LOOKED,
        lambda look: look.outcome is Outcome.NO_BROWSER or not MEANING[look.outcome].is_look,
        _ended,
    ),
    _Row(SourceFinding.UNREACHABLE, lambda look: MEANING[look.outcome].counts_against_lane, _ended),
    _Row(SourceFinding.REFUSED, lambda look: not MEANING[look.outcome].has_content, _ended),
    _Row(
        SourceFinding.KIND_CHANGED,
        _kind_changed,
        lambda look: f"looks like {look.looks_like}, is read as {look.source.lister}: {look.listing.problem}",
    ),
    _Row(
        SourceFinding.NOTHING_LISTED,
        lambda look: bool(look.listing.problem) or not (look.items or look.source.lister in CONTENT),
        lambda look: look.listing.problem or "the listing is empty",
    ),
    _Row(SourceFinding.MOVED, lambda look: look.has_moved, _moved),
    _Row(
        SourceFinding.FINE, lambda look: True, lambda look: f"{look.items} listed" if look.items else "there"
    ),
)
