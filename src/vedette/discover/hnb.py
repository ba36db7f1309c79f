"""The exchange rate list of the national bank (HNB): a JSON array, one object per currency.

The list is itself the target: a rate that moved is a change of this document, field by field.  For the currencies
that `structured.currencies` names, the one-currency document of the API is a sighting too, so that each can have
its own history.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from vedette.contracts.source import Listing
from vedette.core.text.dates import read_date
from vedette.discover.data import is_data, read_data, text_in
from vedette.discover.gather import Found, Gathering, ListingDocument

MAX_RATES = 1000  # there are about fifteen currencies; a range of days has one list for each
# Their field -> ours.  The words of the API's third edition (euro), then of the first (kuna).
FIELDS = {
    "valuta": "currency",
    "drzava": "country",
    "broj_tecajnice": "number",
    "datum_primjene": "applies_on",
    "kupovni_tecaj": "buying",
    "srednji_tecaj": "middle",
    "prodajni_tecaj": "selling",
    "datum_primjene_tecaja": "applies_on",
    "kupovni_za_devize": "buying",
    "srednji_za_devize": "middle",
    "prodajni_za_devize": "selling",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One currency on one list, as written: the bank's decimal comma stays."""

    currency: str
    country: str = ""
    number: str = ""  # of the list
    applies_on: str = ""
    buying: str = ""
    middle: str = ""
    selling: str = ""

    @property
    def applies_at(self) -> datetime | None:
        return read_date(self.applies_on)


def read_hnb(document: ListingDocument) -> Listing:
    """The documents of the wanted currencies, and a note of what the list says."""
    rates, problem = read_rates(document)
    if problem:
        return Listing(problem=problem)
    gathering = Gathering(document)
    newest = max(rates, key=lambda rate: (rate.applies_on, rate.currency))
    gathering.note("rates", f"list {newest.number} applies on {newest.applies_on}", float(len(rates)))
    known = {rate.currency: rate for rate in rates}
    for currency in document.options.structured.currencies:
        rate = known.get(currency)
        if rate is None:
            gathering.note("currency_missing", f"{currency} is not on the list")
            continue
        url = f"{document.url.partition('?')[0]}?valuta={currency}"
        gathering.add(Found(href=url, title=_title(rate), published_at=rate.applies_at))
    return gathering.listing()


def read_rates(document: ListingDocument) -> tuple[list[Rate], str]:
    """The rates, or why there are none."""
    value, problem = read_data(document) if is_data(document) else (None, "the document is not JSON")
    if problem:
        return [], f"not a list of rates: {problem}"
    rows = value if isinstance(value, list) else []
    rates = list(_rates(rows[:MAX_RATES]))
    return rates, "" if rates else "not a list of rates: no object has `valuta` and a rate"


def _rates(rows: Iterable[Any]) -> Iterable[Rate]:
    known = {field.name for field in fields(Rate)}
    for row in rows:
        if not isinstance(row, dict):
            continue
        said = {FIELDS.get(_plain(name), ""): text_in(row, name) for name in row}
        rate = Rate(**{"currency": ""} | {name: text for name, text in said.items() if name in known})
        if rate.currency and rate.middle:
            yield rate


def _plain(name: str) -> str:
    """`Srednji za devize` and `srednji_tecaj` alike: small letters, no accents, joined by _."""
    letters = unicodedata.normalize("NFKD", name[:60]).encode("ascii", "ignore").decode()
    return "_".join(letters.lower().replace("_", " ").split())


def _title(rate: Rate) -> str:
    where = f" ({rate.country})" if rate.country else ""
    return f"{rate.currency}{where}"
