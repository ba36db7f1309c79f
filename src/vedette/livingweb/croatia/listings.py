"""How the hosts of the Croatian twin tell what they have, each in its own way."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from html import escape

from vedette.livingweb.chance import Chance
from vedette.livingweb.listings import (
    claimed_change,
    feed_listing,
    mark_of,
    shown_pages,
    spelled,
    xml_document,
)
from vedette.livingweb.noise import Listing, Rendered
from vedette.livingweb.render import (
    Content,
    iso,
    layout_of,
    render_content,
    render_list,
    render_page,
)
from vedette.livingweb.words import long_date
from vedette.livingweb.world import Host, Page

Find = Callable[[Host, str, float, str], Listing | None]
Path = Callable[[int, str, Chance], str]  # number of a page, its slug, chance -> its path
PAGE_SIZE = 10
PARTS = ("sluzbeni", "medunarodni", "oglasni")  # sitemap types 1, 2, 3
ISSUES_PER_YEAR = 80
LAST_YEAR = 2026
_CHILD = re.compile(r"/sitemap_([1-3])_(\d{4})_(\d{1,3})\.xml")
_ELI = re.compile(r"/eli/([a-z]+)/(\d{4})/(\d{1,3})/(\d{1,6})(/json-ld)?")


def nothing(host: Host, target: str, t: float, where: str) -> Listing | None:
    """The start is a page itself, and there is nothing beside the pages."""
    return None


def feed(kind: str, start: str) -> Find:
    """`kind`: rss | atom."""
    return lambda host, target, t, where: feed_listing(host, kind, t, where) if target == start else None


def whole_list(start: str) -> Find:
    """Everything on one page."""

    def find(host: Host, target: str, t: float, where: str) -> Listing | None:
        if target != start:
            return None
        mark = mark_of(host, t, host.pages, with_edits=False)
        return Listing(mark, partial(render_list, host, shown_pages(host, t), "", ""))

    return find


def paged_list(start: str, step: str, pager: Callable[[str, int, int], tuple[str, str]]) -> Find:
    """`step` is what follows the start on page n ({n} from 1, {z} from 0); `pager` gives its head and its foot."""
    numbered = re.compile(
        re.escape(step).replace(r"\{n\}", r"(?P<n>\d{1,4})").replace(r"\{z\}", r"(?P<z>\d{1,4})")
    )

    def find(host: Host, target: str, t: float, where: str) -> Listing | None:
        number = 1
        if target != start:
            match = numbered.fullmatch(target.removeprefix(start)) if target.startswith(start) else None
            if match is None:
                return None
            groups = match.groupdict()
            number = int(groups["n"]) if groups.get("n") else int(groups["z"]) + 1
        pages = shown_pages(host, t)
        last = max(1, math.ceil(len(pages) / PAGE_SIZE))
        if not 1 <= number <= last:
            return None
        part = pages[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
        mark = f"{number}-{mark_of(host, t, host.pages, with_edits=False)}"
        return Listing(mark, partial(render_list, host, part, *pager(start, number, last)))

    return find


def postback(start: str, number: int, last: int) -> tuple[str, str]:
    """ASP.NET: numbers are scripts that post the form back; only the next page has an address."""
    posts = "".join(
        f"<td><a href=\"javascript:__doPostBack('ctl00$gv','Page${n}')\">{n}</a></td>"
        for n in range(1, last + 1)
    )
    after = f"{start}?Paged=TRUE&amp;p_Page={number + 1}"
    head = f'<link rel="next" href="{after}" />' if number < last else ""
    return head, f'<table class="ms-bottompaging"><tr>{posts}</tr></table>'


def numbered(step: str, frame: str) -> Callable[[str, int, int], tuple[str, str]]:
    """Links to all other pages; `frame` has `{}` where they stand."""

    def pager(start: str, number: int, last: int) -> tuple[str, str]:
        links = [
            f'<a href="{escape(start + step.format(n=n, z=n - 1))}">{n}</a>'
            for n in range(1, last + 1)
            if n != number
        ]
        return "", frame.format(" ".join(links))

    return pager


def mixed_dates(start: str) -> Find:
    """Spec 001/12.1: one list, every date in another form."""

    def find(host: Host, target: str, t: float, where: str) -> Listing | None:
        if target != start:
            return None
        mark = mark_of(host, t, host.pages, with_edits=False)
        return Listing(mark, partial(_mixed, host, shown_pages(host, t)))

    return find


def scripted(start: str) -> Find:
    """A page that a script fills from `/api/...`."""

    def find(host: Host, target: str, t: float, where: str) -> Listing | None:
        mark = mark_of(host, t, host.pages, with_edits=True)
        if target == start:
            return Listing("shell", partial(render_content, host, Content(title=host.title, text="")))
        if target == "/api" + start:
            pages = shown_pages(host, t)
            links = [{"title": page.title, "href": page.path} for page in pages]
            return Listing(mark, partial(_json, {"title": host.title, "paragraphs": [], "links": links}))
        page = host.find(target.removeprefix("/api")) if target.startswith("/api/") else None
        if page is None or not page.exists(t):
            return None
        version = page.history.version(t)
        data = {"title": page.title, "paragraphs": list(page.story.paragraphs(version)), "links": []}
        return Listing(f"{page.index}-{version}", partial(_json, data))

    return find


def acts_path(children: int) -> Path:
    """Page n is an act of child n modulo `children`."""

    def path(index: int, slug: str, chance: Chance) -> str:
        kind, year, issue = issue_of(index % children)
        month = issue * 12 // (ISSUES_PER_YEAR + 1) + 1
        return f"/clanci/{PARTS[kind - 1]}/{year}_{month:02}_{issue}_{index + 1}.html"

    return path


def issue_of(child: int) -> tuple[int, int, int]:
    """Type, year and issue of a child sitemap."""
    issue = child // 3
    return 1 + child % 3, LAST_YEAR - issue // ISSUES_PER_YEAR, issue % ISSUES_PER_YEAR + 1


def gazette(children: int) -> Find:
    """An index of so many child sitemaps, the acts by ELI, and their metadata."""
    names = {issue_of(child): child for child in range(children)}

    def find(host: Host, target: str, t: float, where: str) -> Listing | None:
        if target == "/sitemap.xml":
            mark = mark_of(host, t, host.pages, with_edits=True)
            return Listing(
                mark, partial(xml_document, "application/xml", partial(_index, host, children, t, where))
            )
        match = _CHILD.fullmatch(target)
        child = names.get((int(match[1]), int(match[2]), int(match[3]))) if match else None
        if child is not None:
            pages = host.pages[child::children]
            mark = f"{child}-{mark_of(host, t, pages, with_edits=True)}"
            lines = partial(_urlset, host, pages, t, where)
            return Listing(mark, partial(xml_document, "application/xml", lines))
        return _act(host, target, t, where)

    return find


def _mixed(host: Host, pages: Sequence[Page]) -> Rendered:
    layout = layout_of(host)
    rows = "".join(
        layout.entry.format(
            href=escape(page.path),
            title=escape(page.title),
            date=_DATES[page.index % len(_DATES)](page.published_at),
            iso="",
        )
        for page in pages
    )
    return render_content(host, Content(title=host.title, text=rows.join(layout.around)))


def _in(form: str) -> Callable[[float], str]:
    return lambda t: datetime.fromtimestamp(t, UTC).strftime(form)


_DATES: tuple[Callable[[float], str], ...] = (
    _in("%d.%m.%Y."),
    _in("%d. %m. %Y."),
    _in("%Y-%m-%d"),
    _in("%d/%m/%Y"),
    lambda t: long_date(t, "hr"),
    _in("%d.%m.%Y. u %H:%M"),
)


def _json(value: object) -> Rendered:
    return Rendered("application/json; charset=utf-8", (json.dumps(value, ensure_ascii=False).encode(),))


def _index(host: Host, children: int, t: float, where: str) -> Iterator[str]:
    yield '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    for child in range(children):
        kind, year, issue = issue_of(child)
        changed = (claimed_change(host, page, t) for page in host.pages[child::children] if page.exists(t))
        newest = max((moment for moment in changed if moment is not None), default=None)
        lastmod = "" if newest is None else f"<lastmod>{iso(newest)}</lastmod>"
        yield f"<sitemap><loc>http://{where}/sitemap_{kind}_{year}_{issue}.xml</loc>{lastmod}</sitemap>\n"
    yield "</sitemapindex>\n"


def _urlset(host: Host, pages: Sequence[Page], t: float, where: str) -> Iterator[str]:
    yield '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    for page in pages:
        if page.exists(t):
            changed = iso(claimed_change(host, page, t) or page.published_at)
            yield f"<url><loc>{spelled(host, page, where)}</loc><lastmod>{changed}</lastmod></url>\n"
    yield "</urlset>\n"


def _act(host: Host, target: str, t: float, where: str) -> Listing | None:
    """`/eli/part/year/issue/number`, and `/json-ld` behind it."""
    match = _ELI.fullmatch(target)
    number = int(match[4]) if match else 0
    page = host.pages[number - 1] if 1 <= number <= len(host.pages) else None
    if match is None or page is None or not page.exists(t) or f"/{match[1]}/{match[2]}_" not in page.path:
        return None
    if match[5]:
        return Listing(
            f"eli-{number}", partial(_json, _metadata(page, target.removesuffix("/json-ld"), where))
        )
    version = page.history.version(t)
    return Listing(f"eli-{number}-{version}", partial(render_page, host, page, version, where))


def _metadata(page: Page, eli: str, where: str) -> object:
    ontology = "http://data.europa.eu/eli/ontology#"
    about = f"http://{where}{eli}"
    return [
        {
            "@id": about,
            "@type": [f"{ontology}LegalResource"],
            f"{ontology}number": [{"@value": str(page.index + 1)}],
            f"{ontology}date_publication": [{"@value": iso(page.published_at)[:10]}],
        },
        {"@id": f"{about}/hrv", f"{ontology}title": [{"@language": "hr", "@value": page.title}]},
    ]
