"""The ten content classes of 001 appendix A, by bytes, by header and by URL."""

from __future__ import annotations

import pytest
from document_kit import LINES, TITLE, WHOLE, package, scanned

from vedette.contracts.words import ContentClass
from vedette.extract import content_class
from vedette.extract.documents import read_document
from vedette.livingweb.documents import MAKERS

C = ContentClass
PLAIN = "http://a.example/dokument"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
CUT = package({"a": bytes(50)})[:30]
NOISE = bytes(range(1, 9)) * 50
PAGE = b"<!doctype html><html><body><p>Stranica</p></body></html>"
# class, bytes that say it, bytes that say nothing, header, extension
TEN = [
    (C.HTML, PAGE, b"Samo tekst", "text/html; charset=utf-8", "html"),
    (C.PDF_TEXT, WHOLE["pdf"](), NOISE, "application/pdf", "pdf"),
    (C.DOC, WHOLE["doc"](), OLE, "application/msword", "doc"),
    (C.DOCX, WHOLE["docx"](), CUT, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    (C.XLS, WHOLE["xls"](), OLE, "application/vnd.ms-excel", "xls"),
    (C.XLSX, WHOLE["xlsx"](), CUT, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    (C.JSON, b'{"stopa": 25}', b'"stopa"', "application/json", "json"),
    (C.JSON_LD, b'{"@context": "https://schema.org"}', b'{"stopa": 25}', "application/ld+json", "jsonld"),
    (C.XML, b'<?xml version="1.0"?><stopa/>', b"<stopa>25</stopa>", "application/xml", "xml"),
]  # fmt: skip
NAMES = [kind.value for kind, *_ in TEN]


@pytest.mark.parametrize(("kind", "body", "_neutral", "_header", "_extension"), TEN, ids=NAMES)
def test_each_class_is_told_by_its_bytes_alone(kind, body, _neutral, _header, _extension):
    assert content_class(body, url=PLAIN, content_type="") is kind


@pytest.mark.parametrize(("kind", "_body", "neutral", "header", "_extension"), TEN, ids=NAMES)
def test_where_bytes_leave_it_open_the_header_decides(kind, _body, neutral, header, _extension):
    assert content_class(neutral, url=PLAIN, content_type=header) is kind


@pytest.mark.parametrize(("kind", "_body", "neutral", "_header", "extension"), TEN, ids=NAMES)
def test_where_the_header_is_silent_too_the_url_decides(kind, _body, neutral, _header, extension):
    for url in (
        f"{PLAIN}.{extension}",
        f"{PLAIN}.{extension.upper()}?x=1#y",
        f"http://a.example/%C5%A1.{extension}",
    ):
        assert content_class(neutral, url=url, content_type="") is kind


@pytest.mark.parametrize(("kind", "body", "_neutral", "_header", "_extension"), TEN, ids=NAMES)
def test_no_header_and_no_url_turns_clear_bytes_into_something_else(
    kind, body, _neutral, _header, _extension
):
    for _, _, _, header, extension in TEN:
        if kind is C.JSON and header == "application/ld+json":
            continue  # plain JSON under that header is what it says
        found = content_class(
            body, url=f"{PLAIN}.{extension if kind is not C.JSON else 'x'}", content_type=header
        )
        assert found is kind, (header, extension)


def test_the_tenth_class_is_told_by_the_pages():
    found = read_document(scanned(150), url=PLAIN, content_type="")
    assert (found.content_class, found.scans) == (C.PDF_SCANNED, (0,))


@pytest.mark.parametrize(
    ("body", "extension", "kind"),
    [
        (b"<table><tr><td>1</td></tr></table>", "xls", C.HTML),  # what many programs export as Excel
        (b"\xef\xbb\xbfIznos\tEUR\r\n1\t2\r\n", "xls", C.TEXT),
        (b"{\\rtf1\\ansi \\'8auma}", "doc", C.RTF),
        (PAGE, "doc", C.HTML),
        (b'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook/>', "xls", C.XML),
        (b"Pogreska 500", "pdf", C.TEXT),
    ],
)
def test_a_file_that_only_has_the_name_of_an_office_file_is_what_its_bytes_are(body, extension, kind):
    assert content_class(body, url=f"{PLAIN}.{extension}", content_type="") is kind


def test_a_locked_office_file_says_that_it_is_locked():
    body = OLE + "EncryptedPackage".encode("utf-16le")
    found = read_document(body, url=f"{PLAIN}.docx", content_type="")
    assert (found.content_class, found.problem) == (C.DOCX, "encrypted: a password is asked for")


def test_the_living_web_serves_every_kind_under_its_own_header():
    for name, maker in MAKERS.items():
        found = content_class(maker.make(TITLE, LINES), url=f"{PLAIN}.bin", content_type=maker.content_type)
        named = {"pdf": "PDF_TEXT", "scan": "PDF_TEXT", "jsonld": "JSON_LD"}
        assert found.value == named.get(name, name.upper())
