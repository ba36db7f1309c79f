"""The recorded decision about a target, for people and for programs.  Nothing is computed again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from vedette.contracts.change import Noise, Presence, Template
from vedette.contracts.documents import Artifact
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ActMetadata, Source
from vedette.contracts.verdict import Verdict, VerdictWord
from vedette.contracts.watch import Decision, Visit, Watch
from vedette.contracts.words import ChangeId, Outcome, Reason, VisitId
from vedette.core.change.page_cache import WAITS
from vedette.core.lanes.outcomes import MEANING
from vedette.core.schedule.ewma import describe_velocity
from vedette.core.urls.canonical import shown
from vedette.report.beliefs import Believed, believed_json, believed_lines
from vedette.report.changes import reason_words
from vedette.report.lanes import SOON, AskedInterval, interval_json, interval_words, lane_json, lane_words
from vedette.report.plain import Line, count, dump, line, moment, plain, quoted, span, when
from vedette.report.verdicts import (
    act_json,
    artifact_json,
    artifact_words,
    changed_words,
    verdict_json,
    verdict_words,
    visit_json,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchExplanation:
    """What is on record about one target."""

    watch: Watch
    decided_at: datetime | None = None  # of the ledger row below
    decisions: tuple[Decision, ...] = ()  # of the last look
    visits: tuple[Visit, ...] = ()  # newest first
    changes: Mapping[VisitId, tuple[ChangeId, int]] = field(
        default_factory=dict
    )  # by the look that saw it first
    source: Source | None = None
    lane: LaneState | None = None
    believed: Believed | None = None  # by the learned policy
    texts: tuple[Artifact, ...] = ()  # made of the document as it is known now
    verdict: Verdict | None = None  # about what it says now
    similar: tuple[str, float] | None = (
        None  # URL of another target that said nearly the same, and how nearly
    )
    is_open: bool = False  # it waits to be chosen by a hunt
    interval: AskedInterval | None = None  # what the operator asked for
    act: ActMetadata | None = None  # of the gazette: what it says of it
    merged_from: str | None = None  # the address that was asked about: one target with this one since


def explanation_json(said: WatchExplanation, now: datetime) -> dict[str, object]:
    watch = said.watch
    return {
        "url": watch.url,
        "title": watch.title,
        "source": watch.source,
        "outcome": _outcome_so_far(said, now),
        "node_type": watch.node_type.value,
        "role": watch.node_role.value if watch.node_role else None,
        "risk": watch.risk.name,
        "velocity": watch.velocity,
        "velocity_word": describe_velocity(watch.velocity),
        "scan_count": watch.scan_count,
        "interval": watch.interval,
        "asked": _or_none(interval_json, said.interval),
        "due_at": watch.due_at,
        "is_open": said.is_open,
        "last_visit_at": watch.last_visit_at,
        "last_changed_at": watch.last_changed_at,
        "attempt": watch.attempt,
        "pending_change": watch.pending,
        "is_gone": watch.is_gone,
        "decided_at": said.decided_at,
        "reasons": [
            {"action": d.action, **_reason_json(reason)} for d in said.decisions for reason in d.reasons
        ]
        or [{"action": "wait", **_reason_json(reason)} for reason in _held_by(said, now)],
        "decisions": [_decision_json(decision) for decision in said.decisions],
        "noise": noise_json(watch.noise),
        "belief": _or_none(believed_json, said.believed),
        "evidence": watch.seen.evidence if watch.seen else None,
        "act": _or_none(act_json, said.act),
        "artifacts": [artifact_json(made) for made in said.texts],
        "verdict": _or_none(verdict_json, said.verdict),
        "similar": None if said.similar is None else dict(zip(("url", "share"), said.similar, strict=True)),
        "merged_from": said.merged_from,
        "lane": None if said.lane is None else lane_json(watch.lane, said.lane, now),
        "visits": [visit_json(visit, said.changes) for visit in said.visits],
    }


def _or_none(make: Callable[[T], object], value: T | None) -> object:
    return None if value is None else make(value)


def _decision_json(decision: Decision) -> dict[str, object]:
    return {
        "action": decision.action,
        "output": decision.output,
        "points": total(decision.reasons),
        "reasons": [_reason_json(reason) for reason in decision.reasons],
        "inputs": decision.inputs,
    }


def _outcome_so_far(said: WatchExplanation, now: datetime) -> str | None:
    """How the last look ended; before the first one, `lane_closed` where the lane is what keeps it waiting."""
    if said.watch.last_outcome is not None:
        return said.watch.last_outcome.value
    return Outcome.LANE_CLOSED.value if _held_by(said, now) else None


def _held_by(said: WatchExplanation, now: datetime) -> tuple[Reason, ...]:
    """What the lane waits for, when that is more than the gap between two requests."""
    state, lane = said.lane, said.watch.lane
    if state is None:
        return ()
    if state.blocked_by:
        return (Reason("lane_blocked", note=f"{lane}: {state.blocked_by}"),)
    waits = (
        ("lane_closed", state.closed_until, f"{lane}: {count(state.failures, 'failure')} in a row"),
        ("lane_held", state.held_until, f"{lane}: the far end named the time (Retry-After)"),
        ("lane_gap", state.next_start_at, f"{lane}: {lane_words(state, now)}"),
    )
    return tuple(
        Reason(code, (until - now).total_seconds(), note)
        for code, until, note in waits
        if until is not None and until > now + SOON
    )


def explanation_lines(said: WatchExplanation, now: datetime) -> list[Line]:
    watch = said.watch
    role = f", {watch.node_role.value}" if watch.node_role else ""
    changed = f"last changed {when(watch.last_changed_at, now)}"
    looks = count(watch.scan_count, "look")
    lines = [
        line(
            quoted(shown(watch.url), "mark"),
            *(("  ", quoted(watch.title, "dim", 100)) if watch.title else ()),
        ),
        _fact("risk", (watch.risk.name, watch.risk.name), f"  {watch.node_type.value}{role}"),
        _fact("source", quoted(said.source.name if said.source else watch.source), _lister(watch)),
        *_own_words(said.source, now),
        _fact(
            "velocity",
            f"{watch.velocity:.3f} ({describe_velocity(watch.velocity)}), {looks}, {changed}",
        ),
        _fact("interval", _interval(said)),
        _fact("due", _due(said, now)),
        _fact("outcome", *_outcome(watch)),
    ]
    if said.lane is not None:
        lines.append(_fact("lane", quoted(f"{watch.lane}: {lane_words(said.lane, now)}")))
    if said.act is not None:
        lines += act_lines(said.act)
    lines += [_fact("text", f"{artifact_words(made)}, in ", quoted(made.path)) for made in said.texts]
    if said.verdict is not None:
        lines += _verdict_lines(said.verdict)
    if said.similar is not None:
        lines.append(_fact("similar", f"{said.similar[1]:.0%} as ", quoted(shown(said.similar[0]))))
    if said.merged_from is not None:
        lines.append(
            _fact("merged", quoted(shown(said.merged_from)), " showed the same text and is looked at here")
        )
    lines += noise_lines(watch.noise)
    if said.believed is not None:
        lines += believed_lines(said.believed)
    lines += _decision_lines(said)
    return [*lines, *_visit_lines(said)]


def act_lines(act: ActMetadata) -> list[Line]:
    """Title, dates, who passed it, what it is about and based on, and its relations to other acts."""
    dated = [f"{words} {act.first(name)}" for name, words in _DATED if act.first(name)]
    head = " ".join(filter(None, (_named(act.first("type_document")), act.first("number"))))
    lines = [_fact("act", quoted(act.first("title") or act.eli, "head", 160))]
    lines += [_fact("", quoted(", ".join(filter(None, (head, *dated)))))] if head or dated else []
    told = {"title", "type_document", "number", *(name for name, _ in _DATED)}
    for name, values in act.said:
        if name not in told:
            more = f"; {len(values) - MOST_VALUES} more, see --json" if len(values) > MOST_VALUES else ""
            named = "; ".join(_named(value) for value in values[:MOST_VALUES])
            lines.append(_fact("", ("dim", f"{name.replace('_', ' ')} "), quoted(named), more))
    return lines


def _named(value: str) -> str:
    """An address by its path, an entry of an authority's list by its name; anything else as it is."""
    if not value.startswith(("http://", "https://")):
        return value
    path = value.partition("//")[2].partition("/")[2]
    return path.rpartition("/")[2] if "/authority/" in f"/{path}" else f"/{path}"


