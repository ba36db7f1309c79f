"""The Croatian twin: no two hosts alike, every listing complete, limits that bite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from vedette.config.model import parse
from vedette.config.policies import source_of
from vedette.contracts.source import ListerKind, ListerOptions, ListSelectors
from vedette.discover import ListingDocument, read_listing
from vedette.discover.site_lists import read_rates
from vedette.livingweb import EPOCH, World
from vedette.livingweb.croatia import SCRIPTED, croatia_world
from vedette.livingweb.croatia.templates import TEMPLATES
from vedette.livingweb.journal import Journal
from vedette.livingweb.layouts import View
from vedette.livingweb.server import Ground, Site, Times
from vedette.livingweb.wire import Ask, Reply

PORT = 8080
DAY = 86_400.0
NOW = datetime.fromtimestamp(EPOCH, UTC)
WORLD = croatia_world(pages=24, children=60)
NAMES = [host.name for host in WORLD.hosts]


class Visitor:
    """Asks one host without sockets, at times of its own choosing."""

    def __init__(self, world: World, name: str, at: float = EPOCH) -> None:
        self.at = at
        self.journal = Journal()
        clock = Times(lambda: self.at, lambda: self.at)
        self.site = Site(world.host(name), Ground(world.seed, clock, self.journal), PORT)
        self.base = f"http://{name}:{PORT}"

    def get(self, target: str, *, gap: float = 10.0) -> Reply:
        self.at += gap
        ask = Ask(f"GET {target} HTTP/1.1\r\nHost: {self.base[7:]}".encode())
        self.site.begin(ask)
        reply = self.site.answer(ask)
        self.site.end(ask, reply)
        return reply

    def document(self, target: str, depth: int = 0, **fields: object) -> ListingDocument:
        reply = self.get(target)
        kind = re.search(rb"Content-Type: ([^\r]+)", reply.head)
        return ListingDocument(
            url=self.base + target,
            body=reply.body,
            content_type=kind[1].decode() if kind else "",
            now=NOW,
            depth=depth,
            **fields,  # type: ignore[arg-type]
        )


def listed(visitor: Visitor) -> Iterator[str]:
    """Every target that the host's own source finds, list after list."""
    from vedette.livingweb.listings import source_of as described

    row = described(visitor.site.host, visitor.base)
    options = dict(row.pop("options"))  # type: ignore[call-overload]
    source = source_of(parse({"sources": [{**row, **options}]}).sources[0])
    waiting = [(source.url, source.lister, 0)]
    seen = {source.url}
    while waiting:
        url, lister, depth = waiting.pop()
        document = visitor.document(url.removeprefix(visitor.base), depth, options=source.options)
        listing = read_listing(ListerKind(lister), document)
        assert listing.problem == "", (url, listing.problem)
        yield from (sighting.url.removeprefix(visitor.base) for sighting in listing.sightings)
        for follow in listing.follow:
            if follow.url not in seen:
                seen.add(follow.url)
                waiting.append((follow.url, follow.lister, follow.depth))


def skeleton(html: str) -> str:
    """Tags and classes, without what stands in them."""
    return " ".join(re.findall(r"<(\w+(?:\s[^<>]*?class=[\"']?[\w -]+)?)", html))


def test_there_are_fourteen_hosts_and_no_two_share_a_template():
    view = View(site="S", lang="hr", title="T", text="<p>x</p>", nav=(("/", "a"),), related=(("/b", "b"),))
    built = [skeleton(layout.page(view)) for layout in TEMPLATES.values()]
    used = [host.spec.design.layout for host in WORLD.hosts if host.spec.design]
    assert len(NAMES) == len(set(map(id, used))) == len(set(built)) == 14


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SCRIPTED])
def test_every_listing_names_everything_that_exists(name):
    host = WORLD.host(name)
    visitor = Visitor(WORLD, name)
    found = {host.find(target).index for target in listed(visitor) if host.find(target) is not None}
    here = {page.index for page in host.pages if page.exists(EPOCH)}
    missing = here - found - ({0} if name == "hnb.example" else set())  # the list of rates is its own page
    forbidden = {page.index for page in host.pages if page.forbidden}
    assert missing <= forbidden
    assert visitor.journal.bans == {}


