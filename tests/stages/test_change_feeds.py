"""Changes as Atom and JSON Feed: what they hold, who reads them, and that nothing of a page is markup in them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import feedparser
import pytest
from cli_call import Cli
from lxml import etree
from stocked import HOUR, NEWS, NOW, RULES, Stock, a_change, stocked
from web_kit import an_installation, serving

from vedette.contracts.change import DiffOp
from vedette.contracts.errors import InputError
from vedette.contracts.source import Registered
from vedette.operations.access_tokens import make_token
from vedette.operations.change_feeds import (
    change_feed,
    list_feed_addresses,
    make_feed_address,
    revoke_feed_address,
)
from vedette.report.feed_documents import atom, json_feed
from vedette.report.plain import plain
from vedette.store.access_rows import FeedScope
from vedette.store.migrate import DATABASE

ALL = FeedScope()
# What others may write where we read: each has to be read as these very characters, or as shown control characters.
PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "]]><script>alert(1)</script>",
    "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;",
    "&lt;b&gt; &#60;script&#62;",
    '=HYPERLINK("http://evil.example")',
    "[click](javascript:alert(1)) ![x](http://evil.example/x.png)",
    "{{7*7}} ${7*7} <%= 7*7 %>",
    "\x1b]0;owned\x07\x9b31m\u202egnp.exe\u2066\x00\ufffe",
    "a\r\nX-Injected: 1",
)


def planted(data: Path, payload: str) -> Stock:
    """A page whose title, text and address are what somebody hostile wrote."""
    stock = stocked(data)

    def hostile(watch, after):
        made = a_change(number=200)(watch, after)
        diff = (DiffOp("replace", (f"old {payload}",), (f"new {payload}",), ((payload, "new"),)),)
        return replace(made, comparison=replace(made.comparison, summary=payload, diff=diff))

    stock.visit(NEWS, body="x", title=payload, change=hostile, at=NOW - HOUR)
    return stock


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_of_a_page_is_markup_in_a_feed(tmp_path: Path, payload: str):
    planted(tmp_path, payload)
    feed = change_feed(an_installation(tmp_path), ALL)
    text = atom(feed)
    top = etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False))
    content = next(one for one in top.iter("{*}content") if "200" in one.getparent().findtext("{*}id"))
    shown = etree.HTML(content.text)
    assert {one.tag for one in shown.iter()} <= {"html", "body", "p", "div", "del", "ins"}
    assert not any(one.attrib for one in shown.iter())
    read = feedparser.parse(text.encode())
    assert not read.bozo
    entry = next(one for one in read.entries if one.id.endswith(":200"))
    as_shown = plain(payload).replace("\ufffe", "\ufffd")
    assert as_shown in content.getparent().findtext("{*}title")
    assert as_shown in content.getparent().findtext("{*}summary")
    assert as_shown in "".join(shown.itertext())
    assert "<script" not in entry.content[0].value
    items = {one["id"]: one for one in json.loads(json_feed(feed))["items"]}
    assert items["urn:vedette:change:200"]["content_html"] == content.text
    for document in (text, json_feed(feed)):
        assert not any(ord(char) < 32 and char != "\n" for char in document)
        assert not set("\u202e\u2066\x9b\ufffe") & set(document)


def test_a_feed_reader_reads_what_changed_where_and_when(tmp_path: Path):
    stocked(tmp_path)
    read = feedparser.parse(atom(change_feed(an_installation(tmp_path), ALL)).encode())
    assert (read.bozo, read.version, read.feed.title) == (False, "atom10", "Vedette: all changes")
    (entry,) = read.entries
    assert entry.link == RULES
    assert entry.id == "urn:vedette:change:77"
    assert "CRITICAL changed: PDV" in entry.title
    assert {one.term for one in entry.tags} == {"CRITICAL", "rules"}
    assert "<del>[-25-] </del>" in entry.content[0].value
    assert entry.published_parsed[:5] == (NOW - HOUR).timetuple()[:5]


def test_a_feed_is_of_all_of_a_tag_of_a_source_or_of_a_page(tmp_path: Path):
    stock = stocked(tmp_path)
    stock.source(NEWS, name="news", registered=Registered(tags=("tax",)))
    stock.visit(NEWS, body="x", change=a_change(number=201))
    installation = an_installation(tmp_path)

    def ids(**scope: str) -> set[int]:
        return {one.change.id for one in change_feed(installation, FeedScope(**scope)).entries}

    assert ids() == {77, 201}
    assert ids(tag="tax") == {201}
    assert ids(source="rules") == {77}
    assert ids(url=NEWS) == {201}
    assert ids(tag="tax", source="rules") == set()
    assert ids(tag="gone") == set(), "a reader of a tag that nobody has any more reads an empty feed"
    with pytest.raises(InputError, match="tag"):
        make_feed_address(installation, "ana", FeedScope(tag="tux"))
    with pytest.raises(InputError, match="source"):
        make_feed_address(installation, "ana", FeedScope(source="rulez"))


async def test_a_secret_address_reads_its_feed_and_nothing_else_until_it_is_revoked(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    make_token(installation, "ana", "read")
    secret = make_feed_address(installation, "board", FeedScope(source="news")).secret
    every = make_feed_address(installation, "all", ALL).secret
    assert secret.encode() not in (tmp_path / DATABASE).read_bytes()
    async with serving(installation) as client:
        assert (await client.ask(f"/feeds/{every}/changes.json")).json["items"][0]["url"] == RULES
        assert (await client.ask(f"/feeds/{secret}/changes.json")).json["items"] == []
        assert (
            (await client.ask(f"/feeds/{every}/changes.atom"))
            .headers["Content-Type"]
            .startswith("application/atom+xml")
        )
        for path in ("/changes", "/api/v1/changes", f"/feeds/{every}x/changes.atom", "/feeds//changes.atom"):
            assert (await client.ask(path)).status == 401, path
        assert (
            await client.ask("/api/v1/changes", headers={"Authorization": f"Bearer {every}"})
        ).status == 401
        assert (await client.post(f"/feeds/{every}/changes.atom")).status == 403
        revoke_feed_address(installation, "all")
    async with serving(installation) as client:
        assert (await client.ask(f"/feeds/{every}/changes.atom")).status == 401
    assert [one.name for one in list_feed_addresses(installation)] == ["board"]


async def test_a_reader_that_has_the_feed_already_is_told_so(tmp_path: Path):
    stock = stocked(tmp_path)
    installation = an_installation(tmp_path)
    async with serving(installation) as client:
        first = await client.ask("/api/v1/feed.atom")
        tag, date = first.headers["ETag"], first.headers["Last-Modified"]
        assert first.status == 200
        assert f'href="{client.address}/changes/1"' in first.text
        for headers in (
            {"If-None-Match": tag},
            {"If-None-Match": f'"x", W/{tag}'},
            {"If-Modified-Since": date},
        ):
            again = await client.ask("/api/v1/feed.atom", headers=headers)
            assert (again.status, again.text) == (304, ""), headers
        stale = {"If-None-Match": '"x"', "If-Modified-Since": date}
        assert (await client.ask("/api/v1/feed.atom", headers=stale)).status == 200, "the ETag decides"
        assert (await client.ask("/api/v1/feed.atom", headers={"If-Modified-Since": "soon"})).status == 200
        later = NOW - HOUR + timedelta(minutes=1)
        stock.visit(NEWS, body="x", change=a_change(number=201, at=later), at=later)
        for headers in ({"If-None-Match": tag}, {"If-Modified-Since": date}):
            assert (await client.ask("/api/v1/feed.atom", headers=headers)).status == 200, headers
        assert (await client.ask("/api/v1/feed.xml")).status == 422
        wrong = await client.ask("/api/v1/feed.json?source=rulez")
        assert (wrong.status, wrong.json["errors"][0]["field"]) == (422, "source")


async def test_feeds_are_made_and_revoked_over_http_by_admins_and_their_secret_is_kept_nowhere(
    tmp_path: Path,
):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    reader, admin = (make_token(installation, name, name).token for name in ("write", "admin"))
    key = {"Idempotency-Key": "k1", "Authorization": f"Bearer {admin}"}
    async with serving(installation) as client:
        given = {"json": {"name": "board", "source": "rules", "risk": "HIGH"}}
        headers = {"Authorization": f"Bearer {reader}"}
        assert (await client.post("/api/v1/feeds", headers=headers, **given)).status == 403
        made = await client.post("/api/v1/feeds", headers=key, **given)
        assert made.status == 201
        assert (await client.ask(made.json["atom"])).status == 200
        assert (await client.post("/api/v1/feeds", headers=key, **given)).text == made.text, "the same key"
        secret = made.json["atom"].split("/")[2]
        assert secret.encode() not in (tmp_path / DATABASE).read_bytes()
        assert (await client.ask("/api/v1/feeds", headers=key)).json["items"][0]["risk"] == "HIGH"
        assert (
            await client.ask("/api/v1/feeds/board", "DELETE", headers={**key, "Idempotency-Key": "k2"})
        ).status == 200


def test_the_verb_makes_shows_lists_and_revokes(tmp_path: Path):
    stocked(tmp_path)
    cli = Cli(tmp_path)
    made = cli("feed", "add", "ana", "--source", "rules")
    assert made.out.startswith("http://127.0.0.1:9464/feeds/")
    assert made.out.count("\n") == 2
    assert "changes of rules" in made.err
    assert "there is a feed" in cli("feed", "add", "ana").err
    assert cli("feed", "list", "--json").json["feeds"][0]["source"] == "rules"
    assert "changes of rules" in cli("feed").out
    assert feedparser.parse(cli("feed", "show").out.encode()).entries[0].link == RULES
    assert json.loads(cli("feed", "show", "--format", "json", "--risk", "low").out)["items"]
    assert cli("feed", "show", "--format", "rss").code == 2
    assert cli("feed", "revoke", "ana").code == 0
    assert cli("feed", "revoke", "ana").code == 2
