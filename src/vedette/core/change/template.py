"""Lines that keep their words and draw values anew: counters, ids, dates, a city in a sentence.

A template knows how long its steady parts are and their digest, so whatever is edited outside the values does not fit
any more.  A value that changes its kind (a date becomes a rate) does not fit either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from vedette.contracts.change import Presence, Template
from vedette.core.change.diff import runs
from vedette.core.change.kinds import DATE, NUMBER, TIME, accepts, joined, kind_of, units
from vedette.core.change.state import key_of
from vedette.core.text.dates import read_date

HEAD = 16  # characters by which a steady part is found
MAX_VALUES = 8  # of one line; with more it is drawn as a whole
MAX_LINE = 4000  # characters; a longer line is drawn as a whole
STEADY = 0.5  # share of a line that must stay when words vary in it,
STEADY_WORDS = 3  # or so many words
Span = tuple[int, int]


def learn_template(place: str, texts: Sequence[str]) -> Template | None:
    """What stays the same over these versions of a line; None when too little does."""
    if max(map(len, texts)) > MAX_LINE:
        return None
    spans: list[Span] = []
    for one, other in pairwise(texts):
        spans = _merged(other, [*_carried(one, other, spans), *_differing(one, other)[1]])
    if not spans:
        return None
    made = _made(place, texts[-1], spans, texts)
    return made if made is not None and all(fits(made, text) for text in texts) else None


def bare_template(place: str, kind: str) -> Template:
    """For lines that are nothing but a value of this kind."""
    return Template(place=place, lengths=(0, 0), heads=("", ""), digest=_digest(("", "")), kinds=(kind,))


def is_bare(template: Template) -> bool:
    return not any(template.lengths)


def fits(template: Template, text: str) -> bool:
    """Does the line say nothing new but values of the right kind?"""
    shown = values(template, text)
    return shown is not None and all(map(accepts, template.kinds, shown))


def values(template: Template, text: str) -> tuple[str, ...] | None:
    """The values that the line shows; None when its words are others."""
    lengths, heads = template.lengths, template.heads
    if not text.startswith(heads[0]) or len(text) < sum(lengths):
        return None
    shown, steady, at = [], [text[: lengths[0]]], lengths[0]
    for length, head in zip(lengths[1:-1], heads[1:-1], strict=True):
        end = text.find(head, at)
        if end < 0:
            return None
        shown.append(text[at:end])
        steady.append(text[end : end + length])
        at = end + length
    last = len(text) - lengths[-1]
    if last < at:
        return None
    shown.append(text[at:last])
    steady.append(text[last:])
    return tuple(shown) if _digest(steady) == template.digest else None


def accepting(template: Template, text: str) -> Template:
    """The template, with the kinds of the values that this line shows too, if its words are the same."""
    shown = values(template, text)
    if shown is None:
        return template
    kinds = [joined(kind, kind_of(value)) for kind, value in zip(template.kinds, shown, strict=True)]
    return replace(template, kinds=tuple(kinds))


def same_words(one: Template, other: Template) -> bool:
    return (one.place, one.lengths, one.digest) == (other.place, other.lengths, other.digest)


def _made(place: str, text: str, spans: Sequence[Span], texts: Sequence[str]) -> Template | None:
    if len(spans) > MAX_VALUES:
        return None
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    steady = [text[edges[n] : edges[n + 1]] for n in range(0, len(edges), 2)]
    made = Template(
        place=place,
        lengths=tuple(map(len, steady)),
        heads=tuple(part[:HEAD] for part in steady),
        digest=_digest(steady),
        kinds=("any",) * len(spans),
        presence=Presence(),
    )
    shown = [found for found in (values(made, one) for one in texts) if found is not None]
    kinds = tuple(_kind(column) for column in zip(*shown, strict=True))
    return replace(made, kinds=kinds) if shown and _is_steady(steady, kinds, text) else None


def _is_steady(parts: Sequence[str], kinds: Sequence[str], text: str) -> bool:
    """Is enough left to know the line by?  Where words vary, more of it has to stay."""
    letters = sum(char.isalpha() for part in parts for char in part)
    if not any("words" in kind for kind in kinds):
        return letters >= 2
    words = sum(any(map(str.isalpha, piece)) for part in parts for piece in part.split())
    return words >= STEADY_WORDS or sum(map(len, parts)) >= STEADY * len(text)


def _kind(shown: Iterable[str]) -> str:
    kind = ""
    for value in shown:
        kind = joined(kind, kind_of(value)) if kind else kind_of(value)
    return kind


def _spans(template: Template, shown: Sequence[str]) -> list[Span]:
    spans, at = [], template.lengths[0]
    for value, length in zip(shown, template.lengths[1:], strict=True):
        spans.append((at, at + len(value)))
        at += len(value) + length
    return spans


def _differing(one: str, other: str) -> tuple[list[Span], list[Span]]:
    """The pieces by which two lines differ, in each of them."""
    a, b = units(one), units(other)
    starts, ends = _offsets(a), _offsets(b)
    found = runs(a, b)
    return (
        [(starts[i1], starts[i2]) for i1, i2, _, _ in found],
        [(ends[j1], ends[j2]) for _, _, j1, j2 in found],
    )


def _offsets(pieces: Sequence[str]) -> list[int]:
    offsets = [0]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    return offsets


def _carried(one: str, other: str, spans: Sequence[Span]) -> list[Span]:
    """Where pieces of the one line are in the other."""
    if not spans:
        return []
    old, new = _differing(one, other)
    carried = []
    for start, end in spans:
        carried.append((_moved(start, old, new, is_end=False), _moved(end, old, new, is_end=True)))
    return [(start, end) for start, end in carried if start <= end]


def _moved(at: int, old: Sequence[Span], new: Sequence[Span], *, is_end: bool) -> int:
    """A position of the old line in the new one; inside a differing piece its edge."""
    shift = 0
    for (start, end), (first, last) in zip(old, new, strict=True):
        if at < start or (at == start and not is_end):
            break
        if at < end:
            return last if is_end else first
        shift = last - end
    return at + shift


def _merged(text: str, spans: Iterable[Span]) -> list[Span]:
    """In order, joined where nothing but blanks and signs stands between two."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and (start <= merged[-1][1] or not any(map(str.isalnum, text[merged[-1][1] : start]))):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _digest(steady: Sequence[str]) -> int:
    return key_of("\0".join(steady))


