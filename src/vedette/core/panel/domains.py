"""Reads the domains of a list.  Every row becomes a name that can be asked about, or says what is wrong with it.

Scheme, path, port, a leading `www.` kept as it is; case and the last dot do not matter; names in any script become
their ASCII form (IDNA by the one URL parser).  The first row of a name counts, the others are reported as duplicates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import ada_url
import re2

MOST_NAME, MOST_LABEL, MOST_ROW = 253, 63, 2048  # RFC 1035
_LABEL = re2.compile(r"^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$")
_ADDRESS = re2.compile(r"^(?:\d+\.){3}\d+$")
_SCHEME = re2.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class Domain:
    row: int  # from 1
    name: str


@dataclass(frozen=True, slots=True)
class DomainProblem:
    """A row that is not asked about."""

    row: int
    text: str
    why: str


def read_domains(rows: Iterable[str]) -> Iterator[Domain | DomainProblem]:
    """In order.  Blank rows and rows that begin with # are nothing."""
    seen: dict[str, int] = {}
    for number, text in enumerate(rows, start=1):
        word = text.strip()
        if not word or word.startswith("#"):
            continue
        name, why = normalise(word)
        if name is None:
            yield DomainProblem(number, shown(word), why)
        elif name in seen:
            yield DomainProblem(number, shown(word), f"the same domain as row {seen[name]}")
        else:
            seen[name] = number
            yield Domain(number, name)


def shown(text: str) -> str:
    """A row as it may be shown: without what may be a password or a key in it."""
    scheme = _SCHEME.match(text)
    head = scheme[0] if scheme else ""
    rest = text[len(head) :]
    if "@" in rest:
        rest = f"***@{rest.rpartition('@')[2]}"
    name, mark, _ = rest.partition("?")
    return f"{head}{name}{'?***' if mark else ''}"[:MOST_NAME]


def normalise(text: str) -> tuple[str | None, str]:
    """The name, or None and what is wrong."""
    if len(text) > MOST_ROW:
        return None, f"{len(text)} characters are too many"
    host = None if "@" in text else _host(text.strip())
    if host is None:
        return None, "credentials do not belong in a domain"
    if not host:
        return None, "no host name in it"
    try:
        name = ada_url.idna_to_ascii(host).decode("ascii").lower().removesuffix(".")
    except (ValueError, UnicodeError):
        name = ""
    if not name:
        return None, "not a host name"
    why = _wrong(name)
    return (None, why) if why else (name, "")


def _host(text: str) -> str:
    """What stands between scheme and path."""
    rest: str = _SCHEME.sub("", text).removeprefix("//")
    for mark in "/?#\\":
        rest = rest.partition(mark)[0]
    if rest.startswith("["):
        return rest
    name, mark, port = rest.rpartition(":")
    return name if mark and port.isdigit() else rest


def _wrong(name: str) -> str:
    labels = name.split(".")
    if _ADDRESS.match(name) or name.startswith("["):
        return "an address, not a domain"
    if len(labels) < 2:
        return "a single label; write the whole domain, for example example.org"
    if len(name) > MOST_NAME:
        return f"{len(name)} characters; a domain has at most {MOST_NAME}"
    for label in labels:
        if not label:
            return "an empty label (two dots in a row)"
        if len(label) > MOST_LABEL:
            return f"the label {label[:20]}... has {len(label)} characters; at most {MOST_LABEL}"
        if not _LABEL.match(label):
            return f"the label {label!r} has characters that no host name has"
    return "the last label is a number" if labels[-1].isdigit() else ""
