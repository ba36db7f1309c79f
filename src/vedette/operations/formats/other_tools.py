"""Lists of other tools: job files of urlwatch and webchanges, watches of changedetection.io and of Distill.

A line that cannot be taken loses nothing of the others.  What a tool can do and we cannot is named as left out.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from vedette.config.values import is_tag
from vedette.config.yaml_text import NotYaml, read_yaml
from vedette.contracts.errors import InputError
from vedette.operations.formats.list_entry import Entry, Parsed, usable_headers
from vedette.operations.formats.tables import decoded

Said = Mapping[str, Any]  # what a file says of one page

# urlwatch and webchanges: YAML documents, one job each.

_BREAK = re.compile(r"^---(?:\s.*)?$")
_COMMANDS = ("command", "shell")  # jobs that run a program: never
_NOT_GET = "asks with {}; vedette looks with GET only"
_TAKEN = frozenset("method url navigate name use_browser kind note user_visible_url index_number".split())
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
    keys = _keys(url, job.get("name"), requires_headless=is_shown, fetch=fetch)
    parsed.entries.append(Entry.of_page(number, keys, (*unread, *_not_carried(job, fetch))))


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
    return "" if is_get else _NOT_GET.format("POST")


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


# changedetection.io: `url-watches.json`, or the backup (.zip) that holds it.

BACKUP = "url-watches.json"
MOST = 64 * 1024 * 1024  # bytes of it, unpacked
_UNITS = {"weeks": 604800, "days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
# What people set there and we have nothing for; all else is the tool's own record.
_NOT_OURS = (
    "include_filters subtractive_selectors ignore_text text_should_not_be_present trigger_text extract_text "
    "browser_steps notification_urls proxy webdriver_js_execute_code conditions"
).split()
_BROWSERS = ("html_webdriver", "extra_browser")


def read_changedetection(data: bytes) -> Parsed:
    parsed = Parsed()
    whole = _whole(_unpacked(data), "watching", dict)
    titles = _titles(whole)
    for number, watch in enumerate(whole["watching"].values(), 1):
        _take_watch(parsed, number, watch if isinstance(watch, Mapping) else {}, titles)
    return parsed


def is_changedetection(data: bytes) -> bool:
    """The whole file is one JSON object with its watches, or the backup."""
    is_object = data.lstrip()[:1] == b"{"
    return b'"watching"' in data if is_object else BACKUP.encode() in data and data[:2] == b"PK"


def _unpacked(data: bytes) -> bytes:
    if data[:2] != b"PK":
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            name = next(one for one in archive.namelist() if one.rpartition("/")[2] == BACKUP)
            text = archive.open(name).read(MOST + 1)
    except (zipfile.BadZipFile, StopIteration, OSError, NotImplementedError, RuntimeError):
        raise InputError(f"the archive holds no {BACKUP} that can be read") from None
    if len(text) > MOST:
        raise InputError(f"{BACKUP} is larger than {MOST // 2**20} MiB")
    return text


def _titles(whole: Said) -> dict[str, str]:
    """What people call each tag; a watch names it by its id."""
    found: Any = whole
    for name in ("settings", "application", "tags"):
        found = found.get(name) if isinstance(found, Mapping) else None
    tags = found if isinstance(found, Mapping) else {}
    return {
        name: str(tag["title"]) for name, tag in tags.items() if isinstance(tag, Mapping) and "title" in tag
    }


def _take_watch(parsed: Parsed, number: int, said: Said, titles: Mapping[str, str]) -> None:
    url, method = said.get("url"), str(said.get("method") or "GET")
    if not isinstance(url, str) or not url:
        parsed.bad(number, said.get("title") or "", "there is no url")
        return
    if method.upper() != "GET":
        parsed.bad(number, url, _NOT_GET.format(method))
        return
    headers = said.get("headers")
    kept, unread = usable_headers(headers if isinstance(headers, Mapping) else {})
    tags, unusable = _tags(said, titles)
    keys = _keys(
        url,
        said.get("title"),
        seconds=_interval(said),
        requires_headless=str(said.get("fetch_backend", "")).startswith(_BROWSERS),
        fetch={"headers": kept} if kept else {},
        tags=tags,
    )
    if said.get("paused") is True:
        keys["active"] = False
    left_out = (*unread, *unusable, *(name for name in _NOT_OURS if said.get(name)))
    parsed.entries.append(Entry.of_page(number, keys, left_out))


def _tags(watch: Said, titles: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
    """Its tags by their titles, and those that cannot be tags here.  Older versions have them in one text."""
    ids = watch.get("tags")
    named = [str(one) for one in ids] if isinstance(ids, list) else []
    known = [titles[one].strip() for one in named if one in titles] + _words(watch.get("tag"))
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


# Distill Web Monitor: the JSON that its `Export watchlist` writes.

_NOT_TAKEN = (
    "selections",
    "regexp",
    "conditions",
    "rules",
    "actions",
)  # of `config`; nothing of ours does it


def read_distill(data: bytes) -> Parsed:
    parsed = Parsed()
    for number, watch in enumerate(_whole(data, "data", list)["data"], 1):
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
    keys = _keys(
        url,
        name,
        seconds=seconds,
        requires_headless=_is_dynamic(config.get("selections")),
        tags=_words(watch.get("tags")),
    )
    left_out = [word for word in _NOT_TAKEN if config.get(word)]
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


# What they have in common.


def _whole(data: bytes, name: str, kind: type) -> dict[str, Any]:
    """The JSON object with its watches under `name`."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from None
    if not isinstance(whole, dict) or not isinstance(whole.get(name), kind):
        raise InputError(f"there are no watches (`{name}`) in this file")
    return whole


def _keys(url: Any, name: Any, **more: Any) -> dict[str, Any]:
    """The keys of a source, without those that say nothing.  `seconds`: of the interval."""
    seconds = more.pop("seconds", 0)
    said = {
        "name": name.strip() if isinstance(name, str) else "",
        "every": f"{seconds}s" if seconds else "",
        **more,
    }
    return {"url": url} | {key: value for key, value in said.items() if value}


def _words(text: Any) -> list[str]:
    """The words of a list that is written as one text."""
    return [word for part in text.split(",") if (word := part.strip())] if isinstance(text, str) else []
