"""Spellings of one request target that this web takes for the same page."""

from __future__ import annotations

from urllib.parse import unquote

HOPS = "/hop/"  # a redirect chain in progress: /hop/<hops left><target>
_IGNORED = ("utm_", "fbclid", "gclid", "sid", "phpsessid", "print", "ref")


def plain_target(target: str) -> str:
    """Without slash at the end, index page, session ids, trackers; the query in order, escapes undone."""
    path, _, query = target.partition("?")
    path = unquote(path.split(";", 1)[0])
    path = path.removesuffix("index.html").removesuffix("index.php").rstrip("/").lower()
    kept = sorted(part for part in query.split("&") if part and not part.lower().startswith(_IGNORED))
    return f"{path}?{'&'.join(kept)}" if kept else path


def hop_target(target: str, hops: int) -> str:
    return f"{HOPS}{hops}{target}"


def split_hop(target: str) -> tuple[int, str]:
    """How many hops are left, and to where."""
    hops, slash, rest = target.removeprefix(HOPS).partition("/")
    return (int(hops), slash + rest) if hops.isdecimal() and len(hops) < 4 else (0, target)
