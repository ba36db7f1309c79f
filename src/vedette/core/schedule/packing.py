"""Columns as bytes and back: one line of JSON, then the arrays in order.  No pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError

VERSION = 1


def pack(head: Mapping[str, object], columns: Mapping[str, NDArray[Any]]) -> bytes:
    """The head and the columns; equal content gives equal bytes."""
    rows = len(next(iter(columns.values())))
    line = json.dumps({"version": VERSION, "rows": rows, "columns": list(columns), "head": dict(head)})
    return b"\n".join((line.encode(), b"".join(column.tobytes() for column in columns.values())))


def unpack(data: bytes, kinds: Mapping[str, type]) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
    """Head and columns of a dump; anything else is an InputError."""
    line, _, body = data.partition(b"\n")
    try:
        table = json.loads(line)
        version, rows, names, head = (table[key] for key in ("version", "rows", "columns", "head"))
    except (ValueError, KeyError, TypeError):
        raise InputError("this is not a dump of a schedule policy") from None
    size = sum(np.dtype(kind).itemsize for kind in kinds.values())
    if version != VERSION or names != list(kinds) or len(body) != rows * size:
        raise InputError("this dump is of another version, or cut short")
    columns: dict[str, NDArray[Any]] = {}
    start = 0
    for name, kind in kinds.items():
        columns[name] = np.frombuffer(body, kind, rows, start).copy()
        start += rows * np.dtype(kind).itemsize
    return head, columns
