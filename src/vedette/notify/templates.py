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
# Mail readers honour styles of the element itself; a line of a page may be long, and a telephone is narrow.
_BODY = "margin:0;padding:16px;max-width:600px;font:15px/1.45 sans-serif;overflow-wrap:anywhere;color-scheme:light dark"
_PLAIN = "margin:0 0 10px"
_STRONG = f"{_PLAIN};font-size:18px;font-weight:bold"
_SMALL = "margin:14px 0 0;font-size:12px;opacity:.7"
_FRAME = "margin:0 0 12px;border-left:3px solid #999;padding-left:10px"
_LINE = "margin:0 0 6px;"
_RED, _GREEN = "background:#fdd;color:#700", "background:#dfd;color:#050;text-decoration:none"
_QUOTE, _QUOTED = '"', "%22"
_TICK, _TICKED = "`", "%60"
_GONE, _NEW = re.compile(r"\[-(.*?)-\]"), re.compile(r"\{\+(.*?)\+\}")
_NO_LINE = re.compile(r"[\x00-\x1f\x7f]+")


def text(notice: Notice) -> str:
    """For a terminal, a mail, a log."""
    parts = [notice.title, notice.summary, notice.url, *(f"  {line}" for line in notice.excerpt)]
    if notice.why:
        parts.append(f"Why you are told: {'; '.join(notice.why)}.")
    return "\n".join(part for part in (*parts, *_last_lines(notice)) if part)


def _last_lines(notice: Notice) -> list[str]:
    """Where it comes from, and how to see all of it."""
    word = "Source" if len(notice.sources) == 1 else "Sources"
    lines = [f"{word}: {_few(notice.sources)}"] if notice.sources else []
    diff = _diff(notice)
    if diff:
        lines.append(f"All of it: {diff}")
    name = f"change {notice.facts['number']}" if "number" in notice.facts else "" if diff else notice.id
    return [*lines, f"{notice.at:%Y-%m-%d %H:%M:%S} UTC{f', {name}' if name else ''}"]


def _diff(notice: Notice) -> str:
    """What a person types to see all of a change: by the number that `vedette changes` shows, else its address."""
    if "change" not in notice.facts:
        return ""
    return f"vedette diff {notice.facts.get('number', notice.url)}"


def html(notice: Notice) -> str:
    """The same for a mail reader that shows colours.  Nothing of others is markup, and nothing is fetched for it."""
    lines = "".join(_html_line(line) for line in notice.excerpt)
    url = _escaped(notice.url)
    link = f'<a href="{url.replace(_QUOTE, _QUOTED)}">{url}</a>' if url.startswith("http") else url
    parts = (
        f'<p style="{_STRONG}">{_escaped(notice.title)}</p>',
        f'<p style="{_PLAIN}">{link}</p>' if url else "",
        f'<p style="{_PLAIN}">{_escaped(notice.summary)}</p>',
        f'<div style="{_FRAME}">{lines}</div>' if lines else "",
        f'<p style="{_PLAIN}">Why you are told: {_escaped("; ".join(notice.why))}.</p>' if notice.why else "",
        f'<p style="{_SMALL}">{"<br>".join(map(_escaped, _last_lines(notice)))}</p>',
    )
    return f'<!doctype html><html><body style="{_BODY}">{"".join(parts)}</body></html>\n'


def _html_line(line: str) -> str:
    """One line of a diff: what went is red, what came green, and both are also marked for who sees no colour."""
    words = _GONE.sub(rf'<del style="{_RED}">\1</del>', _escaped(line))
    words = _NEW.sub(rf'<ins style="{_GREEN}">\1</ins>', words)
    colour = {"-": _RED, "+": _GREEN}.get(line[:1], "")
    return f'<div style="{_LINE}{colour}">{words.removeprefix("! ")}</div>'


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
    if _diff(notice):
        parts.append(f"`{_escaped(_diff(notice)).replace(_TICK, _TICKED)}`")
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
