"""Six sites built by six different hands: how a page and an entry of a list look in each.

A layout says nothing about what is on the page.  Markers of noise pass through it as text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vedette.livingweb.words import LABELS

Anchor = tuple[str, str]  # href, text; both ready for HTML


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything one HTML page shows.  All strings are HTML already."""

    site: str
    lang: str
    title: str
    text: str  # blocks of the story, or a list
    date: str = ""
    iso: str = ""
    charset: str = "utf-8"
    head: str = ""  # canonical, alternate, next
    nav: tuple[Anchor, ...] = ()
    related: tuple[Anchor, ...] = ()
    tail: str = ""  # pager, files
    noise: dict[str, str] = field(default_factory=dict)  # position -> markers


@dataclass(frozen=True, slots=True)
class Layout:
    """How one kind of site is built."""

    page: Callable[[View], str]
    block: str  # one paragraph: {text}
    entry: str  # one row of a list: {href} {title} {date} {iso}
    around: tuple[str, str]  # what encloses the rows
    selectors: dict[str, str]  # how a reader finds item, link, title, date


def _anchors(anchors: tuple[Anchor, ...], before: str = "<li>", after: str = "</li>") -> str:
    return "".join(f'{before}<a href="{href}">{text}</a>{after}' for href, text in anchors)


def _noise(view: View, *positions: str) -> str:
    return "".join(view.noise.get(position, "") for position in positions)


def _semantic(view: View) -> str:
    label = LABELS[view.lang]
    return (
        f'<!doctype html>\n<html lang="{view.lang}"><head><meta charset="{view.charset}">'
        f"<title>{view.title} | {view.site}</title>{view.head}{_noise(view, 'head')}</head>\n"
        f"<body{_noise(view, 'attribute')}><header><a href='/'>{view.site}</a>{_noise(view, 'top')}"
        f"<nav><ul>{_anchors(view.nav)}</ul></nav></header>\n"
        f'<main class="content{_noise(view, "class")}"><article><h1>{view.title}</h1>'
        f'<p class="meta">{label["published"]}: <time datetime="{view.iso}">{view.date}</time></p>\n'
        f"{_noise(view, 'before')}{view.text}{view.tail}{_noise(view, 'after')}</article></main>\n"
        f"<aside><h2>{label['related']}</h2><ul>{_anchors(view.related)}</ul>{_noise(view, 'side')}</aside>"
        f"<footer><p>© {view.site}. {label['rights']}.</p>{_noise(view, 'foot')}</footer></body></html>\n"
    )


def _tables(view: View) -> str:
    label = LABELS[view.lang]
    cells = _anchors(view.nav, "<td bgcolor=#dddddd>", "</td>")
    return (
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">\n<HTML><HEAD>'
        f'<META http-equiv="Content-Type" content="text/html; charset={view.charset}">'
        f"<TITLE>{view.site} - {view.title}</TITLE>{view.head}{_noise(view, 'head')}</HEAD>\n"
        f'<BODY bgcolor="#ffffff"{_noise(view, "attribute")}><table width="760" border=0 align=center>'
        f"<tr><td colspan=2><font size=5>{view.site}</font>{_noise(view, 'top')}</td></tr>"
        f"<tr><td colspan=2><table><tr>{cells}</tr></table></td></tr>\n<tr>"
        f'<td valign=top class="sadrzaj{_noise(view, "class")}"><font size=4><b>{view.title}</b></font><br>'
        f"<i>{label['published']}: {view.date}</i><hr>{_noise(view, 'before')}{view.text}{view.tail}"
        f"{_noise(view, 'after')}</td>\n<td width=180 valign=top><b>{label['related']}</b><br>"
        f"{_anchors(view.related, '', '<br>')}{_noise(view, 'side')}</td></tr>"
        f"<tr><td colspan=2><font size=1>{view.site}, {label['rights']}</font>{_noise(view, 'foot')}</td>"
        "</tr></table></BODY></HTML>\n"
    )


