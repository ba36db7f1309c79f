"""A notice as each kind of reader wants it: a mail, a chat line, a terminal, a program.

A template of the operator's own is plain text with `$names`: nothing in it is code (THREATS: template injection).
"""

from __future__ import annotations

import json
import re
from string import Template

from vedette.contracts.alerting import Notice

SUBJECT = 200  # characters of a mail's subject
CHAT = 3500  # characters; a chat cuts longer ones by itself, in the middle of a word
NAMES = "title summary url risk kind excerpt why sources at".split()
_NO_LINE = re.compile(r"[\x00-\x1f\x7f]+")


def text(notice: Notice) -> str:
    """For a terminal, a mail, a log."""
    parts = [notice.title, notice.summary, notice.url, *(f"  {line}" for line in notice.excerpt)]
    if notice.why:
        parts.append(f"Why you are told: {'; '.join(notice.why)}.")
    if notice.sources:
        parts.append(f"Sources: {_few(notice.sources)}")
    if "change" in notice.facts:
        parts.append(f"All of it: vedette diff {notice.facts['change']}")
    parts.append(f"{notice.at:%Y-%m-%d %H:%M:%S} UTC, {notice.id}")
    return "\n".join(part for part in parts if part)


def subject(notice: Notice) -> str:
    """One line, whatever the title holds."""
    return _NO_LINE.sub(" ", f"[vedette] {notice.title}")[:SUBJECT]


def chat(notice: Notice) -> str:
    """Slack's mrkdwn.  Nothing of others can open a link, a mention or a block."""
    parts = [f"*{_escaped(notice.title)}*", _escaped(notice.summary), _escaped(notice.url)]
    if notice.excerpt:
        lines = "\n".join(_escaped(line).replace("```", "'''") for line in notice.excerpt)
        parts.append(f"```{lines}```" if len(lines) <= CHAT else f"```{lines[:CHAT]} ...```")
    if notice.why:
        parts.append(f"_{_escaped('; '.join(notice.why))}_")
    return "\n".join(part for part in parts if part)


def chat_document(notice: Notice, template: str | None = None) -> bytes:
    words = chat(notice) if template is None else _escaped(of_operator(template, notice))
    return json.dumps({"text": words}, ensure_ascii=False).encode("utf-8", "replace")


def document(notice: Notice) -> bytes:
    """For a program: Standard Webhooks' type, timestamp and data."""
    body = {
        "type": f"vedette.{notice.kind.value}",
        "timestamp": notice.at.isoformat(),
        "data": {
            "id": notice.id,
            "risk": notice.risk.name,
            "title": notice.title,
            "summary": notice.summary,
            "url": notice.url or None,
            "sources": list(notice.sources),
            "diff": list(notice.excerpt),
            "reasons": list(notice.why),
            **notice.facts,
        },
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def of_operator(template: str, notice: Notice) -> str:
    """The operator's own text.  A name that we do not know stays as it is."""
    return Template(template).safe_substitute(
        title=notice.title.removeprefix(f"{notice.risk.name} "),  # `$risk` says it
        summary=notice.summary,
        url=notice.url,
        risk=notice.risk.name,
        kind=notice.kind.value,
        excerpt="\n".join(notice.excerpt),
        why="; ".join(notice.why),
        sources=_few(notice.sources),
        at=f"{notice.at:%Y-%m-%d %H:%M:%S} UTC",
    )


def _escaped(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _few(names: tuple[str, ...], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
