"""Fourteen sites, fourteen templates: how a page and an entry of a list look on each host of the Croatian twin.

Shaped like the sites that the registry names, not copied from them.  No two share their markup.
"""

from __future__ import annotations

from vedette.livingweb.layouts import Anchor, Layout, View

COOKIES = "Ova stranica koristi kolačiće kako bi vam osigurala bolje iskustvo."


def _links(anchors: tuple[Anchor, ...], before: str = "<li>", after: str = "</li>") -> str:
    return "".join(f'{before}<a href="{href}">{text}</a>{after}' for href, text in anchors)


def _noise(view: View, *positions: str) -> str:
    return "".join(view.noise.get(position, "") for position in positions)


def _porezna(view: View) -> str:
    """SharePoint: one form around everything, hidden fields, links that are scripts."""
    return (
        '<!DOCTYPE html><html dir="ltr" lang="hr-HR"><head><meta name="GENERATOR" content="Microsoft SharePoint" />'
        f"<title>\r\n\t{view.title}\r\n</title>{view.head}{_noise(view, 'head')}</head>\n"
        f'<body{_noise(view, "attribute")}><form method="post" action="" id="aspnetForm">\n'
        '<input type="hidden" name="__VIEWSTATE" id="__VIEWSTATE" value="/wEPDwUBMGQYAQUeX19Db250cm9sc1JlcXVpcmU=" />'
        '<input type="hidden" name="__EVENTVALIDATION" value="/wEdAAMf8w" />\n'
        f'<div id="s4-workspace"><div id="s4-titlerow">{view.site}{_noise(view, "top")}</div>'
        f'<ul class="static menu">{_links(view.nav)}</ul>\n<div class="ms-rtestate-field">'
        f'<h1 class="naslov">{view.title}</h1><span class="datum">{view.date}</span>{_noise(view, "before")}'
        f"{view.text}</div>{view.tail}{_noise(view, 'after')}\n"
        f'<div class="ms-webpart-zone">{_links(view.related, "<div class=dfwp-item>", "</div>")}'
        f'{_noise(view, "side")}</div><div id="DeltaPlaceHolderFooter">{view.site}{_noise(view, "foot")}</div>'
        "</div></form></body></html>\n"
    )


def _gazette(view: View) -> str:
    """The official gazette: the act as it was set, table of contents beside it."""
    return (
        f'<!DOCTYPE html>\n<html lang="hr"><head><meta charset="utf-8"><title>{view.title}</title>{view.head}</head>\n'
        f'<body><div class="top-line"><a href="/">{view.site}</a><ul>{_links(view.nav)}</ul></div>\n'
        f'<div class="sl-content"><div id="sadrzaj"><p class="broj">{view.date}</p>'
        f'<h3 class="T-98-2">{view.title}</h3>{view.text}</div>{view.tail}</div>\n'
        f'<div class="vezani-akti">{_links(view.related, "<p>", "</p>")}</div></body></html>\n'
    )


def _ministry(view: View) -> str:
    """Made by a script: what is sent has no text."""
    return (
        '<!doctype html><html lang="hr"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{view.site}</title></head>\n'
        '<body><noscript>Za prikaz ove stranice potreban je JavaScript.</noscript><div id="app"></div>\n'
        "<script>fetch('/api'+location.pathname+location.search).then(r=>r.json()).then(d=>{"
        "const e=(t,x)=>{const n=document.createElement(t);n.textContent=x;return n};"
        "const m=document.createElement('main');m.append(e('h1',d.title));"
        "for(const p of d.paragraphs)m.append(e('p',p));"
        "for(const l of d.links){const a=e('a',l.title);a.href=l.href;const i=document.createElement('article');"
        "i.append(a);m.append(i)}document.getElementById('app').append(m)})</script></body></html>\n"
    )


def _plain_json(view: View) -> str:
    """A bank's API has no pages; errors and its front page are bare."""
    return (
        f"<html><head><title>{view.title}</title></head><body><pre>{view.site}</pre>{view.text}</body></html>"
    )


