"""Every kind of file that a page may be: what it is served as, how its name ends, and who makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vedette.livingweb.documents import (
    OFFICE,
    make_docx,
    make_json,
    make_json_ld,
    make_pdf,
    make_xlsx,
    make_xml,
)
from vedette.livingweb.office import make_doc, make_ods, make_odt, make_rtf, make_xls
from vedette.livingweb.scanning import make_scan
from vedette.livingweb.slides import make_ppt, make_pptx


class Maker(NamedTuple):
    content_type: str
    extension: str
    make: Callable[[str, tuple[str, ...]], bytes]


MAKERS = {
    "pdf": Maker("application/pdf", "pdf", make_pdf),
    "scan": Maker("application/pdf", "pdf", make_scan),
    "docx": Maker(f"{OFFICE}.wordprocessingml.document", "docx", make_docx),
    "xlsx": Maker(f"{OFFICE}.spreadsheetml.sheet", "xlsx", make_xlsx),
    "doc": Maker("application/msword", "doc", make_doc),
    "xls": Maker("application/vnd.ms-excel", "xls", make_xls),
    "odt": Maker("application/vnd.oasis.opendocument.text", "odt", make_odt),
    "rtf": Maker("application/rtf", "rtf", make_rtf),
    "ods": Maker("application/vnd.oasis.opendocument.spreadsheet", "ods", make_ods),
    "ppt": Maker("application/vnd.ms-powerpoint", "ppt", make_ppt),
    "pptx": Maker(f"{OFFICE}.presentationml.presentation", "pptx", make_pptx),
    "json": Maker("application/json", "json", make_json),
    "jsonld": Maker("application/ld+json", "jsonld", make_json_ld),
    "xml": Maker("application/xml", "xml", make_xml),
}
