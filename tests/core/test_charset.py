"""What a page declares is read as browsers read it, and a listing is read by the same rule as its pages."""

from __future__ import annotations

import codecs
import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.source import ListerKind, ListerOptions
from vedette.core.text.charset import _CODECS, PIECE, decode, is_clean_utf8
from vedette.discover import ListingDocument, read_listing
from vedette.extract import extract

TEXT = "Čuđenje šumske ježevke: žuti đurđevak, ćilim"
NOW = datetime(2026, 11, 15, tzinfo=UTC)
DECLARED = {
    "in a comment": ("<!-- <meta charset=iso-8859-5> --><meta charset=windows-1250>", "windows-1250"),
    "in a comment of more lines": (
        "<!--\n<meta http-equiv=content-type content='text/html; charset=koi8-r'>\n-->\n<meta charset=iso-8859-2>",
        "iso-8859-2",
    ),
    "in a comment that ends at once": ("<!--><meta charset=windows-1250>-->", "windows-1250"),
    "unknown, then known": ("<meta charset=klingon><meta charset=windows-1250>", "windows-1250"),
    "in a value of another tag": (
        "<p title='<meta charset=koi8-r>'><meta charset=windows-1250>",
        "windows-1250",
    ),
    "in an attribute of its own name": (
        "<meta name=x content='charset=koi8-r'><meta charset=windows-1250>",
        "windows-1250",
    ),
    "as a description": (
        "<meta name=description content='text/html; charset=koi8-r'><meta charset=iso-8859-2>",
        "iso-8859-2",
    ),
    "by its old form": (
        "<META CONTENT='text/html; charset=windows-1250' HTTP-EQUIV='Content-Type'>",
        "windows-1250",
    ),
    "with quotes inside": (
        "<meta http-equiv=content-type content=\"text/html; charset='iso-8859-2'\">",
        "iso-8859-2",
    ),
    "with spaces": ("<meta charset = ' windows-1250 '>", "windows-1250"),
    "twice": ("<meta charset=windows-1250><meta charset=iso-8859-5>", "windows-1250"),
    "not a meta": ("<metadata charset=koi8-r></metadata><meta charset=windows-1250>", "windows-1250"),
    "in a document type": (
        "<!DOCTYPE html SYSTEM '<meta charset=koi8-r'><meta charset=windows-1250>",
        "windows-1250",
    ),
    "in an instruction": ("<?php <meta charset=koi8-r ?><meta charset=windows-1250>", "windows-1250"),
    "by XML": ("<?xml version='1.0' encoding='windows-1250'?><feed><title>x</title>", "windows-1250"),
    "by XML and in it": (
        "<?xml version='1.0' encoding='windows-1250'?><rss><![CDATA[<meta charset=koi8-r>]]>",
        "windows-1250",
    ),
    "by an unusual label": ("<meta charset=iso_8859-2:1987>", "iso-8859-2"),
}


@pytest.mark.parametrize("name", DECLARED)
def test_the_declaration_that_counts_is_the_one_a_browser_takes(name):
    head, charset = DECLARED[name]
    text, used = decode(f"{head}<p>{TEXT}</p>".encode(charset), "text/html")
    assert (used, TEXT in text) == (charset, True)


def test_every_codec_of_the_table_is_one_and_no_label_stands_twice():
    labels = [label for spelled in _CODECS.values() for label in spelled.split()]
    assert len(labels) == len(set(labels))
    assert all(codecs.lookup(codec) for codec in _CODECS)


STORIES = [
    ("utf-8", "", ""), ("utf-8", "text/html; charset=iso-8859-1", ""), ("cp1250", "", ""), ("iso-8859-2", "", ""),
    ("cp1250", "text/html; charset=utf-8", ""), ("cp1250", "text/html; charset=windows-1250", ""),
    ("iso-8859-2", "text/html; charset=latin2", ""), ("utf-16", "", ""), ("utf-16-le", "", ""), ("utf-16-be", "", ""),
    ("utf-32", "", ""), ("iso-8859-2", "", "<!-- <meta charset=koi8-r> --><meta charset=iso-8859-2>"),
    ("cp1250", "", "<meta charset=nothing><meta charset=cp1250>"),
]  # fmt: skip


@pytest.mark.parametrize(("codec", "header", "meta"), STORIES)
def test_the_title_in_a_listing_has_the_letters_of_the_page(codec, header, meta):
    page = f"<html><head>{meta}<title>{TEXT}</title></head><body><main><ul>"
    page += (
        "".join(f"<li><a href='/{n}'>{TEXT} {n}</a></li>" for n in range(5)) + "</ul></main></body></html>"
    )
    body = page.encode(codec)
    read = extract(body, url="https://a.hr/", content_type=header)
    document = ListingDocument(
        url="https://a.hr/", body=body, content_type=header, now=NOW, options=ListerOptions()
    )
    listing = read_listing(ListerKind.HTML_LIST, document)
    assert read.title == TEXT
    assert [seen.title for seen in listing.sightings] == [f"{TEXT} {n}" for n in range(5)]


