"""A page that whoever sits at this machine can edit in a browser: /edit changes what / says."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from urllib.parse import parse_qs, urlsplit

from vedette.livingweb.server import http_date
from vedette.livingweb.wire import Ask, Reply

TEXT = (
    "The counter is open from 8 to 15 o'clock.",
    "The fee for a building permit is 40 EUR.",
    "Applications are taken until the end of March.",
)
MOST_TEXT = 4000  # characters; the address of a request holds them
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><link rel="icon" href="data:,"></head>
<body><h1>{title}</h1>
{body}
</body></html>"""
_FORM = """<p>What you write here is what <a href="/">the page</a> says. {said}</p>
<form action="/save"><p><textarea name="text" rows="8" cols="70" aria-label="Text of the page">{text}</textarea></p>
<p><button>Save</button></p></form>"""


class NoticeBoard:
    """Answers on loopback.  What is written stays until the end of the world."""

    latency = 0.0

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.lines: tuple[str, ...] = TEXT

    def begin(self, ask: Ask) -> None: ...

    def end(self, ask: Ask, reply: Reply) -> None: ...

    def date(self) -> bytes:
        return http_date(self._now())

    def answer(self, ask: Ask) -> Reply:
        parts = urlsplit(ask.target)
        if parts.path == "/save":
            text = parse_qs(parts.query).get("text", [""])[-1][:MOST_TEXT]
            self.lines = tuple(line.strip() for line in text.splitlines() if line.strip()) or ("(nothing)",)
            return Reply(302, b"Location: /edit?saved=1\r\n")
        if parts.path == "/edit":
            said = "<strong>Saved.</strong>" if parts.query else ""
            form = _FORM.format(text=escape("\n".join(self.lines)), said=said)
            return _html("Edit the notice board", form)
        if parts.path == "/":
            return _html("Notice board", "\n".join(f"<p>{escape(line)}</p>" for line in self.lines))
        return Reply(404, b"Content-Type: text/plain\r\n", b"There is / and /edit.\n")


def _html(title: str, body: str) -> Reply:
    return Reply(
        200, b"Content-Type: text/html; charset=utf-8\r\n", _PAGE.format(title=title, body=body).encode()
    )
