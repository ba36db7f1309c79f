"""Words of links: what a link says, and the words of the path that it leads to.  A hunt learns which led to finds.

Letters alone, in lower case: numbers name nothing that comes again.  Bounded in number, length and work.
"""

from __future__ import annotations

import html
import re
from urllib.parse import unquote, urlsplit

from vedette.core.text.redact import redact

MOST_SAID, MOST_OF_PATH = 8, 6  # words of one link
MOST_LINKS = 600  # of one page
_LINK = re.compile(
    r"<a\b[^>]{0,400}?\bhref\s{0,4}=\s{0,4}(?:\"([^\"<>]{1,2000})\"|'([^'<>]{1,2000})'|([^\s\"'<>]{1,2000}))"
    r"[^>]{0,400}>(.{1,300}?)</a",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(r"<[^>]{0,300}>")
_WORD = re.compile(r"[^\W\d_]{3,24}")


def said_links(markup: str) -> dict[str, tuple[str, ...]]:
    """What each link of a page says, by its address as it is written; of links to one address, the first that speaks.

    Personal data is left out whatever the source says: words are kept longer than the page.
    """
    found: dict[str, str] = {}
    for match in _LINK.finditer(markup):
        href = html.unescape(match[1] or match[2] or match[3]).strip()
        said = " ".join(html.unescape(_TAG.sub(" ", match[4])).split())
        if said and href not in found:
            found[href] = redact(said)
        if len(found) >= MOST_LINKS:
            break
    words = {href: words_of(said) for href, said in found.items()}
    return {href: one for href, one in words.items() if one}


def words_of(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_WORD.findall(text.lower())))[:MOST_SAID]


def path_words(url: str) -> tuple[str, ...]:
    """The words of a path, marked as such: a folder says something else than a title."""
    path = unquote(urlsplit(url).path)[:400].lower()
    return tuple("/" + word for word in dict.fromkeys(_WORD.findall(path)))[:MOST_OF_PATH]
