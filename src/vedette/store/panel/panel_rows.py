"""The statements of the panel and the rows they take.  One SQL for both dialects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from vedette.contracts.panel_run import (
    Batch,
    BatchId,
    BatchShape,
    CellRow,
    Progress,
    Prompt,
    ProviderTally,
)
from vedette.store.dialect import Insert
from vedette.store.rows import from_ms, to_ms

RESPONSES = "domain_responses"
KEY = ("domain_id", "model", "prompt_type")  # preferred by spec 003
TEXT_NAMES = ("response", "response_text", "raw_response", "answer", "text")  # what older pipelines call it
SCORES = ("chars", "words", "mentions", "citations", "own_citations")
ANSWER_COLUMNS = (
    "batch_id cell domain_id domain model prompt_type repeat prompt_version outcome at text response_time_ms "
    "retry_count quality_flag chars words mentions citations own_citations meta tokens_in tokens_out cost_usd detail"
).split()
RESPONSE_COLUMNS = (
    "domain_id model prompt_type prompt {text} batch_id response_time_ms quality_flag retry_count "
    "chars words mentions citations own_citations created_at"
)
METRIC_COLUMNS = (
    "batch_id model updated_at calls ok throttled errors retries parked tokens_in tokens_out p50_ms p95_ms p99_ms "
    "under_way at_once success_rate throttle_rate error_rate cost_usd per_minute breaker"
).split()
BATCH_COLUMNS = (
    "id status started_at target_at hard_at ended_at heartbeat_at stop_asked_at eta_at plan cells settled answered "
    "under_way waiting dropped_from dropped budget_usd spent_usd written_to"
).split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """How an answer is written to `domain_responses`, or to the table that shadows it."""

    table: str
    text_column: str
    key: tuple[str, ...]  # what an upsert goes by; empty: the table allows no key, so rows are looked up
    times: str  # datetime | ms: what `created_at` holds
    owns_domains: bool = True  # False: the table `domains` is another program's, read and never added to


def _upsert(table: str, columns: Sequence[str], key: Sequence[str]) -> Insert:
    at = ", ".join(f'"{name}"' for name in key)
    moved = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name not in key)
    return Insert(table, tuple(columns), f"ON CONFLICT ({at}) DO UPDATE SET {moved}")


_ADDED = frozenset("calls ok throttled errors retries parked tokens_in tokens_out cost_usd".split())
_RATES = {"success_rate": "ok", "throttle_rate": "throttled", "error_rate": "errors"}


def _add_metrics() -> Insert:
    """Counts are added to what other runs of the batch counted; what is of the moment is replaced."""

    def whole(name: str) -> str:
        return f'(COALESCE(provider_metrics."{name}", 0) + excluded."{name}")'

    moved = []
    for name in METRIC_COLUMNS[2:]:
        value = f'excluded."{name}"'
        if name in _ADDED:
            value = whole(name)
        elif name in _RATES:
            calls = whole("calls")
            value = f"CASE WHEN {calls} > 0 THEN {whole(_RATES[name])} * 1.0 / {calls} ELSE 0 END"
        moved.append(f'"{name}" = {value}')
    return Insert(
        "provider_metrics",
        tuple(METRIC_COLUMNS),
        f"ON CONFLICT (batch_id, model) DO UPDATE SET {', '.join(moved)}",
    )


_ONCE = "ON CONFLICT DO NOTHING"
NEW_ANSWER = Insert("panel_answers", tuple(ANSWER_COLUMNS), _ONCE)
NEW_LEASE = Insert("panel_leases", ("batch_id", "cell"), _ONCE)
NEW_DOMAIN = Insert("panel_domains", ("batch_id", "n", "domain_id", "domain"))
NEW_BATCH = Insert("crawl_batches", tuple(BATCH_COLUMNS))
ADD_METRICS = _add_metrics()
END_LEASE = "DELETE FROM panel_leases WHERE batch_id = ? AND cell = ?"
COUNTED = (
    "UPDATE crawl_batches SET settled = COALESCE(settled, 0) + ?, "
    "answered = COALESCE(answered, 0) + ? WHERE id = ?"
)
PROGRESS = (
    "UPDATE crawl_batches SET heartbeat_at = ?, under_way = ?, waiting = ?, "
    "spent_usd = COALESCE(spent_usd, 0) + ?, dropped_from = ?, eta_at = ? WHERE id = ?"
)
# A heartbeat with our own mark; and the row of a batch whose last heartbeat was ours.
TAKE_OVER = "UPDATE crawl_batches SET heartbeat_at = COALESCE(heartbeat_at, started_at, 0) + 1 WHERE id = ?"
OURS = (
    "UPDATE crawl_batches SET under_way = under_way WHERE id = ? "
    "AND (heartbeat_at = CAST(? AS BIGINT) OR (heartbeat_at IS NULL AND CAST(? AS BIGINT) IS NULL))"
)
# As the rows say, whatever runs that were killed had told of them.
RECOUNT = (
    "UPDATE crawl_batches SET settled = (SELECT COUNT(*) FROM panel_answers WHERE batch_id = ?), "
    "answered = (SELECT COUNT(*) FROM panel_answers WHERE batch_id = ? AND outcome = 'ok') WHERE id = ?"
)
TIMES = (
    "SELECT model, response_time_ms, COUNT(*) FROM panel_answers WHERE batch_id = ? AND outcome = 'ok' "
    "GROUP BY model, response_time_ms"
)
# What the rows cost, or what the run said last: the cost of rows that are gone is in the latter.
SPENT = (
    "UPDATE crawl_batches SET spent_usd = (SELECT CASE WHEN s.spent > COALESCE(crawl_batches.spent_usd, 0) "
    "THEN s.spent ELSE COALESCE(crawl_batches.spent_usd, 0) END FROM (SELECT COALESCE(SUM(cost_usd), 0) AS spent "
    "FROM panel_answers WHERE batch_id = ?) AS s) WHERE id = ?"
)
# What workers had in hand when they were killed, or have in hand now, counts as spent: nobody knows.
MAY_BE_SPENT = (
    "UPDATE crawl_batches SET spent_usd = COALESCE(spent_usd, 0) + (SELECT COALESCE(SUM(lost_usd + allotted_usd), 0) "
    "FROM panel_shares WHERE batch_id = ?) WHERE id = ?"
)
PARKED = (
    "SELECT model, outcome, COUNT(*), MAX(detail) FROM panel_answers WHERE batch_id = ? AND outcome <> 'ok' "
    "GROUP BY model, outcome ORDER BY model, outcome"
)
ABOUT_COLUMNS = (
    "batch_id domain model prompt_type repeat outcome at text quality_flag response_time_ms cost_usd detail"
).split()
ABOUT = f"SELECT {', '.join(ABOUT_COLUMNS)} FROM panel_answers WHERE domain = ?"
SILENT = (
    "SELECT model, breaker, ok, calls FROM provider_metrics WHERE batch_id = ? AND calls > 0 "
    "AND (COALESCE(ok, 0) = 0 OR breaker = 'stopped') ORDER BY model"
)
ROWS = "SELECT COUNT(*) FROM panel_answers WHERE batch_id = ?"
HOW_IT_DID = "SELECT model, breaker, calls, throttled, errors FROM provider_metrics WHERE batch_id = ?"
LAST_BATCH = "SELECT id FROM crawl_batches WHERE plan IS NOT NULL ORDER BY started_at DESC, id DESC LIMIT 1"
BATCH = f"SELECT {', '.join(BATCH_COLUMNS)} FROM crawl_batches"
METRICS = f"SELECT {', '.join(METRIC_COLUMNS)} FROM provider_metrics WHERE batch_id = ? ORDER BY model"


def save_response(projection: Projection) -> Insert:
    """An upsert by the table's key; where it has none, `update_response` goes first."""
    columns = response_columns(projection)
    if projection.key:
        return _upsert(projection.table, columns, projection.key)
    return Insert(projection.table, tuple(columns))


