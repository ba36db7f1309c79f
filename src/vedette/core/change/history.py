"""Noise that two looks seconds apart cannot show: clocks, daily counters, texts drawn from a pool.

Learned from the last visits of a target.  Rates and amounts are never noise here: an exchange rate
that changes daily is what people watch the page for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from vedette.contracts.changing import Block, Mask, MaskRegion
from vedette.core.change.gaps import MAX_REGIONS
from vedette.core.change.holes import learn_holes, values
from vedette.core.change.kinds import DATE, NUMBER, RATE, TIME, TOKEN, kind_of
from vedette.core.change.mask import learn
from vedette.core.change.normalise import normalised
from vedette.core.change.places import lines, renumbered
from vedette.core.dates import read_date

Blocks = Sequence[Block]
MIN_STATES = 3
RETURNS = 2  # times a place came back to an earlier text
# A date that differs each time may be an edit each time: only the clock tells (`learn_clock`).
VOLATILE = frozenset((TIME, NUMBER, TOKEN))
COUNTER_STATES = 5  # numbers that were edited rise five times in a row once in 120 pages
DAY = timedelta(days=1)
TOLERANCE = timedelta(minutes=2)
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})")


def learn_from_history(states: Sequence[Blocks]) -> Mask:
    """Places that differed in every one of the last visits and kept their kind: clock, counter, token."""
    if len(states) < MIN_STATES:
        return ()
    found: list[MaskRegion] = []
    for path, texts in _differing(states).items():
        if all(one != other for one, other in pairwise(texts)):
            found += _always_new(path, texts)
    return tuple(found)


def flip_flop(states: Sequence[Blocks]) -> Mask:
    """Places (or a whole page) that returned to an earlier text twice: drawn from a pool, not edited."""
    pages = [lines(normalised(state)) for state in states]
    found: list[MaskRegion] = []
    for path, texts in _differing(states).items():
        if _returns(texts) >= RETURNS:
            found += [region for region in _hull(path, texts) if region.kind != RATE]
    if not found and _returns(pages) >= RETURNS:
        return learn(states[-1], states[-2]).mask
    return tuple(found)


def learn_clock(before: Blocks, before_at: datetime, after: Blocks, after_at: datetime) -> Mask:
    """Places that moved exactly as far as the time between the visits: they show the time of the visit."""
    found: list[MaskRegion] = []
    for path, (one, other) in _differing((before, after)).items():
        regions = learn_holes(path, one, other)
        shown = zip(values(one, regions), values(other, regions), strict=True)
        times = (before_at, after_at)
        found += [r for r, pair in zip(regions, shown, strict=True) if _is_clock(pair, r.kind, times)]
    return tuple(found)


def _differing(states: Sequence[Blocks]) -> dict[str, list[str]]:
    """The texts of every place that all states have and that is not always the same; none where most of a page is."""
    found = {
        path: texts for path, texts in _by_path(states).items() if any(text != texts[0] for text in texts)
    }
    return found if len(found) <= MAX_REGIONS else {}


def _by_path(states: Sequence[Blocks]) -> dict[str, list[str]]:
    tables = [dict(renumbered(normalised(state))) for state in states]
    common = set(tables[0]).intersection(*tables[1:]) if tables else set()
    return {path: [table[path] for table in tables] for path in tables[0] if path in common} if tables else {}


def _always_new(path: str, texts: list[str]) -> list[MaskRegion]:
    learned = [learn_holes(path, one, other) for one, other in pairwise(texts)]
    places = {tuple((region.before, region.after) for region in regions) for regions in learned}
    if len(places) != 1:
        return []
    shown = zip(*(values(text, learned[0]) for text in texts), strict=True)
    return [region for region, seen in zip(learned[0], shown, strict=True) if _is_volatile(seen)]


def _is_volatile(shown: tuple[str | None, ...]) -> bool:
    kinds = {kind_of(value or "") for value in shown}
    if len(kinds) != 1 or not kinds <= VOLATILE or len(set(shown)) != len(shown):
        return False
    return kinds != {NUMBER} or _is_counter([value or "" for value in shown])


def _is_counter(shown: list[str]) -> bool:
    """Only up, and for long enough: prices and statistics go both ways."""
    digits = ["".join(c for c in value if c.isdigit()).lstrip("0") for value in shown]
    sizes = [(len(number), number) for number in digits]  # ordered like the numbers, however long they are
    is_whole = all("," not in value for value in shown)
    return is_whole and len(sizes) >= COUNTER_STATES and all(a < b for a, b in pairwise(sizes))


def _returns(values: Sequence[object]) -> int:
    return sum(
        values[at] != values[at - 1] and values[at] in values[: at - 1] for at in range(2, len(values))
    )


def _hull(path: str, texts: list[str]) -> tuple[MaskRegion, ...]:
    """One mask for all texts of a place: the widest that any two of them teach."""
    distinct = list(dict.fromkeys(texts))
    learned = [learn_holes(path, distinct[0], other) for other in distinct[1:]]
    return min(learned, key=lambda regions: sum(len(r.before) + len(r.after) for r in regions))


def _is_clock(shown: tuple[str | None, str | None], kind: str, at: tuple[datetime, datetime]) -> bool:
    if shown[0] is None or shown[1] is None:
        return False
    if kind == TIME:
        return _is_time_of_day(shown[0], shown[1], at[1] - at[0])
    if kind == DATE:
        dates = read_date(shown[0]), read_date(shown[1])
        return all(date is not None and abs(date - when) <= DAY for date, when in zip(dates, at, strict=True))
    return kind == NUMBER and _is_epoch(shown[0], shown[1], at[1] - at[0])


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
