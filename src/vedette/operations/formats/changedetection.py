"""Backups of changedetection.io: one `url-watches.json`, or a folder for each watch and tag; as JSON or as .zip.

Names, addresses, intervals, tags, headers, filters and states of its watches are taken.  What it does and we do not is
named as left out; how long it has been watching a page, and which filters we have nothing for, is kept as a note.
Texts that it kept are taken as what they are: versions that another program saw, no evidence of ours.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from vedette.config.values import is_tag
from vedette.contracts.errors import InputError
from vedette.operations.formats.changedetection_history import UNREADABLE, PastReader, member, told_versions
from vedette.operations.formats.filter_words import changedetection_filters
from vedette.operations.formats.list_entry import (
    Entry,
    Parsed,
    PastText,
    Said,
    source_keys,
    usable_headers,
    whole_json,
    words_of_list,
)

BACKUP = "url-watches.json"
WATCH, TAG, HISTORY = "watch.json", "tag.json", "history.txt"  # of one watch or tag, in a folder with its id
MOST = 64 * 1024 * 1024  # bytes of all of them, unpacked
MOST_NOTE = 500  # characters
NOT_GET = "asks with {}; add it by hand: `vedette add URL --post`, which no file may decide"
_UNITS = {"weeks": 604800, "days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
# What people set there and we have nothing for; all else is the tool's own record.
_NOT_OURS = "browser_steps notification_muted notification_urls proxy webdriver_js_execute_code".split()
# Filters that a group has for all its watches there.
_OF_GROUPS = (
    "include_filters subtractive_selectors ignore_text trigger_text text_should_not_be_present extract_text"
).split()
_BROWSERS = ("html_webdriver", "extra_browser")
_VERSION = re.compile(r"(?m)^(\d{9,11}),")


def read_changedetection(data: bytes) -> Parsed:
    parsed = Parsed()
    is_packed = data[:2] == b"PK"
    whole = (
        _unpacked(data) if is_packed else {**whole_json(data, "watching", dict), "history": {}, "past": {}}
    )
    tags = _groups(whole)
    titles = {name: str(tag["title"]) for name, tag in tags.items() if "title" in tag}
    for number, (name, watch) in enumerate(whole["watching"].items(), 1):
        said = _with_filters_of_groups(watch if isinstance(watch, Mapping) else {}, tags)
        past = KeptVersions(_past(str(whole["history"].get(name, ""))), whole["past"].get(name, ()))
        _take_watch(parsed, number, said, titles, past)
    return parsed


@dataclass(frozen=True, slots=True)
class KeptVersions:
    """How long it was watched there, in words, and the versions that could be read."""

    words: str
    versions: tuple[PastText, ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        """What of it is not taken."""
        told = int(self.words.partition(" ")[0] or 0)
        missing = told - len(self.versions)
        return (f"{missing} of {self.words}",) if missing > 0 else ()


def is_changedetection(data: bytes) -> bool:
    """The whole file is one JSON object with its watches, or the backup."""
    if data.lstrip()[:1] == b"{":
        return b'"watching"' in data
    names = (BACKUP.encode(), f"/{WATCH}".encode())
    return data[:2] == b"PK" and any(name in data for name in names)


def _unpacked(data: bytes) -> dict[str, Any]:
    """One value as `url-watches.json` has it, whichever way the backup is laid out; `history` by watch beside it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            texts = dict(_texts(archive))
            whole = _whole(texts)
            whole["past"] = _versions(PastReader(archive, frozenset(archive.namelist())), whole, texts)
            return whole
    except UNREADABLE:
        raise InputError(
            "the archive cannot be read: it is damaged, encrypted, or not packed by Deflate"
        ) from None


def _versions(reader: PastReader, whole: Said, texts: Mapping[str, bytes]) -> dict[str, tuple[PastText, ...]]:
    """By watch.  A folder may lie in another one."""
    places = {_folder(name): name.rpartition("/")[0] for name in texts if "/" in name}
    found = {}
    for name, watch in whole["watching"].items():
        listed = watch.get("history") if isinstance(watch, Mapping) else None
        told = told_versions(str(whole["history"].get(name, "")), listed)
        found[name] = reader.versions(places.get(name, name), told)
    return found


def _whole(texts: Mapping[str, bytes]) -> dict[str, Any]:
    listed = next((text for name, text in texts.items() if name.rpartition("/")[2] == BACKUP), None)
    folders = {name: text for name, text in texts.items() if name.rpartition("/")[2] == WATCH}
    if listed is None and not folders:
        raise InputError(f"the archive holds no {BACKUP} and no {WATCH} that can be read")
    whole = {"watching": {}} if listed is None else whole_json(listed, "watching", dict)
    for name, text in folders.items():
        whole["watching"].setdefault(_folder(name), _object(text))
    tags = {_folder(name): _object(text) for name, text in texts.items() if name.rpartition("/")[2] == TAG}
    histories = {_folder(name): text for name, text in texts.items() if name.rpartition("/")[2] == HISTORY}
    return {
        **whole,
        "tags": tags,
        "history": {one: text.decode("utf-8", "replace") for one, text in histories.items()},
    }