def update_response(projection: Projection) -> str:
    """For a table without a key.  Takes the values of a row from the fourth on, then the first three."""
    moved = ", ".join(f'"{name}" = ?' for name in response_columns(projection)[3:])
    return f'UPDATE "{projection.table}" SET {moved} WHERE domain_id = ? AND model = ? AND prompt_type = ?'


def response_columns(projection: Projection) -> list[str]:
    return RESPONSE_COLUMNS.format(text=projection.text_column).split()


def answer_row(batch: BatchId, row: CellRow) -> tuple[Any, ...]:
    return (
        batch,
        row.cell,
        row.domain_id,
        row.domain,
        row.model,
        row.prompt_type,
        row.repeat,
        row.prompt_version,
        row.outcome.value,
        to_ms(row.at),
        clean(row.text),
        row.response_time_ms,
        row.retry_count,
        row.quality_flag,
        *(row.scores.get(name) for name in SCORES),
        clean(json.dumps(row.meta, ensure_ascii=False, separators=(",", ":"), default=str)),
        row.tokens_in,
        row.tokens_out,
        row.cost_usd,
        clean(row.detail),
    )


def response_row(batch: BatchId, row: CellRow, projection: Projection) -> tuple[Any, ...]:
    return (
        row.domain_id,
        row.model,
        row.prompt_type,
        clean(row.prompt),
        clean(row.text),
        batch,
        row.response_time_ms,
        row.quality_flag,
        row.retry_count,
        *(row.scores.get(name) for name in SCORES),
        to_ms(row.at) if projection.times == "ms" else row.at.isoformat(sep=" "),
    )