# Values that show when the page was asked for: a time of day, a date, seconds since 1970.

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)  # within less hardly any midnight passes, and a date that moves was edited
TOLERANCE = timedelta(minutes=2)
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})")


def shows_the_time(template: Template, texts: tuple[str, str], ats: tuple[datetime, datetime]) -> bool:
    """Did every value move exactly as far as the time between the two looks?"""
    shown = values(template, texts[0]), values(template, texts[1])
    if shown[0] is None or shown[1] is None:
        return False
    pairs = zip(shown[0], shown[1], template.kinds, strict=True)
    return all(_is_clock(one, other, kind, ats) for one, other, kind in pairs)


def bare_clock(one: str, other: str, ats: tuple[datetime, datetime]) -> str | None:
    """The kind of value, where lines hold nothing but one that moved with the time."""
    kind = kind_of(one)
    return kind if kind == kind_of(other) and _is_clock(one, other, kind, ats) else None


def shows_moment(text: str, at: datetime) -> bool:
    """May a line that is nothing but a value show this moment?  A time of day may, in some part of the world."""
    if kind_of(text) != DATE:
        return True
    date = read_date(text)
    return date is not None and abs(date - at) <= DAY


def rises(template: Template, one: str, other: str) -> bool:
    """Is it one whole number that went up?"""
    if template.kinds != (NUMBER,):
        return False
    shown = values(template, one), values(template, other)
    if shown[0] is None or shown[1] is None or "," in shown[0][0] + shown[1][0]:
        return False
    sizes = [_size(value[0]) for value in shown if value is not None]
    return sizes[0] < sizes[1]


def _size(value: str) -> tuple[int, str]:
    """Ordered like the numbers, however long they are."""
    digits = "".join(char for char in value if char.isdigit()).lstrip("0")
    return len(digits), digits


def _is_clock(one: str, other: str, kind: str, ats: tuple[datetime, datetime]) -> bool:
    if kind == TIME:
        return _is_time_of_day(one, other, ats[1] - ats[0])
    if kind == DATE:
        dates = read_date(one), read_date(other)
        near = [date is not None and abs(date - at) <= DAY for date, at in zip(dates, ats, strict=True)]
        return all(near) and (ats[1] - ats[0] >= HOUR or _moves_with_time(one, other, ats[1] - ats[0]))
    return kind == NUMBER and _is_epoch(one, other, ats[1] - ats[0])


def _moves_with_time(one: str, other: str, passed: timedelta) -> bool:
    """Over midnight a date moves within the hour; the time of day beside it tells."""
    first, then = _TIME_OF_DAY.search(one), _TIME_OF_DAY.search(other)
    return first is not None and then is not None and _is_time_of_day(first[0], then[0], passed)


def _is_time_of_day(one: str, other: str, passed: timedelta) -> bool:
    read = [_TIME_OF_DAY.match(text) for text in (one, other)]
    minutes = [int(found[1]) * 60 + int(found[2]) for found in read if found is not None]
    if len(minutes) < len(read):  # the place showed a time, and something else beside it
        return False
    shown = timedelta(minutes=(minutes[1] - minutes[0]) % 1440)
    off = abs(shown - passed % DAY)
    return min(off, DAY - off) <= TOLERANCE


def _is_epoch(one: str, other: str, passed: timedelta) -> bool:
    """Seconds or milliseconds since 1970."""
    if not (one.isdecimal() and other.isdecimal() and len(one) == len(other) and len(one) in (10, 13)):
        return False
    unit = timedelta(seconds=1) if len(one) == 10 else timedelta(milliseconds=1)
    return abs((int(other) - int(one)) * unit - passed) <= TOLERANCE
