"""Ready lists of sources, shipped with the program.  `vedette import registry:croatia` takes one."""

from __future__ import annotations

from importlib.resources import files

from vedette.contracts.errors import InputError
from vedette.core.text.nearest import unknown

_ENDING = ".yaml"


def registries() -> tuple[str, ...]:
    """The names that can be imported."""
    names = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING)))


def read_registry(name: str) -> bytes:
    """The list as it is shipped: YAML with `sources`, in the form that `vedette import` reads."""
    if name not in registries():
        raise InputError(unknown("registry", name, registries()))
    return (files(__name__) / f"{name}{_ENDING}").read_bytes()
