"""What is in force: every setting with its value and where that comes from, and every secret that is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vedette.config.model import (
    Config,
    data_origin,
    from_environment,
    is_set_in_environment,
    written,
)
from vedette.config.sections import LaneConfig
from vedette.config.values import Section
from vedette.config.yaml_text import line_of
from vedette.contracts.errors import StoreError
from vedette.contracts.fetch import FetchSettings
from vedette.contracts.lane import LanePolicy
from vedette.operations.installation import Installation

HIDDEN = "***"
_VARIABLE = re.compile(r"(?:^|[\":])env:([A-Za-z_][A-Za-z0-9_]*)")  # alone, behind a user, or in a body
SECRET = frozenset(
    "secret password token proxy headers cookies post urls keys".split()
)  # written out, they are not shown
Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """`origin`: default, environment, or file and line."""

    place: Place
    value: object
    origin: str

    @property
    def key(self) -> str:
        return ".".join(map(str, self.place))


def settings(installation: Installation, *, data: Path | None = None) -> Iterator[Setting]:
    """All that are in force.  `data`: the folder that was named beside the configuration."""
    loaded = installation.loaded
    text = "" if loaded.path is None else loaded.path.read_text(encoding="utf-8-sig")
    yield Setting(("data",), str(loaded.data), data_origin(data, loaded))
    for place, value, is_set in _leaves(_with_variables(loaded.config), ()):
        if place in (("data",), ("lanes",)):
            continue
        line = line_of(text, place) if is_set and text else None
        origin = "default" if not is_set else f"{loaded.path}:{line}" if line else "environment"
        yield Setting(place, _safe(place, written(value)), origin)
    said = loaded.config.lanes.get("default")
    for name in type(said or LaneConfig()).model_fields:
        if said is None or getattr(said, name) is None:
            yield Setting(("lanes", "default", name), written(getattr(LanePolicy(), name)), "default")


def secrets_of(installation: Installation) -> Iterator[tuple[str, str]]:
    """Every `env:NAME` with the place that asks for it: of the configuration, and of sources that were added."""
    for place, value, _ in _leaves(installation.loaded.config, ()):
        yield from ((name, f"`{'.'.join(map(str, place))}`") for name in _variables(value))
    with suppress(StoreError), installation.queries() as queries:
        for view in queries.sources():
            yield from ((name, f"source {view.source.id}") for name in _variables(view.source.fetch))


def _with_variables(config: Config) -> Config:
    """Spec 003's variables win over the file."""
    before, after = config.panel, from_environment(config.panel)
    names = type(before).model_fields
    said = {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}
    return config.model_copy(update={"panel": before.model_copy(update=said)} if said else {})


def _leaves(section: Any, place: Place) -> Iterator[tuple[Place, object, bool]]:
    """Every value below: its place, the value in force, and whether it was set."""
    for name in type(section).model_fields:
        value, here = getattr(section, name), (*place, name)
        is_set = name in section.model_fields_set
        if isinstance(value, Section):
            yield from _leaves(value, here)
        elif rows := _sections_of(value):
            for key, one in rows:
                yield from (
                    (inner, said, is_set) for inner, said, is_said in _leaves(one, (*here, key)) if is_said
                )
        else:
            yield here, _built_in(place, name) if value is None else value, is_set


def _sections_of(value: object) -> list[tuple[str | int, Any]]:
    """Of a list or a mapping of sections: each with its number or name."""
    if isinstance(value, tuple):
        return [(number, one) for number, one in enumerate(value) if isinstance(one, Section)]
    if isinstance(value, dict):
        return [
            (str(getattr(key, "name", key)), one) for key, one in value.items() if isinstance(one, Section)
        ]
    return []


def _built_in(place: Place, name: str) -> object:
    """What a key that is not set means: the default of the policy value it fills."""
    return getattr(FetchSettings(), name, None) if place == ("fetch",) else None


def _safe(place: Place, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _safe((*place, key), one) for key, one in value.items()}
    if isinstance(value, list):
        return [_safe(place, one) for one in value]
    if isinstance(value, str) and value.startswith("env:"):
        return value if is_set_in_environment(value) else f"{value} (not set)"
    return HIDDEN if value and not SECRET.isdisjoint(map(str, place)) else value


def _variables(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from _VARIABLE.findall(value)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _variables(one)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _variables(one)
