"""The health of sources, and alerts, for people and for programs."""

from __future__ import annotations

from datetime import datetime, timedelta

from vedette.contracts.alerts import Alert, AlertKind, SourceHealth
from vedette.contracts.words import Risk
from vedette.core.health.remedies import advice
from vedette.report.plain import ago, count, plain, span

_HOUR = timedelta(hours=1)
# spec 001 calls the middle tier NORMAL.
PRIORITY = {Risk.CRITICAL: "CRITICAL", Risk.HIGH: "HIGH", Risk.MEDIUM: "NORMAL", Risk.LOW: "LOW"}


def health_json(health: SourceHealth) -> dict[str, object]:
    """EndpointHealthStatus, and whether the breaker is open."""
    since = health.since_success
    return {
        "id": health.id,
        "domain": health.host,
        "name": health.name,
        "priority": PRIORITY[health.tier],
        "lastSuccessAt": health.last_success_at,
        "consecutiveErrors": health.consecutive_errors,
        "lastError": health.last_error or None,
        "isSlaBreached": health.is_sla_breached,
        "hasConsecutiveErrors": health.has_consecutive_errors,
        "hoursSinceSuccess": None if since is None else round(since / _HOUR, 2),
        "isCircuitBroken": health.is_breaker_open,
    }


def trouble(health: SourceHealth) -> str:
    """What is wrong, in words; "well" when it was seen at its last look and nothing is."""
    outcome = "" if health.last_outcome is None else health.last_outcome.value
    rows = (
        (health.is_breaker_open, "breaker open"),
        (health.is_sla_breached, f"no success within {span(health.sla)}"),
        (health.has_consecutive_errors, f"{count(health.consecutive_errors, 'error')} in a row"),
        (health.is_unseen and outcome, f"not seen: {outcome}"),
        (health.capped, f"finds no more: {count(health.capped, 'address', 'addresses')} over its limit"),
        (health.pages_lost, _lost_words(health)),
        (health.warning, health.warning),
    )
    parts = [words for is_so, words in rows if is_so]
    if parts:
        return ", ".join(parts)
    if not outcome:
        return "not looked at yet"
    return f"last look: {outcome}" if health.last_error else "well"


def _lost_words(health: SourceHealth) -> str:
    if health.pages_lost is None:
        return ""
    pages, outcome = health.pages_lost
    lost = (
        f"none of the {count(pages, 'page')} that it lists was"
        if pages > 1
        else "the page that it lists was not"
    )
    return f"{lost} there: {outcome.value}"


def trouble_json(health: SourceHealth) -> dict[str, object]:
    """What is wrong with a source that is not well, and what to do."""
    outcome = None if health.last_outcome is None else health.last_outcome.value
    return {
        "id": health.id,
        "url": health.url,
        "outcome": outcome,
        "trouble": trouble(health),
        "leftOut": health.capped,
        "remedy": what_to_do(health),
    }


def what_to_do(health: SourceHealth) -> str:
    """About a source in trouble; empty when there is nothing to be done."""
    if health.last_error and health.last_outcome is not None:
        return advice(health.last_outcome, url=health.url, detail=health.last_error)
    if health.capped:
        return f"Raise its max_urls (vedette add {health.url} --max-urls N), or narrow it by its filters."
    if health.pages_lost is not None:
        return f"Its listing names pages that do not answer; `vedette list --source {health.id}` shows them."
    if health.warning:
        return f"Mend its selectors; `vedette test {health.url} --lister html_list --item CSS` tries one."
    return ""


def alert_json(alert: Alert) -> dict[str, object]:
    return {
        "alert": alert.id,
        "type": alert.kind.value,
        "types": [kind.value for kind in alert.kinds],
        "subject": alert.subject,
        "severity": alert.risk.name,
        "sources": list(alert.sources),
        "detail": alert.detail,
        "opened_at": alert.opened_at,
        "recovered_at": alert.recovered_at,
        "acked_at": alert.acked_at,
        "ack_note": alert.ack_note,
        "relapses": alert.relapses,
    }


# What each kind means, for people.
KIND_WORDS = {
    AlertKind.CIRCUIT_BREAKER_OPEN: "its breaker is open: it failed again and again, and is left alone for a while",
    AlertKind.ENDPOINT_SLA_BREACH: "it was not seen for longer than its objective allows",
    AlertKind.ENDPOINT_CONSECUTIVE_ERRORS: "several looks in a row failed",
    AlertKind.DISCOVERY_CAPPED: "it names more pages than its limit lets in",
}


def alert_state(alert: Alert, now: datetime) -> str:
    if alert.recovered_at is not None:
        return f"recovered {ago(alert.recovered_at, now)}"
    seen = " (seen)" if alert.acked_at is not None else ""
    return f"open for {span(now - alert.opened_at)}{seen}"


def alert_text(alert: Alert, now: datetime) -> list[str]:
    """One alert, whole."""
    lines = [
        f"{alert.id}  {alert.risk.name}  {alert.kind.value}  {plain(alert.subject)}  {alert_state(alert, now)}",
        f"  also: {', '.join(kind.value for kind in alert.kinds[1:]) or 'nothing else'}",
        f"  sources: {plain(', '.join(alert.sources)) or 'none'}",
        f"  {plain(alert.detail) or 'no detail'}",
    ]
    if alert.relapses:
        lines.append(f"  turned bad again {count(alert.relapses, 'time')} while it was watched")
    if alert.acked_at is not None:
        lines.append(f"  seen {ago(alert.acked_at, now)}: {plain(alert.ack_note) or 'no note'}")
    return lines