SHAPES = {  # how each class of body says the same words, with room for a declaration in it
    "page": "{meta}<html><head><title>{text}</title></head><body><p>x</p></body></html>",
    "list": "{meta}<html><body><main><ul><li><a href='/1'>{text}</a></li><li><a href='/2'>{text}</a></li>"
    "<li><a href='/3'>{text}</a></li></ul></main></body></html>",
    "feed": "{xml}<rss><channel><item><link>https://a.hr/1</link><title>{text}</title></item></channel></rss>",
    "sitemap": "{xml}<urlset xmlns:news='n'><url><loc>https://a.hr/1</loc>"
    "<news:news><news:title>{text}</news:title></news:news></url></urlset>",
    "fields": "{xml}<rates><name>{text}</name></rates>",
}
LISTED = {"list": ListerKind.HTML_LIST, "feed": ListerKind.FEED, "sitemap": ListerKind.SITEMAP}
LETTERS = {
    "iso-8859-2": "šuma žito Čačak", "cp1250": "šuma žito Čačak", "cp1252": "Müller façade naïve señor",
    "utf-8": "šuma façade 東京", "utf-8-sig": "šuma façade 東京", "utf-16": "šuma façade 東京",
    "utf-16-le": "šuma 東京",
}  # fmt: skip
HEADERS = [
    "",
    "{kind}",
    "{kind}; charset={codec}",
    "{kind}; charset=utf-8",
    "{kind}; charset=iso-8859-1",
    "{kind}; charset=no",
]
INSIDE = ["", "{codec}", "utf-8", "iso-8859-5", "klingon"]


def letters_in(shape: str, body: bytes, header: str) -> str:
    if shape not in LISTED:
        found = extract(body, url="https://a.hr/x", content_type=header)
        return found.title if shape == "page" else found.text.rpartition("/name ")[2]
    document = ListingDocument(url="https://a.hr/x", body=body, content_type=header, now=NOW)
    return read_listing(LISTED[shape], document).sightings[0].title


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("codec", LETTERS)
def test_a_page_a_list_a_feed_and_a_sitemap_read_the_same_bytes_as_the_same_letters(codec, header, inside):
    """Whatever is declared, rightly or wrongly, in the header or in the body."""
    said, read = inside.format(codec=codec.removesuffix("-sig")), {}
    for shape, markup in SHAPES.items():
        meta = f"<meta charset={said}>" if said else ""
        xml = f"<?xml version='1.0' encoding='{said}'?>" if said else ""
        body = markup.format(meta=meta, xml=xml, text=LETTERS[codec]).encode(codec)
        kind = "text/html" if shape in ("page", "list") else "text/xml"
        read[shape] = letters_in(shape, body, header.format(kind=kind, codec=codec))
    assert len(set(read.values())) == 1, read


@pytest.mark.parametrize("codec", ["iso-8859-2", "cp1250", "utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_undeclared_letters_of_this_region_are_read_in_every_class_of_body(codec):
    for shape, markup in SHAPES.items():
        body = markup.format(meta="", xml="", text=LETTERS[codec]).encode(codec)
        kind = "text/html" if shape in ("page", "list") else "text/xml"
        assert letters_in(shape, body, kind) == LETTERS[codec], shape


def test_fields_of_xml_are_read_by_the_header_and_the_declaration_alike():
    xml = f"<rates><name>{TEXT}</name></rates>"
    for body, header in (
        (xml.encode("cp1250"), "text/xml; charset=windows-1250"),
        (b"<?xml version='1.0' encoding='iso-8859-2'?>" + xml.encode("iso-8859-2"), "text/xml"),
        (xml.encode("cp1250"), "text/xml"),
    ):
        assert TEXT in extract(body, url="https://a.hr/x.xml", content_type=header).text


@given(
    st.binary(max_size=300),
    st.sampled_from(["", "text/html; charset=utf-8", "text/html; charset='", "charset"]),
)
def test_any_bytes_are_some_text(noise, header):
    for body in (noise, b"<meta " + noise, b"<?xml " + noise):
        text, _ = decode(body, header)
        assert "\0" not in text
        text.encode()


@pytest.mark.parametrize(
    "bait", ["<!--", "<meta a='", "<meta charset", '<a b="', "<meta content='charset=", "<"]
)
def test_a_head_that_is_made_to_hurt_is_read_once(bait):
    chance = random.Random(1)
    decode((bait * 2000).encode() + chance.randbytes(50), "text/html")


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_clean_utf_8_is_what_decodes_to_itself(body):
    if is_clean_utf8(body):
        assert decode(body, "")[0].encode() == body
    assert is_clean_utf8(b"a" * (PIECE - 1) + "č".encode())
    assert not is_clean_utf8(b"a" * PIECE + "č".encode()[:1])
