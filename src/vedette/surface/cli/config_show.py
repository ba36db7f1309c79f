"""What is in force: config show.  Every setting with its value and where that comes from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vedette.contracts.errors import StoreError
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import group, verb

if TYPE_CHECKING:
    from vedette.config.model import Config

HIDDEN = "***"
SECRET = frozenset("secret password token proxy headers urls keys".split())  # written out, they are not shown
Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    place: Place
    value: object
    origin: str

    @property
    def key(self) -> str:
        return ".".join(map(str, self.place))


def register(app: typer.Typer) -> None:
    config = group("config", example="vedette config show", default=show)(config_)
    verb(config, "show", example="vedette config show fetch\nvedette config show --set")(show)
    app.add_typer(config)


def config_() -> None:
    """The settings in force, and where each comes from."""


def show(
    session: Session,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Part of a key, as fetch.")] = None,
    only_set: Annotated[bool, typer.Option("--set", help="Only what is not the default.")] = False,
) -> None:
    """Every setting with its value and where that comes from.

    Secrets that are written out are not shown; `env:NAME` is, with whether that variable is set.
    """
    found = [
        one
        for one in _settings(session)
        if (text is None or text.lower() in one.key) and not (only_set and one.origin == "default")
    ]
    if session.given.as_json:
        bodies = [{"key": one.key, "value": one.value, "from": one.origin} for one in found]
        session.out.document({"settings": bodies})
        return
    rows = ((one.key, _cell(one.value), one.origin) for one in found)
    session.out.table(("SETTING", "VALUE", "FROM"), rows, empty="no setting fits")


def _settings(session: Session) -> Iterator[Setting]:
    from vedette.config.model import LaneConfig, written
    from vedette.config.yaml_text import line_of
    from vedette.contracts.lane import LanePolicy

    loaded = session.loaded
    text = "" if loaded.path is None else loaded.path.read_text(encoding="utf-8-sig")
    yield Setting(("data",), str(loaded.data), _origin_of_data(session))
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


def _origin_of_data(session: Session) -> str:
    from vedette.config.model import data_origin

    return data_origin(session.given.data, session.loaded)


def _with_variables(config: Config) -> Config:
    """003's variables win over the file."""
    from vedette.config.model import from_environment

    before, after = config.panel, from_environment(config.panel)
    names = type(before).model_fields
    said = {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}
    return config.model_copy(update={"panel": before.model_copy(update=said)} if said else {})


def _leaves(section: Any, place: Place) -> Iterator[tuple[Place, object, bool]]:
    """Every value below: its place, what holds, and whether somebody said so."""
    from vedette.config.values import Section

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
    from vedette.config.values import Section

    if isinstance(value, tuple):
        return [(number, one) for number, one in enumerate(value) if isinstance(one, Section)]
    if isinstance(value, dict):
        return [
            (str(getattr(key, "name", key)), one) for key, one in value.items() if isinstance(one, Section)
        ]
    return []


def _built_in(place: Place, name: str) -> object:
    """What a key that is not set means: the default of the policy value it fills."""
    from vedette.contracts.fetch import FetchSettings

    return getattr(FetchSettings(), name, None) if place == ("fetch",) else None


def _safe(place: Place, value: Any) -> Any:
    from vedette.config.model import is_set_in_environment

    if isinstance(value, dict):
        return {key: _safe((*place, key), one) for key, one in value.items()}
    if isinstance(value, list):
        return [_safe(place, one) for one in value]
    if isinstance(value, str) and value.startswith("env:"):
        return value if is_set_in_environment(value) else f"{value} (not set)"
    return HIDDEN if value and not SECRET.isdisjoint(map(str, place)) else value


def _cell(value: object) -> str:
    from vedette.report.plain import dump

    return value if isinstance(value, str) else "" if value is None else dump(value)


def secrets_of(session: Session) -> Iterator[tuple[str, str]]:
    """Every `env:NAME` with the place that asks for it: of the configuration, and of sources that were added."""
    for place, value, _ in _leaves(session.loaded.config, ()):
        yield from ((name, f"`{'.'.join(map(str, place))}`") for name in _variables(value))
    with suppress(StoreError), session.queries() as queries:
        for view in queries.sources():
            yield from ((name, f"source {view.source.id}") for name in _variables(view.source.fetch))


def _variables(value: object) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("env:"):
        yield value.removeprefix("env:")
    elif isinstance(value, dict):
        for one in value.values():
            yield from _variables(one)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _variables(one)
