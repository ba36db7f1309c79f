"""Reads rows of signals (JSON lines or CSV) into columns and scores them.  No store, no configuration, no network."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from io import StringIO
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.core.priority.score import NAMES, ScoredUrl, UrlSignals, check_not_ahead
from vedette.core.priority.score_columns import ColumnBuilder, ScoredColumns, score_columns

FORMS = ("auto", "jsonl", "csv")
MOST_LINE = 2**20  # bytes; a longer line is no row of signals
MOST_TOLD = 20  # bad rows that are kept to be named; all are counted
_DELIMITERS = ",;\t"
_BOM = b"\xef\xbb\xbf"
_WORDS = {
    **dict.fromkeys(("true", "yes", "1"), True),
    **dict.fromkeys(("false", "no", "0"), False),
}
Row = tuple[int, Mapping[str, Any] | str]  # the line it begins in; its fields, or why there are none


@dataclass
class Gathered:
    """What a file held: the rows that can be ranked, and every row that cannot, counted."""

    urls: list[str] = field(default_factory=list)
    rows: ColumnBuilder = field(default_factory=ColumnBuilder)
    problems: list[tuple[int, str]] = field(default_factory=list)  # line and reason, the first MOST_TOLD
    bad: int = 0
    not_used: dict[str, None] = field(default_factory=dict)  # names that mean nothing to us, in their order

    def take(self, row: Row, now: datetime) -> None:
        line, found = row
        try:
            if isinstance(found, str):
                raise InputError(found)
            signals = UrlSignals.from_mapping(self._known(found))
            check_not_ahead(signals, now=now)
        except InputError as error:
            self.bad += 1
            if len(self.problems) < MOST_TOLD:
                self.problems.append((line, str(error)))
            return
        self.urls.append(signals.url)
        self.rows.add(signals)

    def _known(self, found: Mapping[str, Any]) -> Mapping[str, Any]:
        """Files carry columns of their own; they are named once, and lose nothing else."""
        strange = found.keys() - NAMES.keys()
        if not strange:
            return found
        self.not_used.update(dict.fromkeys(name for name in found if name in strange))
        return {name: value for name, value in found.items() if name not in strange}


def read_signals(
    file: IO[bytes], form: str, *, now: datetime, on_row: Callable[[], None] = lambda: None
) -> Gathered:
    """Every row of the file.  Raises InputError only where the file as a whole cannot be read."""
    gathered = Gathered()
    lines = _lines(file)
    first = next(lines, (1, b""))
    for row in _READERS[_form(first[1], form)](chain([first], lines)):
        gathered.take(row, now)
        on_row()
    return gathered


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, from the first that is not blank."""
    number, is_begun = 0, False
    while line := file.readline(MOST_LINE + 1):
        number += 1
        if len(line) > MOST_LINE:
            raise InputError(f"line {number} is longer than {MOST_LINE} bytes; write one URL in a line")
        if number == 1:
            line = line.removeprefix(_BOM)
        is_begun = is_begun or bool(line.strip())
        if is_begun:
            yield number, line


def _form(first: bytes, form: str) -> str:
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("the file is in UTF-16; save it as UTF-8")
    if form != "auto":
        return form
    if first.lstrip().startswith(b"["):
        raise InputError("the file is a JSON array; write one object in a line (`jq -c '.[]'` does)")
    return "jsonl" if first.lstrip().startswith(b"{") else "csv"


def _read_jsonl(lines: Iterable[tuple[int, bytes]]) -> Iterator[Row]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"not JSON: {error}"
            continue
        yield number, found if isinstance(found, dict) else "not a JSON object"


def _read_csv(lines: Iterable[tuple[int, bytes]]) -> Iterator[Row]:
    """A header names the columns.  An empty cell counts as absent."""
    texts = _Texts(lines)
    header = next(texts, "")
    names = [name.strip() for name in next(csv.reader([header], delimiter=_delimiter(header)), [])]
    if header.strip() and "url" not in names:
        raise InputError(f"the CSV header has no column `url`: {header.strip()[:80]!r}")
    reader = csv.reader(texts, delimiter=_delimiter(header))
    while True:
        began = texts.line + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield began, f"not a CSV record: {error}"
            continue
        if any(cell.strip() for cell in cells):
            yield began, _fields(names, cells)


