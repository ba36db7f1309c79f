"""Frozen values on the path of every look, made and copied for less.

`dataclasses.replace` reads the list of fields and calls the constructor with all of them: 12 us for a `Watch`, and a
look makes seven such copies.  Here a copy is made slot by slot, by a function that is compiled once for a class and the
fields that change: half a microsecond.

A frozen class takes every field through a call.  So a value is made as its open twin, a class with the same slots that
is not frozen, and becomes what it is when all of them are set (`__class__`): a quarter of the price.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from dataclasses import replace as replace  # the types are its own
else:

    def replace(value: Any, /, **changes: Any) -> Any:
        """As `dataclasses.replace`."""
        key = (type(value), *changes)
        copy = _COPIES.get(key)
        if copy is None:
            copy = _COPIES[key] = _compiled(type(value), changes.keys())
        return copy(value, changes)


_T = TypeVar("_T")
Copy = Callable[[Any, dict[str, Any]], Any]
_COPIES: dict[tuple[type | str, ...], Copy] = {}  # by class and changed fields


def quick(kind: type[_T]) -> type[_T]:
    """A dataclass with plain slots, and a constructor that sets them.  Fields, order and defaults are as they were."""
    if not _is_plain(kind):
        raise TypeError(f"{kind.__name__} is not a dataclass of plain slots")
    scope: dict[str, Any] = {"_open_up": _OPEN_UP, "_twin": _twin(kind), "_kind": kind}
    words, values = _constructor(kind, scope)
    lines = [f"    self.{name} = {value}" for name, value in values.items()]
    text = [f"def __init__(self, {', '.join(words)}):", "    _open_up(self, _twin)", *lines]
    exec("\n".join([*text, "    self.__class__ = _kind"]), scope)  # noqa: S102  of the names of fields alone
    scope["__init__"].__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = scope["__init__"]  # type: ignore[method-assign]
    return kind


def maker(kind: Callable[..., _T]) -> Callable[..., _T]:
    """A function that does what the constructor of this dataclass does; what else there is stays as it is.

    Calling a class costs twice as much: it packs the named values into a dict first.
    """
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind) or not _is_plain(kind):
        return kind
    scope: dict[str, Any] = {"_twin": _twin(kind), "_kind": kind}
    words, values = _constructor(kind, scope)
    lines = [f"    _made.{name} = {value}" for name, value in values.items()]
    text = [f"def make({', '.join(words)}):", "    _made = _twin()", *lines, "    _made.__class__ = _kind"]
    exec("\n".join([*text, "    return _made"]), scope)  # noqa: S102  of the names of fields alone
    make: Callable[..., _T] = scope["make"]
    return make


def _constructor(kind: type, scope: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The parameters of a constructor, and what each field is set to; `scope` gets the defaults.

    Names of our own begin with an underscore: a field may be called `kind`.
    """
    scope["_missing"] = dataclasses.MISSING
    words, values = [], {}
    for field in sorted(dataclasses.fields(kind), key=lambda field: bool(field.kw_only)):
        name, default, value = field.name, "", field.name
        if field.default is not dataclasses.MISSING:
            scope[f"or_{name}"], default = field.default, f" = or_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            scope[f"or_{name}"], default = field.default_factory, " = _missing"
            value = f"or_{name}() if {name} is _missing else {name}"
        if field.kw_only and "*" not in words:
            words.append("*")
        words.append(f"{name}{default}")
        values[name] = value
    return words, values


_OPEN_UP = object.__dict__["__class__"].__set__  # past a class that lets nobody set anything


def _twin(kind: type) -> type:
    """A class with the same slots in the same places, which anybody may set."""
    return type(f"Open{kind.__name__}", kind.__bases__, _OPEN | {"__slots__": kind.__slots__})  # type: ignore[attr-defined]


_OPEN: dict[str, Any] = {name: getattr(object, name) for name in ("__init__", "__setattr__", "__delattr__")}


def _is_plain(kind: type) -> bool:
    fields = dataclasses.fields(kind)
    slots = {name for base in kind.__mro__ for name in getattr(base, "__slots__", ())}
    is_made = not hasattr(kind, "__post_init__") and all(field.init for field in fields)
    is_made = is_made and Generic not in kind.__bases__
    return is_made and slots.issuperset(field.name for field in fields) and not kind.__dictoffset__


def _compiled(kind: type, changed: Set[str]) -> Copy:
    """For a class of plain slots; whatever else there is goes the long way."""
    if not _is_plain(kind):
        return lambda value, changes: dataclasses.replace(value, **changes)
    names = [field.name for field in dataclasses.fields(kind)]
    if unknown := changed - set(names):
        raise TypeError(f"{kind.__name__} has no field {min(unknown)!r}")
    values = {name: f"changes[{name!r}]" if name in changed else f"value.{name}" for name in names}
    lines = [f"    copy.{name} = {said}" for name, said in values.items()]
    text = ["def copied(value, changes):", "    copy = twin()", *lines, "    copy.__class__ = kind"]
    scope: dict[str, Any] = {"twin": _twin(kind), "kind": kind}
    exec("\n".join([*text, "    return copy"]), scope)  # noqa: S102  of the names of fields alone
    copied: Copy = scope["copied"]
    return copied
