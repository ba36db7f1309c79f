"""The text of documents: every format, in reading order, letters intact; what is broken has a problem."""

from __future__ import annotations

import random
import unicodedata
import zipfile
from datetime import UTC, datetime
from io import BytesIO

import pytest
from document_kit import (
    BOMBS,
    DAMAGES,
    LINES,
    TITLE,
    TYPES,
    URL,
    WHOLE,
    free_sheet,
    image_pdf,
    jpeg_of,
    package,
    scanned,
    word_file,
)
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.documents import Document
from vedette.contracts.words import ContentClass
from vedette.extract import content_class
from vedette.extract.documents import read_document
from vedette.extract.documents.images import slant_of
from vedette.extract.documents.packages import document_date, property_date
from vedette.extract.documents.pdf import TextLine, paragraphs
from vedette.livingweb.documents import MAKERS, make_pdf
from vedette.livingweb.office import make_doc, make_rtf

C = ContentClass
CHEAP = [
    name for name in BOMBS if name.split(".")[0] in ("encrypted", "entities", "deep tables", "many files")
]


def read(body: bytes, url: str = URL, content_type: str = "") -> Document:
    return read_document(body, url=url, content_type=content_type)


def texts(document: Document) -> list[str]:
    return [text for _, text in document.blocks]


@pytest.mark.parametrize("kind", [kind for kind in WHOLE if kind not in ("docx", "xls", "xlsx", "ods")])
def test_every_line_of_a_document_is_one_block_with_its_letters_intact(kind: str):
    found = read(WHOLE[kind]())
    assert texts(found) == [TITLE, *LINES]
    assert (found.problem, found.language) == ("", "hr")


def test_a_sheet_gives_one_block_per_row_and_numbers_as_people_write_them():
    assert texts(read(WHOLE["xls"]())) == texts(read(WHOLE["ods"]()))
    assert texts(read(WHOLE["xls"]()))[:3] == ["List1", f"0 | {TITLE}", f"1 | {LINES[0]}"]
    assert texts(read(WHOLE["xlsx"]())) == ["List1", TITLE, *LINES]


def test_a_word_file_is_read_in_order_with_its_table_and_its_properties():
    found = read(word_file())
    assert texts(found) == [TITLE, *LINES[:2], "Obveza | Iznos", "Pristojba | 1.250,00 €", LINES[2]]
    assert [path for path, _ in found.blocks] == ["p", "p[2]", "p[3]", "tr", "tr[2]", "p[4]"]
    assert (found.title, found.author) == (TITLE, "Ana Čović")
    assert found.created_at == datetime(2026, 1, 12, 9, 30, tzinfo=UTC)


def test_rows_of_a_table_in_an_old_word_file_are_lines_of_their_own():
    table = "Obveza\x07Iznos\x07\x07Pristojba\x071.250,00 €\x07\x07Nakon tablice."
    found = read(make_doc(TITLE, (LINES[0], table)))
    assert found.blocks[2:] == (
        ("tr", "Obveza | Iznos"),
        ("tr[2]", "Pristojba | 1.250,00 €"),
        ("p[3]", "Nakon tablice."),
    )


