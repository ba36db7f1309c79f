"""Pages: templates that escape everything, what browsers load, and the headers that let nothing else in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from vedette import __version__
from vedette.core.urls.canonical import shown
from vedette.report.plain import ago, moment, plain, span
from vedette.surface.http.access_check import WHO, Right, Visitor
from vedette.surface.http.web_context import web_of

HERE = Path(__file__).parent
ASSETS = "/assets"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
NAV = (
    ("/", "Overview"),
    ("/changes", "Changes"),
    ("/watches", "Watches"),
    ("/due", "Due"),
    ("/search", "Search"),
    ("/sources", "Sources"),
    ("/lanes", "Lanes"),
    ("/evidence", "Evidence"),
    ("/freshness", "Freshness"),
    ("/alerts", "Alerts"),
    ("/parked", "Parked"),
    ("/panel", "Panel"),
    ("/hunt", "Hunt"),
    ("/settings", "Settings"),
)
# What is said where nobody has said more than the name of the status.
NO_WORDS = {
    404: "There is no page at this address.  Look at its spelling, or choose a page above.",
    405: "This address takes no such request; go back and use its form.",
}
# What was done, said on the page that follows: a word in the address, never a text.
DONE = {
    "added": "It is watched now, and due at once.",
    "known": "It was watched already; what you gave was taken over.",
    "paused": "It is paused: nothing of it is looked at until you resume it.",
    "resumed": "It is scheduled again.",
    "muted": "Nobody is told of its changes until you unmute it.",
    "unmuted": "Its changes are told again.",
    "removed": "It is watched no more; its history stays.",
    "noted": "The note is kept.",
    "grouped": "Its groups are kept; lists and feeds can be narrowed to one.",
    "let_in": "It is asked this way from the next look on.",
    "filtered": "The filters hold from the next look on.",
    "said": "Your word is kept with the change and in the ledger.",
    "silenced": "The rule holds from the next look on, and the change is marked as noise.",
    "cancelled": "It was cancelled; nothing was changed by it.",
    "look": "A look is ordered: it is made as soon as the lane allows.",
    "reset": "The lane is open again; the gap between requests stays.",
    "acked": "Noted that you have seen it.  It stays open until its subject has recovered.",
    "retried": "It is due again.",
    "dropped": "It is off the list.",
    "marked": "Your word is kept; with five of each kind, weights of your own follow.",
}


def page(request: Request, name: str, *, status: int = 200, **values: Any) -> Response:
    """A template with what every page has."""
    web, visitor = web_of(request), request.scope.get(WHO)
    own = {
        "nav": NAV,
        "path": request.url.path,
        "now": web.installation.now(),
        "said": DONE.get(request.query_params.get("done", ""), ""),
        "may_write": isinstance(visitor, Visitor) and visitor.may(Right.WRITE),
        "visitor": visitor,
        "version": __version__,
        "is_part": request.headers.get("hx-request") == "true",
    }
    text = TEMPLATES.get_template(name).render({**own, **values})
    return HTMLResponse(text, status_code=status, headers={"Content-Security-Policy": CSP})


def ago_words(at: datetime, now: datetime) -> str:
    """`13 min ago`: from a minute on seconds are left out; the exact time stands beside it, or under the pointer."""
    length = abs(at - now)
    if length >= timedelta(minutes=1):
        length = timedelta(minutes=length // timedelta(minutes=1))
    return ago(now + length if at > now else now - length, now)


def error_page(request: Request, status: int, words: str) -> Response:
    """What went wrong, and the way on."""
    title = HTTPStatus(status).phrase
    said = NO_WORDS.get(status, "") if words in ("", title) else words
    return page(request, "error.html", status=status, code=status, title=title, words=said)


class _Assets(StaticFiles):
    """Files of ours; a new version of the program has new addresses for them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        found = await super().get_response(path, scope)
        found.headers["Cache-Control"] = "public, max-age=86400"
        return found


def assets() -> StaticFiles:
    return _Assets(directory=HERE / "assets")


def asset(name: str) -> str:
    """The address of a file, with its size so that a changed one is loaded anew."""
    return f"{ASSETS}/{name}?{(HERE / 'assets' / name).stat().st_size}"


def safe_link(url: str) -> str:
    """An address of others that may be followed; empty: it is no web page."""
    try:
        return url if urlsplit(url).scheme in ("http", "https") else ""
    except ValueError:
        return ""


def host_and_path(url: str) -> tuple[str, str]:
    """As people read it."""
    text = plain(shown(url)).partition("://")[2] or plain(url)
    host, mark, rest = text.partition("/")
    return host, mark + rest


def size_words(number: int | None) -> str:
    size = float(number or 0)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return ""


def number(value: int) -> str:
    """`33 532`."""
    return f"{value:,}".replace(",", "\u202f")


def counted(value: int, one: str, many: str = "") -> str:
    """`1 look`, `33 532 looks`."""
    return f"{number(value)} {one if value == 1 else many or one + 's'}"


def share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %" if value < 0.9995 else "100 %"


def set_value(value: object) -> str:
    """A setting as people read it: long durations also in words, a section as its names and values."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {one}" for name, one in value.items())
    text = "–" if value is None else str(value)
    seconds = text[:-1] if text.endswith("s") and text[:-1].isdigit() else ""
    is_long = 2 < len(seconds) < 10
    return f"{text} ({span(timedelta(seconds=int(seconds)))})" if is_long else text


def spark(values: list[float], width: int = 240, height: int = 40) -> str:
    """Points of a polyline; a flat line stands at the bottom."""
    most, last = max([*values, 1e-9]), max(1, len(values) - 1)
    return " ".join(
        f"{width * place / last:.1f},{height - 2 - (height - 4) * value / most:.1f}"
        for place, value in enumerate(values)
    )


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Any] = {
        "moment": moment,
        "plain": plain,
        "plain_lines": lambda text: "\n".join(plain(line, 500) for line in text.splitlines()),
        "span": lambda length: "–" if length is None else span(length),
        "ago": ago_words,
        "size": size_words,
        "share": share,
        "set_value": set_value,
        "safe_link": safe_link,
        "host_and_path": host_and_path,
        "spark": spark,
        "q": partial(quote, safe=""),
        "number": number,
    }
    made.filters.update(filters)
    made.globals.update(asset=asset, count=counted, timedelta=timedelta, datetime=datetime)
    return made


TEMPLATES = _environment()


def compile_pages() -> None:
    """All templates, which are otherwise compiled by who comes first."""
    for name in TEMPLATES.list_templates():
        TEMPLATES.get_template(name)
