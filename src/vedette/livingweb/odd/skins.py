"""How a page is dressed: nine ways to build a site, from unstyled to tables and fonts.

A skin says nothing about what is on the page: an odd page on a host of a shop looks like the shop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from vedette.livingweb.odd.lexicon import LABEL

Anchors = Sequence[tuple[str, str]]  # href, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Everything that a page shows.  `body` is HTML, the rest plain."""

    site: str
    lang: str
    title: str
    body: str
    nav: Anchors
    related: Anchors
    outward: Anchors  # links to other hosts
    date: str
    footer: str
    mark: str  # two letters that the classes of this host begin with
    year: int  # of the copyright line
    extra: str = ""  # HTML that stands where the body ends: counters, pagers, badges


def _list(anchors: Anchors, before: str = "<li>", after: str = "</li>") -> str:
    return "".join(f'{before}<a href="{escape(href)}">{escape(text)}</a>{after}' for href, text in anchors)


def _head(sheet: Sheet, more: str = "") -> str:
    return (
        f'<!doctype html>\n<html lang="{sheet.lang}"><head><meta charset="utf-8">'
        f"<title>{escape(sheet.title)} | {escape(sheet.site)}</title>"
        f'<meta name="viewport" content="width=device-width">{more}</head>'
    )


def _style(mark: str, ink: str, paper: str) -> str:
    return (
        f"<style>body{{font:16px/1.5 sans-serif;color:{ink};background:{paper};margin:0}}.{mark}-w{{max-width:60em;"
        f"margin:auto;padding:1em}}nav a{{margin-right:1em}}</style>"
    )


def _modern(sheet: Sheet) -> str:
    label, mark = LABEL[sheet.lang], sheet.mark
    meta = (
        f'<meta property="og:title" content="{escape(sheet.title)}">'
        f'<meta name="generator" content="Sitekit 6.{len(sheet.site)}">' + _style(mark, "#222", "#fff")
    )
    return (
        f'{_head(sheet, meta)}<body class="{mark}-page"><header class="{mark}-w"><a href="/">{escape(sheet.site)}</a>'
        f'<nav>{_list(sheet.nav, "", " ")}</nav></header><main class="{mark}-w"><article>'
        f"<h1>{escape(sheet.title)}</h1>"
        f"<time>{escape(sheet.date)}</time>{sheet.body}{sheet.extra}</article>"
        f"<aside><h2>{label['related']}</h2><ul>{_list(sheet.related)}</ul></aside></main>"
        f'<footer class="{mark}-w"><ul>{_list(sheet.outward)}</ul>'
        f"<p>© {sheet.year} {escape(sheet.site)}. {label['rights']} "
        f"{escape(sheet.footer)}</p><p>{label['cookies']}</p></footer>"
        f"<script>window.{mark}q=window.{mark}q||[];{mark}q.push(['view']);</script></body></html>"
    )


def _cms(sheet: Sheet) -> str:
    label, mark = LABEL[sheet.lang], sheet.mark
    return (
        f'{_head(sheet, _style(mark, "#333", "#f4f4f0"))}<body><div id="{mark}top"><div class="{mark}-w">'
        f'<div class="logo">'
        f'<a href="/">{escape(sheet.site)}</a></div><div class="menu"><ul>{_list(sheet.nav)}</ul></div></div></div>'
        f'<div class="{mark}-w"><div class="col8"><div class="title"><h1>{escape(sheet.title)}</h1></div>'
        f'<div class="meta">{label["posted"]} {escape(sheet.date)}</div><div class="text">{sheet.body}'
        f"</div>{sheet.extra}</div>"
        f'<div class="col4"><div class="box"><h3>{label["related"]}</h3><ul>{_list(sheet.related)}</ul></div>'
        f"</div></div>"
        f'<div id="{mark}foot"><div class="{mark}-w"><p>{escape(sheet.footer)}</p>'
        f"<p>{_list(sheet.outward, '', ' | ')}</p>"
        f"<p>{sheet.year} {label['rights']}</p></div></div></body></html>"
    )


def _blog(sheet: Sheet) -> str:
    label = LABEL[sheet.lang]
    return (
        f'{_head(sheet, _style(sheet.mark, "#2b2b2b", "#fffdf8"))}<body><div class="{sheet.mark}-w">'
        f'<h2 class="blog-title">'
        f'<a href="/">{escape(sheet.site)}</a></h2><nav>{_list(sheet.nav, "", " · ")}</nav><div class="post hentry">'
        f'<h1 class="entry-title">{escape(sheet.title)}</h1><p class="byline">{escape(sheet.date)}</p>'
        f'<div class="entry-content">{sheet.body}</div>{sheet.extra}</div><div id="sidebar">'
        f"<h3>{label['archive']}</h3>"
        f"<ul>{_list(sheet.related)}</ul><h3>{label['links']}</h3><ul>{_list(sheet.outward)}</ul></div>"
        f"<p class='credits'>{escape(sheet.footer)}</p></div></body></html>"
    )


