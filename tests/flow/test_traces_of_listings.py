"""What a lister saw and did not take leaves a trace, and `auto` says what it became."""

from __future__ import annotations

import pytest
from scripted import life, page

from vedette.core.urls.canonical import watch_id
from vedette.store.queries import Queries

DOCS = "https://a.hr/docs/"
IMAGE = "https://a.hr/img/town-hall.png"
NOTICE = "https://a.hr/docs/notice.png"
LINKS = (
    '<ul><li><a href="report.pdf">Izvješće</a></li><li><a href="form.docx">Obrazac</a></li>'
    '<li><a href="prices.xlsx">Cjenik</a></li><li><a href="notice.png">Obavijest</a></li>'
    '<li><a href="/img/town-hall.png">Vijećnica</a></li></ul><img src="/docs/seal.png"><img src="/docs/scan.tif">'
)


def script(url: str, hours: float):
    if url.endswith("/robots.txt"):
        return 404, ""
    return (
        (200, f"<html><body><h1>Dokumenti</h1>{LINKS}</body></html>") if url == DOCS else (200, page("Tekst"))
    )


@pytest.mark.parametrize("lister", ["html_list", "crawl", "auto"])
async def test_a_notice_that_is_an_image_is_taken_and_other_images_are_remembered_with_their_reason(
    tmp_path, lister
):
    watched = life(tmp_path, script, {"id": "docs", "url": DOCS, "lister": lister})
    await watched.run(seconds=3600.0)
    assert watched.rows("SELECT url, reason FROM refusals WHERE id = ?", watch_id(IMAGE)) == [
        (IMAGE, "page_part")
    ]
    taken = {url for (url,) in watched.rows("SELECT url FROM watches")}
    assert {f"{DOCS}report.pdf", f"{DOCS}form.docx", f"{DOCS}prices.xlsx", NOTICE} <= taken
    assert (
        not {IMAGE, f"{DOCS}seal.png", f"{DOCS}scan.tif"} & taken
    )  # what is only shown on the page is no link


async def test_sources_say_what_auto_became(tmp_path):
    sources = (
        {"id": "docs", "url": DOCS, "lister": "auto"},
        {"id": "page", "url": "https://a.hr/p", "lister": "auto"},
    )
    watched = life(tmp_path, script, *sources)
    await watched.run(seconds=3600.0)
    with Queries(watched.data / "vedette.db") as queries:
        assert {view.source.id: view.read_as for view in queries.sources()} == {
            "docs": "html_list",
            "page": "page",
        }
