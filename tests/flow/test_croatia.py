"""One run over the Croatian twin: everything found, nobody offended, every change told once."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from browser_kit import needs_chromium
from document_kit import needs_tesseract
from watching import Judgement, Watched, clock_of, judge, living, living_web

from vedette.app.run import RunRequest
from vedette.engine.crawl.loop import Mode
from vedette.livingweb.croatia import croatia_world
from vedette.livingweb.listings import find_listing

DAY = 86_400.0


async def watched_for(days: float, tmp_path, *, pages: int, children: int) -> Watched:
    """A run of so many days; 0: until all that is there has been looked at."""
    world = croatia_world(pages=pages, children=children)
    clock = clock_of(world)
    async with living_web(world, clock, 18231) as web:
        watched = living(world, web, tmp_path, clock=clock)
        if days:
            ended = await watched.run(seconds=days * DAY)
        else:
            idle = RunRequest(mode=Mode.UNTIL_IDLE, takes_orders=False, patience=timedelta(minutes=2))
            ended = await watched.run(idle)
        assert ended.error is None
    return watched


def unseen(watched: Watched, found: Judgement) -> list[str]:
    """Pages that exist by now and were not looked at."""
    world, now = watched.world, watched.clock.now().timestamp()
    paths = {f"{host.name}{page.path}": page for host in world.hosts for page in host.pages}
    return [name for name in found.never_visited if paths[name].exists(now - DAY)]


def told_of_lists(watched: Watched) -> tuple[int, list[str]]:
    """Reports about lists: how many, and those where the list stood still."""
    world, still, count = watched.world, [], 0
    for url, before, after, _ in watched.reported():
        if world.locate(url) is not None:
            continue
        count += 1
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        host = world.host(parts.hostname or "")
        marks = [find_listing(host, target, at / 1000, parts.netloc) for at in (before, after)]
        if any(mark is None for mark in marks) or marks[0].mark == marks[1].mark:
            still.append(url)
    return count, still


def agrees(watched: Watched) -> Judgement:
    """Holds a run against what the twin knows of it."""
    found, stats = judge(watched), watched.web.stats()
    count, still = told_of_lists(watched)
    assert (stats["bans"], stats["violations"], stats["forbidden"]) == ({}, 0, 0)
    assert unseen(watched, found) == []
    assert found.missed == []
    assert (still, len(found.false)) == ([], count)  # `judge` knows no versions of lists
    reports = Counter((url, after) for url, _, after, _ in watched.reported())
    assert max(reports.values(), default=1) == 1
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
@needs_chromium
@needs_tesseract
async def test_one_run_finds_shows_reads_and_classifies_all_that_is_there_and_offends_nobody(tmp_path):
    watched = await watched_for(0, tmp_path, pages=10, children=12)
    agrees(watched)
    assert set(watched.outcomes()) <= {"ok", "not_modified"}
    classes = {name for (name,) in watched.rows("SELECT DISTINCT content_class FROM evidence")}
    assert classes >= {
        "HTML",
        "JSON",
        "XML",
        "PDF_TEXT",
        "PDF_SCANNED",
        "DOC",
        "XLS",
        "XLSX",
        "ODS",
        "ODT",
        "RTF",
    }
    assert watched.rows("SELECT COUNT(*) FROM visits WHERE text_chars IS NULL OR text_chars = 0") == [(0,)]
    listers = dict(
        watched.rows(
            "SELECT s.lister, COUNT(*) FROM watches w JOIN sources s ON s.id = w.source_id GROUP BY 1"
        )
    )
    assert {"hnb", "nn", "eurlex", "mrms", "hok"} <= set(listers)


@pytest.mark.slow
@pytest.mark.timeout(900)
@needs_chromium
@needs_tesseract
async def test_four_days_of_the_twin_are_told_once_each_and_rates_by_their_names(tmp_path):
    watched = await watched_for(4, tmp_path, pages=6, children=12)
    found = agrees(watched)
    assert found.true > 8
    told = watched.rows(
        "SELECT c.summary FROM changes c JOIN watches w ON w.id = c.watch_id "
        "WHERE c.state = 'reported' AND w.url LIKE '%/tecajn-eur/v3'"
    )
    assert len(told) == 4  # working days
    assert all("/valuta=" in summary for (summary,) in told)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@needs_chromium
@needs_tesseract
@pytest.mark.parametrize("children", [300, pytest.param(2000, marks=pytest.mark.drill)])
async def test_a_gazette_with_thousands_of_sitemaps_is_read_whole_without_a_ban(tmp_path, children):
    watched = await watched_for(0, tmp_path, pages=6, children=children)
    agrees(watched)
    assert watched.rows("SELECT COUNT(*) FROM watches WHERE url GLOB '*/sitemap_*'") == [(children,)]
