"""How values are written in `vedette.yaml`: durations, sizes, risks, days.  Every section is made of these."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import available_timezones

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from vedette.contracts.errors import ConfigError
from vedette.contracts.filters import step_text
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import Bucket, ObjectPlace, Risk, Secret
from vedette.core.lanes.sleep import sleep_minutes
from vedette.core.text.nearest import unknown

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?\s*$")
_SIZE = re.compile(r"^\s*(\d+)\s*([kKmMgG]i?[bB]?)?\s*$")
MOST_BYTES = 1024**3  # a body is held in memory
SLOWEST, FASTEST = 1e-4, 1e6  # requests a minute: one a week, and more than any line carries
MOST_LOOKS = 1e9  # a day: more than any line carries, and every sum of it is a number
LONGEST = timedelta(days=3653)  # no sum of a date and a few of these leaves the calendar
FREQUENCIES = {
    "EVERY_RUN": 0,
    "DAILY": 24,
    "TWICE_WEEKLY": 84,
    "WEEKLY": 168,
    "MONTHLY": 720,
}  # spec 001/11.3


def parse_duration(value: object) -> timedelta:
    """`90`, `"2s"`, `"1.5h"`, `"30d"`."""
    if isinstance(value, timedelta):
        return value
    match = _DURATION.match(str(value))
    try:
        if match and not isinstance(value, bool):
            span = timedelta(seconds=float(match[1]) * _UNITS[match[2] or "s"])
            if span <= LONGEST:
                return span
            raise ValueError(f"{value_words(value)} is longer than ten years")
    except OverflowError:
        pass
    raise ValueError(f"{value_words(value)} is not a duration; write for example 500ms, 2s, 5m, 4h, 30d")


def parse_size(value: object) -> int:
    """`1048576`, `"10 MiB"`."""
    match = _SIZE.match(str(value))
    if not match or isinstance(value, bool):
        raise ValueError(f"{value_words(value)} is not a size; write for example 512k, 10 MiB, 1g")
    power = {"": 0, "k": 1, "m": 2, "g": 3}[(match[2] or "")[:1].lower()]
    return int(match[1]) * int(1024**power)


def parse_risk(value: object) -> Risk:
    if isinstance(value, Risk):
        return value
    try:
        return Risk.parse(str(value))
    except ValueError:
        raise ValueError(unknown("risk", str(value), Risk.__members__)) from None


def parse_frequency(value: object) -> timedelta | None:
    """A duration, or a word of spec 001/11.3."""
    if value is None:
        return None
    hours = FREQUENCIES.get(str(value).upper())
    return timedelta(hours=hours) if hours is not None else parse_duration(value)


def parse_day(value: object) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"{value_words(value)} is not a date; write YYYY-MM-DD") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def parse_zone(value: object) -> str:
    """`UTC`, `local`, or a name as Europe/Zagreb."""
    known = {"UTC", "local", *available_timezones()}
    if value not in known:
        raise ValueError(unknown("time zone", str(value), known))
    return str(value)


def parse_control(value: object) -> str | None:
    """Address and port of Tor: never a name, and no IPv6, which stem does not know."""
    if value is None:
        return None
    address, _, port = str(value).rpartition(":")
    try:
        IPv4Address(address)
        is_port = port.isascii() and port.isdigit() and 0 < int(port) < 65_536
    except ValueError:
        is_port = False
    if not is_port:
        raise ValueError(f"{value_words(value)} is no IPv4 address with a port; write it as 127.0.0.1:9051")
    return str(value)


def parse_rate(value: object) -> float:
    """Zero, or a rate that a lane can be held to."""
    try:
        rate = float(str(value))
    except ValueError:
        rate = math.nan
    if isinstance(value, bool) or not (rate == 0 or SLOWEST <= rate <= FASTEST):
        raise ValueError(
            f"{value_words(value)} is not a rate; write 0 for none, or a number of requests a minute"
        )
    return rate


def parse_sleep(value: object) -> tuple[str, ...]:
    """One window of a day or of the week, or a list of them."""
    windows = (value,) if isinstance(value, str) else value
    if not isinstance(windows, list | tuple) or not all(isinstance(one, str) for one in windows):
        raise ValueError(
            f"{value_words(value)} is no window of time; write for example 22:00-06:00 or Sat-Sun"
        )
    sleep_minutes(tuple(windows))
    return tuple(windows)


def parse_filters(value: object) -> tuple[str, ...]:
    """Steps as lines: `css: .price`, or each a mapping with one key."""
    steps = value.strip().splitlines() if isinstance(value, str) else value
    if not isinstance(steps, list | tuple):
        raise ValueError("a list of steps is needed here, as in `- css: .price`")
    return tuple(step_text(one) for one in steps if one != "")


def value_words(value: object) -> str:
    """A value of the file as people write it."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.15g}s" if value else "0"
    if isinstance(value, date | time):
        return value.isoformat()
    words = {None: "an empty value", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else " ".join(repr(value).split())


_RISKS = [*Risk.__members__, "NORMAL"]
# For the schema that editors read: the file as people write it, not the values that come out.
_SPANS = {"type": ["string", "number"], "examples": ["500ms", "2s", "5m", "4h", "30d"]}
_SIZES = {"type": ["string", "integer"], "examples": ["512k", "10 MiB", "1g"]}
_WORDS = {"enum": [*_RISKS, *(name.lower() for name in _RISKS)]}
_FREQUENCIES = {"type": ["string", "number", "null"], "examples": [*FREQUENCIES, "6h"]}
_WINDOWS = {
    "type": ["string", "array"],
    "items": {"type": "string"},
    "examples": ["22:00-06:00", ["22:00-06:00", "Sat-Sun"]],
}
_DAYS = {"type": ["string", "null"], "examples": ["2024-01-01"]}
Duration = Annotated[timedelta, BeforeValidator(parse_duration), WithJsonSchema(_SPANS)]
ZoneName = Annotated[
    str, BeforeValidator(parse_zone), WithJsonSchema({"type": "string", "examples": ["UTC", "local"]})
]
SleepWindows = Annotated[tuple[str, ...], BeforeValidator(parse_sleep), WithJsonSchema(_WINDOWS)]
_STEP = {"type": ["string", "object"], "examples": ["css: .price", {"below": 90}]}
FilterLines = Annotated[
    tuple[str, ...], BeforeValidator(parse_filters), WithJsonSchema({"type": "array", "items": _STEP})
]
_CONTROL = {"type": ["string", "null"], "examples": ["127.0.0.1:9051"]}
ControlAddress = Annotated[str | None, BeforeValidator(parse_control), WithJsonSchema(_CONTROL)]
Rate = Annotated[float, BeforeValidator(parse_rate), WithJsonSchema({"type": "number", "minimum": 0})]
Size = Annotated[int, BeforeValidator(parse_size), WithJsonSchema(_SIZES)]
RiskWord = Annotated[Risk, BeforeValidator(parse_risk), WithJsonSchema(_WORDS)]
Frequency = Annotated[timedelta | None, BeforeValidator(parse_frequency), WithJsonSchema(_FREQUENCIES)]
CurrencyCode = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
_TAG = r"^[^\s|,][^|,]{0,39}$"
Tag = Annotated[str, Field(pattern=_TAG)]
LanguageCode = Annotated[str, Field(pattern=r"^[A-Z]{2}$")]
Day = Annotated[datetime | None, BeforeValidator(parse_day), WithJsonSchema(_DAYS)]


def is_tag(word: str) -> bool:
    return re.match(_TAG, word) is not None


class Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, alias_generator=None, defer_build=True
    )


