"""One host being served: which document a request means, in which version, and what goes wrong."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from html import escape

from vedette.livingweb.chance import Chance
from vedette.livingweb.faults import (
    LOGIN_PAGE,
    LOGIN_PATH,
    Case,
    Place,
    inflict,
    strikes,
    trap_body,
    trap_entry,
    trap_links,
)
from vedette.livingweb.journal import HostCount, Journal, Seen
from vedette.livingweb.listings import alternates, find_listing, listing_path
from vedette.livingweb.noise import Rendered, Roll
from vedette.livingweb.render import render_home, render_note, render_page
from vedette.livingweb.wire import HOPS, Ask, Reply, hop_target, split_hop
from vedette.livingweb.words import LABELS
from vedette.livingweb.world import Host, Page, authority

KEPT_BYTES = 96_000_000


class Kept:
    """Rendered bodies up to so many bytes, the oldest dropped first."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self._room = most
        self._held: dict[object, Rendered] = {}

    def get(self, key: object, make: Callable[[], Rendered]) -> Rendered:
        rendered = self._held.get(key)
        if rendered is None:
            rendered = self._held[key] = make()
            self._room -= rendered.size
            while self._room < 0 and len(self._held) > 1:
                self._room += self._held.pop(next(iter(self._held))).size
        return rendered


class Times:
    """World time, the time by which limits are counted, and the Date header."""

    def __init__(self, now: Callable[[], float], pace: Callable[[], float]) -> None:
        self.now = now
        self.pace = pace
        self._second = -1
        self._date = b""

    def date(self) -> bytes:
        second = int(self.now())
        if second != self._second:
            self._second, self._date = second, http_date(second)
        return self._date


@dataclass(frozen=True, slots=True)
class Ground:
    """What all hosts of a world share."""

    seed: int
    times: Times
    journal: Journal
    kept: Kept = field(default_factory=Kept)