def metric_row(batch: BatchId, tally: ProviderTally, told: ProviderTally, at: datetime) -> tuple[Any, ...]:
    """What has to be added since `told`, and how it stands."""
    new = {name: getattr(tally, name) - getattr(told, name) for name in _ADDED}
    calls = max(1, new["calls"])
    return (
        batch,
        tally.model,
        to_ms(at),
        *(new[name] for name in "calls ok throttled errors retries parked tokens_in tokens_out".split()),
        tally.p50_ms,
        tally.p95_ms,
        tally.p99_ms,
        tally.under_way,
        tally.at_once,
        *(new[name] / calls for name in _RATES.values()),
        new["cost_usd"],
        tally.per_minute,
        tally.breaker,
    )


@dataclass(frozen=True, slots=True)
class ProviderStateRow:
    """What this run has said of a batch, and what is therefore counted already."""

    spent_usd: float = 0.0
    tallies: Mapping[str, ProviderTally] = field(default_factory=dict)
    said_at: int | None = None  # our last heartbeat; another one in the row: the batch was taken over


def later(now: int, last: int | None) -> int:
    """A heartbeat that differs from the one before, also when both come within a millisecond."""
    return last + 1 if last is not None and now <= last < now + 1000 else now


def progress_row(batch: BatchId, progress: Progress, *, spent: float) -> tuple[Any, ...]:
    """`spent`: since the last word of this run."""
    return (
        progress.under_way,
        progress.waiting,
        spent,
        progress.dropped_from,
        None if progress.eta is None else to_ms(progress.eta),
        batch,
    )


def plan_text(shape: BatchShape) -> str:
    prompts = [
        {
            "prompt_type": p.prompt_type,
            "text": p.text,
            "tier": p.tier,
            "version": p.version,
            "system": p.system,
            "most_tokens": p.most_tokens,
        }
        for p in shape.prompts
    ]
    whole = {"domains": shape.domains, "models": shape.models, "repeats": shape.repeats, "prompts": prompts}
    return json.dumps(whole, ensure_ascii=False)


def read_batch(row: Sequence[Any]) -> Batch:
    values = dict(zip(BATCH_COLUMNS, row, strict=True))
    plan = json.loads(values["plan"])
    shape = BatchShape(
        domains=plan["domains"],
        models=tuple(plan["models"]),
        prompts=tuple(Prompt(**prompt) for prompt in plan["prompts"]),
        repeats=plan["repeats"],
    )
    return Batch(
        id=BatchId(values["id"]),
        shape=shape,
        started_at=from_ms(values["started_at"]),
        target_at=from_ms(values["target_at"]),
        hard_at=from_ms(values["hard_at"]),
        budget_usd=values["budget_usd"],
        spent_usd=values["spent_usd"] or 0.0,
        dropped_from=values["dropped_from"],
    )


def clean(text: str | None) -> str | None:
    """PostgreSQL takes no NUL, and no text takes half a character."""
    if text is None or (text.isascii() and "\x00" not in text):
        return text
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
