from __future__ import annotations

import io
import json
import random
import zipfile
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from vedette.contracts.words import ContentClass as C
from vedette.core.text.charset import decode
from vedette.extract import blocks, extract
from vedette.extract.classes import content_class
from vedette.extract.scope import fold

URL = "https://a.hr/x"


def archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name in names:
            file.writestr(name, "x")
    return buffer.getvalue()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("body", "header", "url", "kind"),
    [
        (b"%PDF-1.7 x", "text/html", URL, C.PDF_TEXT),
        (b"<!doctype html><p>error", "application/pdf", "https://a.hr/a.pdf", C.HTML),
        (b"<html><p>%PDF-1.4", "text/html", URL, C.HTML),
        (archive("[Content_Types].xml", "word/document.xml"), "application/octet-stream", URL, C.DOCX),
        (archive("[Content_Types].xml", "xl/workbook.xml"), "application/zip", URL, C.XLSX),
        (archive("a.txt"), "application/zip", URL, C.OTHER),
        (OLE + "WordDocument".encode("utf-16le"), "", URL, C.DOC),
        (OLE + "Workbook".encode("utf-16le"), "", URL, C.XLS),
        (OLE, "application/msword", URL, C.DOC),
        (OLE, "", "https://a.hr/cijene.xls?x=1", C.XLS),
        (b'{"a": 1}', "text/html", URL, C.JSON),
        (b'{"a": 1}', "application/ld+json", URL, C.JSON_LD),
        (b"<html><body>x", "application/json", URL, C.HTML),
        (b'<?xml version="1.0"?><rss/>', "text/html", URL, C.XML),
        (b'<?xml version="1.0"?><!DOCTYPE html><html xmlns="x">', "application/xml", URL, C.HTML),
        (b"\x89PNG\r\n", "text/html", URL, C.IMAGE),
        (b"a,b\n1,2", "text/csv", URL, C.TEXT),
        (b"just text", "", URL, C.TEXT),
        (bytes(range(1, 9)) * 50, "text/html", URL, C.OTHER),
        (b"  <p>no doctype", "text/html", URL, C.HTML),
        (b"", "text/html", URL, C.HTML),
    ],
)
def test_bytes_decide_then_the_header_then_the_url(body, header, url, kind):
    assert content_class(body, url=url, content_type=header) is kind


CROATIAN = "Člankom 5. određuje se žalba, šteta i đak."


@pytest.mark.parametrize(
    ("body", "header", "charset"),
    [
        (CROATIAN.encode(), "text/html", "utf-8"),
        (CROATIAN.encode("cp1250"), "text/html", "windows-1250"),
        (CROATIAN.encode("cp1250"), "text/html; charset=utf-8", "windows-1250"),
        (CROATIAN.encode("iso-8859-2"), "text/html", "iso-8859-2"),
        (CROATIAN.encode("cp1250"), "text/html; charset=Windows-1250", "windows-1250"),
        (CROATIAN.encode(), "text/html; charset=iso-8859-1", "utf-8"),
        (b"<meta charset=windows-1250>" + CROATIAN.encode("cp1250"), "text/html", "windows-1250"),
        (b"<meta charset=windows-1250>" + CROATIAN.encode(), "text/html", "utf-8"),
        (b"\xef\xbb\xbf" + CROATIAN.encode(), "text/html; charset=iso-8859-2", "utf-8"),
        (b"\xff\xfe" + CROATIAN.encode("utf-16le"), "text/html", "utf-16le"),
    ],
)
def test_letters_survive_every_charset_story(body, header, charset):
    text, used = decode(body, header)
    assert CROATIAN in text
    assert used == charset


def test_utf_7_is_never_used():
    text, _ = decode(b"+ADw-script+AD4-", "text/html; charset=utf-7")
    assert "<script>" not in text


def test_one_bad_byte_does_not_turn_utf_8_into_another_charset():
    text, used = decode((CROATIAN * 20).encode() + b"\xff", "text/html; charset=utf-8")
    assert used == "utf-8"
    assert CROATIAN in text


@given(st.binary(max_size=200), st.text(max_size=30))
def test_decoding_never_fails_and_leaves_no_nul(body, label):
    text, _ = decode(body, f"text/html; charset={label}")
    assert "\0" not in text
    text.encode()


def test_json_is_flat_sorted_and_its_numbers_canonical():
    body = b'{"b": 1.50, "a": [1, {"x/y": "\\ud800 \\u010d"}], "c": null, "d": true, "e": 15e-1}'
    assert blocks(body, url=URL, content_type="application/json") == (
        ("/a/0", "1"),
        ("/a/1/x~1y", "? č"),
        ("/b", "1.5"),
        ("/c", "null"),
        ("/d", "true"),
        ("/e", "1.5"),
    )


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda x: st.lists(x) | st.dictionaries(st.text(), x),
)


@given(values)
def test_key_order_and_spacing_of_json_do_not_count(value):
    one = json.dumps(value, indent=2).encode()
    other = json.dumps(value, sort_keys=True).encode()
    kind = "application/json"
    assert blocks(one, url=URL, content_type=kind) == blocks(other, url=URL, content_type=kind)


