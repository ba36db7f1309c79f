"""What is sent to be let in: headers, cookies, a password, a form, a proxy.  Secrets are named, never shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vedette.config.credentials import variables
from vedette.contracts.errors import InputError, RefusedError
from vedette.operations.installation import Installation
from vedette.operations.source_filters import SourceFilters, filters_of_source
from vedette.operations.source_keys import keys_of, source_of
from vedette.operations.sources import save_source

OURS = "VEDETTE_LOGIN_"
NAMES = ("headers", "cookies", "basic_auth", "post", "keep_cookies", "proxy")


def access_keys(found: SourceFilters) -> dict[str, Any]:
    """Of a `fetch` section, those that let us in."""
    kept = keys_of(found.source).get("fetch", {})
    return {name: kept[name] for name in NAMES if kept.get(name) not in (None, False, {})}


def checked_access(found: SourceFilters, keys: Mapping[str, Any]) -> dict[str, Any]:
    """As they are kept.  InputError says what is wrong, and names the key.

    Who asks over the network may name only variables that were made for it: any other of this process could be sent to
    a site of theirs.  Those that the operator gave this source stay its own, as long as they go the same way.
    """
    said = {name: value for name, value in keys.items() if value not in (None, False, {}, "")}
    made = dict(source_of({"url": found.source.url, "fetch": said}, origin="cli").fetch)
    before = access_keys(found)
    known = set(variables(before)) if made.get("proxy") == before.get("proxy") else set()
    for name, value in made.items():
        for variable in variables({name: value}):
            if not variable.startswith(OURS) and variable not in known:
                raise InputError(f"fetch.{name}: name a variable that begins with {OURS}, as env:{OURS}TOKEN")
    return said


def set_access(installation: Installation, what: str, keys: Mapping[str, Any]) -> SourceFilters:
    """These in place of those that it has, from the next look on; none: it is asked as anybody would.

    RefusedError where vedette.yaml says what holds: the next run would take it back.
    """
    found = filters_of_source(installation, what)
    said = checked_access(found, keys)
    if found.is_written:
        raise RefusedError(
            f"fetch: source {found.source.id} stands in vedette.yaml, which says what holds; write it there"
        )
    before = keys_of(found.source)
    others = {name: value for name, value in before.get("fetch", {}).items() if name not in NAMES}
    with installation.operating() as db:
        save_source(installation, db, source_of({**before, "fetch": {**others, **said}}, origin="cli"))
    return filters_of_source(installation, found.source.id)


def access_json(found: SourceFilters) -> dict[str, object]:
    kept = access_keys(found)
    return {
        "source": found.source.id,
        "url": found.source.url,
        "fetch": kept,
        "variables": sorted(set(variables(kept))),
        "is_written": found.is_written,
    }