MOST_VALUES = 5
_DATED = (
    ("date_document", "dated"),
    ("date_publication", "published"),
    ("first_date_entry_in_force", "in force from"),
    ("date_no_longer_in_force", "until"),
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+\d\d:\d\d")


def total(reasons: Sequence[Reason]) -> float:
    """The sum of the points, without the dust of binary fractions."""
    return round(sum(reason.points for reason in reasons), 6)


def _reason_json(reason: Reason) -> dict[str, object]:
    return {"code": reason.code, "points": reason.points, "note": reason.note}


def _fact(name: str, *spans: str | tuple[str, str]) -> Line:
    return line(("dim", f"  {name:<10}"), *spans)


def _own_words(source: Source | None, now: datetime) -> list[Line]:
    """What the operator said of it."""
    if source is None:
        return []
    lines = [_fact("note", quoted(source.registered.note))] if source.registered.note else []
    if source.muted_until is not None and source.muted_until > now:
        words = (
            "until it is unmuted"
            if source.muted_until.year > now.year + 1000
            else when(source.muted_until, now)
        )
        lines.append(_fact("muted", f"{words}: its changes are recorded and not told"))
    return lines


def _due(said: WatchExplanation, now: datetime) -> str:
    if said.watch.due_at is not None:
        is_parked = any(reason.code == "parked" for one in said.decisions for reason in one.reasons)
        return when(said.watch.due_at, now) + (", parked: the long interval" if is_parked else "")
    return "when the hunt chooses it (vedette hunt)" if said.is_open else "not scheduled"


def _interval(said: WatchExplanation) -> str:
    decided = span(said.watch.interval) if said.watch.interval else "not decided yet"
    return decided if said.interval is None else f"{decided}  {interval_words(said.interval)}"


def _lister(watch: Watch) -> str:
    listed = f", read as {watch.lister.value}" if watch.lister else ""
    return f"{listed}, depth {watch.depth}" if watch.depth else listed


def _outcome(watch: Watch) -> tuple[str | tuple[str, str], ...]:
    if watch.last_outcome is None:
        return ("never looked at",)
    tries = f", attempt {watch.attempt}" if watch.attempt else ""
    pending = ", a change waits for its second look" if watch.pending else ""
    return (("head", watch.last_outcome.value), f"  {MEANING[watch.last_outcome].words}{tries}{pending}")


def _verdict_lines(verdict: Verdict) -> list[Line]:
    """What the scout said of it, with its points.  It is about the later stages: the page is watched all the same."""
    words = verdict_words(verdict).removeprefix(verdict.word.value)
    if verdict.word is VerdictWord.SKIP:
        words += ": not sent on to the later stages; it is watched all the same"
    lines = [_fact("verdict", ("head", verdict.word.value), words)]
    for reason in verdict.reasons:
        points = f"{reason.points:+10.4g}"
        lines.append(line(f"  {points}  ", quoted(reason.code), "  ", quoted(reason.note, "dim", 160)))
    return lines


def _decision_lines(said: WatchExplanation) -> list[Line]:
    if not said.decisions:
        return []
    lines = [line(("head", f"decided at {moment(said.decided_at)}"))]
    for decision in said.decisions:
        output = "" if decision.output is None else f" -> {plain(_words(decision.output), 200)}"
        lines.append(line("  ", ("head", plain(decision.action)), output))
        for reason in decision.reasons:
            points = f"{reason.points:+10.4g}" if reason.points else " " * 10
            note = reason.note or reason_words(reason)
            lines.append(line(f"  {points}  ", quoted(reason.code), "  ", quoted(note, "dim", 160)))
        if sum(1 for reason in decision.reasons if reason.points) > 1:
            unit = ", hours until the next look" if decision.action == "schedule" else ""
            lines.append(line(f"  {total(decision.reasons):>10.4g}  ", ("head", "sum"), unit))
    return lines


def _words(output: object) -> str:
    if isinstance(output, dict):
        return ", ".join(f"{key} {_value_words(value)}" for key, value in output.items() if key != "belief")
    return output if isinstance(output, str) else dump(output)


def _value_words(value: object) -> str:
    """A recorded value as people read it: no digits that say nothing, and times as everywhere else."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str) and _TIME.fullmatch(value):
        return moment(datetime.fromisoformat(value))
    return str(value)


def _visit_lines(said: WatchExplanation) -> list[Line]:
    lines = [line(("head", "looks, newest first"))] if said.visits else []
    for visit in said.visits:
        status = "" if visit.status is None else f" {visit.status}"
        digest = f"  {visit.digest.hex()[:12]}" if visit.digest else ""
        changed = changed_words(visit, said.changes.get(visit.id, (0, None))[1])
        lines.append(
            line(
                ("dim", f"  {moment(visit.at)}  "),
                f"{visit.outcome.value}{status}  {visit.took.total_seconds():.3f} s{digest}",
                *((("mark", f"  {changed}"),) if changed else ()),
                *(("  ", quoted(visit.detail, "dim", 160)) if visit.detail else ()),
            )
        )
    return lines


# What varies on a target by itself, for people: what is not reported, and why.

MOST = 12  # of each sort; a page may have hundreds


def noise_lines(noise: Noise) -> list[Line]:
    """One line for each thing that varies; the rest is counted."""
    told = [(f"{words:<22}", where, more) for words, where, more in _facts(noise)]
    return [
        line(
            ("dim", "  varies    "), words, quoted(where, limit=90), *(("  ", ("dim", more)) if more else ())
        )
        for words, where, more in told
    ]


def noise_json(noise: Noise) -> dict[str, object]:
    return {
        "lines": [
            {
                "place": x.place,
                "text": x.text or None,
                "share": _share(x.presence),
                "is_there": x.presence.is_there,
            }
            for x in noise.lines
        ],
        "templates": [
            {"place": x.place, "words": _noise_words(x), "values": list(x.kinds)}
            for x in noise.templates
            if not x.rises
        ],
        "places": [{"path": x.path, "drawn": x.leaves, "stayed": x.stays} for x in noise.places],
        "orders": list(noise.orders),
        "not_compared": list(noise.wild),
        "confirmed": noise.agreed,
        "refuted": noise.refuted,
        "second_look_after_s": WAITS[noise.cache.known].total_seconds(),
    }


def _facts(noise: Noise) -> Iterator[tuple[str, str, str]]:
    """What varies, where, and how; at most so many of each sort."""
    templates = [one for one in noise.templates if not one.rises]
    lines = [one for one in noise.lines if one.text]
    drawn, wait = "too many texts are drawn there", span(WAITS[noise.cache.known])
    sorts = (
        [("values in a line", _noise_words(one), ", ".join(one.kinds)) for one in templates],
        [("a line comes and goes", x.text, f"there in {_share(x.presence):.0%} of looks") for x in lines],
        [("texts are drawn", one.path, f"{one.leaves} came and went") for one in noise.places],
        [("in any order", path or "the whole page", "") for path in noise.orders],
        [("not compared", path, drawn) for path in noise.wild],
        [("kept by a cache", "looks that come sooner show the same", f"second look after {wait}")]
        if noise.cache.known
        else [],
    )
    for rows in sorts:
        yield from rows[:MOST]
    left = sum(len(rows[MOST:]) for rows in sorts)
    if left:
        yield "and more", f"{left} others", "--json shows all"


def _noise_words(template: Template) -> str:
    """The steady words as far as they are kept, with dots where values stand."""
    return " … ".join(head.strip() for head in template.heads).strip()


def _share(presence: Presence) -> float:
    there, away = presence.stays + presence.returns, presence.waits + presence.leaves
    return round(there / max(1, there + away), 3)
