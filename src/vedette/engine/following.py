"""What a crawl may follow: the page's own word about its links, in its markup and in its headers."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from vedette.contracts.fetching import Extraction, Fetched
from vedette.contracts.source import ListerKind
from vedette.contracts.watch import Watch
from vedette.contracts.words import Reason
from vedette.core.robots_tag import says_nofollow
from vedette.engine.finding import Finder, Findings
from vedette.engine.sources import SourceDesk


class PoliteFinder(Finder):
    """A finder whose crawls follow no link that is marked nofollow, and none of a page that asks so."""

    def find(
        self, watch: Watch, fetched: Fetched, extraction: Extraction, desk: SourceDesk, now: datetime
    ) -> Findings:
        if watch.lister is not ListerKind.CRAWL or not desk.source.options.honour_nofollow:
            return super().find(watch, fetched, extraction, desk, now)
        tags = (value for name, value in fetched.headers if name.lower() == "x-robots-tag")
        if says_nofollow(tags, desk.settings.robots_agent):
            extraction = replace(extraction, is_nofollow=True)
        marked = frozenset(extraction.nofollow)
        if not marked or extraction.is_nofollow:
            return super().find(watch, fetched, extraction, desk, now)
        hrefs = tuple([href for href in extraction.hrefs if href not in marked])
        findings = super().find(watch, fetched, replace(extraction, hrefs=hrefs), desk, now)
        skipped = Reason("nofollow", len(extraction.hrefs) - len(hrefs), "links marked nofollow")
        findings.notes = (*findings.notes, skipped)
        return findings
