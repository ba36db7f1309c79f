"""Whatever the bytes, every lister answers with a Listing."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vedette.contracts.source import ListerKind
from vedette.core.urls.canonical import watch_id
from vedette.discover import LISTERS, ListingDocument, read_listing

NOW = datetime(2026, 11, 15, tzinfo=UTC)
PIECES = (
    "<rss>|<channel>|<item>|</item>|<link>|https://h.hr/1|</link>|<link href='/2'/>|<guid>|<entry>|<pubDate>|"
    "<feed xmlns='http://www.w3.org/2005/Atom'>|Mon, 99 Foo|<urlset>|<url>|<loc>|</loc>|<lastmod>|<sitemapindex>|"
    "9999-12-31T23:59:59-23:59|0001-01-01T00:00:00+23:59|<sitemap>|<![CDATA[|]]>|<!--|-->|<!DOCTYPE x [|]>|"
    "<!ENTITY a 'b'>|&a;|&|&nbsp;|&#0;|&#xFFFFFF;|<?xml version='1.0' encoding='utf-7'?>|<html>|<li>|<table>|"
    "<base href='http://['>|<a href='?page=2'>2</a>|<a rel=next href='x'>|<ul class=pager>|<article>|<script>|"
    "</script>|<a href='|'>|\x00|\ufeff|\ud7ff|<x:y xml:base='..'>|<RDF>|text|0001-01-01|\n"
).split("|")
MARKUP = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
BODY = st.one_of(
    st.binary(max_size=200),
    st.builds(
        str.encode, MARKUP, st.sampled_from(["utf-8", "utf-16", "utf-32", "utf-16-le"]), st.just("replace")
    ),
    st.builds(lambda text, cut: gzip.compress(text.encode())[:cut], MARKUP, st.integers(0, 400)),
)
URL = st.sampled_from(
    ["https://h.hr/", "https://h.hr/a?page=3", "http://127.0.0.1:8080/x/page/2", "http://[::1]/s.xml"]
)
TYPE = st.sampled_from(
    ["", "text/html; charset=punycode", "text/xml; charset=utf-16", "x/y; charset=\\x00", "text/html"]
)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(list(LISTERS)), BODY, URL, TYPE, st.integers(0, 30))
def test_no_document_makes_a_lister_raise(kind, body, url, content_type, depth):
    document = ListingDocument(url=url, body=body, content_type=content_type, depth=depth, now=NOW)
    listing = read_listing(ListerKind(kind), document)
    for sighting in listing.sightings:
        assert sighting.url.startswith(("http://", "https://"))
        assert sighting.id == watch_id(sighting.url)
    assert len({sighting.url for sighting in listing.sightings}) == len(listing.sightings)
    assert all(follow.depth > depth for follow in listing.follow)
