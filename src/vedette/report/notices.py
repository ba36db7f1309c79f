"""The text of messages: a change, an alert, a recovery, a digest.  Safe to print anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from vedette.contracts.alerts import Alert, AlertKind, ChannelName, Letter, Notice, NoticeKind
from vedette.contracts.change import Change
from vedette.contracts.watch import Watch
from vedette.contracts.words import NodeRole, Risk
from vedette.core.urls.canonical import shown
from vedette.report.changes import because
from vedette.report.diffs import excerpt
from vedette.report.plain import as_text, count, plain, span

LINES = 8  # of a diff
LINE = 300  # characters
GROUP_ABOVE = 3  # alerts of one check that are still reported one by one
ENTRIES = 100  # of a digest; the rest is counted
LETTER_LINES = 120
WORDS = {
    AlertKind.CIRCUIT_BREAKER_OPEN: "does not answer; its breaker is open",
    AlertKind.ENDPOINT_SLA_BREACH: "had no successful look within its time",
    AlertKind.ENDPOINT_CONSECUTIVE_ERRORS: "failed several times in a row",
    AlertKind.DISCOVERY_CAPPED: "names more addresses than its limit lets in (max_urls)",
}
RISK_WORDS = {
    Risk.CRITICAL: "its risk is CRITICAL: a late sighting costs most",
    Risk.HIGH: "its risk is HIGH",
    Risk.MEDIUM: "its risk is MEDIUM",
    Risk.LOW: "its risk is LOW",
}
ROLE_WORDS = {
    NodeRole.ARCHIVE: "it is an archive",
    NodeRole.INDEX: "it is an index of other pages",
    NodeRole.NEWS_FEED: "it is a page of news",
    NodeRole.REGULATION: "it is a regulation",
    NodeRole.FORM: "it is a form",
    NodeRole.GUIDANCE: "it is guidance",
}


def change_notice(change: Change, watch: Watch, *, at: datetime) -> Notice:
    """What changed, where, and why that matters."""
    compared = change.comparison
    role = [ROLE_WORDS[watch.node_role]] if watch.node_role else []
    found = because(change)
    return Notice(
        id=f"change-{change.id}",
        kind=NoticeKind.CHANGE,
        at=at,
        risk=watch.risk,
        title=f"{watch.risk.name} {change.kind.value}: {plain(watch.title or shown(watch.url), 120)}",
        summary=plain(compared.summary or f"differs by {compared.layer.value}", LINE),
        url=watch.url,
        sources=(watch.source,),
        excerpt=tuple(plain(as_text([line]), LINE) for line in excerpt(compared.diff, LINES)),
        why=(RISK_WORDS[watch.risk], *role, *([found] if found else [])),
        facts={
            "change": str(change.id),
            "status": change.kind.value,
            "layer": compared.layer.value,
            "similarity": compared.similarity,
            "observed_at": change.observed_at.isoformat(),
            "previous": {"visit": str(change.before_visit), "evidence": _id(change.before_evidence)},
            "current": {"visit": str(change.after_visit), "evidence": _id(change.after_evidence)},
            "reasons": [[reason.code, reason.points, reason.note] for reason in compared.reasons],
        },
    )


def alert_notices(alerts: Sequence[Alert], *, now: datetime) -> list[Notice]:
    """One per host or source; many at once are one notice that lists them."""
    return _grouped(alerts, [_alert_notice(alert) for alert in alerts], NoticeKind.ALERT, now)


def recovery_notices(alerts: Sequence[Alert], *, now: datetime) -> list[Notice]:
    return _grouped(alerts, [_recovery_notice(alert, now) for alert in alerts], NoticeKind.RECOVERY, now)


def digest_notice(
    name: str, channel: ChannelName, notices: Sequence[Notice], *, now: datetime, with_diffs: bool = False
) -> Notice:
    """The gravest first, each with what differs in it where there is room for that."""
    ordered = sorted(notices, key=lambda notice: (-notice.risk, notice.at))
    lines = [
        line
        for notice in ordered[:ENTRIES]
        for line in (_entry(notice), *(notice.excerpt if with_diffs else ()))
    ]
    left = len(ordered) - ENTRIES
    return Notice(
        id=name,
        kind=NoticeKind.DIGEST,
        at=now,
        risk=max((notice.risk for notice in notices), default=Risk.LOW),
        title=f"{count(len(notices), 'notice')}: {_counts(notices)}",
        summary="what waited for this digest, the gravest first",
        sources=tuple(dict.fromkeys(source for notice in ordered for source in notice.sources)),
        excerpt=(*lines, *([f"... and {left} more; `vedette changes` shows all"] if left > 0 else [])),
        facts={"channel": channel, "notices": [notice.id for notice in ordered]},
    )


def letter_notice(letter: Letter) -> Notice:
    """A letter for a channel that takes short messages: its lines, as many as a notice holds."""
    lines = [plain(line, LINE) for line in letter.text.splitlines() if line.strip()]
    return Notice(
        id=letter.id,
        kind=NoticeKind.DIGEST,
        at=letter.at,
        risk=Risk.LOW,
        title=plain(letter.subject, LINE),
        excerpt=tuple(lines[1:LETTER_LINES]),
    )


def probe_notice(channel: ChannelName, *, now: datetime) -> Notice:
    """For `vedette alerts test`."""
    return Notice(
        id=f"test-{channel}-{now:%Y%m%dT%H%M%S%f}",
        kind=NoticeKind.TEST,
        at=now,
        risk=Risk.LOW,
        title=f"a test of the channel {plain(channel, 60)}",
        summary="if you can read this, the channel works",
    )


def _alert_notice(alert: Alert) -> Notice:
    name = _name(alert.subject)
    return Notice(
        id=f"alert-{alert.id}",
        kind=NoticeKind.ALERT,
        at=alert.opened_at,
        risk=alert.risk,
        title=f"{alert.kind.value}: {name}",
        summary=f"{name} {WORDS[alert.kind]}",
        sources=alert.sources,
        excerpt=(plain(alert.detail, LINE),) if alert.detail else (),
        why=(f"{count(len(alert.sources), 'source')} not seen; the highest tier is {alert.risk.name}",),
        facts=_alert_facts(alert),
    )


def _recovery_notice(alert: Alert, now: datetime) -> Notice:
    name = _name(alert.subject)
    times = f", {count(alert.relapses, 'relapse')} in between" if alert.relapses else ""
    return Notice(
        id=f"recovery-{alert.id}",
        kind=NoticeKind.RECOVERY,
        at=now,
        risk=alert.risk,
        title=f"recovered: {name}",
        summary=f"{name} is well again after {span(now - alert.opened_at)}{times}",
        sources=alert.sources,
        facts=_alert_facts(alert),
    )


def _grouped(alerts: Sequence[Alert], notices: list[Notice], kind: NoticeKind, now: datetime) -> list[Notice]:
    if len(notices) <= GROUP_ABOVE:
        return notices
    names = ", ".join(_name(alert.subject) for alert in alerts[:3])
    whole = Notice(
        id=f"{kind.value}-{alerts[0].id}-{alerts[-1].id}",
        kind=kind,
        at=now,
        risk=max(alert.risk for alert in alerts),
        title=f"{len(alerts)} {'alerts' if kind is NoticeKind.ALERT else 'recoveries'}: {names}, ...",
        summary="told of together because they came together",
        sources=tuple(dict.fromkeys(source for alert in alerts for source in alert.sources)),
        excerpt=tuple(f"{notice.title}; {notice.summary}" for notice in notices[:ENTRIES]),
        facts={"alerts": [_alert_facts(alert) for alert in alerts]},
    )
    return [whole]


def _alert_facts(alert: Alert) -> dict[str, object]:
    return {
        "alert": alert.id,
        "type": alert.kind.value,
        "types": [kind.value for kind in alert.kinds],
        "subject": alert.subject,
        "opened_at": alert.opened_at.isoformat(),
        "relapses": alert.relapses,
    }


def _entry(notice: Notice) -> str:
    where = f"  {shown(notice.url)}" if notice.url else ""
    return plain(f"{notice.at:%m-%d %H:%M}  {notice.title}: {notice.summary}{where}", LINE)


def _counts(notices: Iterable[Notice]) -> str:
    counts: dict[str, int] = {}
    for notice in notices:
        counts[notice.kind.value] = counts.get(notice.kind.value, 0) + 1
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def _name(subject: str) -> str:
    return plain(subject.partition(":")[2], 120)


def _id(number: int | None) -> str | None:
    return None if number is None else str(number)
