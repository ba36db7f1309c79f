"""Would this markup take the parser seconds?  An estimate before the parse, for pages that could.

What certainly would is refused; what might is left to a worker.

The HTML standard itself makes three shapes expensive: deep nesting (every block tag walks the open
elements), unclosed formatting tags with different attributes (each is rebuilt in every block after
it) and tags with tens of thousands of attributes (each is compared with all before it).
Measured with lexbor: 100,000 nested <div> 25 s, 6,000 times `<b a=N><p>` 20 s, 40,000 attributes 5 s.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import re2

DEEP = "nested too deep"
SMALL_TAGS = 4000  # below this many tags depth alone costs under 50 ms
SMALL_UNCLOSED = 400  # below this many more openings than closings nothing is rebuilt often
MAX_WALK = 100_000_000  # open elements walked in all; 5 ns each
MAX_REBUILT = 1_000_000  # formatting elements created again; 1 us each
MAX_ODD = 500  # tags that do not pair; measured: 400 open <b> and 3,000 times <div></b> take 2.4 s
MAX_ATTRIBUTES = 5000
NOAH = 3  # equal formatting elements that are rebuilt (the standard's Noah's Ark clause)
LOOK_BACK = 64  # open elements that one closing tag may close
LONG_TAG = 24 * 1024
BIG_BODY = 256 * 1024  # workers take these; reading every tag is affordable
SMALL_BODY = 48 * 1024  # cannot hold enough attributes to matter


class ParseCost:
    """What a parser would make of this markup.  Its tags are gone through once, whatever is asked."""

    def __init__(self, body: bytes) -> None:
        self._body = body.replace(b"\0", b"")  # UTF-16, and what readers drop

    @cached_property
    def problem(self) -> str:
        """Why this markup must not be parsed, or an empty string."""
        if self._scan is not None:
            problem = self._scan.problem and _scanned(_SCRIPTS.sub(b"", self._body)).problem  # full of "<"
            if problem:
                return problem
        return _attributes(self._body) if self._may_have_many else ""

    @cached_property
    def is_irregular(self) -> bool:
        """May it take longer than its size tells?  Tags that do not pair are where parsers do odd work."""
        if self._may_have_many and _hides_many(self._body):
            return True
        scan = self._scan
        if scan is None:
            return False
        return scan.odd > MAX_ODD or scan.walked > MAX_WALK // 10 or scan.rebuilt > MAX_REBUILT // 10

    @cached_property
    def _may_have_many(self) -> bool:
        """Whether a tag may have too many attributes."""
        body = self._body
        if len(body) <= SMALL_BODY:
            return False
        return len(body) >= BIG_BODY or body.count(b"=") >= MAX_ATTRIBUTES or _has_long_tag(body)

    @cached_property
    def _scan(self) -> _Scan | None:
        """None: there is nothing odd about it."""
        return _scanned(self._body) if _may_be_odd(self._body) else None


def too_heavy(body: bytes) -> str:
    """Why this markup must not be parsed, or an empty string."""
    return ParseCost(body).problem


def is_irregular(body: bytes) -> bool:
    """May it take a parser longer than its size tells?"""
    return ParseCost(body).is_irregular


def lean(markup: bytes) -> bytes:
    """The same markup without the attributes that no reader of ours asks for: in a tree each takes 170 bytes.

    Only of tags that are written as most are; whatever is odd stays, so that it is read as it would be.
    """
    return _REGULAR.sub(_lean_tag, markup)


def _lean_tag(tag: re.Match[bytes]) -> bytes:
    name, attributes = tag.groups()
    if name in _FORMATTING:  # the standard compares the attributes of these
        return tag.group(0)
    read = (pair.group(0) for pair in _QUOTED.finditer(attributes) if pair.group(1) in _READ)
    return b"<%b%b" % (name, b"".join(read))


def _may_be_odd(body: bytes) -> bool:
    """More tags than closings of them.  Counted six times as fast as by `bytes.count`."""
    if len(body) > BIG_BODY:  # there is no room for an array beside it
        tags = body.count(b"<")
        return tags > SMALL_UNCLOSED and (tags > SMALL_TAGS or tags - 2 * body.count(b"</") > SMALL_UNCLOSED)
    data = np.frombuffer(body, np.uint8)
    starts = data == ord("<")
    tags = int(np.count_nonzero(starts))
    if not SMALL_UNCLOSED < tags <= SMALL_TAGS:
        return tags > SMALL_TAGS
    closings = int(np.count_nonzero(starts[:-1] & (data[1:] == ord("/"))))
    return tags - 2 * closings > SMALL_UNCLOSED


_SCRIPTS = re2.compile(rb"(?is)<!--.*?-->|<script\b.*?</script|<style\b.*?</style")


@dataclass(slots=True)
class _Scan:
    walked: int = 0  # open elements, summed over the tags
    rebuilt: int = 0  # formatting elements created again
    odd: int = 0  # tags that do not pair, and options that are left open

    @property
    def problem(self) -> str:
        if self.walked > MAX_WALK:
            return DEEP
        return "too many unclosed tags" if self.rebuilt > MAX_REBUILT else ""


def _scanned(body: bytes) -> _Scan:
    """Goes through the tags as a parser does, and counts what it would have to walk."""
    scan, open_names, formatting = _Scan(), list[bytes](), _Formatting()
    for tag in _TAGS.finditer(body):
        is_end, name = bool(tag.group(1)), tag.group(2).lower()
        if name in _FORMATTING:
            formatting.heard(name, tag.group(3), is_end=is_end)
        if name in _BLOCKS and not is_end:
            scan.rebuilt += formatting.open
        if name in _FLAT:
            scan.odd += name == b"option" and not is_end
            scan.odd -= name == b"option" and is_end
            continue
        if is_end:
            scan.odd += _close(open_names, name)
        else:
            open_names.append(name)
        scan.walked += len(open_names)
        if scan.problem:
            break
    scan.odd += len(open_names)
    return scan


def _close(open_names: list[bytes], name: bytes) -> int:
    """How many tags it shows not to pair: a closing tag closes what a sloppy page left open inside."""
    for back in range(1, min(LOOK_BACK, len(open_names)) + 1):
        if open_names[-back] == name:
            del open_names[-back:]
            return back - 1
    return 1


class _Formatting:
    """The list of formatting elements that are rebuilt in every new block: of equal ones three at most."""

    def __init__(self) -> None:
        self.open = 0
        self._of: dict[bytes, list[bytes]] = {}
        self._equal: Counter[tuple[bytes, bytes]] = Counter()

    def heard(self, name: bytes, attributes: bytes, *, is_end: bool) -> None:
        mine = self._of.setdefault(name, [])
        if not is_end and self._equal[name, attributes] < NOAH:
            self._equal[name, attributes] += 1
            mine.append(attributes)
            self.open += 1
        elif is_end and mine:
            self._equal[name, mine.pop()] -= 1
            self.open -= 1


def _attributes(body: bytes) -> str:
    """Counted in the tags that a parser sees: what scripts and comments hold are no tags."""
    for tag in _seen_tags(body):
        if len(tag) > 2 * MAX_ATTRIBUTES and len(_ATTRIBUTE.findall(tag)) > MAX_ATTRIBUTES:
            return "too many attributes"
    return ""


def _hides_many(body: bytes) -> bool:
    """Would there be too many attributes if nothing were a script?  Markup can be made to look like one."""
    tags = (match.group(0) for match in _LONG.finditer(body))
    return any(len(_SEPARATOR.findall(tag)) > MAX_ATTRIBUTES for tag in tags)


def _seen_tags(body: bytes) -> Iterator[bytes]:
    """The inside of each tag, in time that does not depend on who wrote the page."""
    at = 0
    while (token := _TOKEN.search(body, at)) is not None:
        at = token.end()
        name = (token.group(1) or b"").lower()
        if name:
            yield token.group(2)
        if name in _RAW:
            at = _end_of_raw(body, name, at)


def _end_of_raw(body: bytes, name: bytes, at: int) -> int:
    """Where the text of a script or style ends.  A script inside a comment of a script does not end it."""
    is_comment = is_inner = False
    for mark in _RAW[name].finditer(body, at):
        what = mark.group(0).lower()
        if what == b"<!--":
            is_comment = True
        elif what == b"-->":
            is_comment = is_inner = False
        elif what.startswith(b"</") and not is_inner:
            return mark.start()
        else:
            is_inner = is_comment and not what.startswith(b"</")
    return len(body)


def _has_long_tag(body: bytes) -> bool:
    """Is there no ">" in so many bytes?  Jumps from the last one in reach to the next."""
    at = 0
    while at + LONG_TAG <= len(body):
        end = body.rfind(b">", at, at + LONG_TAG)
        if end < 0:
            return True
        at = end + 1
    return False


# Possessive or atomic, so linear.  A group that may fail half-way is atomic: before 3.11.5 Python goes on from where a
# possessive one failed (tests/core/test_possessive.py).  A quote counts after "=" alone: before it, it is part of a
# name (HTML standard 13.2.5).
_PAIR = rb"[^\s/>][^\s/>=]*+(?>(?:\s*+=\s*+(?>(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\s>\"'][^\s>]*+)?))?)"
_ATTRIBUTE = re.compile(_PAIR)
_TOKEN = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<(/?[a-zA-Z][^\s/>]*+)((?:[\s/]++|" + _PAIR + rb")*+)", re.DOTALL
)
_LONG = re.compile(rb"<[a-zA-Z][^>]{%d,}" % (2 * MAX_ATTRIBUTES))
_RAW = {
    name: re.compile(rb"(?i)</" + name + rb"[\s/>]")
    for name in b"style title textarea xmp iframe noembed noframes".split()
} | {b"script": re.compile(rb"(?i)<!--|-->|</?script[\s/>]"), b"plaintext": re.compile(rb"\Z")}
_TAGS = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^>]{0,64})")
_QUOTED = re.compile(rb" ([a-z-]++)=(?:\"[^\"<>]*+\"|'[^'<>]*+')")
_REGULAR = re.compile(rb"<([a-z][a-z0-9]*+)((?>(?: [a-z-]++=(?:\"[^\"<>]*+\"|'[^'<>]*+')){1,99}))(?= ?/?>)")
_READ = frozenset(  # by our readers, and (the last four) by the standard's own rules for the tree
    b"href rel hidden style open role type lang name property content http-equiv charset datetime itemprop media "
    b"hreflang color face size encoding".split()
)
_SEPARATOR = re.compile(rb"[\s/]+")


_FLAT = frozenset(
    (
        b"area base br col embed hr img input link meta param source track wbr "  # no content
        b"p li td th tr dd dt option optgroup tbody thead tfoot colgroup caption rp rt "  # close each other
        b"path circle rect line polygon polyline ellipse use stop script style title textarea"
    ).split()
)
_FORMATTING = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())
_BLOCKS = frozenset(
    b"address article aside blockquote center div dl dd dt fieldset figure footer form h1 h2 h3 h4 h5 h6 "
    b"header hr li main nav ol p pre section table td th tr ul b i u a em font strong span".split()
)
