"""Lists of other tools: job files of urlwatch and webchanges, watches of Distill, bookmarks of browsers.

A line that cannot be taken loses nothing of the others.  What a tool can do and we cannot is named as left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

from vedette.config.values import is_tag
from vedette.config.yaml_text import NotYaml, read_yaml
from vedette.operations.formats.changedetection import NOT_GET
from vedette.operations.formats.filter_words import distill_filters, job_filters
from vedette.operations.formats.list_entry import (
    Entry,
    Parsed,
    Said,
    source_keys,
    usable_headers,
    whole_json,
    words_of_list,
)
from vedette.operations.formats.tables import decoded

# urlwatch and webchanges: YAML documents, one job each.

_BREAK = re.compile(r"^---(?:\s.*)?$")
_COMMANDS = ("command", "shell")  # jobs that run a program: never
_TAKEN = frozenset(
    "method url navigate name use_browser kind note user_visible_url index_number filter filters additions_only "
    "deletions_only".split()
)
_JOB_LINE = re.compile(rb"(?m)^(?:url|navigate|command|shell|kind)\s*:")


def read_jobs(data: bytes) -> Parsed:
    """Each document is parsed by itself."""
    parsed = Parsed()
    for number, text in _documents(decoded(data)):
        try:
            job = read_yaml(text)
        except NotYaml as error:
            parsed.bad(number, "", f"not valid YAML: {error}")
            continue
        for one in job if isinstance(job, list) else [job] if job is not None else []:
            _take_job(parsed, number, one)
    return parsed


def are_jobs(data: bytes) -> bool:
    return _JOB_LINE.search(data[:65536]) is not None


def _take_job(parsed: Parsed, number: int, job: Any) -> None:
    if not isinstance(job, Mapping):
        parsed.bad(number, job, "a job is a mapping with `url`")
        return
    url, why = job.get("navigate") or job.get("url"), _job_refusal(job)
    if why:
        parsed.bad(number, job.get("name") or (url if "GET" in why else "") or "", why)
        return
    fetch, unread = _fetch_of(job)
    is_shown = bool(job.get("navigate")) or job.get("use_browser") is True
    steps, unfiltered = job_filters(job)
    keys = source_keys(url, job.get("name"), requires_headless=is_shown, fetch=fetch, filters=steps)
    parsed.entries.append(Entry.of_page(number, keys, (*unread, *unfiltered, *_not_carried(job, fetch))))


def _not_carried(job: Said, fetch: Said) -> tuple[str, ...]:
    """What it says that a source of ours does not."""
    carried = {"timeout"} if "total_timeout" in fetch else set()
    carried |= {name for name in ("headers", "cookies") if isinstance(job.get(name), Mapping)}
    return tuple(str(key) for key in job if key not in _TAKEN | carried)


def _job_refusal(job: Said) -> str:
    """Why it cannot be taken; empty: it can."""
    if any(word in job for word in _COMMANDS) or job.get("kind") == "shell":
        return "runs a command; vedette runs no commands, only URLs are watched"
    if not isinstance(job.get("navigate") or job.get("url"), str):
        return "a job without `url`"
    is_get = str(job.get("method", "GET")).upper() == "GET" and not job.get("data")
    return "" if is_get else NOT_GET.format("POST")


def _fetch_of(job: Said) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Timeout, headers and cookies as settings of a source; and the headers that are not taken."""
    said: dict[str, Any] = {}
    timeout, headers, cookies = (job.get(name) for name in ("timeout", "headers", "cookies"))
    if isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0:
        said["total_timeout"] = f"{timeout:g}s"
    given = dict(headers) if isinstance(headers, Mapping) else {}
    if isinstance(cookies, Mapping):
        given["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
    kept, unread = usable_headers(given)
    return said | ({"headers": kept} if kept else {}), unread


def _documents(text: str) -> Iterator[tuple[int, str]]:
    """Each document with the line of its first word."""
    lines: list[str] = []
    start = 1
    for number, line in enumerate([*text.splitlines(), "---"], 1):
        if not _BREAK.match(line):
            lines.append(line)
            continue
        worded = [n for n, part in enumerate(lines) if part.strip() and not part.lstrip().startswith("#")]
        if worded:
            yield start + worded[0], "\n".join(lines)
        lines, start = [], number + 1


# Distill Web Monitor: the JSON that its `Export watchlist` writes.

_NOT_TAKEN = ("conditions", "rules", "actions")  # of `config`; nothing of ours does it


def read_distill(data: bytes) -> Parsed:
    parsed = Parsed()
    for number, watch in enumerate(whole_json(data, "data", list)["data"], 1):
        _take_distilled(parsed, number, watch if isinstance(watch, Mapping) else {})
    return parsed


def is_distill(data: bytes) -> bool:
    """The whole file is one JSON object with its watches."""
    return data.lstrip()[:1] == b"{" and all(word in data for word in (b'"data"', b'"uri"', b'"config"'))


def _take_distilled(parsed: Parsed, number: int, watch: Said) -> None:
    url, name = watch.get("uri"), watch.get("name")
    if not isinstance(url, str) or not url:
        parsed.bad(number, name or "", "there is no uri")
        return
    config, seconds = _nested(watch.get("config")), _every(_nested(watch.get("schedule")))
    steps, unfiltered = distill_filters(config)
    keys = source_keys(
        url,
        name,
        seconds=seconds,
        requires_headless=_is_dynamic(config.get("selections")),
        tags=words_of_list(watch.get("tags")),
        filters=steps,
    )
    left_out = [*unfiltered, *(word for word in _NOT_TAKEN if config.get(word))]
    left_out += ["schedule"] if watch.get("schedule") and not seconds else []
    parsed.entries.append(Entry.of_page(number, keys, tuple(left_out)))


def _nested(value: Any) -> Said:
    """An object, or an object written as text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}


def _every(schedule: Said) -> int:
    """Its interval in seconds; 0: it has none that is one number."""
    params = schedule.get("params")
    number = params.get("interval") if isinstance(params, Mapping) else None
    return int(number) if isinstance(number, int | float) and 0 < number < 10**9 else 0


def _is_dynamic(selections: Any) -> bool:
    """True where it looks with a browser."""
    found = selections if isinstance(selections, list) else []
    return any(isinstance(one, Mapping) and one.get("dynamic") is True for one in found)


# Bookmarks that a browser exported: the HTML that began with Netscape.

MOST_DEPTH = 50  # folders in folders


class _Bookmarks(HTMLParser):
    """Links with their names, and the folders that they are in."""

    def __init__(self, parsed: Parsed) -> None:
        super().__init__()
        self._parsed = parsed
        self._folders: list[str] = []
        self._name: list[str] | None = None  # of the folder or link that is being read
        self._folder = ""
        self._link: tuple[int, str, str] | None = None  # its line, address and tags

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "dl" and len(self._folders) < MOST_DEPTH:
            self._folders.append(self._folder)
            self._folder = ""
        elif tag == "h3":
            self._name = []
        elif tag == "a" and "href" in given:
            self._link, self._name = (self.getpos()[0], given["href"].strip(), given.get("tags", "")), []

    def handle_endtag(self, tag: str) -> None:
        words = " ".join("".join(self._name or ()).split())
        if tag == "dl" and self._folders:
            self._folders.pop()
        elif tag == "h3":
            self._folder, self._name = words, None
        elif tag == "a" and self._link is not None:
            self._take(*self._link, words)
            self._link, self._name = None, None

    def handle_data(self, data: str) -> None:
        if self._name is not None:
            self._name.append(data)

    def _take(self, line: int, url: str, tags: str, name: str) -> None:
        scheme = url.partition(":")[0].lower()
        if scheme not in ("http", "https"):
            self._parsed.bad(line, name or url, f"only http and https are watched, not {scheme[:20]!r}")
            return
        folders = [word for folder in self._folders if (word := folder.strip())]
        words = dict.fromkeys((*folders, *words_of_list(tags)))
        kept = [word for word in words if is_tag(word)]
        left_out = tuple(f"folder {word}" for word in words if not is_tag(word))
        self._parsed.entries.append(Entry.of_page(line, source_keys(url, name, tags=kept), left_out))


def read_bookmarks(data: bytes) -> Parsed:
    """Folders become tags where they can be."""
    parsed = Parsed()
    reader = _Bookmarks(parsed)
    reader.feed(decoded(data))
    reader.close()
    if not parsed.entries and not parsed.problems:
        parsed.bad(1, "", "there is no link in this file")
    return parsed


def are_bookmarks(data: bytes) -> bool:
    return b"netscape-bookmark-file" in data[:4096].lower()