def test_xml_has_text_and_attributes_by_local_names():
    body = b'<a:r xmlns:a="u"><i n="1">x <b>y</b> z</i><i>2</i></a:r>'
    assert blocks(body, url=URL, content_type="text/xml") == (
        ("/r/i/@n", "1"),
        ("/r/i", "x z"),
        ("/r/i/b", "y"),
        ("/r/i[2]", "2"),
    )


def test_an_external_entity_is_not_read(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    body = f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file://{secret}">]><a>t&x;u</a>'.encode()
    assert "hunter2" not in extract(body, url=URL, content_type="text/xml").text


def test_a_document_class_is_named_and_its_text_left_for_later():
    found = extract(b"%PDF-1.7", url=URL, content_type="application/pdf")
    assert (found.content_class, found.text, found.problem) == (C.PDF_TEXT, "", "")


LOL = (
    b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(9))
    + b"]><l>&j;</l>"
)
BOMBS = {
    "nested divs": (b"<div>" * 100_000, "text/html", "nested too deep"),
    "balanced divs": (b"<div>" * 50_000 + b"</div>" * 50_000, "text/html", "nested too deep"),
    "formatting": (b"".join(b"<b a=%d><p>" % i for i in range(6000)), "text/html", "too many unclosed tags"),
    "attributes": (
        b"<p " + b" ".join(b"a%d=1" % i for i in range(300_000)) + b">",
        "text/html",
        "too many attributes",
    ),
    "quoted attributes": (
        b"<p " + b" ".join(b"a%d='>'" % i for i in range(50_000)) + b">",
        "text/html",
        "too many attributes",
    ),
    "json arrays": (b"[" * 100_000 + b"]" * 100_000, "application/json", "JSON nested too deep"),
    "json half deep": (b"[" * 500 + b"]" * 500, "application/json", "JSON nested too deep"),
    "xml depth": (b"<a>" * 50_000 + b"</a>" * 50_000, "text/xml", "not well-formed XML"),
    "xml attributes": (
        b"<a " + b" ".join(b"a%d='1'" % i for i in range(50_000)) + b"/>",
        "text/xml",
        "too many",
    ),
    "xml entities": (LOL, "text/xml", "not well-formed XML"),
    "broken json": (b'{"a": }', "application/json", "not JSON"),
    "cut xml": (b"<?xml version='1.0'?><a><b>", "text/xml", "not well-formed XML"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_as_a_problem(name):
    body, content_type, problem = BOMBS[name]
    found = extract(body, url=URL, content_type=content_type)
    assert found.problem.startswith(problem)
    assert blocks(body, url=URL, content_type=content_type) == ()


HEAVY = {
    "one text": b"<p>" + b"x " * 5_000_000,
    "old table": b"<table>" + b"<tr><td>x<td>y<br>" * 20_000,
    "icons": b"<svg>" + b"<path d='M0 0'/>" * 30_000 + b"</svg><p>text",
    "script": b"<p>text<script>" + b"if(a<b){}" * 30_000 + b"</script>",
    "deep but not too deep": b"<div>" * 3000 + b"x",
}


@pytest.mark.parametrize("name", HEAVY)
def test_a_large_honest_page_is_read(name):
    found = extract(HEAVY[name], url=URL, content_type="text/html")
    assert not found.problem
    assert found.text


def _some_xml(chance: random.Random, level: int = 0) -> str:
    name, has = chance.choice("abcd"), set(chance.choices("klm", k=chance.randrange(3)))
    attributes = "".join(f' {key}="{chance.choice(["", "x ", "y&amp;z"])}"' for key in sorted(has))
    if level > 4 or chance.random() < 0.2:
        return f"<{name}{attributes}/>"
    inside = ""
    for _ in range(chance.randrange(5)):
        inside += chance.choice(["t ", "", "&amp;", "<![CDATA[q<]]>", "<!-- c -->", "<?pi x?>", "  \n"])
        inside += _some_xml(chance, level + 1) + chance.choice(["", "behind", " "])
    return f"<{name}{attributes}>{inside}</{name}>"


def _of_tree(element: etree._Element, path: str) -> Iterator[tuple[str, str]]:
    """The same fields, read from a whole tree."""
    for name, value in sorted(element.items()):
        if fold(str(value)):
            yield f"{path}/@{name}", fold(str(value))
    text = fold(" ".join([element.text or "", *(child.tail or "" for child in element)]))
    if text:
        yield path, text
    seen: Counter[str] = Counter()
    for child in element:
        seen[child.tag] += 1
        step = child.tag if seen[child.tag] == 1 else f"{child.tag}[{seen[child.tag]}]"
        yield from _of_tree(child, f"{path}/{step}")


@pytest.mark.parametrize("seed", range(5))
def test_xml_is_read_without_its_tree_as_it_would_be_with_it(seed):
    chance = random.Random(seed)
    for _ in range(100):
        document = "<r>" + "".join(_some_xml(chance) for _ in range(chance.randrange(1, 30))) + "</r>"
        parser = etree.XMLParser(remove_comments=True, remove_pis=True)
        tree = etree.fromstring(document.encode(), parser)
        found = blocks(document.encode(), url="http://a.hr/", content_type="application/xml")
        assert list(found) == list(_of_tree(tree, "/r")), document
