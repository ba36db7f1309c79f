"""A value like another but for some fields, on the path of every look.

`dataclasses.replace` reads the list of fields and calls the constructor with all of them: 12 us for a `Watch`, and a
look makes nine such copies.  Here a copy is made slot by slot, by a function that is compiled once per class: 2 us.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as replace  # the types are its own
else:

    def replace(value: Any, /, **changes: Any) -> Any:
        """As `dataclasses.replace`."""
        kind = type(value)
        copy = _COPIES.get(kind)
        if copy is None:
            copy = _COPIES[kind] = _compiled(kind)
        return copy(value, changes)


Copy = Callable[[Any, dict[str, Any]], Any]
_COPIES: dict[type, Copy] = {}


def _compiled(kind: type) -> Copy:
    """For a class of plain slots; whatever else there is goes the long way."""
    fields = dataclasses.fields(kind)
    names = [field.name for field in fields]
    is_plain = not hasattr(kind, "__post_init__") and all(field.init for field in fields)
    slots = {name for base in kind.__mro__ for name in getattr(base, "__slots__", ())}
    if not is_plain or not slots.issuperset(names) or kind.__dictoffset__:
        return lambda value, changes: dataclasses.replace(value, **changes)
    setters = {name: getattr(kind, name).__set__ for name in names}
    lines = [f"    set_{name}(copy, value.{name})" for name in names]
    text = "\n".join(
        [
            "def copied(value, changes):",
            "    copy = new(kind)",
            *lines,
            "    for name, one in changes.items():",
            "        setter = setters.get(name)",
            "        if setter is None:",
            "            raise TypeError(f'{kind.__name__} has no field {name!r}')",
            "        setter(copy, one)",
            "    return copy",
        ]
    )
    scope: dict[str, Any] = {"new": object.__new__, "kind": kind, "setters": setters}
    scope |= {f"set_{name}": setter for name, setter in setters.items()}
    exec(text, scope)  # noqa: S102  of the names of fields alone
    copied: Copy = scope["copied"]
    return copied