@pytest.mark.parametrize("name", SCRIPTED)
def test_a_scripted_host_shows_nothing_without_a_browser_and_has_it_all_behind(name):
    visitor = Visitor(WORLD, name)
    page = WORLD.host(name).pages[0]
    sentence = WORLD.state(name, 0, EPOCH).paragraphs[0]
    body = visitor.get(page.path).body.decode()
    text = re.sub(r"<script.*?</script>|<[^>]+>", "", body, flags=re.DOTALL)
    assert sentence not in text
    behind = body if "__NEXT_DATA__" in body else visitor.get("/api" + page.path).body.decode()
    assert sentence in behind


def test_the_gazette_has_thousands_of_child_sitemaps_of_three_types():
    world = croatia_world(pages=8)
    visitor = Visitor(world, "narodne-novine.example")
    listing = read_listing(ListerKind.NN, visitor.document("/sitemap.xml"))
    kinds = {re.search(r"sitemap_(\d)_", follow.url)[1] for follow in listing.follow}  # type: ignore[index]
    assert (len(listing.follow), kinds) == (2400, {"1", "2", "3"})
    assert all(follow.modified_at is not None for follow in listing.follow)


def test_an_act_is_served_by_its_eli_and_its_metadata_says_its_title():
    from vedette.discover.gazettes import act_of, read_metadata

    host = WORLD.host("narodne-novine.example")
    visitor = Visitor(WORLD, host.name)
    eli = act_of(visitor.base + host.pages[4].path).eli  # type: ignore[union-attr]
    assert visitor.get(eli).body == visitor.get(host.pages[4].path).body
    assert read_metadata(visitor.document(f"{eli}/json-ld")).first("title") == host.pages[4].title
    assert visitor.get("/eli/sluzbeni/1999/1/5").status == 404


def test_every_rate_moves_with_every_list_and_only_on_working_days():
    visitor = Visitor(WORLD, "hnb.example")
    lists = []
    for day in range(8):
        visitor.at = EPOCH + day * DAY + 20 * 3600
        lists.append({rate.currency: rate for rate in read_rates(visitor.document("/tecajn-eur/v3"))[0]})
    moved = [
        [before[code].middle != after[code].middle for code in after] for before, after in pairwise(lists)
    ]
    assert [all(day) for day in moved] == [True, True, True, True, False, False, True]  # Monday to Monday
    one = read_rates(visitor.document("/tecajn-eur/v3?valuta=USD"))[0]
    assert one == [lists[-1]["USD"]]


def test_who_hurries_is_banned_and_the_ban_is_counted_and_ends():
    visitor = Visitor(WORLD, "porezna-uprava.example")
    assert [visitor.get("/", gap=0.1).status for _ in range(4)] == [200, 200, 200, 403]
    assert visitor.get("/", gap=3).status == 403
    assert visitor.journal.bans == {"porezna-uprava.example": 1}
    assert visitor.get("/", gap=6 * 3600).status == 200


def test_who_keeps_the_gap_is_never_banned():
    visitor = Visitor(WORLD, "porezna-uprava.example")
    assert {visitor.get("/", gap=2.0).status for _ in range(100)} == {200}
    assert visitor.journal.bans == {}


def test_old_pages_are_windows_1250_and_keep_their_letters():
    visitor = Visitor(WORLD, "mirovinsko.example")
    options = ListerOptions(selectors=ListSelectors(**TEMPLATES["pensions"].selectors))
    listing = read_listing(ListerKind.HTML_LIST, visitor.document("/popis.asp", options=options))
    titles = {page.title for page in WORLD.host("mirovinsko.example").pages}
    assert {sighting.title for sighting in listing.sightings} <= titles
    assert any(letter in "".join(titles) for letter in "čćđšž")
    with pytest.raises(UnicodeDecodeError):
        visitor.get("/popis.asp").body.decode("utf-8")


def test_dates_of_one_list_come_in_six_forms_and_are_all_read():
    visitor = Visitor(WORLD, "hzzo.example")
    listing = read_listing(ListerKind.HTML_LIST, visitor.document("/novosti"))
    pages = {page.path: page for page in WORLD.host("hzzo.example").pages}
    for sighting in listing.sightings:
        page = pages[sighting.url.removeprefix(visitor.base)]
        assert sighting.published_at is not None, page.index
        assert sighting.published_at.date() == datetime.fromtimestamp(page.published_at, UTC).date()


def test_a_postback_pager_has_no_addresses_but_the_next_page_has():
    body = Visitor(WORLD, "porezna-uprava.example").get("/HR_publikacije/Stranice/popis.aspx").body.decode()
    assert "javascript:__doPostBack('ctl00$gv','Page$2')" in body
    assert body.count("p_Page=") == 1
    assert "__VIEWSTATE" in body