def _insurance(view: View) -> str:
    return (
        f'<!DOCTYPE html><html class="no-js" lang="hr"><head><meta charset="{view.charset}"/>'
        f"<title>{view.title} - {view.site}</title>{view.head}{_noise(view, 'head')}</head>\n"
        f'<body{_noise(view, "attribute")}><div class="cookie-bar">{COOKIES}</div>'
        f'<header id="zaglavlje"><span class="logo">{view.site}</span>{_noise(view, "top")}'
        f"<nav>{_links(view.nav, '<span>', '</span>')}</nav></header>\n"
        f'<div class="stupac-glavni{_noise(view, "class")}"><h2>{view.title}</h2><p class="objavljeno">{view.date}</p>'
        f"{_noise(view, 'before')}<section>{view.text}</section>{view.tail}{_noise(view, 'after')}</div>\n"
        f'<div class="stupac-desni"><h4>Povezano</h4>{_links(view.related, "<p>", "</p>")}{_noise(view, "side")}'
        f"</div><footer>{view.site}{_noise(view, 'foot')}</footer></body></html>\n"
    )


def _pensions(view: View) -> str:
    """Old, in Windows-1250, made of tables."""
    return (
        f'<HTML><HEAD><META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset={view.charset}">'
        f"<TITLE>{view.title}</TITLE>{view.head}</HEAD>\n<BODY BGCOLOR=white TEXT=#003366>"
        f"<TABLE WIDTH=100%><TR><TD COLSPAN=2><BIG>{view.site}</BIG></TD></TR>"
        f"<TR><TD WIDTH=20% VALIGN=TOP>{_links(view.nav, '', '<BR>')}</TD>\n<TD VALIGN=TOP>"
        f"<FONT FACE=Verdana SIZE=4>{view.title}</FONT><HR NOSHADE><SMALL>{view.date}</SMALL>{view.text}{view.tail}"
        f"<P>Vidi: {_links(view.related, '', '; ')}</TD></TR></TABLE></BODY></HTML>\n"
    )


def _agency(view: View) -> str:
    return (
        f'<!DOCTYPE html><html lang="hr"><head><meta charset="utf-8"><title>{view.title} | {view.site}</title>'
        f'{view.head}<link rel="alternate" type="application/rss+xml" href="/rss"/>{_noise(view, "head")}</head>\n'
        f'<body class="fina{_noise(view, "class")}"><div id="cookie-consent" role="dialog">{COOKIES}'
        f"<button>Prihvaćam</button></div>{_noise(view, 'top')}"
        f'<div class="portlet-nav">{_links(view.nav, "<b>", "</b>")}</div>\n<div class="journal-content-article">'
        f'<div class="asset-title">{view.title}</div><div class="asset-date">{view.date}</div>'
        f'{_noise(view, "before")}<div class="asset-text">{view.text}</div>{view.tail}{_noise(view, "after")}</div>\n'
        f'<div class="portlet-related">{_links(view.related, "<i>", "</i>")}{_noise(view, "side")}</div>'
        f'<div class="portlet-foot">{view.site}{_noise(view, "foot")}</div></body></html>\n'
    )


def _government(view: View) -> str:
    return (
        f'<!DOCTYPE HTML><html lang="hr"><head><meta charset="utf-8"/><title>Vlada - {view.title}</title>{view.head}'
        f'</head>\n<body id="vlada"><div class="grb">{view.site}</div><div class="izbornik">{_links(view.nav)}</div>\n'
        f'<div class="page_content"><h1>{view.title}</h1><div class="article_info">Objavljeno: {view.date}</div>'
        f'<div class="article_text">{view.text}</div>{view.tail}</div>\n'
        f'<div class="related_box">{_links(view.related, "<p>", "</p>")}</div></body></html>\n'
    )


