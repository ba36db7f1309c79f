"""Blocks of HTML from plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def h(text: str, level: int = 2) -> str:
    return f"<h{level}>{escape(text)}</h{level}>"


def p(text: str) -> str:
    return f"<p>{escape(text, quote=False)}</p>"


def pre(text: str) -> str:
    return f"<pre>{escape(text, quote=False)}</pre>"


def ul(lines: Iterable[str], tag: str = "ul") -> str:
    return f"<{tag}>" + "".join(f"<li>{escape(line, quote=False)}</li>" for line in lines) + f"</{tag}>"


def dl(rows: Iterable[tuple[str, str]]) -> str:
    inner = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text, quote=False)}</dd>" for term, text in rows)
    return f"<dl>{inner}</dl>"


def table(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    top = "<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>" if head else ""
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{top}{body}</table>"


def link(href: str, text: str) -> str:
    return f'<a href="{escape(href)}">{escape(text)}</a>'