class _Texts:
    """Lines as text that know how far they have been read: a record may take several."""

    def __init__(self, lines: Iterable[tuple[int, bytes]]) -> None:
        self._lines = iter(lines)
        self.line = 0

    def __iter__(self) -> _Texts:
        return self

    def __next__(self) -> str:
        self.line, line = next(self._lines)
        return line.decode("utf-8", "surrogateescape")  # what is no UTF-8 is refused as part of its row


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _fields(names: list[str], cells: list[str]) -> Mapping[str, Any] | str:
    if len(cells) != len(names):
        return f"{len(cells)} cells, the header has {len(names)}"
    pairs = ((name, cell.strip()) for name, cell in zip(names, cells, strict=True))
    return {name: _value(NAMES.get(name, name), cell) for name, cell in pairs if cell}


def _value(name: str, cell: str) -> object:
    """The cell as its field wants it; what does not fit stays text, and the check of the field says so."""
    try:
        return _OF_CELL[name](cell) if name in _OF_CELL else cell
    except ValueError:
        return cell


_OF_CELL: dict[str, Callable[[str], object]] = {
    "visits": int,
    "hub_depth": int,
    "topic_relevance": float,
    "is_hub": lambda cell: _WORDS.get(cell.lower(), cell),
}
_READERS = {"jsonl": _read_jsonl, "csv": _read_csv}


def write_jsonl(rows: Iterable[UrlSignals]) -> str:
    return "".join(json.dumps(_written(row)) + "\n" for row in rows)


def write_csv(rows: Iterable[UrlSignals]) -> str:
    file = StringIO()
    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_written(row) for row in rows)
    return file.getvalue()


def _written(row: UrlSignals) -> dict[str, Any]:
    """What is not known is left out."""
    said = {name: getattr(row, name) for name in FIELDS}
    dates = {name: value.isoformat() for name, value in said.items() if isinstance(value, datetime)}
    return {name: value for name, value in (said | dates).items() if value is not None}


FIELDS = tuple(dict.fromkeys(NAMES.values()))
WRITERS: dict[str, Callable[[Iterable[UrlSignals]], str]] = {"jsonl": write_jsonl, "csv": write_csv}


TOLD = 5  # bad rows named in words; all are counted


@dataclass(frozen=True, slots=True)
class Ranking:
    """The rows in their order, best first.  Each is made when it is asked for: there may be millions."""

    now: datetime
    gathered: Gathered
    scores: ScoredColumns
    order: NDArray[np.int64]

    def __iter__(self) -> Iterator[ScoredUrl]:
        return (self.scores.scored(int(row), self.gathered.urls[row]) for row in self.order)

    @property
    def repeated(self) -> int:
        """Rows that name a URL once more."""
        return len(self.gathered.urls) - len(set(self.gathered.urls))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankQuestion:
    now: datetime
    top: int = 0  # 0: all
    min_score: int = 0
    skips_bad: bool = False  # False: one row that cannot be used, and nothing is ranked


def rank_urls(gathered: Gathered, asked: RankQuestion) -> Ranking:
    """Ranks what `read_signals` has read."""
    if gathered.bad and not asked.skips_bad:
        raise InputError(_bad_rows(gathered))
    scores = score_columns(gathered.rows.columns(), now=asked.now)
    order = scores.order(top=asked.top or None, min_score=asked.min_score)
    return Ranking(asked.now, gathered, scores, order)


def ranking_head(found: Ranking) -> dict[str, object]:
    """The document without its rows."""
    gathered = found.gathered
    return {
        "now": found.now,
        "rows": len(gathered.urls),
        "bad": gathered.bad,
        "problems": [{"line": line, "why": why} for line, why in gathered.problems],
        "not_used": list(gathered.not_used),
        "repeated": found.repeated,
    }


def bad_row_words(gathered: Gathered) -> str:
    words = "; ".join(f"line {line}: {why}" for line, why in gathered.problems[:TOLD])
    return words + (f"; and {gathered.bad - TOLD} more" if gathered.bad > TOLD else "")


def _bad_rows(gathered: Gathered) -> str:
    rows = gathered.bad + len(gathered.urls)
    return (
        f"{gathered.bad} of {rows} rows cannot be used, nothing was ranked (--skip-bad ranks the others): "
        f"{bad_row_words(gathered)}"
    )
