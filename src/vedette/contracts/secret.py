"""A value that goes out and is never shown."""

from __future__ import annotations


class Secret(str):
    """Is what it is wherever it is sent, and `***` wherever a value is printed whole."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"
