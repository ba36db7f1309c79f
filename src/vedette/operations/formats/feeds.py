"""OPML: lists of feeds, as feed readers export them."""

from __future__ import annotations

from typing import Any

from lxml import etree

from vedette.contracts.source import ListerKind, Source
from vedette.operations.formats.entry import Entry, Parsed


def read_opml(data: bytes) -> Parsed:
    """Outlines with `xmlUrl` are feeds, those with `url` pages; folders are walked through."""
    parsed = Parsed()
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    try:
        top = etree.fromstring(data.strip(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        parsed.bad(1, "", f"not XML: {error}")
        return parsed
    for fault in list(parser.error_log)[:1]:
        parsed.bad(fault.line, "", f"broken XML, read as far as it goes: {fault.message}")
    if top is None or etree.QName(top).localname.lower() not in ("opml", "outline"):
        parsed.bad(1, "", "this XML is not OPML")
        return parsed
    for outline in top.iter("{*}outline"):
        entry = _entry(outline)
        if entry is not None:
            parsed.entries.append(entry)
    return parsed


def write_opml(sources: list[Source]) -> str:
    """Feeds as `rss` outlines, everything else as `link`."""
    top = etree.Element("opml", version="2.0")
    head = etree.SubElement(top, "head")
    etree.SubElement(head, "title").text = "vedette"
    body = etree.SubElement(top, "body")
    for source in sources:
        is_feed = source.lister is ListerKind.FEED
        outline = etree.SubElement(body, "outline", text=_xml(source.name), type="rss" if is_feed else "link")
        outline.set("xmlUrl" if is_feed else "url", _xml(source.url))
    return etree.tostring(top, pretty_print=True, xml_declaration=True, encoding="utf-8").decode()


def _entry(outline: etree._Element) -> Entry | None:
    said = {str(name).lower(): str(value) for name, value in outline.attrib.items()}
    feed = said.get("xmlurl", "").strip()
    page = said.get("url", "").strip() or (said.get("htmlurl", "").strip() if not len(outline) else "")
    if not feed and not page:
        return None
    keys = {"url": feed, "lister": ListerKind.FEED.value} if feed else {"url": page}
    name = (said.get("title") or said.get("text") or "").strip()
    if name:
        keys["name"] = name
    line: Any = outline.sourceline  # the stubs know no number
    return Entry.of_page(int(line or 0), keys)


def _xml(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(char for char in text if char >= " " or char in "\t\n")
