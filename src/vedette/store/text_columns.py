"""Values that lie in one column as text: JSON, short, because most rows have little to say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic_core import to_json

from vedette.contracts.change import CacheRecord, Noise, Place, Presence, RestlessLine, Template
from vedette.contracts.verdict import Traits
from vedette.contracts.words import EvidenceId
from vedette.core.change.state import shape

# Of the text that it was learned of.  1: cells of tables were lines of their own, articles were not cut down.
# 2: one container was chosen as the article; what was learned of it is learned anew.
# 3: words of neighbouring elements were glued where a browser shows them apart.
OLDER, GLUED, FORM = 1, 3, 4
LEGACY_SEEN = 8  # draws that a mask of an earlier form is worth
_ANEW = Noise(refuted=1, begun_at=-1)
_NONE = Noise()


def dump_json(value: object) -> str:
    """Once per visit and more, so by pydantic's encoder: a quarter of the time of the standard library's."""
    return to_json(value, timedelta_mode="float", fallback=_plain).decode()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no value for a JSON column")


# The learned noise of a target (`watches.mask`).


def dump_noise(noise: Noise) -> str | None:
    """None where nothing is known, which is most often."""
    if noise is _NONE or noise == _NONE:
        return None
    paths = {path: at for at, path in enumerate(dict.fromkeys(_paths(noise)))}
    cache = noise.cache
    return json.dumps(
        {
            "paths": list(paths),
            "lines": [[x.key, paths[x.place], *_numbers(x.presence), x.form, x.text] for x in noise.lines],
            "templates": [
                [paths[x.place], x.lengths, x.heads, x.digest, x.kinds, *_numbers(x.presence), x.now, x.rises]
                for x in noise.templates
            ],
            "places": [[paths[x.path], x.stays, x.leaves, x.quiet, x.most] for x in noise.places],
            "orders": noise.orders,
            "wild": noise.wild,
            "looks": [noise.agreed, noise.refuted, noise.quick, noise.begun_at, noise.edited_at],
            "replaced": noise.replaced,
            "cache": [cache.edits, cache.tried, cache.differed, cache.known],
            "form": OLDER if noise.is_older else GLUED if noise.is_glued else FORM,
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


def read_noise(text: str | None) -> Noise:
    """What cannot be read is learned anew, as if the page were known to vary."""
    if not text:
        return _NONE
    try:
        kept = json.loads(text)
        return _from_mask(kept) if isinstance(kept, list) else _read(kept)
    except (ValueError, KeyError, TypeError, IndexError):
        return _ANEW


def _read(kept: dict[str, Any]) -> Noise:
    paths: list[str] = kept["paths"]
    agreed, refuted, quick, begun_at, edited_at = kept["looks"]
    form, is_learned = kept.get("form", OLDER), bool(paths or kept["orders"] or kept["wild"])
    if form not in (OLDER, GLUED, FORM) and is_learned:
        return _ANEW
    return Noise(
        lines=tuple(
            RestlessLine(key, paths[at], Presence(*numbers), form, said)
            for key, at, *numbers, form, said in kept["lines"]
        ),
        templates=tuple(_template(paths, *fields) for fields in kept["templates"]),
        places=tuple(Place(paths[at], *numbers) for at, *numbers in kept["places"]),
        orders=tuple(kept["orders"]),
        wild=tuple(kept["wild"]),
        agreed=agreed,
        refuted=refuted,
        quick=quick,
        begun_at=begun_at,
        edited_at=edited_at,
        replaced=tuple(kept["replaced"]),
        cache=CacheRecord(*kept.get("cache", ())),
        is_older=form == OLDER and is_learned,
        is_glued=form == GLUED and is_learned,
    )


def _paths(noise: Noise) -> list[str]:
    places = [one.place for one in noise.lines] + [one.place for one in noise.templates]
    return places + [one.path for one in noise.places]


def _numbers(presence: Presence) -> tuple[int, int, int, int, int]:
    return presence.stays, presence.leaves, presence.waits, presence.returns, presence.run


def _template(paths: Sequence[str], at: int, *fields: Any) -> Template:
    lengths, heads, digest, kinds, *numbers, now, rises = fields
    presence = Presence(*numbers)
    return Template(
        paths[at], tuple(lengths), tuple(heads), digest, tuple(kinds), presence, tuple(now), rises
    )


def _from_mask(regions: Sequence[Sequence[Any]]) -> Noise:
    """Masks up to revision 0012.  Where they were, texts are drawn; the rest is learned anew."""
    known = [(shape(path.removesuffix("/*")), kind) for path, _, _, kind, _ in regions if kind != "quiet"]
    orders = dict.fromkeys(path for path, kind in known if kind == "order")
    drawn = dict.fromkeys(path for path, kind in known if kind != "order")
    places = tuple(Place(path, 0, LEGACY_SEEN) for path in drawn)
    is_restless = bool(places or orders)
    begun_at = -1 if is_restless else 0  # how steady its lines are is not known
    return Noise(
        places=places,
        orders=tuple(orders),
        agreed=1,
        refuted=is_restless,
        begun_at=begun_at,
        is_older=is_restless,
    )


# What a look measured of a text, as a row that waits for its verdict.

_PLAIN = asdict(Traits())


def measure_row(evidence: EvidenceId, traits: Traits | None, vector: bytes | None) -> tuple[Any, ...]:
    """In the order of statements.MEASURED_COLUMNS."""
    return (evidence, traits.text_key if traits else 0, dump_traits(traits) if traits else None, vector)


def dump_traits(traits: Traits) -> str:
    """What differs from the defaults; the key has a column of its own."""
    said = {
        name: value
        for name, plain in _PLAIN.items()
        if name != "text_key" and (value := getattr(traits, name)) != plain
    }
    return dump_json(said)


def read_traits(text: str | None) -> Traits | None:
    if text is None:
        return None
    said = json.loads(text)
    if "signs" in said:
        said["signs"] = tuple(said["signs"])
    return Traits(**said)