def _shop(sheet: Sheet) -> str:
    mark = sheet.mark
    return (
        f'{_head(sheet, _style(mark, "#111", "#fff"))}<body><div class="bar"><a href="/">{escape(sheet.site)}</a>'
        f'<form action="/search"><input name="q"></form><ul>{_list(sheet.nav)}</ul></div>'
        f'<div class="{mark}-w product">'
        f'<h1>{escape(sheet.title)}</h1><img src="/img/{mark}.jpg" alt="{escape(sheet.title)}">'
        f'<div class="desc">{sheet.body}'
        f'</div>{sheet.extra}<div class="also">{_list(sheet.related, "<div class=card>", "</div>")}</div></div>'
        f'<div class="foot">{escape(sheet.footer)} {_list(sheet.outward, "", " ")} © {sheet.year}</div>'
        f'<script src="/js/{mark}.js"></script></body></html>'
    )


def _board(sheet: Sheet) -> str:
    label = LABEL[sheet.lang]
    return (
        f'{_head(sheet, _style(sheet.mark, "#000", "#e9eef4"))}<body><table class="forumline" width="100%"><tr><td>'
        f'<a href="/">{escape(sheet.site)}</a> &raquo; {_list(sheet.nav, "", " &raquo; ")}</td></tr><tr><td><h1>'
        f'{escape(sheet.title)}</h1><span class="small">{escape(sheet.date)}</span></td></tr><tr>'
        f"<td>{sheet.body}</td></tr>"
        f'<tr><td>{sheet.extra}{_list(sheet.related, "", "<br>")}</td></tr><tr><td class="small">{label["links"]}: '
        f"{_list(sheet.outward, '', ', ')} {escape(sheet.footer)}</td></tr></table></body></html>"
    )


def _manual(sheet: Sheet) -> str:
    return (
        f'{_head(sheet, _style(sheet.mark, "#1a1a1a", "#fafafa"))}<body><div class="{sheet.mark}-w">'
        f'<div class="toc"><ul>'
        f"{_list(sheet.related)}</ul></div><div role='main' class='document'><p>{_list(sheet.nav, '', ' / ')}</p>"
        f"<h1>{escape(sheet.title)}</h1>{sheet.body}{sheet.extra}<hr><p class='updated'>{escape(sheet.date)}. "
        f"{escape(sheet.footer)} {_list(sheet.outward, '', ' ')}</p></div></div></body></html>"
    )


def _wiki(sheet: Sheet) -> str:
    label = LABEL[sheet.lang]
    return (
        f'{_head(sheet, _style(sheet.mark, "#202122", "#fff"))}<body class="mediawiki"><div id="mw-panel"><ul>'
        f'{_list(sheet.nav)}</ul></div><div id="content"><h1 id="firstHeading">{escape(sheet.title)}</h1>'
        f'<div id="bodyContent">{sheet.body}{sheet.extra}</div><div id="catlinks">{label["tags"]}: '
        f"{_list(sheet.related, '', ' | ')}</div><ul class='external'>{_list(sheet.outward)}</ul></div>"
        f'<div id="footer">{escape(sheet.date)} {escape(sheet.footer)}</div></body></html>'
    )


def _nineties(sheet: Sheet) -> str:
    paper = ("#FFFFFF", "#FFFFCC", "#C0C0C0", "#CCFFFF")[len(sheet.site) % 4]
    return (
        f"<HTML><HEAD><TITLE>{escape(sheet.title)}</TITLE></HEAD><BODY BGCOLOR={paper} TEXT=#000000 LINK=#0000FF>"
        f'<CENTER><FONT SIZE=6 COLOR=#800000 FACE="Times New Roman"><B>{escape(sheet.title)}</B></FONT></CENTER><HR>'
        f"<TABLE WIDTH=100% BORDER=0><TR><TD VALIGN=TOP WIDTH=150>{_list(sheet.nav, '', '<BR>')}<BR>"
        f"{_list(sheet.related, '', '<BR>')}</TD><TD>{sheet.body}{sheet.extra}</TD></TR></TABLE><HR>"
        f"<CENTER><FONT SIZE=2>{_list(sheet.outward, '[', '] ')}<BR>{escape(sheet.footer)} {escape(sheet.date)}"
        f"</FONT></CENTER></BODY></HTML>"
    )


def _bare(sheet: Sheet) -> str:
    return (
        f'<html lang="{sheet.lang}"><head><meta charset="utf-8"><title>{escape(sheet.title)}</title></head><body>'
        f"<h1>{escape(sheet.title)}</h1>\n{sheet.body}\n{sheet.extra}<p>{_list(sheet.nav, '', ' - ')}"
        f"{_list(sheet.related, '', ' - ')}{_list(sheet.outward, '', ' - ')}</p><address>{escape(sheet.footer)}"
        f"</address></body></html>"
    )


SKINS: dict[str, Callable[[Sheet], str]] = {
    "modern": _modern,
    "cms": _cms,
    "blog": _blog,
    "shop": _shop,
    "board": _board,
    "manual": _manual,
    "wiki": _wiki,
    "nineties": _nineties,
    "bare": _bare,
}
