"""Faults and traps: a table of what a server does instead of answering, and sites without an end."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from functools import cache
from html import escape
from urllib.parse import parse_qsl, urlencode

from vedette.livingweb.chance import Chance
from vedette.livingweb.wire import REASONS, Break, Reply, Send, Step, Wait, hop_target
from vedette.livingweb.world import FaultRule

LOGIN_PATH = "/prijava"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The request that meets the fault."""

    good: Reply  # what a healthy server would have said
    target: str
    where: str  # authority
    t: float
    amount: float  # 0: the fault's default


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a request lands, as fault rules see it."""

    part: str  # pages | listings | robots
    page: int  # -1: no page
    count: int  # requests the target had before
    t: float


def strikes(rules: Sequence[FaultRule], place: Place, key: tuple[object, ...]) -> FaultRule | None:
    """The first rule that applies, if any.  Rates are drawn by (key, count), so a run can be repeated."""
    for rule in rules:
        if (
            rule.on in (place.part, "all")
            and (not rule.pages or place.page in rule.pages)
            and (not rule.first or place.count < rule.first)
            and rule.since <= place.t < rule.until
            and (rule.rate >= 1 or Chance(*key, rule.name, place.count).happens(rule.rate))
        ):
            return rule
    return None


def inflict(rule: FaultRule, case: Case) -> Reply:
    return FAULTS[rule.name](case)


def _status(status: int, *headers: str, text: str = "") -> Reply:
    body = text or f"<html><title>{status}</title><h1>{status} {REASONS[status]}</h1></html>"
    head = "".join(f"{line}\r\n" for line in ("Content-Type: text/html; charset=utf-8", *headers))
    return Reply(status, head.encode(), body.encode())


def _retry_after_seconds(case: Case) -> Reply:
    return _status(429, f"Retry-After: {int(case.amount or 120)}")


def _retry_after_date(case: Case) -> Reply:
    return _status(429, f"Retry-After: {formatdate(case.t + (case.amount or 120), usegmt=True)}")


def _unavailable(case: Case) -> Reply:
    return _status(503, f"Retry-After: {int(case.amount or 60)}")


def _raw(case: Case, *steps: Step, status: int = 200) -> Reply:
    """The steps as they are; the connection ends with them."""
    last: tuple[Step, ...] = () if isinstance(steps[-1], Break) else (Break(),)
    return Reply(status, steps=(*steps, *last), closes=True)


def _good_bytes(case: Case) -> bytes:
    return case.good.start(formatdate(case.t, usegmt=True).encode()) + case.good.body


def _head(*lines: str) -> bytes:
    return "".join(
        f"{line}\r\n" for line in ("HTTP/1.1 200 OK", "Content-Type: text/html", *lines, "")
    ).encode()


def _reset_midway(case: Case) -> Reply:
    whole = _good_bytes(case)
    return _raw(case, Send(whole[: len(whole) // 2]), Wait(0.02), Break(reset=True))


def _slow_headers(case: Case) -> Reply:
    """One byte of the head at a time, for `amount` seconds."""
    start = _good_bytes(case)
    gap = (case.amount or 60.0) / 20
    return _raw(case, *(Send(start[n : n + 1], gap=gap) for n in range(20)), Send(start[20:]))


def _slow_body(case: Case) -> Reply:
    whole = _good_bytes(case)
    cut = len(whole) - len(case.good.body)
    gap, size = (case.amount or 60.0) / 20, max(1, len(case.good.body) // 20)
    drips = (Send(whole[n : n + size], gap=gap) for n in range(cut, len(whole), size))
    return _raw(case, Send(whole[:cut]), *drips)


def _truncated_body(case: Case) -> Reply:
    """Promises more than it sends."""
    promise = _head(f"Content-Length: {len(case.good.body) + 5000}")
    return _raw(case, Send(promise + case.good.body))


def _truncated_chunks(case: Case) -> Reply:
    chunk = b"%x\r\n%b\r\n" % (len(case.good.body), case.good.body)
    return _raw(case, Send(_head("Transfer-Encoding: chunked") + chunk))


def _truncated_gzip(case: Case) -> Reply:
    packed = gzip.compress(case.good.body, mtime=0)
    return Reply(200, _GZIP_HEAD, packed[: len(packed) * 2 // 3])


def _gzip_bomb(case: Case) -> Reply:
    return Reply(200, _GZIP_HEAD, _bomb(int(case.amount or 64 * 1024 * 1024)))


def _gzip_layers(case: Case) -> Reply:
    body = case.good.body
    for _ in range(int(case.amount or 5)):
        body = gzip.compress(body, mtime=0)
    return Reply(200, b"Content-Type: text/html\r\nContent-Encoding: gzip, gzip, gzip, gzip, gzip\r\n", body)


_GZIP_HEAD = b"Content-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n"


@cache
def _bomb(size: int) -> bytes:
    press, block = zlib.compressobj(9, wbits=31), bytes(1024 * 1024)
    parts = [press.compress(block[: min(len(block), size - start)]) for start in range(0, size, len(block))]
    return b"".join(parts) + press.flush()


def _wrong_charset(case: Case) -> Reply:
    """Says UTF-8, sends Windows-1250."""
    text = case.good.body.decode("utf-8", "replace")
    return Reply(200, b"Content-Type: text/html; charset=utf-8\r\n", text.encode("cp1250", "replace"))


def _huge_body(case: Case) -> Reply:
    size, block = int(case.amount or 64 * 1024 * 1024), b"<p>" + b"mnogo " * 10_921 + b"</p>\n"  # 64 KiB
    times = size // len(block) + 1
    return _raw(case, Send(_head(f"Content-Length: {times * len(block)}")), Send(block, times=times))


def _endless_body(case: Case) -> Reply:
    return _raw(
        case, Send(_head()), Send(b"<p>nikad kraja</p>\n" * 400, times=10**9, gap=case.amount or 0.01)
    )


def _redirect_chain(case: Case) -> Reply:
    return _status(302, f"Location: {hop_target(case.target, int(case.amount or 12))}")


def _redirect_loop(case: Case) -> Reply:
    """There and back again."""
    bare, mark, _ = case.target.partition("ref=loop")
    there = f"{case.target}{'&' if '?' in case.target else '?'}ref=loop"
    return _status(302, f"Location: {bare.rstrip('?&') if mark else there}")


def _header_garbage(case: Case) -> Reply:
    junk = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nno colon here\r\n: no name\r\n"
    return _raw(case, Send(junk + b"X-\xff\xfe: \x01\x02\r\n\r\n" + case.good.body))


def _huge_headers(case: Case) -> Reply:
    return _raw(case, Send(_head(*(f"X-Pad-{n}: {'p' * 1000}" for n in range(200))) + case.good.body))


def _page(title: str, body: str) -> str:
    head = f"<head><meta charset=utf-8><title>{title}</title></head>"
    return f"<!doctype html><html>{head}<body>{body}</body></html>"


_LOGIN = _page(
    "Prijava",
    "<h1>Prijava u sustav</h1><p>Za nastavak se morate prijaviti.</p><form method=post action=/prijava>"
    "<input name=username><input type=password name=password><button>Prijavi se</button></form>",
)
_SOFT_404 = _page(
    "Stranica nije pronađena", "<h1>404</h1><p>Tražena stranica ne postoji ili je premještena.</p>"
)
_BLOCKED = _page(
    "Attention Required!",
    "<h1>Sorry, you have been blocked</h1><p>You are unable to access this site. This website is using a "
    "security service to protect itself from online attacks.</p><p>Ray ID: 8f2c1</p>",
)
_CAPTCHA = _page(
    "Just a moment...",
    "<h1>Checking your browser before accessing the site</h1><p>Please verify you are human.</p>"
    "<div class='g-recaptcha' data-sitekey='x'></div>",
)

FAULTS: dict[str, Callable[[Case], Reply]] = {
    "throttled": _retry_after_seconds,
    "throttled_date": _retry_after_date,
    "throttled_silent": lambda case: _status(429),
    "server_error": lambda case: _status(500),
    "bad_gateway": lambda case: _status(502),
    "unavailable": _unavailable,
    "not_found": lambda case: _status(404),
    "gone": lambda case: _status(410),
    "forbidden": lambda case: _status(403),
    "reset": lambda case: _raw(case, Break(reset=True)),
    "reset_midway": _reset_midway,
    "closed_early": lambda case: _raw(case, Break()),
    "never_answers": lambda case: _raw(case, Wait(case.amount or 600.0)),
    "slow_headers": _slow_headers,
    "slow_body": _slow_body,
    "truncated_body": _truncated_body,
    "truncated_chunks": _truncated_chunks,
    "truncated_gzip": _truncated_gzip,
    "gzip_bomb": _gzip_bomb,
    "gzip_layers": _gzip_layers,
    "not_gzip": lambda case: Reply(200, _GZIP_HEAD, case.good.body),
    "unknown_coding": lambda case: Reply(200, b"Content-Encoding: x-own\r\n", case.good.body),
    "wrong_charset": _wrong_charset,
    "nul_bytes": lambda case: Reply(200, case.good.head, case.good.body.replace(b"<p>", b"<p>\x00\x00")),
    "huge_body": _huge_body,
    "endless_body": _endless_body,
    "huge_headers": _huge_headers,
    "header_garbage": _header_garbage,
    "not_http": lambda case: _raw(case, Send(b"SSH-2.0-OpenSSH_9.2\r\n")),
    "bytes_after_body": lambda case: _raw(case, Send(_good_bytes(case) + b"HTTP/1.1 200 OK\r\n\r\nsmuggled")),
    "redirect_chain": _redirect_chain,
    "redirect_loop": _redirect_loop,
    "redirect_private": lambda case: _status(302, "Location: http://10.0.0.1/interno"),
    "redirect_loopback": lambda case: _status(302, "Location: http://127.0.0.1:22/"),
    "redirect_metadata": lambda case: _status(302, "Location: http://169.254.169.254/latest/meta-data/"),
    "redirect_file": lambda case: _status(302, "Location: file:///etc/passwd"),
    "redirect_nowhere": lambda case: _status(302),
    "soft_404": lambda case: _status(200, text=_SOFT_404),
    "login_wall": lambda case: _status(200, text=_LOGIN),
    "login_redirect": lambda case: _status(302, f"Location: {LOGIN_PATH}?return={case.target}"),
    "block_page": lambda case: _status(403, text=_BLOCKED),
    "block_page_200": lambda case: _status(200, text=_BLOCKED),
    "captcha": lambda case: _status(200, text=_CAPTCHA),
    "empty_body": lambda case: Reply(200, case.good.head),
    "no_content": lambda case: Reply(204),
    "wrong_type": lambda case: Reply(200, b"Content-Type: image/png\r\n", case.good.body),
    "no_type": lambda case: Reply(200, b"", case.good.body),
}

LOGIN_PAGE = _status(200, text=_LOGIN)


# Sites without an end.  Each trap answers every target below its entry with more targets of its own.
#
# A trap host is crawl-only: its front page links the real pages and the entry of the trap.

Links = list[tuple[str, str]]  # href, text
_COLOURS = ("crvena", "plava", "zelena", "žuta")
_FACETS = {
    "boja": _COLOURS,
    "velicina": ("s", "m", "l", "xl"),
    "sort": ("cijena", "naziv", "novo"),
    "str": "123456789",
}


def trap_links(trap: str, target: str, chance: Chance) -> Links | None:
    """The links behind this target, or None when the trap does not reach there."""
    entry, make = TRAPS[trap]
    return make(target, chance) if target.startswith(entry) else None


def trap_entry(trap: str) -> str:
    return TRAPS[trap][0]


def trap_body(target: str, links: Links) -> str:
    """The inside of a page of the trap."""
    rows = "".join(f'<li><a href="{escape(href)}">{escape(text)}</a></li>' for href, text in links)
    return f"<p>{escape(target)}</p><ul>{rows}</ul>"


def _calendar(target: str, chance: Chance) -> Links:
    """Months without an end, in both directions, and every day a page."""
    parts = [int(part) for part in target.split("/") if part.isdecimal()]
    year, month = (parts[0], parts[1]) if len(parts) >= 2 else (2026, 1)
    after, before = divmod(year * 12 + month, 12), divmod(year * 12 + month - 2, 12)
    links = [(f"/kalendar/{y}/{m + 1}", f"{m + 1}. {y}.") for y, m in (before, after)]
    return links + [(f"/kalendar/{year}/{month}/{day}", f"{day}. {month}. {year}.") for day in range(1, 29)]


def _facets(target: str, chance: Chance) -> Links:
    """Every filter can be set to every value, in the order in which it was clicked."""
    chosen = dict(parse_qsl(target.partition("?")[2]))
    links = []
    for name, values in _FACETS.items():
        rest = {key: value for key, value in chosen.items() if key != name}
        links += [(f"/katalog?{urlencode(rest | {name: value})}", f"{name}: {value}") for value in values]
    return links


def _session_path(target: str, chance: Chance) -> Links:
    """Every link carries a session id of its own, in the path."""
    return [(f"/s/{chance.text(32)}/stranica/{number}", f"Stranica {number}") for number in range(1, 9)]


def _session_query(target: str, chance: Chance) -> Links:
    """Every link carries a session id of its own, under a name that no list of trackers has."""
    return [(f"/trgovina/{number}?posjet={chance.text(24)}", f"Artikl {number}") for number in range(1, 9)]


def _nesting(target: str, chance: Chance) -> Links:
    """A relative link that lands one level deeper each time."""
    return [("dalje/", "dalje"), ("arhiva/", "arhiva"), ("../", "natrag")]


def _endless_pager(target: str, chance: Chance) -> Links:
    """There is always a next page, and it is always empty."""
    number = target.partition("page=")[2]
    return [(f"/pretraga?page={(int(number) if number.isdecimal() else 1) + 1}", "Sljedeća")]


TRAPS: dict[str, tuple[str, Callable[[str, Chance], Links]]] = {  # name -> entry, maker
    "calendar": ("/kalendar", _calendar),
    "facets": ("/katalog", _facets),
    "session_path": ("/s/", _session_path),
    "session_query": ("/trgovina", _session_query),
    "nesting": ("/mapa/", _nesting),
    "endless_pager": ("/pretraga", _endless_pager),
}
