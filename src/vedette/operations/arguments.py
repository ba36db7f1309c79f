"""What people write, as values: a URL, a risk, a moment, a lane.  InputError says how to write it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from vedette.config.values import ENV, parse_day, parse_duration
from vedette.contracts.change import ChangeState
from vedette.contracts.errors import InputError
from vedette.contracts.filters import step_text
from vedette.contracts.words import LaneKey, Outcome, Risk
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import canonical, lane_of, too_long

TOLD = (ChangeState.CONFIRMED, ChangeState.REPORTED)  # changes that people are told of
MARKS = ("useful", "noise", "none")  # what is said of changes
LANES = ("engine", "provider", "run", "addr", "notify")  # kinds beside `host`


def a_url(text: str) -> str:
    """The canonical URL of what the user typed, or InputError that says how to write it."""
    url = canonical(text)
    if url is not None:
        return url
    word = text.strip()
    if not word:
        raise InputError("the URL is empty")
    if words := too_long(word):
        raise InputError(f"the URL is too long: {words}")
    if "://" not in word and (near := canonical(f"https://{word}")) is not None:
        raise InputError(f"{word!r} has no scheme; did you mean {near} ?")
    scheme, mark, _ = word.partition(":")
    if mark and scheme.isalnum() and scheme.lower() not in ("http", "https"):
        raise InputError(f"{word!r}: only http and https are watched, not {scheme!r}")
    raise InputError(f"{word!r} is not a URL; write for example https://example.org/page")


def a_risk(word: str | None, option: str) -> Risk | None:
    """A risk as the user wrote it."""
    if word is None:
        return None
    try:
        return Risk.parse(word)
    except ValueError:
        raise InputError(f"{option}: {unknown(option.strip('-'), word.upper(), Risk.__members__)}") from None


def a_mark(word: str | None, option: str) -> str | None:
    """What people say of changes, as a filter; `none`: what nobody marked."""
    if word is None or word in MARKS:
        return word
    raise InputError(f"{option}: {unknown('mark', word, MARKS)}")


def a_moment(text: str | None, option: str, now: datetime) -> datetime | None:
    """`24h` is that long ago; otherwise a date or a time in ISO form."""
    if text is None:
        return None
    try:
        return now - parse_duration(text)
    except (ValueError, OverflowError):
        pass
    try:
        return parse_day(text)
    except ValueError:
        raise InputError(
            f"{option}: {text!r} is neither a duration (24h, 7d) nor a date (2026-11-15)"
        ) from None


def a_duration(text: str, option: str) -> timedelta:
    """`30m`, `4h`, `7d`."""
    try:
        return parse_duration(text)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{option}: {error}") from None


def an_outcome(word: str | None, option: str) -> Outcome | None:
    if word is None:
        return None
    try:
        return Outcome(word.lower())
    except ValueError:
        known = [outcome.value for outcome in Outcome]
        raise InputError(f"{option}: {unknown('outcome', word, known)}; known: {', '.join(known)}") from None


def some_states(word: str | None, option: str) -> tuple[ChangeState, ...]:
    """States of changes; without a word those that people are told of; empty: all of them."""
    if word is None:
        return TOLD
    if word == "all":
        return ()
    try:
        return (ChangeState(word.lower()),)
    except ValueError:
        known = (*(state.value for state in ChangeState), "all")
        raise InputError(f"{option}: {unknown('state', word, known)}") from None


def a_lane(text: str) -> LaneKey:
    """`host:example.org`, `example.org` or a URL of it."""
    word = text.strip().lower()
    kind, mark, name = word.partition(":")
    if mark and kind in LANES and name:
        return LaneKey(word)
    host = name if kind == "host" and mark else word
    try:
        return lane_of(a_url(host if "://" in host else f"http://{host}/"))
    except InputError:
        raise InputError(f"{text!r} is no lane; write host:example.org") from None


def a_filter(step: object) -> str:
    """One step as a line `kind: value`."""
    try:
        return step_text(step)
    except ValueError as error:
        raise InputError(f"filters: {error}") from None


def some_filters(given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Steps of a filter; `off` takes back those that a source has.  None: nothing was said."""
    if given is None:
        return None
    return () if [word.strip().lower() for word in given] in (["off"], ["none"]) else tuple(given)


def fetch_words(
    cookies: Sequence[str] | None, basic_auth: str | None, post: str | None, proxy: str | None
) -> dict[str, object]:
    """What the options of a login say, as keys of `fetch`; `off` takes back a word that a source has."""
    said: dict[str, object] = {"basic_auth": basic_auth, "post": post, "proxy": proxy}
    found = {
        name: None if word in ("off", "none") else word for name, word in said.items() if word is not None
    }
    return found | ({"cookies": some_cookies(cookies)} if cookies else {})


def some_cookies(given: Sequence[str]) -> dict[str, str]:
    """`name: env:VARIABLE` or, as cookies are written, `name=env:VARIABLE`."""
    found = {}
    for text in given:
        name, mark, variable = text.partition(ENV)
        if not mark or not variable.strip() or not name.strip().endswith((":", "=")):
            raise InputError(
                "--cookie: write 'NAME: env:VARIABLE'; its value comes from that environment variable"
            )
        found[name.strip().rstrip(":= ")] = f"{ENV}{variable.strip()}"
    return found


def some_headers(given: Sequence[str]) -> dict[str, str]:
    """`Name: value`, each."""
    found = {}
    for text in given:
        name, mark, value = text.partition(":")
        if not mark or not name.strip() or not value.strip():
            raise InputError(f"--header: {text!r} is not written as 'Name: value'")
        found[name.strip()] = value.strip()
    return found
