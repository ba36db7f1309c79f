# ruff: noqa: E501 - one case per row: a table is read across
"""Documents that are broken, wrongly labelled or built to hurt, and listings, gates and lies about freshness."""

from __future__ import annotations

import gzip
import io
import json
import zipfile

import pytest
from bad_kit import (
    GOOD,
    PROSE,
    Case,
    case,
    html,
    packed,
    page,
    redirect,
    watched,
)

pytestmark = pytest.mark.slow
MIB = 2**20
PATIENT = {"fetch": {"total_timeout": "20s", "read_timeout": "10s"}}
UTF8 = "text/html; charset=utf-8"


def zipped(*names: str, body: bytes = b"x" * 100) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name in names:
            made.writestr(name, body)
    return file.getvalue()


def text(name: str, outcomes: str, body: str | bytes, kind: str | None = UTF8, **fields: object) -> Case:
    return case(name, outcomes, page(body, kind), **fields)


CHARSETS = (
    text("says_utf8_is_cp1250", "ok", html(f"<p>{PROSE} šđčćž</p>").encode("cp1250")),
    text("says_cp1250_is_utf8", "ok", html(f"<p>{PROSE} šđčćž</p>"), "text/html; charset=windows-1250"),
    text("says_utf16_is_utf8", "ok", html(), "text/html; charset=utf-16"),
    text("utf16_with_mark", "ok", html().encode("utf-16")),
    text("utf16_without_mark", "ok parse_failed empty", html().encode("utf-16-le")),
    text("utf32_with_mark", "ok parse_failed empty", html().encode("utf-32")),
    text("utf8_mark_twice", "ok", "\ufeff\ufeff" + html()),
    text("utf7", "ok", html("<p>+ADw-script+AD4-alert(1)+ADw-/script+AD4- " + PROSE), "text/html; charset=utf-7"),
    text("charset_unknown", "ok", html(), "text/html; charset=x-none"),
    text("charset_codec_of_python", "ok", html(), "text/html; charset=rot13"),
    text("charset_punycode", "ok", html(f"<p>{PROSE}ž</p>").encode("cp1250"), "text/html; charset=punycode"),
    text("charset_idna", "ok", html(), "text/html; charset=idna"),
    text("charset_unicode_escape", "ok", html(), "text/html; charset=unicode_escape"),
    text("charset_empty", "ok", html(), "text/html; charset="),
    text("charset_long", "ok", html(), "text/html; charset=" + "u" * 200),
    text("charset_in_meta_lies", "ok", html(more_head="<meta charset=shift_jis>") + "šđ"),
    text("charset_metas_disagree", "ok", html(more_head="<meta charset=koi8-r><meta charset=big5>")),
    text("half_characters", "ok", html().encode() + b"\xc3\xe2\x82\xf0\x9f"),
    text("overlong_utf8", "ok", html().encode() + b"\xc0\xaf\xe0\x80\xaf"),
    text("surrogates_in_utf8", "ok", html().encode() + b"\xed\xa0\x80\xed\xbf\xbf"),
    text("nul_everywhere", "ok", html().replace("o", "o\0")),
    text("noncharacters", "ok", html(PROSE + "\ufffe\uffff\U0010ffff")),
    text("right_to_left", "ok", html(PROSE + "\u202egnirts\u202c", "\u202etitle")),
    text("escapes_in_title", "ok", html(title="\x1b]0;owned\x07\x1b[2J")),
    text("combining_flood", "ok", html("<p>" + "a" + "\u0301" * 50_000 + PROSE)),
)  # fmt: skip