def _labour(view: View) -> str:
    return (
        f'<!DOCTYPE html><html lang="hr"><head><title>{view.title}</title><meta charset="utf-8">{view.head}</head>\n'
        f'<body><div class="gov-header"><a href="/">{view.site}</a><div class="menu">{_links(view.nav)}</div></div>\n'
        f'<div class="lead"><h1 class="title">{view.title}</h1><ul class="dates"><li>{view.date}</li></ul></div>'
        f'<div class="page_text">{view.text}</div>{view.tail}\n'
        f'<div class="sidebar">{_links(view.related, "<div>", "</div>")}</div></body></html>\n'
    )


def _trades(view: View) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="hr" dir="ltr" prefix="og: https://ogp.me/ns#"><head><meta charset="utf-8" />'
        f'<meta name="Generator" content="Drupal 10" /><title>{view.title} | {view.site}</title>{view.head}</head>\n'
        f'<body class="path-node page-node-type-obavijest"><div class="dialog-off-canvas-main-canvas">'
        f'<ul class="menu menu--main">{_links(view.nav)}</ul><main role="main"><h1 class="page-title">{view.title}</h1>'
        f'<div class="node__content"><div class="field--name-field-datum"><time datetime="{view.iso}">{view.date}'
        f'</time></div><div class="field--name-body">{view.text}</div></div>{view.tail}</main>\n'
        f'<aside class="layout-sidebar">{_links(view.related, "<p>", "</p>")}</aside></div></body></html>\n'
    )


def _economy(view: View) -> str:
    """A heavy script site that carries its text as data."""
    text = view.text.replace("<", "\\u003c").replace('"', '\\"').replace("\n", " ")
    return (
        f'<!DOCTYPE html><html lang="hr"><head><meta charset="utf-8"/><title>{view.site}</title></head>\n'
        f'<body><div id="__next"></div><script id="__NEXT_DATA__" type="application/json">'
        f'{{"title":"{view.title}","html":"{text}"}}</script>\n'
        "<script>const d=JSON.parse(document.getElementById('__NEXT_DATA__').textContent);"
        "document.getElementById('__next').innerHTML='<h1>'+d.title+'</h1>'+d.html</script></body></html>\n"
    )


def _union(view: View) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="hr" xml:lang="hr"><head><title>EUR-Lex - {view.title} - HR</title>{view.head}'
        f'<meta name="WT.cg_n" content="Legislation"/></head>\n<body><div id="op-header">{view.site}'
        f'<ul class="nav">{_links(view.nav)}</ul></div>\n<div id="documentView"><div class="eli-main-title">'
        f'<p class="oj-doc-ti">{view.title}</p></div><p class="oj-hd-date">{view.date}</p>{view.text}</div>'
        f"{view.tail}</body></html>\n"
    )


def _statistics(view: View) -> str:
    return (
        f'<!DOCTYPE html><html lang="hr-HR"><head><meta charset="utf-8"><title>{view.title} &#8211; DZS</title>'
        f'{view.head}</head>\n<body class="wp-singular"><div class="elementor"><h2 class="elementor-heading-title">'
        f'{view.site}</h2><ul class="elementor-nav-menu">{_links(view.nav)}</ul></div>\n'
        f'<div class="elementor-widget-container"><h1>{view.title}</h1><span class="elementor-post-info">{view.date}'
        f'</span>{view.text}</div>{view.tail}\n<div class="wpb_related">{_links(view.related, "<p>", "</p>")}</div>'
        "</body></html>\n"
    )


def _bulletin(view: View) -> str:
    return (
        f"<!DOCTYPE html><html lang='hr'><head><meta charset='utf-8'><title>{view.title} :: {view.site}</title>"
        f"{view.head}</head>\n<body><h1 id='logo'>{view.site}</h1><p class='put'>{_links(view.nav, '', ' / ')}</p>\n"
        f"<div id='stranica'><h2>{view.title}</h2><p class='dan'>{view.date}</p>{view.text}{view.tail}</div>"
        f"<ol id='brojevi'>{_links(view.related)}</ol></body></html>\n"
    )