class Site:
    """Answers for one host."""

    def __init__(self, host: Host, ground: Ground, port: int) -> None:
        self.host = host
        self.latency = host.spec.latency
        self.count = HostCount(host.name, host.spec.limits, ground.journal)
        self.date = ground.times.date
        self._seed = ground.seed
        self._times = ground.times
        self._journal = ground.journal
        self._kept = ground.kept
        self._where = {by: authority(host, port, by) for by in ("name", "address")}
        self._counts: Counter[int] = Counter()  # page -> requests; -1: everything else

    def begin(self, ask: Ask) -> None:
        ask.t = self._times.now()
        ask.at = self._times.pace()
        self.count.begin(ask.at, ask.target)
        ask.at_once = self.count.under_way

    def end(self, ask: Ask, reply: Reply) -> None:
        self.count.end()
        self._journal.bytes_out += len(reply.head) + len(reply.body)
        agent = ask.headers.get(b"user-agent", b"").decode("latin-1")
        seen = Seen(ask.at, self.host.name, ask.target, reply.status, agent, ask.at_once)
        self._journal.write(seen, forbidden=self.host.spec.robots.forbids(ask.target))

    def answer(self, ask: Ask) -> Reply:
        if self.count.is_banned(ask.at):
            return self._note(ask, 403, "403", "<p>IP blokiran zbog previše zahtjeva. Too many requests.</p>")
        if ask.method not in (b"GET", b"HEAD"):
            return Reply(405, b"Allow: GET, HEAD\r\n", closes=True)
        hops, target = split_hop(ask.target) if ask.target.startswith(HOPS) else (0, ask.target)
        if hops:
            return Reply(302, f"Location: {hop_target(target, hops - 1)}\r\n".encode())
        page = self.host.find(target)
        index = -1 if page is None else page.index
        ask.count = self._counts[index]
        self._counts[index] += 1
        if page is not None and page.exists(ask.t):
            reply = self._page(ask, page)
        else:
            reply = self._robots(ask) if target == "/robots.txt" else self._other(ask, target)
        if not self.host.spec.faults or ask.target.startswith(HOPS):
            return reply
        return self._struck(ask, reply, index)

    def _where_asked(self, ask: Ask) -> str:
        return self._where["address" if ask.headers.get(b"host", b"")[:1].isdigit() else "name"]

    def _page(self, ask: Ask, page: Page) -> Reply:
        self._journal.page_fetches[self.host.index, page.index] += 1
        version = page.history.version(ask.t)
        mark = f"{page.index:x}-{version:x}"
        head, is_same = self._validators(ask, mark, page.history.changed_at(version))
        if is_same:
            return Reply(304, head)
        where = self._where_asked(ask)
        key = (self.host.index, mark, where)
        return self._reply(ask, key, lambda: render_page(self.host, page, version, where), head)

    def _robots(self, ask: Ask) -> Reply:
        spec, where = self.host.spec, self._where_asked(ask)
        start = listing_path(self.host)
        is_sitemap = "sitemap" in start if spec.design is not None else spec.listing.startswith("sitemap")
        sitemap = f"http://{where}{start}" if is_sitemap else ""
        return Reply(spec.robots.status, b"Content-Type: text/plain\r\n", spec.robots.text(sitemap).encode())

    def _other(self, ask: Ask, target: str) -> Reply:
        """A listing, the front page, a trap, or nothing."""
        host, where = self.host, self._where_asked(ask)
        if target == "/":
            return self._reply(ask, (host.index, "/", where), lambda: self._home(where), b"")
        listing = find_listing(host, target, ask.t, where)
        if listing is not None:
            head, is_same = self._validators(ask, listing.mark, None)
            key = (host.index, target, listing.mark, where)
            return Reply(304, head) if is_same else self._reply(ask, key, listing.render, head)
        design = host.spec.design
        moved = design.moved(target) if design is not None and design.moved is not None else None
        if moved is not None:
            return Reply(301, f"Location: {moved}\r\n".encode())
        if host.spec.trap:
            links = trap_links(host.spec.trap, target, Chance(self._seed, host.index, "trap", ask.count))
            if links is not None:
                return self._note(ask, 200, target, trap_body(target, links))
        if target.startswith(LOGIN_PATH) and host.spec.faults:
            return LOGIN_PAGE
        return self._note(ask, 404, LABELS[host.spec.lang]["missing"], f"<p>{escape(target)}</p>")

    def _home(self, where: str) -> Rendered:
        trap = self.host.spec.trap
        tail = f'<p><a href="{trap_entry(trap)}">{escape(trap)}</a></p>' if trap else ""
        return render_home(self.host, where, alternates(self.host), tail)

    def _note(self, ask: Ask, status: int, title: str, text: str) -> Reply:
        rendered = render_note(self.host, title, text)
        head = f"Content-Type: {rendered.content_type}\r\n".encode()
        return Reply(status, head, self._filled(ask, rendered))

    def _reply(self, ask: Ask, key: object, make: Callable[[], Rendered], head: bytes) -> Reply:
        spec = self.host.spec
        rendered = self._kept.get(key, make)
        head += b"Content-Type: %b\r\n" % rendered.content_type.encode()
        if spec.gzip and b"gzip" in ask.headers.get(b"accept-encoding", b""):
            head += b"Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
            if not rendered.order:
                return Reply(200, head, self._kept.get((key, "gzip"), rendered.packed).parts[0])
            return Reply(200, head, gzip.compress(self._filled(ask, rendered), 1, mtime=0))
        return Reply(200, head, self._filled(ask, rendered))

    def _filled(self, ask: Ask, rendered: Rendered) -> bytes:
        if not rendered.order:
            return rendered.parts[0]
        return rendered.fill(self.host.spec.noise, self._roll(ask), self.host.spec.charset)

    def _roll(self, ask: Ask) -> Roll:
        chance = Chance(self._seed, self.host.index, ask.target, "noise", ask.count)
        return Roll(chance, ask.count, ask.t, self.host.spec.lang)

    def _validators(self, ask: Ask, mark: str, changed_at: float | None) -> tuple[bytes, bool]:
        """Header lines, and whether the reader has this version already.  Listings have no Last-Modified."""
        kind = self.host.spec.validators
        if kind == "none":
            return b"", False
        if kind == "lying_etag":
            tag = Chance(self._seed, self.host.index, ask.target, "tag", ask.count).text(16)
            return f'ETag: "{tag}"\r\n'.encode(), False
        if kind == "lying_date":
            return b"Last-Modified: %b\r\n" % http_date(ask.t), False
        head, is_same = b"", False
        if kind != "last_modified":
            tag = f'"{self.host.index:x}-{mark}"'
            head = f"ETag: {'W/' if kind == 'weak_etag' else ''}{tag}\r\n".encode()
            known = ask.headers.get(b"if-none-match")
            is_same = known is not None and (tag.encode() in known or known == b"*")
        if changed_at is not None and kind in ("last_modified", "both"):
            head += b"Last-Modified: %b\r\n" % http_date(changed_at)
            if b"if-none-match" not in ask.headers or kind == "last_modified":
                is_same = _not_modified_since(ask, changed_at)
        return head, is_same

    def _struck(self, ask: Ask, good: Reply, page: int) -> Reply:
        part = "pages" if page >= 0 else "robots" if ask.target == "/robots.txt" else "listings"
        place = Place(part=part, page=page, count=ask.count, t=ask.t)
        rule = strikes(self.host.spec.faults, place, (self._seed, self.host.index, ask.target))
        if rule is None:
            return good
        where = self._where_asked(ask)
        return inflict(rule, Case(good=good, target=ask.target, where=where, t=ask.t, amount=rule.amount))


def http_date(t: float) -> bytes:
    return formatdate(t, usegmt=True).encode()


def _not_modified_since(ask: Ask, changed_at: float) -> bool:
    since = ask.headers.get(b"if-modified-since")
    if since is None:
        return False
    try:
        return changed_at <= parsedate_to_datetime(since.decode("latin-1")).timestamp()
    except ValueError:
        return False
