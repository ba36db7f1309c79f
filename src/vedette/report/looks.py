"""How looks ended, for people and programs: what a run did not see, and what an ordered look saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from vedette.contracts.change import Change
from vedette.contracts.jobs import HostResult, Miss, Missed, SentinelResult
from vedette.contracts.watch import Visit, Watch
from vedette.contracts.words import Outcome, Risk
from vedette.core.health.remedies import advice
from vedette.core.lanes.outcomes import MEANING, SEEN
from vedette.core.urls.canonical import host_of, shown
from vedette.report.changes import change_json, change_lines
from vedette.report.plain import Line, ago, count, line, plain, quoted, span
from vedette.report.why_not import WhyNotAnswer

ONE_BY_ONE = 3  # pages of one host and reason that are named; the others are counted
GROUPS = 12  # of a summary, told with what to do; of the others each source is named
SOURCES = 100  # addresses of sources that one group, and the rest of a summary, names
DETAIL = 200  # characters


@dataclass(slots=True)
class FailureLines:
    """A line for each look that failed; many of one host and outcome become a count."""

    _told: set[tuple[str, Outcome]] = field(default_factory=set)  # attempts at one page are one line
    _counts: Counter[tuple[str, Outcome]] = field(default_factory=Counter)

    def lines(self, url: str, outcome: Outcome, detail: str) -> list[Line]:
        key = (host_of(url), outcome)
        if outcome in SEEN or (url, outcome) in self._told:
            return []
        self._counts[key] += 1
        number = self._counts[key]
        if number <= ONE_BY_ONE:
            self._told.add((url, outcome))
            return [line(("bad", "not seen"), "  ", quoted(shown(url)), "  ", *_why(outcome, detail))]
        if number == ONE_BY_ONE + 1:
            more = f"more of {key[0]}: {outcome.value}; counted from here on"
            return [line(("bad", "not seen"), "  ", quoted(more))]
        if number % 10 ** (len(str(number)) - 1) == 0 and number % 10 == 0:
            return [line(("bad", "not seen"), "  ", quoted(f"{number} looks at {key[0]}: {outcome.value}"))]
        return []


def summary_lines(missed: Missed, now: datetime) -> list[Line]:
    """What a run did not see, by host and reason; what nobody asked for comes last, in one line."""
    wanted = [miss for miss in missed.misses if not miss.is_dead_link]
    groups = sorted(_groups(wanted).values(), key=lambda group: not any(miss.is_own for miss in group))
    lines: list[Line] = []
    if missed.unseen:
        lines.append(line(("bad", f"not seen: {count(missed.unseen, 'page')}")))
    for group in groups[:GROUPS]:
        lines += _group_lines(group, now)
    lines += _rest_lines([miss for group in groups[GROUPS:] for miss in group])
    links = missed.count - missed.unseen
    if links:
        words = f"{count(links, 'link')} of crawled pages led to nothing, or to pages that are not for us"
        lines.append(line(("dim", f"{words} (vedette list shows their outcomes)")))
    return lines


def _groups(misses: Iterable[Miss]) -> dict[tuple[str, Outcome, str], list[Miss]]:
    groups: dict[tuple[str, Outcome, str], list[Miss]] = {}
    for miss in misses:
        groups.setdefault((host_of(miss.url), miss.outcome, miss.detail), []).append(miss)
    return groups


def _rest_lines(rest: Sequence[Miss]) -> list[Line]:
    """What came after the groups: the address of each source with its reason, and how much else."""
    own = [miss for miss in rest if miss.is_own][:SOURCES]
    lines = [
        line("  ", quoted(shown(miss.url), "mark"), "  ", *_why(miss.outcome, miss.detail)) for miss in own
    ]
    left = sum(miss.count for miss in rest) - len(own)
    if left:
        words = f"  ... and {count(left, 'page')} more; `vedette health` and `vedette list` name them"
        lines.append(line(words))
    return lines


def _group_lines(group: list[Miss], now: datetime) -> list[Line]:
    """The pages, why, when they are tried again, and what to do."""
    own = [miss for miss in group if miss.is_own][:SOURCES]
    others = [miss for miss in group if not miss.is_own][: max(0, ONE_BY_ONE - len(own))]
    first = group[0]
    lines = [line("  ", quoted(shown(miss.url), "mark")) for miss in (*own, *others)]
    left = sum(miss.count for miss in group) - len(lines)
    if left:
        lines.append(line(f"  ... and {count(left, 'page')} more of ", quoted(host_of(first.url))))
    lines.append(line("    why:  ", *_why(first.outcome, first.detail), _again(group, now)))
    remedy = advice(first.outcome, url=first.url, detail=first.detail)
    return [*lines, *([line("    do:   ", quoted(remedy))] if remedy else [])]


def _again(group: Iterable[Miss], now: datetime) -> str:
    """The run is over: what is due by now waits for the next."""
    times = [miss.again_at for miss in group if miss.again_at is not None]
    if not times:
        return ""
    first = min(times)
    is_due = first - now < timedelta(seconds=1)
    return "; tried again at the next run" if is_due else f"; tried again {ago(first, now)}"


def _why(outcome: Outcome, detail: str) -> tuple[tuple[str, str], ...]:
    words = f"{outcome.value}: {MEANING[outcome].words}"
    return (quoted(f"{words} ({detail})" if detail else words, limit=DETAIL),)


# The result of a run for people, and for programs under the names of docs/reference/events.md.

_MS = timedelta(milliseconds=1)
MOST_LINES = 20


def result_json(result: SentinelResult) -> dict[str, object]:
    """SentinelResult."""
    return {
        "success": result.success,
        "endpointsChecked": result.sources_checked,
        "newItemsDiscovered": result.new_items_discovered,
        "errors": list(result.errors),
        "health": {
            "domains": {host: _host_json(one) for host, one in result.hosts.items()},
            "overallHealthy": all(one.is_healthy for one in result.hosts.values()),
        },
        "durationMs": result.took // _MS,
        "retriesTotal": result.retries,
    }


def result_lines(result: SentinelResult) -> list[str]:
    word = "done" if result.success else "failed"
    sick = [host for host, one in result.hosts.items() if not one.is_healthy]
    lines = [
        f"{word} in {span(result.took)}: {count(result.sources_checked, 'source')} checked, "
        f"{result.new_items_discovered} new, {count(len(result.errors), 'error')}, "
        f"{count(result.retries, 'retry', 'retries')}",
        f"hosts: {len(result.hosts) - len(sick)} of {len(result.hosts)} well",
    ]
    shown = [*(f"  {plain(error, 300)}" for error in result.errors[:MOST_LINES])]
    left = len(result.errors) - len(shown)
    return [*lines, *shown, *([f"  ... and {left} more"] if left else [])]


def _host_json(one: HostResult) -> dict[str, object]:
    body: dict[str, object] = {
        "isHealthy": one.is_healthy,
        "successRate": one.success_rate,
        "consecutiveErrors": one.consecutive_errors,
        "isCircuitBroken": one.is_circuit_broken,
    }
    if one.last_success_at is not None:
        body["lastSuccessAt"] = one.last_success_at.isoformat()
    if one.last_error:
        body["lastError"] = one.last_error
    return body


# What an ordered look saw, for people and for programs.

SAW = (Outcome.OK, Outcome.NOT_MODIFIED)


class Saw(StrEnum):
    FIRST = "first"  # kept; there is nothing to compare it with
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    UNCONFIRMED = "unconfirmed"  # it differs, and its second look was not waited for
    FAILED = "failed"
    NOT_SEEN = "not_seen"


IS_SEEN = frozenset((Saw.FIRST, Saw.UNCHANGED, Saw.CHANGED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """One ordered look."""

    watch: Watch
    is_first: bool = False  # nothing of it was kept before
    visit: Visit | None = None  # the last one since the order; None: there was none
    changes: tuple[Change, ...] = ()  # reported since the order
    found: int = 0  # new targets that it listed
    why: WhyNotAnswer | None = None  # why there was no look

    @property
    def saw(self) -> Saw:
        if self.visit is None:
            return Saw.NOT_SEEN
        if self.changes:
            return Saw.CHANGED
        if self.visit.outcome not in SAW:
            return Saw.FAILED
        if self.watch.pending is not None:
            return Saw.UNCONFIRMED
        return Saw.FIRST if self.is_first else Saw.UNCHANGED


def looked_lines(one: Looked) -> list[Line]:
    if one.changes:
        risk: Risk = one.watch.risk
        return [spans for c in one.changes for spans in change_lines(c, url=one.watch.url, risk=risk)]
    style = "" if one.saw in IS_SEEN else "warn"
    head = line((style, f"{_WORDS[one.saw]:<10}"), "  ", quoted(shown(one.watch.url), "mark"), "  ")
    remedy = one.why.remedy if one.why else ""
    rest = [line(("dim", "    "), quoted(remedy, "dim"))] if remedy else []
    return [(*head, quoted(_said(one), limit=400)), *rest]


_WORDS = {
    Saw.FIRST: "first look",
    Saw.UNCHANGED: "unchanged",
    Saw.CHANGED: "changed",
    Saw.UNCONFIRMED: "differs",
    Saw.FAILED: "failed",
    Saw.NOT_SEEN: "not seen",
}


def _said(one: Looked) -> str:
    visit = one.visit
    if visit is None:
        return one.why.sentence if one.why else ""
    if one.saw is Saw.FAILED:
        detail = f" ({visit.detail})" if visit.detail else ""
        return f"{visit.outcome.value}: {MEANING[visit.outcome].words}{detail}"
    if one.saw is Saw.UNCONFIRMED:
        return "its second look was not waited for; the next run makes it"
    said = [] if visit.text_chars is None else [f"{visit.text_chars:,} characters"]
    said += [f"{one.found} new found"] if one.found else []
    return ", ".join(said)


def looked_json(one: Looked) -> dict[str, object]:
    visit, why = one.visit, one.why
    url, risk = one.watch.url, one.watch.risk
    return {
        "url": url,
        "saw": one.saw.value,
        "at": None if visit is None else visit.at,
        "outcome": None if visit is None else visit.outcome.value,
        "status": None if visit is None else visit.status,
        "detail": "" if visit is None else visit.detail,
        "found": one.found,
        "changes": [change_json(c, url=url, risk=risk, decided_at=None, with_diff=True) for c in one.changes],
        "reason": None if why is None else why.code,
        "answer": None if why is None else why.sentence,
        "remedy": None if why is None else why.remedy,
        "due_at": one.watch.due_at,
    }


def summary(looks: Sequence[Looked]) -> str:
    """`3 looked at: 1 changed, 2 unchanged; 1 not seen`."""
    counts = {saw: sum(one.saw is saw for one in looks) for saw in Saw}
    seen = [f"{counts[saw]} {_WORDS[saw]}" for saw in Saw if counts[saw] and saw in IS_SEEN]
    missed = [f"{counts[saw]} {_WORDS[saw]}" for saw in Saw if counts[saw] and saw not in IS_SEEN]
    return "; ".join(", ".join(part) for part in (seen, missed) if part) or "nothing to look at"


def looks_json(looks: Sequence[Looked], ordered_at: datetime) -> dict[str, object]:
    missed = sum(one.saw not in IS_SEEN for one in looks)
    return {
        "ordered_at": ordered_at,
        "looks": [looked_json(one) for one in looks],
        "seen": len(looks) - missed,
        "not_seen": missed,
    }