def file_digest(path: str) -> str:
    """Of a file that a setting names, as it is now; empty when it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


# The environment variables that name databases, and what each is used for here.
#
# One store, of SQLite or PostgreSQL, holds what spec 001 keeps in two databases; jobs of a store on PostgreSQL are
# carried by BullMQ where REDIS_URL is set.  A variable that names something else is never ignored in silence: `vedette
# run`, `vedette serve` and `vedette doctor` say what it is for.

MAIN, REGULATORY, REDIS = "DATABASE_URL", "REGULATORY_DATABASE_URL", "REDIS_URL"
VARIABLES = (MAIN, REGULATORY, REDIS)
STORE = "vedette.db"
_PANEL = "only `vedette panel` writes there"
_MOVE = "; the folder has a store of its own: `vedette db copy --to` with that URL moves it there"
_POSTGRES = ("postgresql", "postgres")


def data_folder(words: Mapping[str, str]) -> Path | None:
    """The folder whose store these variables name: `sqlite:///folder/vedette.db`.  None: they name none."""
    named = {name: folder for name in (MAIN, REGULATORY) if (folder := _store_folder(words.get(name, "")))}
    if len(set(named.values())) > 1:
        raise ConfigError(f"{MAIN} and {REGULATORY} name two stores; watches and evidence are kept in one")
    return next(iter(named.values()), None)


def server_of(words: Mapping[str, str], data: Path) -> PostgresAddress | None:
    """The PostgreSQL database that holds the store.  None: the store is a file of the data folder.

    A folder that has such a file keeps it, whatever the variable says: an installation has one store.
    """
    url = words.get(MAIN, "").strip()
    is_server = url.partition("://")[0] in _POSTGRES
    return PostgresAddress(url) if is_server and not (data / STORE).exists() else None


def notices(words: Mapping[str, str], data: Path) -> list[str]:
    """What is said of variables that do not name the store.  Their values hold passwords and are not shown."""
    told = []
    for name, use in ((MAIN, _PANEL), (REGULATORY, "it is not used")):
        text = words.get(name, "")
        if text and _store_folder(text) is None and not (name == MAIN and server_of(words, data)):
            move = _MOVE if name == MAIN and text.partition("://")[0] in _POSTGRES else ""
            told.append(
                f"{name} names {_kind(text)}: {use}; watches and evidence are in the store, see `vedette db path`"
                f"{move}"
            )
    if words.get(REDIS) and server_of(words, data) is None:
        told.append(f"{REDIS} is set: only `vedette panel` uses it; the queues are in the store")
    return told


def _store_folder(url: str) -> Path | None:
    kind, mark, rest = url.strip().partition(":///")
    path = Path(rest)
    return path.parent if mark and kind == "sqlite" and path.name == STORE else None


def _kind(url: str) -> str:
    scheme = url.partition(":")[0].partition("+")[0].lower()
    known = {"postgres": "PostgreSQL", "postgresql": "PostgreSQL", "sqlite": f"a file that is not a {STORE}"}
    return known.get(scheme, "another database")


def panel_log_level() -> str:
    """RUST_LOG of spec 003: the level of the panel's log; empty: no log.  Directives for single crates are ignored."""
    words = (part.strip().lower() for part in os.environ.get("RUST_LOG", "").split(",") if "=" not in part)
    known = {"trace": "debug", "debug": "debug", "info": "info", "warn": "warn", "error": "error"}
    return next((known[word] for word in words if word in known), "")


