"""The columns of our tables by name, and functions that are compiled from them: row to value, value to row.

A row is taken apart by the same list of names that its SELECT was written from, so no code knows the place of a column,
and none has to move when one is added.  What is compiled takes a row apart in one step: as quick as positions.

Lists are plain text because importing the schema costs 0.2 s; a test holds them to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, TypeVar

from vedette.contracts.copies import maker

_T = TypeVar("_T")
Row = Sequence[Any]
# A column, or several, and how its value is made of them; of an attribute, how its column is made.
How = str | tuple[str | tuple[str, ...], Callable[..., Any]]

WATCH_COLUMNS = (
    "id url lane_id source_id lister depth parent_id title node_type node_role risk velocity scan_count "
    "last_changed_at due_at interval_s created_at published_at modified_at last_visit_at last_outcome "
    "attempt etag last_modified seen_visit seen_evidence seen_at seen_digest text_key masked_key simhash text_chars "
    "content_class mask pending_change canonical_id merged_into is_gone audit_s belief"
).split()
VISIT_COLUMNS = (
    "id watch_id run_id at took_ms outcome url status changed digest evidence_id text_chars wire_bytes detail "
    "segment seq kind offset length record_digest chain audit_s"
).split()
EVIDENCE_COLUMNS = (
    "id watch_id digest url at content_class content_type size segment offset length stored_by standing same_as "
    "source_id"
).split()
SCREENSHOT_COLUMNS = "visit_id evidence_id width height page_height size".split()
ARTIFACT_COLUMNS = "evidence_id kind reader chars confidence path at".split()
VERDICT_COLUMNS = "evidence_id text_key traits vector word score reasons rule at".split()
MEASURED_COLUMNS = VERDICT_COLUMNS[:4]
JOB_COLUMNS = "queue id name data added_at due_at".split()
CHANGE_COLUMNS = (
    "id watch_id kind state before_visit after_visit before_evidence after_evidence observed_at decided_at "
    "layer similarity summary diff reasons seal"
).split()
LEDGER_COLUMNS = "id at watch_id visit_id run_id kind payload".split()
REFUSAL_COLUMNS = "id url source_id reason note first_at last_at count".split()
PARKED_COLUMNS = "watch_id url outcome detail attempts at".split()
LANE_COLUMNS = (
    "id key next_start_at bucket_at failures recent recent_count closed_until held_until blocked_by "
    "crawl_delay_ms word"
).split()
ROBOTS_COLUMNS = "origin fetched_at expires_at status outcome text verdict crawl_delay sitemaps".split()
SEAL_COLUMNS = "number kind entries chain".split()
SEGMENT_COLUMNS = "name retention day size count head state".split()
LEASE_COLUMNS = "watch_id worker taken_at until_at".split()
HOST_COLUMNS = (
    "lane_id key counts named missed invented room dates_good dates_bad streak failed_at dear clock_id fresh "
    "firsts firsts_due"
).split()
HUB_COLUMNS = "watch_id key leaves listed_at every pull births since".split()
CLOCK_COLUMNS = "id data".split()
PUBLISHED_COLUMNS = "version at body clock_id".split()
SCHEDULER_COLUMNS = "id running".split()
YIELD_COLUMNS = "place looks found errors".split()
HUNT_COLUMNS = "id number empty_at after turn learned weighed".split()
LEAF_COLUMNS = "id url risk parent_id belief created_at due_at lister".split()
MESSAGE_COLUMNS = "notice_id channel kind risk body created_at due_at".split()
SOURCE_COLUMNS = (
    "id name url lister options risk tier is_active scrape_frequency_s retention fetch origin created_at "
    "failures last_error last_success_at closed_until tally paused_at"
).split()
PAYLOAD_COLUMNS = "digest id watch_id stored_by url at segment offset length standing same_as".split()
# What a look may change of a watch: everything but its identity and its place.
FIXED_WATCH_COLUMNS = frozenset("id url lane_id source_id created_at parent_id".split())
MOVING_WATCH_COLUMNS = [name for name in WATCH_COLUMNS if name not in FIXED_WATCH_COLUMNS]


class StoredWords(dict[Any, Any]):
    """Members of an enumeration by what the store has of them; None and no text are None."""

    def __init__(self, kind: type[Enum]) -> None:
        super().__init__({member.value: member for member in kind} | {None: None, "": None})
        self._kind = kind

    def __missing__(self, value: object) -> Enum:
        return self._kind(value)  # says what is wrong with it

    def __call__(self, value: object) -> Any:
        return self[value]


class Part:
    """A field that is a value of its own; None when its first column is."""

    def __init__(self, make: Callable[..., Any], **fields: How) -> None:
        self.make = make
        self.fields = fields


def reader(make: Callable[..., _T], columns: Sequence[str], **fields: How | Part) -> Callable[[Row], _T]:
    """Makes a value of a row of these columns.  Each field names its column, or columns and what is made of them."""
    scope: dict[str, Any] = {"make": maker(make)}
    terms = []
    for field, how in fields.items():
        if isinstance(how, Part):
            inner = ", ".join(_term(f"{field}_{name}", one, scope, name) for name, one in how.fields.items())
            first = next(_names(next(iter(how.fields.values()))))
            scope[f"make_{field}"] = maker(how.make)
            terms.append(f"{field}=None if c_{first} is None else make_{field}({inner})")
        else:
            terms.append(_term(field, how, scope, field))
    text = f"def read(row):\n    {', '.join(f'c_{column}' for column in columns)}, = row\n"
    exec(f"{text}    return make({', '.join(terms)})", scope)  # noqa: S102  of names that stand in this package
    read: Callable[[Row], _T] = scope["read"]
    _check(fields, columns)
    return read


def _term(key: str, how: How, scope: dict[str, Any], field: str) -> str:
    """One field of a constructor."""
    convert = how[1] if isinstance(how, tuple) else None
    taken = [f"c_{name}" for name in _names(how)]
    scope[f"of_{key}"] = convert
    if convert is None:
        return f"{field}={taken[0]}"
    if isinstance(convert, StoredWords):
        return f"{field}=of_{key}[{taken[0]}]"  # a look-up, not a call
    return f"{field}=of_{key}({', '.join(taken)})"


def _check(fields: dict[str, Any], columns: Sequence[str]) -> None:
    for how in fields.values():
        if isinstance(how, Part):
            _check(how.fields, columns)
        else:
            missing = [name for name in _names(how) if name not in columns]
            if missing:
                raise KeyError(f"no column {missing[0]!r} among {', '.join(columns)}")


def writer(columns: Sequence[str], **values: How) -> Callable[[Any], tuple[Any, ...]]:
    """Makes the row of a value, in the order of the columns.  Each column names the attribute that it is made of.

    A path through an attribute that may be None is written with `?`: `seen?.visit`.
    """
    scope: dict[str, Any] = {}
    terms = []
    for column in columns:
        path, convert = how if isinstance(how := values[column], tuple) else (how, None)
        assert isinstance(path, str)  # noqa: S101  several attributes make no column
        maybe, _, rest = path.partition("?.")
        said = f"value.{path}" if not rest else f"{maybe}.{rest}"
        if convert is not None:
            scope[f"of_{column}"] = convert
            said = f"of_{column}({said})"
        terms.append(f"(None if {maybe} is None else {said})" if rest else said)
    paths = [path for how in values.values() for path in _names(how)]
    optional = sorted({path.partition("?.")[0] for path in paths if "?." in path})
    lines = [f"    {name} = value.{name}" for name in optional]
    text = "\n".join(["def write(value):", *lines, f"    return ({', '.join(terms)},)"])
    exec(text, scope)  # noqa: S102  of names that stand in this package
    write: Callable[[Any], tuple[Any, ...]] = scope["write"]
    return write


def _names(how: How) -> Iterator[str]:
    names = how[0] if isinstance(how, tuple) else how
    yield from (names,) if isinstance(names, str) else names


def selected(columns: Sequence[str], of: str = "") -> str:
    """For a SELECT: the names in their order, as columns of that table."""
    return ", ".join(f'{of}"{name}"' for name in columns)