def _texts(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    """The files that say something of watches, within a limit for all of them together."""
    left = MOST
    for name in archive.namelist():
        if name.rpartition("/")[2] not in (BACKUP, WATCH, TAG, HISTORY):
            continue
        text = member(archive, name, left + 1)
        left -= len(text)
        if left < 0:
            raise InputError(f"its watches are larger than {MOST // 2**20} MiB")
        yield name, text


def _folder(name: str) -> str:
    return name.rpartition("/")[0].rpartition("/")[2]


def _object(text: bytes) -> Said:
    """Nothing where it cannot be read: that watch alone is told as bad."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _with_filters_of_groups(watch: Said, tags: Mapping[str, Said]) -> Said:
    """The filters of its groups come behind its own, as that program has it."""
    ids = watch.get("tags")
    own = [tags[one] for one in ids if one in tags] if isinstance(ids, list) else []
    found = dict(watch)
    for name in _OF_GROUPS:
        lists = [one.get(name) for one in (watch, *own)]
        whole = [value for values in lists if isinstance(values, list) for value in values]
        if whole:
            found[name] = list(dict.fromkeys(map(str, whole)))
    return found


def _groups(whole: Said) -> dict[str, Said]:
    """Each tag by its id, which a watch names it by."""
    found: Any = whole
    for name in ("settings", "application", "tags"):
        found = found.get(name) if isinstance(found, Mapping) else None
    own = whole.get("tags")
    tags = {**(found if isinstance(found, Mapping) else {}), **(own if isinstance(own, Mapping) else {})}
    return {name: tag for name, tag in tags.items() if isinstance(tag, Mapping)}


def _take_watch(
    parsed: Parsed, number: int, said: Said, titles: Mapping[str, str], past: KeptVersions
) -> None:
    url, method = said.get("url"), str(said.get("method") or "GET")
    if not isinstance(url, str) or not url:
        parsed.bad(number, said.get("title") or "", "there is no url")
        return
    if method.upper() != "GET":
        parsed.bad(number, url, NOT_GET.format(method))
        return
    headers = said.get("headers")
    kept, unread = usable_headers(headers if isinstance(headers, Mapping) else {})
    tags, unusable = _tags(said, titles)
    steps, unfiltered = changedetection_filters(said)
    keys = source_keys(
        url,
        said.get("title"),
        seconds=_interval(said),
        requires_headless=str(said.get("fetch_backend", "")).startswith(_BROWSERS),
        fetch={"headers": kept} if kept else {},
        filters=steps,
        tags=tags,
    )
    if said.get("paused") is True:
        keys["active"] = False
    left_out = (*unread, *unusable, *unfiltered, *(name for name in _NOT_OURS if said.get(name)))
    entry = replace(Entry.of_page(number, keys, (*left_out, *past.left_out)), past=past.versions)
    note = _note(unfiltered, past.words)
    parsed.entries.append(entry.with_default("note", note) if note else entry)


def _past(history: str) -> str:
    """How many versions it kept, and from when to when; empty: none."""
    times = sorted(int(one) for one in _VERSION.findall(history))
    if not times:
        return ""
    first, last = (f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" for at in (times[0], times[-1]))
    return f"{len(times)} versions from {first} to {last}"


def _note(unfiltered: Sequence[str], past: str) -> str:
    """What a person should know of it later, and no key of ours holds."""
    parts = [*([past] if past else []), *unfiltered]
    return f"changedetection.io: {'; '.join(parts)}"[:MOST_NOTE] if parts else ""


def _tags(watch: Said, titles: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
    """Its tags by their titles, and those that cannot be tags here.  Older versions have them in one text."""
    ids = watch.get("tags")
    named = [str(one) for one in ids] if isinstance(ids, list) else []
    known = [titles[one].strip() for one in named if one in titles] + words_of_list(watch.get("tag"))
    kept = list(dict.fromkeys(word for word in known if is_tag(word)))
    unusable = (*(word for word in known if not is_tag(word)), *(one for one in named if one not in titles))
    return kept, tuple(f"tag {word}" for word in unusable)


def _interval(watch: Said) -> int:
    """Its own, in seconds; 0: it has none."""
    parts = watch.get("time_between_check")
    if not isinstance(parts, Mapping) or watch.get("time_between_check_use_default") is True:
        return 0
    numbers = ((parts.get(unit), size) for unit, size in _UNITS.items())
    return sum(int(number) * size for number, size in numbers if isinstance(number, int) and number > 0)
