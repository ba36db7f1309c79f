"""Frozen values on the path of every look, made and copied for less.

`dataclasses.replace` reads the list of fields and calls the constructor with all of them: 12 us for a `Watch`, and a
look makes nine such copies.  Here a copy is made slot by slot, by a function that is compiled once for a class and the
fields that change: 2 us.
The constructor of a frozen dataclass looks up every field by its name; `quick` sets the slots, in half the time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any, TypeVar

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
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    scope: dict[str, Any] = {"missing": dataclasses.MISSING}
    words, lines = ["self"], []
    for field in sorted(fields, key=lambda field: bool(field.kw_only)):  # as the standard library has them
        name, default, value = field.name, "", field.name
        scope[f"set_{name}"] = getattr(kind, name).__set__
        if field.default is not dataclasses.MISSING:
            scope[f"or_{name}"], default = field.default, f" = or_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            scope[f"or_{name}"], default = field.default_factory, " = missing"
            value = f"or_{name}() if {name} is missing else {name}"
        if field.kw_only and "*" not in words:
            words.append("*")
        words.append(f"{name}{default}")
        lines.append(f"    set_{name}(self, {value})")
    exec("\n".join([f"def __init__({', '.join(words)}):", *lines]), scope)  # noqa: S102  of the names of fields alone
    scope["__init__"].__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = scope["__init__"]  # type: ignore[method-assign]
    return kind


def _is_plain(kind: type) -> bool:
    fields = dataclasses.fields(kind)
    slots = {name for base in kind.__mro__ for name in getattr(base, "__slots__", ())}
    is_made = not hasattr(kind, "__post_init__") and all(field.init for field in fields)
    return is_made and slots.issuperset(field.name for field in fields) and not kind.__dictoffset__


def _compiled(kind: type, changed: Set[str]) -> Copy:
    """For a class of plain slots; whatever else there is goes the long way."""
    if not _is_plain(kind):
        return lambda value, changes: dataclasses.replace(value, **changes)
    names = [field.name for field in dataclasses.fields(kind)]
    if unknown := changed - set(names):
        raise TypeError(f"{kind.__name__} has no field {min(unknown)!r}")
    values = {name: f"changes[{name!r}]" if name in changed else f"value.{name}" for name in names}
    lines = [f"    set_{name}(copy, {said})" for name, said in values.items()]
    text = "\n".join(["def copied(value, changes):", "    copy = new(kind)", *lines, "    return copy"])
    scope: dict[str, Any] = {"new": object.__new__, "kind": kind}
    scope |= {f"set_{name}": getattr(kind, name).__set__ for name in names}
    exec(text, scope)  # noqa: S102  of the names of fields alone
    copied: Copy = scope["copied"]
    return copied
