"""Would this markup take the parser seconds?  An estimate before the parse, for pages that could.

The HTML standard itself makes three shapes expensive: deep nesting (every block tag walks the open
elements), unclosed formatting tags with different attributes (each is rebuilt in every block after
it) and tags with tens of thousands of attributes (each is compared with all before it).
Measured with lexbor: 100,000 nested <div> 25 s, 6,000 times `<b a=N><p>` 20 s, 40,000 attributes 5 s.
"""

from __future__ import annotations

import re

import numpy as np
import re2

SMALL_TAGS = 4000  # below this many tags depth alone costs under 50 ms
SMALL_UNCLOSED = 400  # below this many more openings than closings nothing is rebuilt often
MAX_WALK = 100_000_000  # open elements walked in all; 5 ns each
MAX_REBUILT = 1_000_000  # formatting elements created again
MAX_ATTRIBUTES = 5000
LONG_TAG = 24 * 1024
BIG_BODY = 256 * 1024  # workers take these; reading every tag is affordable
SMALL_BODY = 48 * 1024  # cannot hold enough attributes to matter


def too_heavy(body: bytes) -> str:
    """Why this markup must not be parsed, or an empty string."""
    tags = body.count(b"<")
    if tags > SMALL_UNCLOSED and (tags > SMALL_TAGS or tags - 2 * body.count(b"</") > SMALL_UNCLOSED):
        problem = _nesting(body) and _nesting(_SCRIPTS.sub(b"", body))  # scripts are full of "<"
        if problem:
            return problem
    return _attributes(body) if len(body) > SMALL_BODY else ""


_SCRIPTS = re2.compile(rb"(?is)<!--.*?-->|<script\b.*?</script|<style\b.*?</style")


def _nesting(body: bytes) -> str:
    data = np.frombuffer(body + b" " * 16, np.uint8)
    at = np.flatnonzero(data[:-16] == ord("<")) + 1
    closing = data[at] == ord("/")
    at += closing
    is_tag = (data[at] | 0x20) - ord("a") < 26
    closing, names = closing[is_tag], _names(data, at[is_tag])
    depth = _running(~np.isin(names, _FLAT), closing)
    if int(depth.sum()) > MAX_WALK:
        return "nested too deep"
    rebuilt = _running(np.isin(names, _FORMATTING), closing)
    if int(rebuilt[~closing & np.isin(names, _BLOCKS)].sum()) > MAX_REBUILT:
        return "too many unclosed tags"
    return ""


def _names(data: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Tag names as integers: lower case, cut at the first byte that is no letter or digit, 8 bytes."""
    letters = np.lib.stride_tricks.sliding_window_view(data, 8)[at] | 0x20
    in_name = ((letters - ord("a") < 26) | (letters - ord("0") < 10)).astype(np.uint8)
    in_name = np.minimum.accumulate(in_name, axis=1)
    packed: np.ndarray = np.ascontiguousarray(letters * in_name).view(np.uint64).ravel()
    return packed


def _running(counted: np.ndarray, closing: np.ndarray) -> np.ndarray:
    """How many of the counted tags are open at each tag; a closing tag too many counts as none."""
    steps = np.where(counted, np.where(closing, -1, 1), 0).cumsum()
    running: np.ndarray = steps - np.minimum(np.minimum.accumulate(steps), 0)
    return running


def _attributes(body: bytes) -> str:
    if len(body) < BIG_BODY and body.count(b"=") < MAX_ATTRIBUTES and _longest_tag(body) < LONG_TAG:
        return ""
    for match in _TAG.finditer(body):
        tag = match.group(0)
        if len(tag) > 2 * MAX_ATTRIBUTES and len(_SEPARATOR.findall(tag)) > MAX_ATTRIBUTES:
            return "too many attributes"
    return ""


def _longest_tag(body: bytes) -> int:
    ends = np.flatnonzero(np.frombuffer(body, np.uint8) == ord(">"))
    return int(np.diff(ends, prepend=0, append=len(body)).max())


_TAG = re.compile(rb"<[a-zA-Z](?:[^\"'>]++|\"[^\"]*+\"|'[^']*+')*+")  # possessive: linear
_SEPARATOR = re.compile(rb"[\s/]+")


def _coded(names: str) -> np.ndarray:
    rows = [name.encode()[:8].ljust(8, b"\0") for name in names.split()]
    return np.frombuffer(b"".join(rows), np.uint64)


_FLAT = _coded(
    "area base br col embed hr img input link meta param source track wbr "  # no content
    "p li td th tr dd dt option optgroup tbody thead tfoot colgroup caption rp rt "  # close each other
    "path circle rect line polygon polyline ellipse use stop script style title textarea"
)
_FORMATTING = _coded("a b big code em font i nobr s small strike strong tt u")
_BLOCKS = _coded(
    "address article aside blockquote center div dl dd dt fieldset figure footer form h1 h2 h3 h4 h5 h6 "
    "header hr li main nav ol p pre section table td th tr ul b i u a em font strong span"
)
