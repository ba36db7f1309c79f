"""What the panel says to people: plans, progress, batches and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from vedette.config.sections import PanelConfig
from vedette.contracts.panel_run import BatchView, Dropped, Progress
from vedette.core.panel.agreement import Drift
from vedette.core.panel.compare import PanelComparison
from vedette.core.panel.plan import Plan
from vedette.report.plain import count, span
from vedette.surface.cli.output import Output

_MATCH = {
    "agree": "the rows agree materially",
    "differ": "the rows differ materially",
    "too_few": "too few rows for an answer",
}


def plan_lines(out: Output, plan: Plan, config: PanelConfig) -> None:
    heads = ("PROVIDER", "KEYS", "A MINUTE", "REQUESTS", "AT LEAST", "EXPECTED", "COST USD")
    rows = [
        (
            row.model,
            str(row.keys),
            f"{row.per_minute:g}" if row.per_minute else "not known",
            str(row.requests),
            _span(row.lower_bound),
            _span(row.expected),
            "not known" if row.cost_usd is None else f"{row.cost_usd:.2f}",
        )
        for row in plan.providers
    ]
    out.table(heads, rows, empty="no providers", least=("AT LEAST",))
    out.say(
        f"{count(plan.cells, 'cell')}, about {count(plan.requests, 'request')}, at least {_span(plan.lower_bound)}"
    )
    fits = "fits" if plan.within_target else "does not fit"
    fits_hard = "fits" if plan.within_hard else "does NOT fit"
    out.say(
        f"expected {_span(plan.expected)}, bound by {plan.binds}: {fits} within {_span(config.target)}, "
        f"{fits_hard} within {_span(config.hard)}"
    )
    cost = (
        "not known"
        if plan.cost_usd is None
        else f"about {plan.cost_usd:.2f}, at most {plan.most_usd:.2f} USD"
    )
    missing = f"; no price for {', '.join(plan.unpriced)}" if plan.unpriced else ""
    out.say(f"cost: {cost}{missing}")


def progress_words(progress: Progress, width: int) -> str:
    """Of a batch under way, in lines that a screen of so many columns has room for."""
    whole = progress.settled + progress.under_way + progress.waiting
    share = progress.settled / whole if whole else 1.0
    eta = "?" if progress.eta is None else f"{progress.eta:%H:%M:%S}"
    lines = [
        f"{progress.settled} of {whole} cells ({share:.0%}), {progress.answered} answered, "
        f"{progress.spent_usd:.2f} USD, ends about {eta} UTC"
    ]
    names = max((len(row.model) for row in progress.providers), default=0)
    for row in progress.providers:
        parts = (
            f"  {row.model:<{names}} {row.ok:>6} ok",
            f" {row.throttled:>4} throttled",
            f" {row.errors:>4} failed",
            f"  {row.breaker:<9}",
            f" {row.per_minute:>5.0f}/min",
            f" {row.p95_ms:>6} ms p95",
        )
        lengths = accumulate(map(len, parts))
        lines.append("".join(part for part, end in zip(parts, lengths, strict=True) if end <= width))
    return "\n".join(lines)


def view_lines(out: Output, view: BatchView, now: datetime) -> None:
    batch = view.batch
    share = view.settled / view.cells if view.cells else 1.0
    out.say(
        f"{batch.id}: {view.status}, {view.settled} of {view.cells} cells ({share:.1%}), {view.answered} answered"
    )
    if view.status == "running":
        eta = "not known" if view.eta is None else f"{view.eta:%H:%M:%S} UTC"
        left = batch.hard_at - now
        out.say(f"{view.under_way} under way, ends about {eta}; the hard stop is in {_span(left)}")
    spent = f"{batch.spent_usd:.4f} USD" + (
        f" of {batch.budget_usd:g}" if batch.budget_usd is not None else ""
    )
    out.say(f"spent {spent}; written to {view.written_to}")
    heads = (
        "PROVIDER",
        "CALLS",
        "OK",
        "THROTTLED",
        "ERRORS",
        "P50 MS",
        "P95 MS",
        "P99 MS",
        "A MINUTE",
        "BREAKER",
    )
    rows = [
        (
            row["model"],
            *(
                str(row[name])
                for name in ("calls", "ok", "throttled", "errors", "p50_ms", "p95_ms", "p99_ms")
            ),
            f"{row['per_minute']:.0f}",
            row["breaker"],
        )
        for row in view.providers
    ]
    out.table(heads, rows, empty="no provider was asked yet", least=("P99 MS", "P50 MS", "A MINUTE"))
    dropped_lines(out, view.dropped)
    parked = [(one.model, one.outcome, str(one.cells), one.detail) for one in view.parked]
    if parked:
        out.table(("PARKED OF", "OUTCOME", "CELLS", "FOR EXAMPLE"), parked, empty="")
        out.say("`vedette panel resume --parked` asks them again")


def comparison_lines(out: Output, found: PanelComparison) -> None:
    out.say(
        f"{_MATCH[found.match.value]}: {found.diverging} of {found.pairs} pairs diverge "
        f"({found.share:.2%}, 95 % interval {found.low:.2%} to {found.high:.2%})"
    )
    if found.match.value == "too_few":
        out.say(f"a sure answer needs {found.needed} pairs")
    for one in found.examples:
        domain, model, kind = one.key
        out.say(f"  {domain} {model} {kind}: {one.why}")


def answers_lines(out: Output, rows: Sequence[dict[str, Any]], domain: str) -> None:
    shown = [
        (
            row["model"],
            row["prompt_type"] + (f" #{row['repeat'] + 1}" if row["repeat"] else ""),
            (row["quality_flag"] or "-") if row["outcome"] == "ok" else row["outcome"],
            f"{row['response_time_ms']} ms",
            " ".join((row["text"] or row["detail"] or "").split()),
        )
        for row in rows
    ]
    heads = ("MODEL", "PROMPT", "QUALITY", "TOOK", "ANSWER")
    out.table(heads, shown, empty=f"no batch has asked about {domain}")
    if rows:
        out.note(f"batch {rows[0]['batch_id']}, {rows[0]['at']:%Y-%m-%d %H:%M} UTC")


def drift_lines(out: Output, found: Sequence[Drift], *, has_before: bool) -> None:
    if not has_before:
        out.say("there is no batch before this one: nothing to compare with yet")
        repeated = [one for one in found if one.agreement is not None]
        if repeated:
            agreed = [(one.model, f"{one.agreement:.2f}", f"{one.confidence:.2f}") for one in repeated]
            out.table(("MODEL", "AGREEMENT OF REPEATS", "CONFIDENCE"), agreed, empty="")
        return
    heads = ("MODEL", "VERDICT", "CANARIES DIFFER", "ANSWERS DIFFER", "AGREEMENT", "CONFIDENCE", "WHY")
    rows = [
        (
            one.model,
            one.verdict.value,
            f"{one.seen.canaries_differ} of {one.seen.canaries}",
            f"{one.seen.answers_differ} of {one.seen.answers}",
            "-" if one.agreement is None else f"{one.agreement:.2f}",
            "-" if one.confidence is None else f"{one.confidence:.2f}",
            one.reason.note,
        )
        for one in found
    ]
    out.table(heads, rows, empty="no model was asked")


def dropped_lines(out: Output, dropped: tuple[Dropped, ...]) -> None:
    rows = [(one.model, str(one.tier), str(one.cells), one.reason, one.note) for one in dropped]
    if rows:
        out.table(("DROPPED OF", "TIER", "CELLS", "WHY", "THE PROVIDER"), rows, empty="")


def _span(time: timedelta | None) -> str:
    return "not known" if time is None else span(time)
