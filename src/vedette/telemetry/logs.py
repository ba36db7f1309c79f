"""The log: events in the fields of spec 001/10.4.  JSON in production, one readable line in development.

Secrets are taken out by their exact value, whatever line they stand in; control characters never reach a terminal.
"""

from __future__ import annotations

import errno
import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from typing import TextIO

from vedette.contracts.events import Event, LibraryWarning, NoticeTold, Visited
from vedette.contracts.ports import Clock
from vedette.core.lanes.outcomes import SEEN

LEVELS = ("debug", "info", "warn", "error")
FULL = (errno.ENOSPC, errno.EDQUOT)  # it may be written again later
HIDDEN = "***"
MOST_WORDS = 1000  # of what a library says
SHORTEST = 4  # a shorter secret would take words out of every line
_USERINFO = re.compile(r"(?<=://)[^/@\s\"']+@")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


@dataclass(frozen=True, slots=True)
class Form:
    """How an event is worded: level, who speaks, what was done, and the sentence."""

    level: str
    component: str
    operation: str
    words: str


# An event that is not listed is told by its name.
FORMS: Mapping[str, Form] = {
    "run_started": Form("info", "sentinel", "run", "Run {run} started"),
    "run_ended": Form(
        "info", "sentinel", "run", "Run {run} ended by {by}: {visits:look|looks}, {sightings} found"
    ),
    "run_result": Form("info", "sentinel", "run", "Result of {run}"),
    "visited": Form("debug", "sentinel", "fetch", "{outcome} {status}"),
    "found": Form("info", "sentinel", "discover", "Discovered {count:new item|new items} from {source}"),
    "changed": Form("info", "sentinel", "change", "{risk} {kind}: {summary}"),
    "parked": Form("warn", "sentinel", "fetch", "Parked after {attempts:attempt|attempts}: {outcome}"),
    "breaker": Form("warn", "lanes", "breaker", "Breaker of {lane} opened"),
    "made_private": Form(
        "warn",
        "engine",
        "start",
        "{count:file or folder|files and folders} of the store stood open to others",
    ),
    "paused": Form("error", "engine", "pause", "Paused: {what}"),
    "resumed": Form("warn", "engine", "pause", "Going on after {seconds} s"),
    "clock_set": Form("warn", "engine", "clock", "The clock was set by {seconds} s"),
    "clock_healed": Form(
        "warn",
        "engine",
        "clock",
        "The clock stood ahead: {watches:watch|watches}, {lanes:lane|lanes}, {others:other|others} healed",
    ),
    "not_seen": Form("warn", "engine", "not_seen", "Not seen: {outcome} {detail}"),
    "problem": Form("error", "engine", "problem", "{what}"),
    "library": Form("warn", "library", "log", "{logger}: {what}"),
    "alerted": Form("warn", "watchdog", "alert", "{type} {subject}"),
    "recovered": Form("info", "watchdog", "recover", "{subject} is well again"),
    "checked": Form("info", "watchdog", "check", "{unhealthy} of {sources:source|sources} in trouble"),
    "panel_noted": Form("info", "panel", "run", "{action} {subject}: {reason}"),
    "models_refreshed": Form(
        "info", "panel", "models", "{listed:model|models} of {asked:provider|providers}"
    ),
    "model_gone": Form("warn", "panel", "models", "{model} is no longer listed; nearest: {successor}"),
    "told": Form("info", "notify", "send", "{notice} to {channel}: {outcome}"),
    "queued": Form("info", "cron", "queue", "Queued {name} for {run}"),
    "job_started": Form("info", "sentinel", "job", "Job {job} started"),
    "job_ended": Form("info", "sentinel", "job", "Job {job} ended: {status}"),
    "job_failed": Form("warn", "stages", "job", "Job {job} failed, attempt {attempt}: {error}"),
    "serving": Form("info", "serve", "listen", "Serving on {listen}"),
}


FAILED = Form("info", "sentinel", "fetch", "Not seen: {outcome} {status} {detail}")
REFUSED = Form("warn", "notify", "send", "{notice} to {channel}: {outcome}, {detail}")


