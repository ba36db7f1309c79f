"""What was not seen, why, and what to do: line by line while a run goes on, and summed up at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vedette.contracts.jobs import HostResult, Miss, Missed, SentinelResult
from vedette.contracts.words import Outcome
from vedette.core.health.remedies import advice
from vedette.core.lanes.outcomes import MEANING, SEEN
from vedette.core.urls.canonical import host_of, shown
from vedette.report.plain import Line, ago, count, line, plain, quoted, span

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
