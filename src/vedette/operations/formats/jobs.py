"""Job files of urlwatch and webchanges: YAML documents, one job each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from vedette.config.yaml_text import NotYaml, read_yaml
from vedette.operations.formats.entry import Entry, Parsed, usable_headers
from vedette.operations.formats.tables import decoded

_BREAK = re.compile(r"^---(?:\s.*)?$")
_COMMANDS = ("command", "shell")  # jobs that run a program: never
NOT_GET = "asks with POST; vedette looks with GET only"
_TAKEN = frozenset("method url navigate name use_browser kind note user_visible_url index_number".split())
_JOB_LINE = re.compile(rb"(?m)^(?:url|navigate|command|shell|kind)\s*:")


def read_jobs(data: bytes) -> Parsed:
    """One broken job loses nothing of the others: each document is parsed by itself."""
    parsed = Parsed()
    for number, text in _documents(decoded(data)):
        try:
            job = read_yaml(text)
        except NotYaml as error:
            parsed.bad(number, "", f"not valid YAML: {error}")
            continue
        if job is None:
            continue
        jobs = job if isinstance(job, list) else [job]
        for one in jobs:
            _take(parsed, number, one)
    return parsed


def looks_like(data: bytes) -> bool:
    return _JOB_LINE.search(data[:65536]) is not None


def _take(parsed: Parsed, number: int, job: Any) -> None:
    if not isinstance(job, Mapping):
        parsed.bad(number, job, "a job is a mapping with `url`")
        return
    name = job.get("name")
    if any(word in job for word in _COMMANDS) or job.get("kind") == "shell":
        parsed.bad(number, name or "", "runs a command; vedette runs no commands, only URLs are watched")
        return
    url = job.get("navigate") or job.get("url")
    if not isinstance(url, str):
        parsed.bad(number, name or "", "a job without `url`")
        return
    if str(job.get("method", "GET")).upper() != "GET" or job.get("data"):
        parsed.bad(number, name or url, NOT_GET)
        return
    keys: dict[str, Any] = {"url": url}
    if isinstance(name, str) and name.strip():
        keys["name"] = name.strip()
    if job.get("navigate") or job.get("use_browser") is True:
        keys["requires_headless"] = True
    fetch, unread = _fetch_of(job)
    if fetch:
        keys["fetch"] = fetch
    carried = {"timeout"} if "total_timeout" in fetch else set()
    carried |= {name for name in ("headers", "cookies") if isinstance(job.get(name), Mapping)}
    left_out = tuple(str(key) for key in job if key not in _TAKEN and key not in carried)
    parsed.entries.append(Entry.of_page(number, keys, (*unread, *left_out)))


def _fetch_of(job: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
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