MARKUP = (
    text("nothing_but_tags", "empty", "<html><body></body></html>"),
    text("nothing_but_spaces", "empty", " \n\t" * 999),
    text("one_byte", "ok empty", "x"),
    text("div_100000_deep", "parse_failed ok", "<div>" * 100_000 + PROSE, source=PATIENT),
    text("table_20000_deep", "parse_failed ok", "<table><tr><td>" * 20_000 + PROSE, source=PATIENT),
    text("font_unclosed", "parse_failed ok", "".join(f"<b a={n}><p>" for n in range(6000)) + PROSE, source=PATIENT),
    text("form_select_nest", "ok parse_failed", "<select><option>" * 30_000 + PROSE, source=PATIENT),
    text("attributes_40000", "parse_failed ok", f"<p {' '.join(f'a{n}=1' for n in range(40_000))}>{PROSE}"),
    text("attribute_of_5_mib", "ok parse_failed", f'<p a="{"x" * (5 * MIB)}">{PROSE}</p>', source=PATIENT),
    text("tag_name_of_1_mib", "ok parse_failed empty", f"<{'x' * MIB}>{PROSE}"),
    text("unclosed_comment", "ok empty", f"<p>{PROSE}</p><!-- " + "x" * 9999),
    text("unclosed_script", "ok empty", f"<p>{PROSE}</p><script>" + "x" * 9999),
    text("unclosed_title", "empty ok parse_failed", f"<title>{PROSE}"),
    text("unclosed_attribute", "ok empty parse_failed", f'<p>{PROSE}</p><a href="' + "x" * 9999),
    text("comment_flood", "ok", html("<!--->" * 50_000 + f"<p>{PROSE}</p>")),
    text("entity_flood", "ok", html("&amp;" * 200_000 + f"<p>{PROSE}</p>"), source=PATIENT),
    text("entity_bad", "ok", html(f"<p>{PROSE} &#x110000; &#0; &#xD800; &nosuch; &#{'9' * 99}; &</p>")),
    text("cdata_and_pi", "ok", html(f"<p>{PROSE}</p><![CDATA[ x ]]><?php echo 1 ?>")),
    text("plaintext_tag", "ok", html(f"<p>{PROSE}</p><plaintext><b>x")),
    text("svg_and_math", "ok empty", html(f"<svg><foreignObject><math><mtext><p>{PROSE}</p>")),
    text("frameset", "ok empty", "<frameset cols=50%,*><frame src=//10.0.0.1/></frameset>"),
    text("noscript_only", "ok empty blocked_page", "<noscript>Enable JavaScript to see this page</noscript>"),
    text("script_page", "ok empty", "<html><body><div id=root></div><script src=/app.js></script></body></html>"),
    text("ten_megabytes_of_words", "ok", html(f"<p>{PROSE}</p>" * (9 * MIB // 700)), source=PATIENT),
    text("one_word_of_9_mib", "ok", html("x" * (9 * MIB)), source=PATIENT),
    text("nine_mib_of_blanks", "empty ok", " " * (9 * MIB), source=PATIENT),
    text("links_60000", "ok", html("".join(f"<a href=/{n}>x</a>" for n in range(60_000)) + PROSE), source=PATIENT),
    text("title_of_1_mib", "ok", html(title="x" * MIB)),
    text("titles_1000", "ok", html(more_head="<title>x</title>" * 1000)),
    text("metas_20000", "ok parse_failed", html(more_head="<meta name=a content=b>" * 20_000)),
    text("meta_refresh_self", "ok", html(more_head="<meta http-equiv=refresh content=0>")),
    text("meta_refresh_private", "ok", html(more_head='<meta http-equiv=refresh content="0;url=http://10.0.0.1/">')),
    text("base_javascript", "ok", html("<a href=x>y</a>" + PROSE, more_head="<base href=javascript:alert(1)>")),
    text("base_bad", "ok", html("<a href=x>y</a>" + PROSE, more_head="<base href='http://[bad'><base href=//>")),
    text("canonical_elsewhere", "ok", html(more_head="<link rel=canonical href=http://10.0.0.1/>")),
    text("canonical_bad", "ok", html(more_head="<link rel=canonical href='http://[bad/'>")),
    text("canonical_javascript", "ok", html(more_head="<link rel=canonical href='javascript:alert(1)'>")),
    text("dates_absurd", "ok", html(more_head="<meta property=article:published_time content=99999-99-99T99:99>")),
    text("json_ld_bad", "ok", html(more_head="<script type=application/ld+json>{{{</script>")),
    text("json_ld_deep", "ok", html(more_head=f"<script type=application/ld+json>{'[' * 99999}</script>")),
    text("lang_long", "ok", html().replace("<html>", f"<html lang={'x' * 9999}>")),
    text("doctype_bomb", "ok parse_failed", f"<!DOCTYPE {'x' * 100_000}>" + html()),
    text("xhtml_entities", "ok parse_failed", f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "b">]>{html()}'),
    text("nul_in_tags", "ok", html().replace("<p>", "<p\0\0>")),
)  # fmt: skip

LAUGHS = '<!DOCTYPE a [<!ENTITY a "lol">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)
XXE = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x; word</a>'
MANY_ATTRIBUTES = "<a " + " ".join(f'b{n}="1"' for n in range(20_000)) + "/>"
TYPES = (
    text("pdf_as_html", "ok parse_failed", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n"),
    text("pdf_cut", "ok parse_failed", b"%PDF-1.7\n", "application/pdf"),
    text("html_as_pdf", "ok", html(), "application/pdf"),
    text("zip_as_text", "ok", zipped("a.txt"), "text/plain"),
    text("zip_bomb", "parse_failed", zipped("word/document.xml", body=bytes(50 * MIB)), "application/zip"),
    text("docx_as_html", "parse_failed", zipped("word/document.xml"), "text/html"),
    text("zip_cut", "parse_failed", zipped("xl/workbook.xml")[:40], "application/zip"),
    text("ole_cut", "parse_failed", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "application/msword"),
    text("png_as_html", "parse_failed", b"\x89PNG\r\n\x1a\n" + bytes(500)),
    text("elf_as_text", "ok", b"\x7fELF" + bytes(range(256)), "text/plain"),
    text("gzip_as_html", "ok", packed(html().encode())),
    text("noise_as_html", "ok parse_failed", bytes(range(256)) * 40),
    text("noise_as_json", "ok parse_failed", bytes(range(256)) * 40, "application/json"),
    text("html_as_json", "ok", html(), "application/json"),
    text("html_as_image", "ok", html(), "image/png"),
    text("text_as_video", "ok", PROSE, "video/mp4"),
    text("empty_pdf", "empty", b"", "application/pdf"),
    text("json", "ok", json.dumps({"a": PROSE}), "application/json"),
    text("json_cut", "parse_failed ok", '{"a": [1, 2', "application/json"),
    text("json_trailing", "parse_failed ok", '{"a": 1} {"b": 2}', "application/json"),
    text("json_deep", "parse_failed", "[" * 100_000 + "]" * 100_000, "application/json"),
    text("json_deep_objects", "parse_failed", '{"a":' * 9999 + "1" + "}" * 9999, "application/json"),
    text("json_huge_number", "ok", '{"n": ' + "9" * 100_000 + "}", "application/json"),
    text("json_huge_exponent", "ok", '{"n": 1e999999999, "m": -0, "o": 1E-99999}', "application/json"),
    text("json_nan", "ok parse_failed", '{"n": NaN, "m": -Infinity}', "application/json"),
    text("json_twice_keys", "ok", '{"a": 1, "a": 2, "a": {"b": 1}}', "application/json"),
    text("json_surrogates", "ok", '{"a": "\\ud800 \\udfff \\u0000"}', "application/json"),
    text("json_scalar", "ok", '"just a word"', "application/json"),
    text("json_null", "ok empty", "null", "application/json"),
    text("json_empty_object", "ok empty", "{}", "application/json"),
    text("json_million_values", "ok parse_failed", "[" + "1," * 999_999 + "1]", "application/json", source=PATIENT),
    text("json_long_keys", "ok", json.dumps({"k" * 9999: {"l" * 9999: 1}}), "application/json"),
    text("json_with_mark", "ok", "\ufeff" + json.dumps({"a": 1}), "application/json"),
    text("json_utf16", "ok parse_failed", json.dumps({"a": 1}).encode("utf-16"), "application/json"),
    text("xml", "ok", f"<a><b>{PROSE}</b></a>", "application/xml"),
    text("xml_cut", "parse_failed", "<a><b>word", "application/xml"),
    text("xml_laughs", "parse_failed ok empty", LAUGHS + "]><a>&j;</a>", "application/xml"),
    text("xml_quadratic", "parse_failed ok empty", f'<!DOCTYPE a [<!ENTITY x "{"y" * 50_000}">]><a>{"&x;" * 9999}</a>', "text/xml"),
    text("xml_outside_file", "parse_failed ok empty", XXE, "application/xml"),
    text("xml_parameter_entity", "parse_failed ok", '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://10.0.0.1/">%x;]><a>b</a>', "text/xml"),
    text("xml_outside_dtd", "ok parse_failed", '<!DOCTYPE a SYSTEM "http://10.0.0.1/a.dtd"><a>word</a>', "text/xml"),
    text("xml_include", "ok parse_failed", '<a xmlns:x="http://www.w3.org/2001/XInclude"><x:include href="file:///etc/passwd"/>b</a>', "text/xml"),
    text("xml_stylesheet", "ok", '<?xml version="1.0"?><?xml-stylesheet href="file:///etc/passwd"?><a>b</a>', "text/xml"),
    text("xml_deep", "parse_failed ok", "<a>" * 50_000 + "</a>" * 50_000, "application/xml"),
    text("xml_attributes_20000", "parse_failed ok", MANY_ATTRIBUTES, "text/xml"),
    text("xml_charset_lies", "ok parse_failed", '<?xml version="1.0" encoding="utf-16"?><a>b</a>', "text/xml"),
    text("xml_charset_unknown", "ok parse_failed", '<?xml version="1.0" encoding="x-own"?><a>b</a>', "text/xml"),
    text("xml_two_roots", "parse_failed ok", "<a>b</a><c>d</c>", "application/xml"),
    text("xml_empty", "empty ok parse_failed", "<a/>", "application/xml"),
    text("xml_namespace_bad", "ok parse_failed", "<x:a>b</x:a>", "application/xml"),
    text("xml_nul", "ok parse_failed", "<a>b\0c</a>", "application/xml"),
    text("svg", "ok", "<svg xmlns='http://www.w3.org/2000/svg'><text>word</text></svg>", "image/svg+xml"),
    text("csv_as_html", "ok", "a;b;c\n=cmd|' /C calc'!A0;2;3\n" * 50),
    text("text_one_line_of_5_mib", "ok", "x" * (5 * MIB), "text/plain", source=PATIENT),
    text("text_million_lines", "ok", "red\n" * 999_999, "text/plain", source=PATIENT),
    text("text_of_controls", "ok empty", "\x01\x02\x1b[2J\x07 word" * 5, "text/plain"),
)  # fmt: skip


def lists(
    name: str, outcomes: str, lister: str, body: str | bytes, kind: str = "application/xml", **more: object
) -> Case:
    """The source itself is the listing."""
    source = {"lister": lister, "risk": "LOW", **more}
    good = tuple((f"/{n}", (GOOD,)) for n in range(1, 9))
    return case(f"{lister}_{name}", outcomes, page(body, kind), source=source, others=good)


def rss(items: str, more: str = "") -> str:
    return f'<?xml version="1.0"?>{more}<rss version="2.0"><channel><title>t</title>{items}</channel></rss>'


def item(
    link: str = "http://{self}/1", title: str = "Odluka", date: str = "Mon, 16 Nov 2026 08:00:00 GMT"
) -> str:
    return f"<item><title>{title}</title><link>{link}</link><pubDate>{date}</pubDate></item>"


def urlset(urls: str, more: str = "") -> str:
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0"?>{more}<urlset xmlns="{space}">{urls}</urlset>'


def loc(url: str = "http://{self}/1", lastmod: str = "2026-11-15") -> str:
    return f"<url><loc>{url}</loc><lastmod>{lastmod}</lastmod></url>"


def index(urls: str) -> str:
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<sitemapindex xmlns="{space}">{urls}</sitemapindex>'


BAD_LINKS = "javascript:alert(1) data:text/html,x mailto:a@b file:///etc/passwd ftp://a/ http://[bad http:// // # ? tel:1"
LINKS = "".join(
    f"<li><a href='{href}'>x</a></li>"
    for href in (*BAD_LINKS.split(), "/1", "\0", "http://a b/", "/" + "x" * 9999)
)
LISTINGS = (
    lists("good", "ok", "feed", rss(item())),
    lists("empty", "ok parse_failed", "feed", rss("")),
    lists("no_bytes", "empty", "feed", ""),
    lists("html", "parse_failed", "feed", html(), UTF8),
    lists("json", "parse_failed", "feed", "{}", "application/json"),
    lists("cut", "ok parse_failed", "feed", rss(item() * 3)[:-60]),
    lists("one_bad_item", "ok parse_failed", "feed", rss(item() + "<item><title>a & b</title><link>x" + item())),
    lists("laughs", "ok parse_failed", "feed", rss(item(title="&j;"), LAUGHS + "]>")),
    lists("outside_file", "ok parse_failed", "feed", rss(item(title="&x;"), XXE.partition("<a>")[0])),
    lists("bad_links", "ok parse_failed", "feed", rss("".join(item(href) for href in BAD_LINKS.split()))),
    lists("private_links", "ok", "feed", rss(item("http://10.0.0.1/") + item("http://169.254.169.254/latest"))),
    lists("bad_dates", "ok", "feed", rss(item(date="32 Foo 99999") + item("http://{self}/2", date="9" * 999))),
    lists("far_dates", "ok", "feed", rss(item(date="Fri, 31 Dec 9999 23:59:59 +2359") + item("/2", date="0001-01-01T00:00:00+14:00"))),
    lists("html_titles", "ok", "feed", rss(item(title="&lt;script&gt;alert(1)&lt;/script&gt;\x1b".replace("\x1b", "")))),
    lists("long_title", "ok", "feed", rss(item(title="x" * 100_000))),
    lists("nul", "ok parse_failed", "feed", rss(item()).replace("t</title>", "t\0</title>")),
    lists("utf16_lie", "ok parse_failed", "feed", rss(item()).replace("?>", ' encoding="utf-16"?>')),
    lists("cp1250_undeclared", "ok parse_failed", "feed", rss(item(title="šđčćž")).encode("cp1250")),
    lists("two_roots", "ok parse_failed", "feed", rss(item()) + rss(item())),
    lists("deep", "ok parse_failed", "feed", rss("<item>" * 9999)),
    lists("5000_items", "ok", "feed", rss("".join(item(f"http://10.0.{n % 250}.1/{n}") for n in range(5000))), include=["/7$"], **PATIENT),
    lists("wrong_root", "parse_failed", "feed", "<opml><body><outline xmlUrl='/1'/></body></opml>"),
    lists("atom_bad", "ok parse_failed", "feed", "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href=''/></entry></feed>"),
    lists("atom_base_evil", "ok parse_failed", "feed", "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='javascript:1'><entry><link href='x'/></entry></feed>"),
    lists("rdf", "ok parse_failed", "feed", "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><item><link>/1</link></item></rdf:RDF>"),
    lists("gone", "gone", "feed", ""),
    lists("good", "ok", "sitemap", urlset(loc())),
    lists("empty", "ok parse_failed", "sitemap", urlset("")),
    lists("html", "parse_failed", "sitemap", html(), UTF8),
    lists("cut", "ok parse_failed", "sitemap", urlset(loc() * 3)[:-30]),
    lists("bare_ampersand", "ok", "sitemap", urlset(loc("http://{self}/?a=1&b=2"))),
    lists("laughs", "ok parse_failed", "sitemap", urlset(loc("&j;"), LAUGHS + "]>")),
    lists("outside_file", "ok parse_failed", "sitemap", urlset(loc("&x;"), XXE.partition("<a>")[0])),
    lists("bad_links", "ok parse_failed", "sitemap", urlset("".join(loc(href) for href in BAD_LINKS.split()))),
    lists("other_site", "ok", "sitemap", urlset(loc("http://10.0.0.1/") + loc())),
    lists("bad_dates", "ok", "sitemap", urlset(loc(lastmod="yesterday") + loc("http://{self}/2", "0000-00-00"))),
    lists("far_dates", "ok", "sitemap", urlset(loc(lastmod="9999-12-31T23:59:59-14:00") + loc("http://{self}/2", "0001-01-01T00:00+14:00"))),
    lists("gzip", "ok", "sitemap", packed(urlset(loc()).encode()), "application/gzip"),
    lists("gzip_cut", "ok parse_failed", "sitemap", packed(urlset(loc()).encode())[:-9], "application/gzip"),
    lists("gzip_bomb", "parse_failed", "sitemap", packed(bytes(100 * MIB)), "application/gzip"),
    lists("gzip_in_gzip", "parse_failed", "sitemap", packed(urlset(loc()).encode(), 2), "application/gzip"),
    lists("index_of_itself", "ok", "sitemap", index("<sitemap><loc>http://{self}/</loc></sitemap>")),
    lists("index_of_files", "ok parse_failed", "sitemap", index("<sitemap><loc>file:///etc/passwd</loc></sitemap>")),
    lists("index_elsewhere", "ok", "sitemap", index("<sitemap><loc>http://10.0.0.1/s.xml</loc></sitemap>")),
    lists("text", "ok", "sitemap", "http://{self}/1\nhttp://{self}/2\nnonsense\n", "text/plain"),
    lists("noise", "parse_failed", "sitemap", bytes(range(256)) * 40, "application/octet-stream"),
    lists("deep", "parse_failed ok", "sitemap", urlset("<url>" * 9999)),
    lists("5000_urls", "ok", "sitemap", urlset("".join(loc(f"http://10.0.{n % 250}.1/{n}") for n in range(5000))), include=["/7$"], **PATIENT),
    lists("loc_of_1_mib", "ok parse_failed", "sitemap", urlset(loc("http://{self}/" + "x" * MIB))),
    lists("nul", "ok parse_failed", "sitemap", urlset(loc("http://{self}/\0"))),
    lists("bad_links", "ok", "html_list", html(f"<ul>{LINKS}</ul>"), UTF8),
    lists("no_items", "ok parse_failed", "html_list", html(), UTF8),
    lists("not_html", "parse_failed ok", "html_list", b"%PDF-1.7", "application/pdf"),
    lists("deep", "parse_failed ok", "html_list", "<ul><li>" * 30_000, UTF8, **PATIENT),
    lists("bad_links", "ok", "crawl", html(LINKS), UTF8),
    lists("noise", "ok parse_failed", "crawl", bytes(range(256)) * 40, "application/octet-stream"),
    lists("base_elsewhere", "ok", "crawl", html(LINKS, more_head="<base href=http://10.0.0.1/>"), UTF8),
    lists("60000_links", "ok", "crawl", html("".join(f"<a href=http://10.0.{n % 250}.1/{n}>x</a>" for n in range(60_000))), UTF8, **PATIENT),
    lists("pages_of_itself", "ok", "pagination", html("<ul class=pager><li><a href='?page=2'>2</a></li></ul>" + LINKS), UTF8, max_pages=3),
    lists("pager_evil", "ok", "pagination", html("<div class=pager><a href='javascript:1'>2</a><a href='//10.0.0.1/'>3</a></div>" + LINKS), UTF8),
    lists("next_of_itself", "ok", "pagination", html(LINKS, more_head="<link rel=next href='/'>"), UTF8),
    lists("html", "ok", "auto", html(f"<ul>{LINKS}</ul>"), UTF8),
    lists("feed", "ok", "auto", rss(item())),
    lists("noise", "ok parse_failed", "auto", bytes(range(256)) * 40, "application/octet-stream"),
    lists("feed_links_evil", "ok", "auto", html(more_head="<link rel=alternate type=application/rss+xml href='javascript:1'>"), UTF8),
    lists("bad_pattern", "ok parse_failed", "feed", rss(item()), url_pattern="^http://[^/]+/[0-9]+$"),
)  # fmt: skip
LISTINGS = tuple(bad for bad in LISTINGS if bad.name != "feed_gone")

CHALLENGE = "<h1>Checking your browser before accessing the site</h1><p>Please verify you are human.</p>"
GATES = (
    text("captcha", "blocked_page", html(CHALLENGE, "Just a moment...")),
    case("captcha_403", "blocked_page", page(html(CHALLENGE, "Just a moment..."), status="403 Forbidden")),
    case("captcha_503", "blocked_page", page(html(CHALLENGE, "Just a moment..."), status="503 Unavailable")),
    text("access_denied", "blocked_page", html("<h1>Access Denied</h1><p>You don't have permission to access this. Reference #18.2</p>", "Access Denied")),
    text("login", "login_wall", html("<p>Please log in.  Username, password.  Forgot your password?</p>", "Sign in")),
    text("prijava", "login_wall", html("<p>Za nastavak se morate prijaviti. Korisničko ime, lozinka.</p>", "Prijava")),
    text("not_found", "soft_404", html("<h1>404</h1><p>The page you requested was not found.</p>", "404 Not Found")),
    text("nije_pronadena", "soft_404", html("<p>Tražena stranica ne postoji.</p>", "Stranica nije pronađena")),
    text("article_on_captchas", "ok", html(f"<h1>Captcha</h1><p>{PROSE * 5} captcha access denied 404 not found</p>")),
)  # fmt: skip


def wall(name: str, outcomes: str, body: str, title: str = "", status: str = "200 OK") -> Case:
    """What stands in front of a page, in the words of those who sell it."""
    return case(f"wall_{name}", outcomes, page(html(body, title), status=status))


FIELD = "<form action=/login method=post><input name=user><input type=password name=pass><button>{}</button></form>"
WALLS = (
    wall("moment", "blocked_page", "<p>Verifying you are human. This may take a few seconds.</p>", "Just a moment..."),
    wall("error_1020", "blocked_page", "<h1>Access denied</h1><p>Error code 1020.</p><p>Ray ID: 7d1f</p>", "Access denied"),
    wall("attention", "blocked_page", "<h1>Sorry, you have been blocked</h1><p>Cloudflare Ray ID: 7d1</p>", "Attention Required!"),
    wall("incapsula", "blocked_page", "Request unsuccessful. Incapsula incident ID: 123-456"),
    wall("pardon", "blocked_page", "<p>Something about your browser made us think you were a bot.</p>", "Pardon Our Interruption"),
    wall("automation", "blocked_page", "<p>We believe you are using automation tools.</p>", "Access to this page has been denied"),
    wall("characters", "blocked_page", "<p>Enter the characters you see below. We need to make sure you're not a robot.</p>", "Robot Check"),
    wall("traffic", "blocked_page", "<p>Our systems have detected unusual traffic from your network.</p>", "Sorry..."),
    wall("rejected", "blocked_page", "The requested URL was rejected.<br>Your support ID is: 1234567890", "Request Rejected"),
    wall("enable_js", "blocked_page", "<p>Please enable JS and disable any ad blocker</p>"),
    wall("banned", "blocked_page", "<h1>Your IP address has been blocked</h1>", "Blocked"),
    wall("too_many_with_200", "blocked_page", "<p>Rate limit exceeded. Try again later.</p>", "Too Many Requests"),
    wall("forbidden_with_200", "blocked_page", "<h1>403 Forbidden</h1><hr>nginx", "403 Forbidden"),
    wall("login_bare", "login_wall", FIELD.format("Log in"), "Log in"),
    wall("login_bare_403", "login_wall", FIELD.format("Log in"), "Log in", "403 Forbidden"),
    wall("login_labels", "login_wall", "<h1>Sign in</h1>Username, password" + FIELD.format("Sign in")),
    wall("login_to_view", "login_wall", "<p>You must be logged in to view this page.</p>"),
    wall("login_prijava", "login_wall", FIELD.format("Prijava"), "Prijava u sustav"),
    wall("login_again", "login_wall", "<p>Your session has expired. Please log in again.</p>"),
    wall("lost_url", "soft_404", "<p>The requested URL was not found on this server.</p>", "404 Not Found"),
    wall("lost_here", "soft_404", "<p>It looks like nothing was found at this location.</p>", "Page not found - Blog"),
    wall("lost_sorry", "soft_404", "<h1>Sorry, we couldn't find that page</h1>"),
    wall("lost_no_longer", "soft_404", "<h1>This page no longer exists</h1><p>Return to the home page.</p>"),
    wall("lost_404", "soft_404", "<h1>404</h1>", "404"),
    wall("lost_german", "soft_404", "<h1>Seite nicht gefunden</h1>"),
    wall("lost_stranica", "soft_404", "<h1>Ups! Stranica koju tražite ne postoji.</h1>", "Greška"),
    wall("lost_dokument", "soft_404", "<p>Traženi dokument ne postoji ili je uklonjen.</p>", "Ministarstvo"),
    wall("for_sale", "soft_404", "<p>This domain is for sale. Make an offer.</p>"),
    wall("parked_domain", "soft_404", "<p>This domain is parked free, courtesy of a registrar.</p>"),
    wall("suspended", "soft_404", "<h1>This Account has been suspended.</h1>"),
    wall("not_a_login_box", "ok", f"<aside>Username, password. Forgot your password?{FIELD}</aside><p>{PROSE * 2}</p>", "Novosti"),
    wall("not_a_comment", "ok", "<p>Odluka stupa na snagu.</p><p>Please log in to comment.</p>", "Odluka"),
    wall("not_a_short_one", "ok", "<p>Radno vrijeme: 8-16</p>", "Kontakt"),
    wall("not_a_closed_road", "ok", f"<p>Cesta je blocked zbog radova. {PROSE}</p>", "Promet"),
)  # fmt: skip

BIG = "".join(f"<p>Stavak {n}. {PROSE}</p>" for n in range(1500))
FRESH = ('ETag: "1"', "Last-Modified: Mon, 16 Nov 2026 08:00:00 GMT")
UNCHANGED = "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n"


def then(name: str, outcomes: str, second: bytes, first: str | bytes = GOOD) -> Case:
    """A page that was sound at the first look."""
    before = first if isinstance(first, bytes) else page(first, UTF8)
    return case(f"then_{name}", outcomes, before, then=(second,))


SOUND = page(html(), UTF8, *FRESH)
SECOND_LOOKS = (
    then("same", "ok", GOOD),
    then("not_modified", "not_modified", (UNCHANGED + "\r\n").encode(), SOUND),
    then("not_modified_with_body", "not_modified", (UNCHANGED + "Content-Length: 5\r\n\r\nhello").encode(), SOUND),
    then("not_modified_other_etag", "not_modified", (UNCHANGED + 'ETag: "2"\r\n\r\n').encode(), SOUND),
    then("not_modified_unasked", "protocol_error", (UNCHANGED + "\r\n").encode()),
    then("same_with_other_etag", "ok", page(html(), UTF8, 'ETag: "2"'), SOUND),
    then("other_with_same_etag", "ok", page(html("<p>Nova odluka</p>" + PROSE), UTF8, *FRESH), SOUND),
    then("older_than_before", "ok", page(html("<p>x</p>" + PROSE), UTF8, "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT"), SOUND),
    then("empty", "empty", page("")),
    then("no_text", "empty", page("<html><body></body></html>")),
    then("shrunken", "empty", page(html("<p>...</p>"))),
    then("captcha", "blocked_page", page(html(CHALLENGE, "Just a moment..."))),
    then("login", "login_wall", page(html("<p>Please log in with your password.</p>", "Sign in"))),
    then("soft_404", "soft_404", page(html("<p>Tražena stranica ne postoji.</p>", "404"))),
    then("gone", "gone", page("gone", status="410 Gone")),
    then("moved_to_login", "login_wall soft_404 redirect_error", redirect("/login")),
    then("binary", "ok", page(bytes(range(256)) * 9, "application/octet-stream")),
    then("pdf", "parse_failed", page(b"%PDF-1.7 " + bytes(range(256)), "application/pdf")),
    then("json", "ok empty", page('{"a": 1}', "application/json")),
    then("deep", "parse_failed", page("<div>" * 100_000)),
    then("cut", "truncated", page(html())[:-50]),
    then("bomb", "too_large", page(packed(bytes(50 * MIB)), UTF8, "Content-Encoding: gzip")),
    then("other_charset", "ok", page(html(f"<p>{PROSE} šđ</p>").encode("cp1250"), "text/html; charset=cp1250")),
    then("big_edit", "ok", page(html(BIG.replace("Stavak 700.", "Stavak 700a."))), html(BIG)),
    then("big_all_new", "ok", page(html(BIG.replace("naknade", "doplatka"))), html(BIG)),
    then("big_shuffled", "ok", page(html("".join(reversed(BIG.split("<p>"))))), html(BIG)),
    then("big_becomes_small", "ok", page(html(PROSE)), html(BIG)),
    then("small_becomes_big", "ok", page(html(BIG))),
    then("big_text", "ok", page("blue\n" * 60_000, "text/plain"), page("red\n" * 60_000, "text/plain")),
    then("big_numbers", "ok", page(json.dumps([*range(1, 90_000)]), "application/json"), page(json.dumps([*range(90_000)]), "application/json")),
    then("one_word", "ok parse_failed", page(html("y" * (2 * MIB))), html("x" * (2 * MIB))),
    then("words_in_one_block", "ok parse_failed", page(html("<p>" + "b a " * 200_000)), html("<p>" + "a b " * 200_000)),
)  # fmt: skip

CASES = (*CHARSETS, *MARKUP, *TYPES, *LISTINGS, *GATES, *WALLS, *SECOND_LOOKS)


@pytest.mark.timeout(300)
async def test_every_bad_document_is_kept_or_named_and_none_takes_the_run_with_it(tmp_path):
    assert await watched(CASES, tmp_path) == {}


SECRET = "Strogo povjerljivo"
SCREENED = (
    case("screened", "screened", page(html(f"<p>{SECRET} {PROSE}</p>", SECRET))),
    case("screened_title", "screened", page(html(title=SECRET))),
    case("screened_error", "screened", page(html(SECRET, SECRET), status="404 Not Found")),
    case("screened_refusal", "screened", page(html(SECRET, SECRET), status="403 Forbidden")),
    case("not_screened", "ok", GOOD),
)  # fmt: skip


async def test_of_a_screened_answer_no_word_reaches_the_disk_whatever_its_status(tmp_path):
    rows = [{"category": "secret", "name": "row", "pattern": SECRET}]
    assert await watched(SCREENED, tmp_path, screen=rows) == {}
    kept = [file for file in (tmp_path / "data").rglob("*") if file.is_file()]
    plain = [gzip.decompress(f.read_bytes()) if f.suffix == ".gz" else f.read_bytes() for f in kept]
    assert [file.name for file, data in zip(kept, plain, strict=True) if SECRET.encode() in data] == []