def _selectors(item: str, link: str = "a", title: str = "a", date: str = ".datum") -> dict[str, str]:
    return {"item": item, "link": link, "title": title, "date": date}


# page, one paragraph, one entry of a list, what encloses the entries, how a reader finds them
TEMPLATES = {
    "porezna": Layout(
        _porezna,
        '<p class="ms-rteElement-P">{text}</p>\n',
        '<div class="views-row"><span class="views-field-title"><a href="{href}">{title}</a></span>'
        '<span class="datum">{date}</span></div>\n',
        ('<div class="ms-listviewtable">', "</div>"),
        _selectors(".views-row, article"),
    ),
    "gazette": Layout(
        _gazette,
        "<p class='T-9-8'>{text}</p>\n",
        '<li><a href="{href}">{title}</a></li>',
        ("<ul>", "</ul>"),
        {},
    ),
    "ministry": Layout(_ministry, "<p>{text}</p>", "", ("", ""), _selectors("#app article")),
    "bank": Layout(_plain_json, "<p>{text}</p>", "", ("", ""), {}),
    "insurance": Layout(
        _insurance,
        "<p>{text}</p>\n",
        '<div class="vijest"><h3><a href="{href}">{title}</a></h3><span class="date">{date}</span></div>\n',
        ('<div class="vijesti-lista">', "</div>"),
        _selectors("article, .news-item, .vijest", title="h2, h3, .title", date=".date, time"),
    ),
    "pensions": Layout(
        _pensions,
        "<P><FONT FACE=Verdana SIZE=2>{text}</FONT>\n",
        '<TR CLASS=redak><TD NOWRAP CLASS=dan>{date}</TD><TD><A HREF="{href}">{title}</A></TD></TR>\n',
        ("<TABLE BORDER=1>", "</TABLE>"),
        _selectors("tr.redak", date=".dan"),
    ),
    "agency": Layout(
        _agency,
        "<div class='p'>{text}</div>\n",
        '<p><a href="{href}">{title}</a></p>',
        ("<div>", "</div>"),
        {},
    ),
    "government": Layout(
        _government, "<p>{text}</p>\n", '<p><a href="{href}">{title}</a></p>', ("<div>", "</div>"), {}
    ),
    "labour": Layout(
        _labour,
        "<p>{text}</p>\n",
        '<div class="news_item"><div class="date">{date}</div>'
        '<h2 class="title"><a href="{href}">{title}</a></h2></div>\n',
        ('<div class="news_list">', "</div>"),
        {},
    ),
    "trades": Layout(
        _trades,
        "<p>{text}</p>\n",
        '<div class="views-row"><article about="{href}" class="node node--view-mode-teaser"><h2 class="node__title">'
        '<a href="{href}?mtm_campaign=lista">{title}</a></h2><time datetime="{iso}">{date}</time></article></div>\n',
        ('<div class="view-content">', "</div>"),
        {},
    ),
    "economy": Layout(
        _economy, "<p>{text}</p>", '<a href="{href}">{title}</a>', ("", ""), _selectors("#__next a")
    ),
    "union": Layout(
        _union,
        '<p class="oj-normal">{text}</p>\n',
        '<li><a href="{href}">{title}</a></li>',
        ("<ul>", "</ul>"),
        {},
    ),
    "statistics": Layout(
        _statistics,
        "<p>{text}</p>\n",
        '<div class="objava"><a class="objava-veza" href="{href}">{title}</a><em class="datum">{date}</em></div>\n',
        ('<div class="objave">', "</div>"),
        _selectors(".objava", "a.objava-veza", "a.objava-veza"),
    ),
    "bulletin": Layout(
        _bulletin,
        "<p>{text}</p>\n",
        "<tr class='broj'><td>{date}</td><td><a href='{href}'>{title}</a></td></tr>\n",
        ("<table id='popis'>", "</table>"),
        _selectors("#popis tr.broj", date="td"),
    ),
}