def _divs(view: View) -> str:
    label = LABELS[view.lang]
    menu = _anchors(view.nav, '<div class="m1">', "</div>")
    return (
        f'<html><head><meta http-equiv="content-type" content="text/html; charset={view.charset}">'
        f"<title>{view.title}</title>{view.head}{_noise(view, 'head')}</head>"
        f'<body{_noise(view, "attribute")}>\n<div id="w">'
        f'<div class="a1"><div class="a2">{view.site}</div>{_noise(view, "top")}</div>'
        f'<div class="a3">{menu}</div>\n<div class="b1"><div class="b2{_noise(view, "class")}">'
        f'<div class="b3">{view.title}</div><div class="b4">{view.date}</div>{_noise(view, "before")}'
        f'<div class="b5">{view.text}</div>{view.tail}{_noise(view, "after")}</div>\n<div class="c1">'
        f"{_anchors(view.related, '<div class=c2>', '</div>')}{_noise(view, 'side')}</div></div>"
        f'<div class="d1">{label["contact"]}: info, {view.site}{_noise(view, "foot")}</div></div>'
        "</body></html>\n"
    )


def _aspnet(view: View) -> str:
    label = LABELS[view.lang]
    menu = _anchors(view.nav, '<td class="ctl00_Menu1_3">', "</td>")
    return (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN">\n'
        '<html xmlns="http://www.w3.org/1999/xhtml"><head id="ctl00_Head1">'
        f"<title>\r\n\t{view.title}\r\n</title>"
        f'<meta http-equiv="Content-Type" content="text/html; charset={view.charset}" />'
        f"{view.head}{_noise(view, 'head')}</head>\n<body{_noise(view, 'attribute')}>"
        '<form name="aspnetForm" method="post" action="" id="aspnetForm"><div>'
        '<input type="hidden" name="__VIEWSTATE" id="__VIEWSTATE" value="/wEPDwUKLTY1NDE2MjA4OWRk" /></div>\n'
        f'<div id="ctl00_pnlTop">{view.site}{_noise(view, "top")}</div>'
        f'<table id="ctl00_Menu1"><tr>{menu}</tr></table>\n'
        f'<div id="ctl00_pnlMain" class="panel{_noise(view, "class")}">'
        f'<span id="ctl00_lblNaslov" class="naslov">{view.title}</span>'
        f'<span id="ctl00_lblDatum" class="datum">{view.date}</span>{_noise(view, "before")}'
        f'<div id="ctl00_divTekst">{view.text}</div>{view.tail}{_noise(view, "after")}</div>\n'
        f'<div id="ctl00_pnlRight"><span>{label["related"]}</span>'
        f"{_anchors(view.related, '<div class=RightLink>', '</div>')}{_noise(view, 'side')}</div>"
        f'<div id="ctl00_pnlFoot">© {view.site}{_noise(view, "foot")}</div></form></body></html>\n'
    )


def _blog(view: View) -> str:
    label = LABELS[view.lang]
    return (
        f'<!DOCTYPE html><html lang="{view.lang}"><head><meta charset="{view.charset}" />'
        f"<title>{view.title} &#8211; {view.site}</title>{view.head}{_noise(view, 'head')}</head>\n"
        f'<body class="single{_noise(view, "class")}"{_noise(view, "attribute")}>'
        '<div id="page" class="hfeed"><div id="masthead"><p class="site-title">'
        f'<a href="/" rel="home">{view.site}</a></p>{_noise(view, "top")}'
        f'<ul class="menu">{_anchors(view.nav)}</ul></div>\n<div id="primary"><div class="post">'
        f'<h1 class="entry-title">{view.title}</h1><div class="entry-meta">{label["published"]} '
        f'<abbr class="published" title="{view.iso}">{view.date}</abbr></div>\n'
        f'<div class="entry-content">{_noise(view, "before")}{view.text}</div>{view.tail}'
        f'{_noise(view, "after")}</div></div>\n<div id="secondary" class="widget-area">'
        f'<h3 class="widget-title">{label["related"]}</h3>'
        f"<ul>{_anchors(view.related)}</ul>{_noise(view, 'side')}</div>"
        f'<div id="colophon">{view.site}{_noise(view, "foot")}</div></div></body></html>\n'
    )


