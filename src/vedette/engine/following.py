"""What a crawl may follow: the page's own word about its links, in its markup and in its headers."""

from __future__ import annotations

from vedette.contracts.fetch import Extraction, Fetched
from vedette.contracts.words import Reason
from vedette.core.urls.robots_tag import says_nofollow
from vedette.engine.crawl.source_runtime import SourceRuntime

Followed = tuple[tuple[str, ...], tuple[Reason, ...]]


def followed(extraction: Extraction, fetched: Fetched, runtime: SourceRuntime) -> Followed:
    """The links to follow, and why others are left: marked nofollow, or all of a page that asks so."""
    if not runtime.source.options.honour_nofollow:
        return extraction.hrefs, ()
    tags = (value for name, value in fetched.headers if name.lower() == "x-robots-tag")
    if extraction.is_nofollow or says_nofollow(tags, runtime.settings.robots_agent):
        return (), (Reason("nofollow", note="the page asks not to follow its links"),)
    marked = frozenset(extraction.nofollow)
    if not marked:
        return extraction.hrefs, ()
    hrefs = tuple([href for href in extraction.hrefs if href not in marked])
    return hrefs, (Reason("nofollow", len(extraction.hrefs) - len(hrefs), "links marked nofollow"),)
