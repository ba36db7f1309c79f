"""What kind of page is behind a URL, before anyone has looked at it?  spec 000/2, spec 001/C.1.

The decoded URL is read: case and diacritics folded, the extension taken from the path alone.  The first
row of the packs that matches decides; rows of the configuration come before the packs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import re2

from vedette.contracts.words import NodeRole, NodeType, Reason, Risk
from vedette.core.urls.word_packs import DEFAULT_PACKS, RolePattern, plain, rows_of

ASSET_EXTENSIONS = frozenset("pdf doc docx xls xlsx ppt pptx odt ods rtf".split())  # spec 000/2, and rtf
ASSET_TYPES = ("pdf", "document", "msword", "ms-excel", "ms-powerpoint", "rtf")  # spec 000/2, spec 001/A.1
# Navigation alone gives a page 20 to 80 links.  A listing is mostly anchor text; an article is not (spec 001/C.1).
HUB_LINKS = 30
HUB_CHARS_PER_LINK = 60


@dataclass(frozen=True, slots=True)
class Classification:
    """What the URL says about the page.  Looking at it may say more (`becomes_hub`)."""

    node_type: NodeType
    node_role: NodeRole | None
    risk: Risk
    reason: Reason


def classify_url(
    url: str,
    content_type: str | None = None,
    *,
    packs: tuple[str, ...] = DEFAULT_PACKS,
    rows: tuple[RolePattern, ...] = (),
) -> Classification:
    """Node type, role and risk of a URL.  `rows` are the configuration's own and win over the packs."""
    front, _, query = url.partition("#")[0].partition("?")
    path = _folded(front)
    _, dot, extension = path.rpartition(".")
    if dot and extension in ASSET_EXTENSIONS:
        return _asset(f"extension .{extension}")
    if content_type and (kind := _asset_type(content_type)):
        return _asset(f"content type {kind}")
    matches, answers = _compiled(packs, rows)
    hits = matches.Match(f"{path}?{_folded(query)}" if query else path)
    return answers[min(hits)] if hits else _UNKNOWN


def inherit_risk(classification: Classification, parent_risk: Risk | None) -> Classification:
    """A document linked from a CRITICAL page is CRITICAL itself (spec 000/2)."""
    if classification.node_type is not NodeType.ASSET or parent_risk is not Risk.CRITICAL:
        return classification
    reason = replace(classification.reason, note=f"{classification.reason.note}; parent is CRITICAL")
    return replace(classification, risk=Risk.CRITICAL, reason=reason)


def becomes_hub(node_type: NodeType, link_count: int, text_chars: int) -> bool:
    """Is a fetched LEAF a listing?  Yes with at least 30 links and under 60 characters of text for each."""
    return (
        node_type is NodeType.LEAF
        and link_count >= HUB_LINKS
        and text_chars < HUB_CHARS_PER_LINK * link_count
    )


_UNKNOWN = Classification(NodeType.LEAF, None, Risk.MEDIUM, Reason("no_pattern", note="no row matched"))


@lru_cache(maxsize=256)
def _asset(why: str) -> Classification:
    return Classification(NodeType.ASSET, None, Risk.MEDIUM, Reason("asset", note=why))


def _asset_type(content_type: str) -> str:
    """The part of a content type that says document, or nothing.  Parameters are not part of the type."""
    media = content_type.partition(";")[0].lower()
    return next((word for word in ASSET_TYPES if word in media), "")


def _folded(text: str) -> str:
    """Percent-decoded, case folded, without diacritics: one spelling of a word."""
    if "%" in text:
        text = unquote_to_bytes(text.encode("utf-8", "replace")).decode("utf-8", "replace").strip()
    if text.isascii():
        return text.lower()
    return plain(text).casefold()


@lru_cache(maxsize=64)
def _compiled(
    packs: tuple[str, ...], rows: tuple[RolePattern, ...]
) -> tuple[re2.Set, tuple[Classification, ...]]:
    """All rows in one automaton, and what each row answers.  The lowest row that matches decides."""
    matches = re2.Set.SearchSet()
    answers = []
    named = (*((f"row {n}", row) for n, row in enumerate(rows, 1)), *rows_of(packs))
    for name, row in named:
        matches.Add(f"(?i){plain(row.pattern)}")
        kind = NodeType.HUB if row.is_hub else NodeType.LEAF
        answers.append(
            Classification(kind, row.role, row.risk, Reason(f"role_{row.role.lower()}", note=name))
        )
    matches.Compile()
    return matches, tuple(answers)