def _wiki(view: View) -> str:
    label = LABELS[view.lang]
    return (
        f'<!DOCTYPE html>\n<html class="client-nojs" lang="{view.lang}" dir="ltr"><head>'
        f'<meta charset="{view.charset}"/><title>{view.title} – {view.site}</title>{view.head}'
        f"{_noise(view, 'head')}</head>\n"
        f'<body class="ns-0{_noise(view, "class")}"{_noise(view, "attribute")}>'
        f'<div id="content"><a id="top"></a>{_noise(view, "top")}<h1 id="firstHeading">{view.title}</h1>'
        f'<div id="bodyContent"><div id="siteSub">{view.site}</div><div id="mw-content-text">'
        f'{_noise(view, "before")}{view.text}{view.tail}{_noise(view, "after")}</div>\n<div id="catlinks"><b>'
        f"{label['related']}</b>: {_anchors(view.related, '', ' | ')}</div></div></div>\n"
        f'<div id="mw-navigation"><ul>{_anchors(view.nav)}</ul>{_noise(view, "side")}</div>'
        f'<div id="footer"><ul><li id="footer-info">{label["published"]} {view.date}</li></ul>'
        f"{_noise(view, 'foot')}</div></body></html>\n"
    )


LAYOUTS = {
    "semantic": Layout(
        _semantic,
        "<p>{text}</p>\n",
        '<article class="news-item"><h2><a href="{href}">{title}</a></h2>'
        '<time datetime="{iso}">{date}</time></article>\n',
        ('<section class="news">', "</section>"),
        {"item": "article.news-item", "link": "h2 a", "title": "h2", "date": "time"},
    ),
    "tables": Layout(
        _tables,
        "<font face=Arial size=2>{text}</font><br><br>\n",
        '<tr class="redak"><td class="datum">{date}</td>'
        '<td class="naslov"><a href="{href}">{title}</a></td></tr>\n',
        ('<table class="popis">', "</table>"),
        {"item": "table.popis tr.redak", "link": "td.naslov a", "title": "td.naslov", "date": "td.datum"},
    ),
    "divs": Layout(
        _divs,
        "<div class=t>{text}</div>\n",
        '<div class="vijest"><div class="v1"><a href="{href}">{title}</a></div>'
        '<div class="v2">{date}</div></div>\n',
        ("<div>", "</div>"),
        {"item": ".vijest", "link": ".v1 a", "title": ".v1", "date": ".v2"},
    ),
    "aspnet": Layout(
        _aspnet,
        '<p><span class="MsoNormal">{text}</span></p>\n',
        '<div class="views-row"><a class="lnk" href="{href}">{title}</a>'
        '<span class="lblDatum">{date}</span></div>\n',
        ('<div id="ctl00_rptLista">', "</div>"),
        {"item": ".views-row", "link": "a.lnk", "title": "a.lnk", "date": ".lblDatum"},
    ),
    "blog": Layout(
        _blog,
        "<p>{text}</p>\n",
        '<div class="post"><h3 class="title"><a href="{href}" rel="bookmark">{title}</a></h3>'
        '<span class="date">{date}</span></div>\n',
        ('<div id="posts">', "</div>"),
        {"item": "#posts .post", "link": "h3 a", "title": "h3.title", "date": ".date"},
    ),
    "wiki": Layout(
        _wiki,
        "<p>{text}</p>\n",
        '<li><a href="{href}">{title}</a> <span class="datum">({date})</span></li>\n',
        ('<ul class="popis">', "</ul>"),
        {"item": "ul.popis li", "link": "a", "title": "a", "date": ".datum"},
    ),
}