# How a login is written: a body that is posted, a name with a password.  Secrets are only named.  What comes out is one
# text, as the store and an export keep it; `config/credentials.py` makes a request of it.

ENV = "env:"
POST_TYPES = {"json": "application/json", "form": "application/x-www-form-urlencoded", "body": "text/plain"}


def parse_post(value: object) -> str | None:
    """`{json: ...}`, `{form: {...}}` or `{body: text, type: ...}`, as one text of JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = {"body": value}
    kinds = [] if not isinstance(value, Mapping) else [kind for kind in POST_TYPES if kind in value]
    if value is None:
        return None
    if not isinstance(value, Mapping) or len(kinds) != 1 or set(value) - {*POST_TYPES, "type"}:
        raise ValueError(
            "write one of {json: ...}, {form: {name: value}} and {body: text}, with a type if needed"
        )
    given, kind = value[kinds[0]], value.get("type", "text/plain")
    if kinds[0] == "form" and not _is_flat(given):
        raise ValueError("form: names and texts are needed here")
    if kinds[0] == "body" and not isinstance(given, str):
        raise ValueError("body: a text is needed here")
    if not isinstance(kind, str) or not kind.isascii() or not kind.isprintable():
        raise ValueError("type: a content type is needed here, as in text/xml")
    return json.dumps(value, ensure_ascii=False)


def parse_basic_auth(value: object) -> str | None:
    """`{user: me, password: env:NAME}` or `me:env:NAME`, as one text."""
    if isinstance(value, Mapping) and set(value) == {"user", "password"}:
        value = f"{value['user']}:{value['password']}"
    if value is None:
        return None
    user, mark, password = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not mark or not user:
        raise ValueError("write {user: NAME, password: env:VARIABLE}")
    if not password.startswith(ENV):
        raise ValueError(
            "the password comes from the environment; write {user: NAME, password: env:VARIABLE}"
        )
    return f"{user}:{password}"


def _is_flat(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(one, str | int | float) for one in value.values())


# Defaults of a country: `profile: croatia` in vedette.yaml sets languages, zone and hours.
#
# What the file says itself wins over its profile.

CROATIA: Mapping[str, Any] = {
    "fetch": {"accept_language": "hr,en;q=0.9"},  # spec 001/9.5
    "extract": {"ocr_languages": "hrv+eng"},  # spec 001/5
    "cron": {"timezone": "Europe/Zagreb", "runs": "0 6 * * *"},  # spec 001/7.1, 001/11.1
}
PROFILES: Mapping[str, Mapping[str, Any]] = {"croatia": CROATIA}


def with_profile(raw: dict[str, Any]) -> dict[str, Any]:
    """The file with the defaults of its profile; a profile that is not known is left to validation."""
    profile = PROFILES.get(str(raw.get("profile") or ""), {})
    return {**raw, **{name: _merged(raw.get(name), rows) for name, rows in profile.items()}}


def _merged(given: object, rows: Mapping[str, Any]) -> object:
    if given is None:
        return dict(rows)
    return {**rows, **given} if isinstance(given, dict) else given


# Where the archive is, as the file says it and the environment lets us in.

BUCKET = r"^(s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._/-]*)?)?$"  # of `evidence.storage`
_KEY_ID, _KEY, _SESSION = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
REGION = "us-east-1"  # of Amazon, where none is said; S3-compatible stores mostly take any
AMAZON = (_KEY_ID, _KEY, _SESSION, *_ENDPOINTS, *_REGIONS)  # variables as all such programs know them


def object_place(storage: str, endpoint: str, region: str, words: Mapping[str, str]) -> ObjectPlace | None:
    """The place of `evidence.storage`, with keys of the environment alone.  None: the archive is a folder."""
    if not storage:
        return None
    missing = [name for name in (_KEY_ID, _KEY) if not words.get(name)]
    if missing:
        raise ConfigError(
            f"evidence.storage is {storage}: set {' and '.join(missing)} in the environment; "
            "keys are never written into the file"
        )
    name, _, key = storage.removeprefix("s3://").partition("/")
    bucket = Bucket(
        name=name,
        endpoint=endpoint or _first(words, _ENDPOINTS),
        region=region or _first(words, _REGIONS) or REGION,
        key_id=Secret(words[_KEY_ID]),
        key=Secret(words[_KEY]),
        session=Secret(words.get(_SESSION, "")),
    )
    return ObjectPlace(bucket, key.strip("/"))


def _first(words: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((words[name] for name in names if words.get(name)), "")