def test_content_controls_are_read_and_deleted_text_is_not():
    def edit(made) -> None:
        word = nsdecls("w")
        control = (
            f"<w:sdt {word}><w:sdtContent><w:p><w:r><w:t>U polju</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        )
        tracked = (
            f'<w:p {word}><w:ins w:id="1"><w:r><w:t>novo</w:t></w:r></w:ins>'
            '<w:del w:id="2"><w:r><w:delText>staro</w:delText></w:r></w:del></w:p>'
        )
        end = made.element.body[-1]
        for xml in (control, tracked):
            end.addprevious(parse_xml(xml))

    assert texts(read(word_file(edit=edit)))[-2:] == ["U polju", "novo"]


def test_a_table_of_one_cell_is_a_frame_and_its_paragraphs_stay_apart():
    def edit(made) -> None:
        cell = made.add_table(rows=1, cols=1).rows[0].cells[0]
        cell.text = "Prvi stavak u okviru."
        cell.add_paragraph("Drugi stavak u okviru.")

    assert texts(read(word_file(edit=edit)))[-2:] == ["Prvi stavak u okviru.", "Drugi stavak u okviru."]


def test_a_free_sheet_is_read_with_its_numbers_and_dates():
    assert texts(read(free_sheet())) == ["Tečajna lista", "EUR | 7.5345 | 2026-01-12", "Šuma | 3"]


def test_letters_are_composed_however_the_writer_spelled_them():
    split = unicodedata.normalize("NFD", LINES[2])
    found = read(word_file(edit=lambda made: made.add_paragraph(split) and None))
    assert texts(found)[-1] == LINES[2]


def test_words_of_rtf_properties_are_read_in_their_code_page():
    body = make_rtf(TITLE, LINES).replace(b"\\f0\\fs24", b"{\\info{\\title Zakon o \\'e8uvanju}}\\f0\\fs24")
    assert read(body).title == "Zakon o čuvanju"


def test_lines_of_a_page_that_go_on_are_one_paragraph():
    long = " ".join(["Poduzetnik je dužan voditi evidenciju o svim isporukama dobara i usluga"] * 4)
    assert texts(read(make_pdf(TITLE, (long, LINES[0])))) == [TITLE, long, LINES[0]]


def test_a_word_more_changes_one_line_of_a_pdf_and_not_all_after_it():
    long = " ".join(["Obveznik vodi evidenciju o svim isporukama dobara i usluga"] * 5)
    before, after = (set(texts(read(make_pdf(TITLE, (text, *LINES))))) for text in (long, "Svaki " + long))
    assert after - before == {"Svaki " + long}


def test_a_heading_and_a_list_are_not_joined_with_what_follows():
    page = [
        TextLine("NASLOV ZAKONA KOJI IDE PREKO CIJELE STRANICE", 10, 500, 700, 724),
        TextLine("Tekst prvoga stavka koji ide do ruba stranice i nastavlja", 10, 500, 680, 692),
        TextLine("se u drugome retku", 10, 200, 666, 678),
        TextLine("1. prva točka koja je duga i ide sve do samoga ruba", 10, 500, 652, 664),
        TextLine("2. druga točka", 10, 120, 638, 650),
    ]
    found = list(paragraphs(page))
    assert found == [
        page[0].text,
        f"{page[1].text} {page[2].text}",
        page[3].text,
        page[4].text,
    ]


def test_a_page_of_pictures_is_a_scan_and_a_page_of_text_beside_it_is_not():
    picture = jpeg_of(scanned(150))
    found = read(image_pdf([picture, picture], text="\n".join(["Text of the first page, long enough."] * 5)))
    assert (found.content_class, found.pages, found.scans) == (C.PDF_SCANNED, 3, (1, 2))
    assert "Text of the first page" in texts(found)[0]
    mostly_text = read(image_pdf([picture], text="\n".join(["Text of the first page, long enough."] * 5)))
    assert (mostly_text.content_class, mostly_text.scans) == (C.PDF_TEXT, (1,))


def test_an_empty_page_and_a_page_with_a_few_words_are_not_scans():
    assert read(image_pdf([], text="Kratko")).scans == ()
    assert read(image_pdf([], text=" ")).scans == ()


@pytest.mark.parametrize("angle", [-3.0, -1.0, 0.0, 2.0])
def test_the_slant_of_a_page_is_found_within_a_fifth_of_a_degree(angle: float):
    import pypdfium2

    page = pypdfium2.PdfDocument(scanned(150, skew=angle))[0]
    pixels = page.render(scale=100 / 72, grayscale=True).to_numpy().squeeze()
    assert slant_of(pixels) == pytest.approx(angle, abs=0.2)


CLASSES = {
    "pdf": C.PDF_TEXT, "scan": C.PDF_TEXT, "docx": C.DOCX, "xlsx": C.XLSX, "doc": C.DOC, "xls": C.XLS,
    "odt": C.ODT, "rtf": C.RTF, "ods": C.ODS, "ppt": C.PPT, "pptx": C.PPTX, "json": C.JSON, "jsonld": C.JSON_LD,
    "xml": C.XML,
}  # fmt: skip


@pytest.mark.parametrize("kind", list(MAKERS))
@pytest.mark.parametrize("content_type", ["", "text/html", "application/octet-stream"])
def test_bytes_say_what_a_file_is_whatever_the_header_and_the_name_say(kind: str, content_type: str):
    body = MAKERS[kind].make(TITLE, LINES)
    assert content_class(body, url="http://a.example/file.bin", content_type=content_type) is CLASSES[kind]


def test_presentations_and_free_sheets_have_classes_of_their_own():
    slides = package({"[Content_Types].xml": b"", "ppt/presentation.xml": b"<p/>"})
    assert content_class(slides, url=URL, content_type="") is C.PPTX
    sheet = BytesIO()
    with zipfile.ZipFile(sheet, "w") as made:
        made.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    assert content_class(sheet.getvalue(), url=URL, content_type="") is C.ODS
    stream = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "PowerPoint Document".encode("utf-16-le")
    assert content_class(stream, url=URL, content_type="") is C.PPT


def test_slides_are_read_in_the_order_of_their_numbers():
    drawing = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    parts = {
        f"ppt/slides/slide{n}.xml": f"<s {drawing}><a:p><a:r><a:t>Slajd {n}: šuma</a:t></a:r></a:p></s>".encode()
        for n in (10, 2, 1)
    }
    found = read(package({"ppt/presentation.xml": b"<p/>"} | parts))
    assert texts(found) == ["Slajd 1: šuma", "Slajd 2: šuma", "Slajd 10: šuma"]
    assert found.pages == 3


def test_a_package_cut_short_is_named_by_its_url():
    half = word_file()[:2000]
    assert content_class(half, url="http://a.example/a.docx", content_type="") is C.DOCX
    assert read(half, url="http://a.example/a.docx").problem


@pytest.mark.parametrize("name", CHEAP)
def test_a_file_that_is_built_to_hurt_has_a_problem(name: str):
    assert read(BOMBS[name](), url=f"http://a.example/{name.replace(' ', '-')}").problem


def test_a_locked_pdf_says_that_it_is_locked():
    assert read(BOMBS["encrypted.pdf"]()).problem == "encrypted: a password is asked for"


@pytest.mark.parametrize("kind", ["docx", "odt", "pptx"])
def test_damage_is_a_value_and_never_an_exception(kind: str):
    """What other readers do with damage may be a crash or a hang: that is tried in a worker, test_engine_documents."""
    chance = random.Random(11)
    for damage in DAMAGES * 4:
        read(damage(WHOLE[kind](), chance), url=f"http://a.example/a.{kind}", content_type=TYPES[kind])


@given(st.binary(max_size=200), st.sampled_from(["docx", "odt", "pptx"]))
def test_any_bytes_after_the_magic_number_are_a_value(noise: bytes, extension: str):
    assert read(b"PK\x03\x04" + noise, url=f"http://a.example/a.{extension}").problem


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("D:20260112093000+01'00'", datetime(2026, 1, 12, 8, 30, tzinfo=UTC)),
        ("D:20260112", datetime(2026, 1, 12, tzinfo=UTC)),
        ("2026-01-12T09:30:00Z", datetime(2026, 1, 12, 9, 30, tzinfo=UTC)),
        ("D:2026", None),
        ("D:99999999999999", None),
        ("", None),
    ],
)
def test_dates_of_properties_are_read(text: str, moment: datetime | None):
    assert property_date(text) == moment


def test_a_document_without_properties_is_dated_by_the_line_at_its_foot():
    body = (("p", LINES[1]), ("p[2]", "Zagreb, 8. listopada 2026."))
    assert document_date(body) == datetime(2026, 10, 8, tzinfo=UTC)
    english = (("p", "Done in Zagreb on 8 October 2026"),)
    assert document_date(english) == datetime(2026, 10, 8, tzinfo=UTC)


def test_the_language_is_told_and_its_neighbours_are_one_group():
    from vedette.extract.documents.language import language_of

    assert (
        language_of(["Sud je donio odluku da se tužba odbija kao neosnovana u cijelosti, bez troškova."])
        == "hr"
    )
    assert (
        language_of(["Суд је донео одлуку да се тужба одбија као неоснована у целини, без трошкова."]) == "sr"
    )
    assert (
        language_of(["The court has decided that the claim is dismissed in its entirety, without costs."])
        == "en"
    )
    assert language_of(["12"]) == ""