class LogScrubber:
    """Takes secrets out of text, also where JSON wrote them with escapes."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {text for text in secrets if len(text) >= SHORTEST}
        known |= {json.dumps(text)[1:-1] for text in known}
        ordered = sorted(known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def clean(self, text: str) -> str:
        text = _USERINFO.sub(f"{HIDDEN}@", text)
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)


@dataclass(slots=True)
class Log:
    """Hears events and writes one line for each that is worth its level."""

    stream: TextIO
    is_json: bool = True
    level: str = "info"
    scrubber: LogScrubber = field(default_factory=LogScrubber)
    _lowest: int = field(init=False)
    _write: Callable[[Event, Form], str] = field(init=False)

    def __post_init__(self) -> None:
        self._lowest = LEVELS.index(self.level)
        self._write = _as_json if self.is_json else _as_words

    def hear(self, event: Event) -> None:
        form = _form(event)
        if LEVELS.index(form.level) < self._lowest:
            return
        line = self.scrubber.clean(self._write(event, form))
        try:
            self.stream.write(line + "\n")
            self.stream.flush()
        except OSError as error:  # a log that cannot be written is no reason to stop watching
            if error.errno not in FULL:  # nobody reads it any more
                self._lowest = len(LEVELS)
        except ValueError:
            self._lowest = len(LEVELS)


class LibraryLog(logging.Handler):
    """What libraries say by `logging` (aiohttp, asyncio, SQLAlchemy, our own worker), as lines of our log."""

    def __init__(self, log: Log, clock: Clock) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._clock = clock

    def emit(self, record: logging.LogRecord) -> None:
        words = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            words = f"{words}: {record.exc_info[1]!r}"
        self._log.hear(LibraryWarning(at=self._clock.now(), logger=record.name, what=words[:MOST_WORDS]))

    def __enter__(self) -> LibraryLog:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *error: object) -> None:
        logging.getLogger().removeHandler(self)


def _form(event: Event) -> Form:
    match event:
        case Visited(outcome=outcome) if outcome not in SEEN:
            return FAILED
        case NoticeTold(detail=detail) if detail:
            return REFUSED
    return FORMS.get(event.name) or Form("info", "engine", event.name, event.name)


def _as_json(event: Event, form: Form) -> str:
    at = event.at.astimezone(UTC)
    body: dict[str, object] = {
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
        "level": form.level,
        "component": form.component,
        "message": _sentence(event, form),
        "operation": form.operation,
    }
    fields = event.fields
    if fields.get("source"):
        body["endpointId"] = fields["source"]
    body["metadata"] = fields
    return _CONTROL.sub(_escaped, json.dumps(body, ensure_ascii=False, default=str))


def _as_words(event: Event, form: Form) -> str:
    url = event.fields.get("url")
    where = f" ({url})" if url else ""
    at = event.at.astimezone(UTC)
    line = f"{at:%Y-%m-%dT%H:%M:%S}Z [{form.component}:{form.operation}] {_sentence(event, form)}{where}"
    return _CONTROL.sub("?", line)


def _sentence(event: Event, form: Form) -> str:
    fields = {name: _said(value) for name, value in event.fields.items()}
    return form.words.format_map(_Words(fields)).replace("  ", " ").rstrip()


def _said(value: object) -> object:
    if value is None:
        return ""
    return _Counted(value) if isinstance(value, int) and not isinstance(value, bool) else value


class _Counted(int):
    """`{visits:look|looks}` is `1 look`, `2 looks`."""

    def __format__(self, spec: str) -> str:
        one, bar, many = spec.partition("|")
        return f"{int(self)} {one if self == 1 else many}" if bar else format(int(self), spec)


class _Words(dict[str, object]):
    """A field that an event does not have is a dash, not an error."""

    def __missing__(self, name: str) -> _Missing:
        return _Missing()


class _Missing:
    def __format__(self, spec: str) -> str:
        _, bar, many = spec.partition("|")
        return f"- {many}" if bar else "-"


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
