"""The bank's rates: a list of currencies, drawn anew for every list."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from vedette.livingweb.chance import Chance
from vedette.livingweb.process import DAY, HOUR, MONDAY, WEEK, At
from vedette.livingweb.served import Rendered
from vedette.livingweb.text import Story
from vedette.livingweb.world import Host, Page

PATH = "/tecajn-eur/v3"
ALL = (
    ("AUD", "Australija", 1.65), ("CAD", "Kanada", 1.47), ("CZK", "Češka", 25.1), ("DKK", "Danska", 7.46),
    ("HUF", "Mađarska", 392.0), ("JPY", "Japan", 163.0), ("NOK", "Norveška", 11.7), ("SEK", "Švedska", 11.4),
    ("CHF", "Švicarska", 0.94), ("GBP", "Velika Britanija", 0.85), ("USD", "SAD", 1.08),
    ("BAM", "Bosna i Hercegovina", 1.96), ("PLN", "Poljska", 4.3),
)  # fmt: skip
WATCHED = ("USD", "CHF", "GBP")  # each also a page of its own
_FIRST_LIST = 220


def rate_path(index: int) -> str:
    """Page 0 is the whole list, the others one currency each."""
    return PATH if index == 0 else f"{PATH}?valuta={WATCHED[index - 1]}"


def working_days(epoch: float, days: int) -> At:
    """A new list every working day at half past one."""
    first = epoch - epoch % DAY
    mornings = (first + day * DAY for day in range(days))
    return At(tuple(t + 13.5 * HOUR for t in mornings if (t - MONDAY) % WEEK < 5 * DAY))


@dataclass(frozen=True, slots=True)
class RateStory(Story):
    """Version n is list 220 + n.  Every rate of a list differs from the one before."""

    def paragraphs(self, version: int) -> tuple[str, ...]:
        return tuple(f"{code} {rate}" for code, _, rate in _rates(version))

    def edit(self, version: int) -> str:
        return "number" if version else "first"


def rate_story(key: tuple[object, ...]) -> Story:
    return RateStory(key, "hr", ())


def rate_page(host: Host, page: Page, version: int, where: str) -> Rendered:
    """One list as the API gives it."""
    day = _day(page.history.changed_at(version))
    wanted = None if page.index == 0 else WATCHED[page.index - 1]
    rows = [
        {
            "broj_tecajnice": str(_FIRST_LIST + version),
            "datum_primjene": day,
            "drzava": country,
            "kupovni_tecaj": _comma(rate * 1.0015),
            "prodajni_tecaj": _comma(rate * 0.9985),
            "srednji_tecaj": _comma(rate),
            "valuta": code,
        }
        for code, country, rate in _rates(version)
        if wanted in (None, code)
    ]
    return Rendered("application/json", (json.dumps(rows, ensure_ascii=False).encode(),))


def _rates(version: int) -> list[tuple[str, str, float]]:
    """A rate is its mean and a step of this list; two lists in a row step to different sides."""
    side = 1 if version % 2 else -1
    return [
        (code, country, round(mean * (1 + side * (0.001 + 0.004 * Chance("rate", code, version).unit())), 6))
        for code, country, mean in ALL
    ]


def _comma(rate: float) -> str:
    return f"{rate:.6f}".replace(".", ",")


def _day(t: float) -> str:
    """The list applies on the day after it was made."""
    return datetime.fromtimestamp(t + DAY, UTC).strftime("%Y-%m-%d")
