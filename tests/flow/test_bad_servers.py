"""Servers that break HTTP in every way we know: the run ends by itself, every look has a name, nothing is lost."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import brotli
import pytest
import zstandard
from bad_kit import (
    GOOD,
    Case,
    Field,
    case,
    coded,
    head,
    html,
    packed,
    page,
    quick_config,
    redirect,
    watched,
)
from hostile import Do

from vedette.contracts.words import Outcome
from vedette.livingweb import LivingWeb, fault_world
from vedette.livingweb.faults import FAULTS

pytestmark = pytest.mark.slow
OK = "HTTP/1.1 200 OK"
HTML = "Content-Type: text/html; charset=utf-8"
BODY = html().encode()
LENGTH = f"Content-Length: {len(BODY)}"
TRANSFER = ("Transfer-Encoding: chunked",)
CHUNKED = head(OK, HTML, *TRANSFER)
MIB = 2**20
PATIENT = {"fetch": {"total_timeout": "20s", "read_timeout": "10s"}}


def drip(data: bytes, gap: float, size: int = 1) -> tuple[bytes | float, ...]:
    parts = [data[n : n + size] for n in range(0, len(data), size)]
    return tuple(step for part in parts for step in (part, gap))


def endless(part: bytes) -> Iterator[bytes]:
    for _ in range(10**7):
        yield part


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def bomb(size: int) -> bytes:
    return packed(bytes(size))


def good_at(*paths: str) -> tuple[tuple[str, tuple[bytes]], ...]:
    return tuple((path, (GOOD,)) for path in paths)


def rules(text: str | bytes, kind: str = "text/plain") -> bytes:
    return page(text, kind)


def robots(name: str, outcomes: str, *steps: object, **fields: object) -> Case:
    return case(f"robots_{name}", outcomes, GOOD, robots=steps, **fields)


CHUNKS = chunk(BODY) + b"0\r\n\r\n"
LONG_EXTENSION = b"%x;a=%b\r\n%b\r\n0\r\n\r\n" % (len(BODY), b"b" * 50_000, BODY)
ONE_LONG = b"1;" + b"a" * 8000 + b"\r\nx\r\n"
SINGLE_BYTES = b"".join(chunk(BODY[n : n + 1]) for n in range(len(BODY))) + b"0\r\n\r\n"
FAR_AWAY = "Fri, 31 Dec 9999 23:59:59 GMT"


def ENDLESS() -> Iterator[bytes]:
    return endless(b"a" * 9000)


CHAIN = tuple((f"/{n}", (redirect(f"/{n + 1}"),)) for n in range(1, 30))
GROWING = tuple(("/?" + "a" * n, (redirect("?" + "a" * (n + 1)),)) for n in range(1, 30))
LOGIN = html(
    "<form><input name=username><input type=password></form><p>Please log in.  Forgot your password?</p>",
    "Sign in",
)
FORBID = "User-agent: *\nDisallow: /\n"
MANY_RULES = b"User-agent: *\n" + b"".join(b"Disallow: /x%d\n" % n for n in range(30_000))
UNAVAILABLE = (400, 401, 402, 403, 404, 405, 407, 408, 410, 418, 451, 499)
UNREACHABLE = (500, 501, 502, 503, 504, 511, 599)


LINES = (
    case("says_nothing", "timeout", Do.HOLD),
    case("closes_at_once", "connect_error"),
    case("resets_at_once", "connect_error", Do.RESET),
    case("one_byte_then_silence", "timeout", b"H", Do.HOLD),
    case("half_status_line_then_silence", "timeout", b"HTTP/1.1 2", Do.HOLD),
    case("half_head_then_close", "protocol_error connect_error", b"HTTP/1.1 200 OK\r\nContent-"),
    case("half_head_then_reset", "connect_error protocol_error", b"HTTP/1.1 200 OK\r\n", 0.02, Do.RESET),
    case("head_then_silence", "timeout", head(OK, HTML, LENGTH), Do.HOLD),
    case("head_then_reset", "connect_error truncated", head(OK, HTML, LENGTH), 0.02, Do.RESET),
    case("half_body_then_silence", "timeout", head(OK, HTML, LENGTH) + BODY[:200], Do.HOLD),
    case("half_body_then_close", "truncated", head(OK, HTML, LENGTH) + BODY[:200]),
    case("half_body_then_reset", "truncated connect_error", head(OK, HTML, LENGTH) + BODY[:200], 0.02, Do.RESET),
    case("no_length_then_reset", "truncated connect_error", head(OK, HTML) + BODY[:200], 0.02, Do.RESET),
    case("head_drips_for_ever", "timeout", *drip(head(OK, HTML, LENGTH), 0.2)),
    case("body_drips_for_ever", "timeout", head(OK, HTML, LENGTH), *drip(BODY, 0.2)),
    case("endless_head", "protocol_error", b"HTTP/1.1 200 OK\r\n", lambda: endless(b"X-A: b\r\n" * 500)),
    case("endless_header_line", "protocol_error", b"HTTP/1.1 200 OK\r\nX-A: ", lambda: endless(b"a" * 8192)),
    case("endless_status_line", "protocol_error", b"HTTP/1.1 200 ", lambda: endless(b"a" * 8192)),
    case("endless_body", "too_large", head(OK, HTML), lambda: endless(b"<p>nikad</p>" * 5000), source=PATIENT),
    case("endless_blank_lines", "protocol_error timeout", lambda: endless(b"\r\n" * 4000)),
    case("endless_interim", "protocol_error", lambda: endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 50)),
    case("speaks_first", "ok protocol_error connect_error", GOOD, speaks_first=True),
    case("ssh", "protocol_error", b"SSH-2.0-OpenSSH_9.2\r\n"),
    case("smtp_first", "protocol_error", b"220 mail.example ESMTP\r\n", Do.HOLD, speaks_first=True),
    case("ftp_answer", "protocol_error", b"220 ready\r\n331 password\r\n"),
    case("tls_alert", "protocol_error", b"\x15\x03\x01\x00\x02\x02\x0a"),
    case("http2_preface", "protocol_error", b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\x00" * 18),
    case("binary_noise", "protocol_error", bytes(range(256)) * 20),
    case("nul_bytes_only", "protocol_error", bytes(5000)),
    case("http_0_9", "protocol_error", BODY),
    case("json_without_http", "protocol_error", b'{"status": 200}\n'),
    case("icy_200", "protocol_error", b"ICY 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n\xff\xfb"),
    case("http_1_0", "ok", b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + BODY),
    case("http_9_9", "ok protocol_error", head("HTTP/9.9 200 OK", HTML, LENGTH) + BODY),
    case("http_2_text", "ok protocol_error", head("HTTP/2 200", HTML, LENGTH) + BODY),
    case("lower_case_http", "ok protocol_error", head("http/1.1 200 OK", HTML, LENGTH) + BODY),
    case("blank_line_first", "ok protocol_error", b"\r\n" + GOOD),
    case("two_answers", "ok", GOOD + GOOD),
    case("junk_behind_the_answer", "ok", GOOD + bytes(range(256)) * 50),
    case("smuggled_second", "ok", head(OK, HTML, LENGTH) + BODY + head(OK, "Content-Length: 3") + b"bad"),
    case("answers_and_holds_the_line", "ok", head(OK, HTML, LENGTH) + BODY, Do.HOLD),
)  # fmt: skip

HEADS = (
    case("bare_lf", "ok protocol_error", b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n" + BODY),
    case("bare_cr", "protocol_error timeout", b"HTTP/1.1 200 OK\rContent-Type: text/html\r\r" + BODY),
    case("folded_header", "ok protocol_error", head(OK, HTML, "X-Long: a", "  b", LENGTH) + BODY),
    case("header_without_colon", "protocol_error", head(OK, HTML, "no colon here", LENGTH) + BODY),
    case("header_without_name", "protocol_error", head(OK, HTML, ": nothing", LENGTH) + BODY),
    case("space_before_colon", "protocol_error ok", head(OK, "Content-Type : text/html", LENGTH) + BODY),
    case("nul_in_value", "ok protocol_error", head(OK, HTML, b"X-A: a\0b", LENGTH) + BODY),
    case("nul_in_name", "protocol_error", head(OK, HTML, b"X\0A: b", LENGTH) + BODY),
    case("cr_in_value", "ok protocol_error", head(OK, HTML, b"X-A: a\rWARC-Type: warcinfo", LENGTH) + BODY),
    case("lf_in_value", "ok protocol_error", head(OK, HTML, b"X-A: a\nWARC-Type: warcinfo", LENGTH) + BODY),
    case("control_characters", "ok protocol_error", head(OK, HTML, b"X-A: \x01\x02\x1b[31m\x7f", LENGTH) + BODY),
    case("latin1_value", "ok", head(OK, HTML, "X-A: \xe9\xe8\xff", LENGTH) + BODY),
    case("utf8_value", "ok", head(OK, HTML, "X-A: šđčćž😀".encode(), LENGTH) + BODY),
    case("emoji_name", "protocol_error ok", head(OK, HTML, "X-😀: a".encode(), LENGTH) + BODY),
    case("warc_header_injected", "ok", head(OK, HTML, "WARC-Type: warcinfo", "WARC-Record-ID: <x>", LENGTH) + BODY),
    case("percent_crlf_value", "ok", head(OK, HTML, "X-A: %0d%0aWARC/1.1", LENGTH) + BODY),
    case("three_hundred_headers", "ok protocol_error", head(OK, HTML, *["X-A: b"] * 300, LENGTH) + BODY),
    case("huge_header", "protocol_error", head(OK, HTML, "X-A: " + "a" * 100_000, LENGTH) + BODY),
    case("large_cookie", "ok", head(OK, HTML, "Set-Cookie: a=" + "b" * 20_000, LENGTH) + BODY),
    case("thousand_cookies", "protocol_error ok", head(OK, HTML, *["Set-Cookie: a=b"] * 1000, LENGTH) + BODY),
    case("two_equal_lengths", "ok protocol_error", head(OK, HTML, LENGTH, LENGTH) + BODY),
    case("two_lengths", "protocol_error", head(OK, HTML, LENGTH, "Content-Length: 5") + BODY),
    case("lengths_in_a_list", "ok protocol_error", head(OK, HTML, f"{LENGTH}, {len(BODY)}") + BODY),
    case("negative_length", "protocol_error", head(OK, HTML, "Content-Length: -5") + BODY),
    case("plus_length", "protocol_error", head(OK, HTML, f"Content-Length: +{len(BODY)}") + BODY),
    case("hex_length", "protocol_error", head(OK, HTML, f"Content-Length: 0x{len(BODY):x}") + BODY),
    case("wordy_length", "protocol_error", head(OK, HTML, "Content-Length: many") + BODY),
    case("empty_length", "protocol_error ok", head(OK, HTML, "Content-Length:") + BODY),
    case("absurd_length", "protocol_error too_large", head(OK, HTML, "Content-Length: " + "9" * 40) + BODY),
    case("length_too_short", "ok", head(OK, HTML, "Content-Length: 300") + BODY),
    case("length_zero_with_body", "empty", head(OK, HTML, "Content-Length: 0") + BODY),
    case("announces_a_gigabyte", "too_large", head(OK, HTML, "Content-Length: 1073741824"), Do.HOLD),
    case("length_and_chunked", "ok protocol_error", head(OK, HTML, "Content-Length: 5", *TRANSFER) + CHUNKS),
    case("no_type", "ok", page(html(), None)),
    case("two_types", "ok", page(html(), "text/html", "Content-Type: application/pdf")),
    case("garbled_type", "ok", page(html(), ";;;=text//html;charset=\"")),
    case("long_type", "ok", page(html(), "text/html; a=" + "b" * 5000)),
    case("control_type", "ok protocol_error", page(html(), "text/html\x01\x02")),
    case("evil_etag", "ok", page(html(), "text/html", b'ETag: "a\x80\xff"', "Last-Modified: yesterday")),
    case("huge_etag", "ok", page(html(), "text/html", 'ETag: "' + "e" * 9000 + '"')),
    case("future_last_modified", "ok", page(html(), "text/html", "Last-Modified: " + FAR_AWAY)),
    case("negative_year", "ok", page(html(), "text/html", "Last-Modified: Mon, 01 Jan -001 00:00:00 GMT", "Date: x")),
    case("reason_with_escape", "ok protocol_error", head(b"HTTP/1.1 200 \x1b[31mOK", HTML, LENGTH) + BODY),
    case("reason_empty", "ok", head("HTTP/1.1 200 ", HTML, LENGTH) + BODY),
    case("reason_missing", "ok", head("HTTP/1.1 200", HTML, LENGTH) + BODY),
    case("reason_long", "ok protocol_error", head("HTTP/1.1 200 " + "O" * 3000, HTML, LENGTH) + BODY),
    case("set_cookie_bomb", "ok", page(html(), "text/html", "Set-Cookie: " + "a=b; " * 2000)),
    case("refresh_header", "ok", page(html(), "text/html", "Refresh: 0; url=http://10.0.0.1/")),
    case("link_header", "ok", page(html(), "text/html", "Link: <javascript:alert(1)>; rel=canonical")),
    case("upgrade", "ok protocol_error", page(html(), "text/html", "Upgrade: websocket")),
)  # fmt: skip

CODINGS = (
    case("chunk_size_negative", "protocol_error truncated", CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n"),
    case("chunk_size_wordy", "protocol_error truncated", CHUNKED + b"zz\r\nhello\r\n0\r\n\r\n"),
    case("chunk_size_huge", "protocol_error truncated timeout", CHUNKED + b"fffffffffffffffff\r\nhello"),
    case("chunk_size_lies", "protocol_error truncated", CHUNKED + b"3\r\nhello\r\n0\r\n\r\n"),
    case("chunk_extension_long", "ok protocol_error truncated", CHUNKED + LONG_EXTENSION),
    case("chunk_extensions_endless", "protocol_error truncated too_large", CHUNKED, lambda: endless(ONE_LONG)),
    case("chunks_of_one_byte", "ok", CHUNKED + SINGLE_BYTES),
    case("chunks_never_end", "truncated", CHUNKED + chunk(BODY)),
    case("chunks_without_last_crlf", "ok truncated", CHUNKED + chunk(BODY) + b"0\r\n"),
    case("chunk_trailers", "ok protocol_error", CHUNKED + chunk(BODY) + b"0\r\nX-A: b\r\nContent-Length: 5\r\n\r\n"),
    case(
        "chunk_trailers_endless",
        "truncated protocol_error",
        CHUNKED + CHUNKS[:-2],
        lambda: endless(b"X-A: b\r\n" * 99),
    ),
    case("chunked_twice", "protocol_error", head(OK, HTML, "Transfer-Encoding: chunked, chunked") + CHUNKS),
    case("transfer_gzip", "protocol_error", head(OK, HTML, "Transfer-Encoding: gzip, chunked") + CHUNKS),
    case("transfer_unknown", "protocol_error", head(OK, HTML, "Transfer-Encoding: x-own") + BODY),
    case("chunked_but_plain", "protocol_error truncated", CHUNKED + BODY),
    case("gzip", "ok", coded("gzip", packed(BODY))),
    case("gzip_two_layers", "ok", coded("gzip, gzip", packed(BODY, 2))),
    case("gzip_five_layers", "decode_error too_large", coded("gzip, gzip, gzip, gzip, gzip", packed(BODY, 5))),
    case("gzip_cut", "truncated", coded("gzip", packed(BODY)[:-20])),
    case("gzip_bad_checksum", "decode_error", coded("gzip", packed(BODY)[:-8] + b"\0" * 8)),
    case("gzip_only_header", "truncated decode_error", coded("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\3")),
    case("gzip_trailing_junk", "ok decode_error", coded("gzip", packed(BODY) + b"junk" * 50)),
    case("gzip_many_members", "ok", coded("gzip", packed(BODY) * 20)),
    case("gzip_member_flood", "decode_error too_large truncated", coded("gzip", packed(b"") * 5000)),
    case("gzip_that_is_none", "decode_error", coded("gzip", BODY)),
    case("gzip_empty", "empty decode_error truncated", coded("gzip", b"")),
    case("gzip_bomb", "too_large", coded("gzip", bomb(200 * MIB)), source=PATIENT),
    case("gzip_bomb_in_bomb", "too_large", coded("gzip, gzip", packed(bomb(200 * MIB))), source=PATIENT),
    case("brotli", "ok", coded("br", brotli.compress(BODY))),
    case("brotli_cut", "truncated", coded("br", brotli.compress(BODY)[:-10])),
    case("brotli_bomb", "too_large", coded("br", brotli.compress(bytes(200 * MIB), quality=1)), source=PATIENT),
    case("brotli_that_is_none", "decode_error truncated", coded("br", BODY)),
    case("zstd", "ok", coded("zstd", zstandard.compress(BODY))),
    case("zstd_cut", "truncated", coded("zstd", zstandard.compress(BODY)[:-10])),
    case("zstd_bomb", "too_large", coded("zstd", zstandard.compress(bytes(200 * MIB))), source=PATIENT),
    case("zstd_that_is_none", "decode_error", coded("zstd", BODY)),
    case("deflate_zlib", "ok", coded("deflate", zlib.compress(BODY))),
    case("deflate_raw", "ok", coded("deflate", zlib.compress(BODY)[2:-4])),
    case("deflate_junk", "decode_error truncated", coded("deflate", b"\xff" * 300)),
    case("coding_unknown", "decode_error", coded("x-own", BODY)),
    case("coding_identity", "ok", coded("identity", BODY)),
    case("coding_list_of_a_hundred", "decode_error", coded(", ".join(["gzip"] * 100), packed(BODY))),
    case("coding_empty", "ok decode_error", coded("", BODY)),
    case("body_of_11_mib", "too_large", page(b"<p>a</p>" * (11 * MIB // 8)), source=PATIENT),
    case("wire_limit_of_a_source", "too_large", GOOD, source={"fetch": {"wire_limit": 100}}),
    case("body_limit_of_a_source", "too_large", coded("gzip", packed(BODY)), source={"fetch": {"body_limit": 100}}),
)  # fmt: skip

STATUSES = tuple(
    case(f"status_{status}", outcomes, page(html(), "text/html", status=f"{status} Word"))
    for status, outcomes in {
        201: "ok", 202: "ok", 203: "ok", 204: "empty", 205: "empty", 206: "truncated", 226: "ok", 299: "ok",
        300: "redirect_error", 301: "redirect_error", 304: "protocol_error", 305: "redirect_error",
        306: "redirect_error", 399: "redirect_error", 400: "client_error", 401: "login_wall", 402: "client_error",
        403: "client_error", 404: "gone", 405: "client_error", 406: "client_error", 407: "login_wall",
        408: "timeout", 409: "client_error", 410: "gone", 411: "client_error", 418: "client_error",
        421: "client_error", 423: "client_error", 425: "client_error", 426: "client_error", 429: "throttled",
        431: "client_error", 444: "client_error", 451: "client_error", 499: "client_error", 500: "server_error",
        501: "server_error", 502: "server_error", 503: "server_error", 504: "server_error", 505: "server_error",
        507: "server_error", 511: "login_wall", 520: "server_error", 525: "server_error", 530: "server_error",
        599: "server_error", 600: "server_error", 777: "server_error", 999: "server_error",
    }.items()
)  # fmt: skip
ODD_STATUSES = (
    case("status_000", "protocol_error", page(html(), status="000 Zero")),
    case("status_099", "protocol_error", page(html(), status="099 Low")),
    case("status_101", "protocol_error", page(html(), status="101 Switching Protocols")),
    case("status_102_alone", "timeout protocol_error connect_error", head("HTTP/1.1 102 Processing"), Do.HOLD),
    case("status_199_alone", "timeout protocol_error connect_error", head("HTTP/1.1 199 Odd"), Do.HOLD),
    case("status_1000", "protocol_error", page(html(), status="1000 Many")),
    case("status_20", "protocol_error", page(html(), status="20 Short")),
    case("status_negative", "protocol_error", page(html(), status="-200 Minus")),
    case("status_wordy", "protocol_error", page(html(), status="OK 200")),
    case("status_missing", "protocol_error", head("HTTP/1.1", HTML, LENGTH) + BODY),
    case("continue_then_answer", "ok", b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD),
    case("early_hints_then_answer", "ok", head("HTTP/1.1 103 Early Hints", "Link: </a.css>") + GOOD),
    case("retry_after_a_year", "throttled", page("", None, "Retry-After: 31536000", status="429 Slow")),
    case("retry_after_date", "throttled", page("", None, "Retry-After: " + FAR_AWAY, status="503 x")),
    case("retry_after_junk", "throttled", page("", None, "Retry-After: soon", status="503 x")),
    case("retry_after_negative", "throttled", page("", None, "Retry-After: -5", status="429 x")),
    case("retry_after_digits", "throttled", page("", None, "Retry-After: " + "9" * 500, status="429 x")),
    case("retry_after_on_ok", "ok", page(html(), "text/html", "Retry-After: 3600")),
    case("not_found_without_end", "gone", head("HTTP/1.1 404 Not Found", HTML), lambda: endless(b"<p>x</p>" * 1000)),
    case("error_page_of_gzip_junk", "server_error", page(b"\xff" * 99, None, "Content-Encoding: gzip", status="500 x")),
    case("error_bomb", "server_error", page(bomb(50 * MIB), "text/html", "Content-Encoding: gzip", status="500 x")),
)  # fmt: skip

REDIRECTS = (
    case("redirect_to_itself", "redirect_error", redirect("/")),
    case("redirect_pair", "redirect_error", redirect("/b"), others=(("/b", (redirect("/"),)),)),
    case("redirect_chain", "redirect_error", redirect("/1"), others=CHAIN),
    case("redirect_growing", "redirect_error", redirect("?a"), others=GROWING),
    case("redirect_no_location", "redirect_error", page("", None, status="302 x")),
    case("redirect_blank_location", "redirect_error", redirect("")),
    case("redirect_two_locations", "redirect_error", redirect("/a", "/b")),
    case("redirect_long_location", "redirect_error", redirect("/" + "a" * 9000)),
    case("redirect_private", "address_refused", redirect("http://10.0.0.1/")),
    case("redirect_metadata", "address_refused", redirect("http://169.254.169.254/latest/meta-data/")),
    case("redirect_decimal", "address_refused", redirect("http://167772161/")),
    case("redirect_octal", "address_refused", redirect("http://012.0.0.1/")),
    case("redirect_hex", "address_refused", redirect("http://0x0a000001/")),
    case("redirect_mapped", "address_refused", redirect("http://[::ffff:10.0.0.1]/")),
    case("redirect_v6_loopback", "address_refused", redirect("http://[::1]/")),
    case("redirect_zero", "address_refused", redirect("http://0.0.0.0/")),
    case("redirect_port_22", "address_refused", redirect("http://127.0.0.1:22/")),
    case("redirect_port_0", "address_refused redirect_error", redirect("http://127.0.0.1:0/")),
    case("redirect_port_99999", "redirect_error", redirect("http://127.0.0.1:99999/")),
    case("redirect_file", "scheme_refused", redirect("file:///etc/passwd")),
    case("redirect_ftp", "scheme_refused", redirect("ftp://127.0.0.1/a")),
    case("redirect_javascript", "scheme_refused", redirect("javascript:alert(1)")),
    case("redirect_data", "scheme_refused", redirect("data:text/html,hello")),
    case("redirect_gopher", "scheme_refused", redirect("gopher://127.0.0.1:6379/_FLUSHALL")),
    case("redirect_about", "scheme_refused", redirect("about:blank")),
    case("redirect_bad_host", "redirect_error", redirect("http://[bad/")),
    case("redirect_space_host", "redirect_error", redirect("http://a b/")),
    case("redirect_empty_host", "redirect_error", redirect("http://")),
    case("redirect_userinfo", "ok", redirect("//user:secret@{self}/a"), others=good_at("/a")),
    case("redirect_userinfo_trick", "address_refused", redirect("http://{self}@10.0.0.1/")),
    case("redirect_backslash", "address_refused", redirect("http:\\\\10.0.0.1\\a")),
    case("redirect_fragment", "ok", redirect("/a#top"), others=good_at("/a")),
    case("redirect_unicode", "ok", redirect("/š".encode()), others=good_at("/%C5%A1")),
    case("redirect_latin1", "ok redirect_error", redirect(b"/\xe9"), others=good_at("/%E9", "/%C3%A9")),
    case("redirect_control", "ok redirect_error protocol_error", redirect(b"/a\x01b")),
    case("redirect_dots", "ok", redirect("/x/../../../a"), others=good_at("/a")),
    case("redirect_301", "ok", redirect("/a", status="301 Moved"), others=good_at("/a")),
    case("redirect_303", "ok", redirect("/a", status="303 See Other"), others=good_at("/a")),
    case("redirect_307", "ok", redirect("/a", status="307 x"), others=good_at("/a")),
    case("redirect_308", "ok", redirect("/a", status="308 x"), others=good_at("/a")),
    case("redirect_300", "ok", redirect("/a", status="300 Choices"), others=good_at("/a")),
    case("redirect_304_location", "protocol_error", redirect("/a", status="304 Not Modified")),
    case("redirect_with_endless_body", "ok", head("HTTP/1.1 302 x", "Location: /a"), ENDLESS, others=good_at("/a")),
    case("redirect_to_refused_line", "connect_error address_refused", redirect("http://127.81.0.1:{port}/")),
    case("redirect_cross_origin_forbidden", "robots_refused", redirect("http://{forbidding}/")),
    case("forbidding", "robots_refused", GOOD, robots=(rules(FORBID),)),
    case("redirect_cross_origin", "ok", redirect("http://{redirect_301}/a")),
    case("redirect_unknown_name", "dns_error", redirect("http://no-such-name.invalid:{port}/")),
    case("redirect_to_login", "login_wall", redirect("/login"), others=(("/login", (page(LOGIN),)),)),
)  # fmt: skip

ROBOTS = (
    *(robots(str(n), "ok", page("x", "text/plain", status=f"{n} x")) for n in UNAVAILABLE),
    robots("429", "throttled", page("x", "text/plain", status="429 x")),
    *(robots(str(n), "server_error", page("x", "text/plain", status=f"{n} x")) for n in UNREACHABLE),
    robots("204", "ok", page("", None, status="204 x")),
    robots("silent", "timeout", Do.HOLD),
    robots("reset", "connect_error", Do.RESET),
    robots("closed", "connect_error"),
    robots("garbage", "protocol_error", bytes(range(256))),
    robots("cut", "truncated", head(OK, "Content-Length: 500") + b"User-agent: *\nDisallow: /x\n"),
    robots("bad_gzip", "decode_error", page(b"\xff" * 50, "text/plain", "Content-Encoding: gzip")),
    robots("gzip", "robots_refused", coded("gzip", packed(FORBID.encode()))),
    robots("huge", "ok", rules(b"# filler\n" * 700_000)),
    robots("huge_disallow_first", "robots_refused", rules(FORBID.encode() + b"# filler\n" * 700_000)),
    robots("endless", "ok robots_refused", head(OK), lambda: endless(b"Disallow: /x\n" * 500)),
    robots("html", "ok", page(html(), "text/html")),
    robots("html_as_text", "ok", rules("<html><body>Not found</body></html>")),
    robots("bom_disallow", "robots_refused", rules("\ufeff" + FORBID)),
    robots("utf16", "robots_refused", rules(FORBID.encode("utf-16"))),
    robots("cr_lines", "robots_refused", rules("User-agent: *\rDisallow: /\r")),
    robots("binary", "ok", rules(bytes(range(256)) * 40)),
    robots("nul", "robots_refused ok", rules(b"User-agent: *\n\0Disallow: /\n")),
    robots("empty", "ok", rules("")),
    robots("disallow_all", "robots_refused", rules(FORBID)),
    robots("disallow_us", "robots_refused", rules("User-agent: vedette\nDisallow: /\n\nUser-agent: *\nDisallow:\n")),
    robots("disallow_others", "ok", rules("User-agent: otherbot\nDisallow: /\n")),
    robots("wildcard", "robots_refused", rules("User-agent: *\nDisallow: /*.html$\n"), path="/a.html"),
    robots("wildcard_bait", "robots_refused", rules(FORBID + "*a" * 3000 + "$\n"), path="/" + "a" * 999),
    robots("million_rules", "ok", rules(MANY_RULES)),
    robots("allow_wins", "ok", rules("User-agent: *\nDisallow: /\nAllow: /open\n"), path="/open/a"),
    robots("no_agent", "ok", rules("Disallow: /\n")),
    robots("redirect", "robots_refused", redirect("/real"), others=(("/real", (rules(FORBID),)),)),
    robots("redirect_loop", "ok", redirect("/robots.txt")),
    robots("redirect_private", "address_refused robots_refused", redirect("http://10.0.0.1/robots.txt")),
    robots("redirect_file", "scheme_refused robots_refused ok", redirect("file:///etc/passwd")),
    robots("redirect_no_location", "ok", page("", None, status="302 x")),
    robots("delay_nan", "ok", rules("User-agent: *\nCrawl-delay: nan\n")),
    robots("delay_negative", "ok", rules("User-agent: *\nCrawl-delay: -10\n")),
    robots("delay_words", "ok", rules("User-agent: *\nCrawl-delay: slowly\n")),
    robots("delay_of_a_year", "lane_closed", rules("User-agent: *\nCrawl-delay: 31536000\n")),
    robots("delay_infinite", "ok lane_closed", rules("User-agent: *\nCrawl-delay: 1e999\n")),
    robots("sitemap_junk", "ok", rules("Sitemap: javascript:alert(1)\nSitemap: \x00\nSitemap: http://[bad\n")),
    robots("304", "robots_refused protocol_error ok", page("", None, status="304 x")),
)  # fmt: skip

CASES = (*LINES, *HEADS, *CODINGS, *STATUSES, *ODD_STATUSES, *REDIRECTS, *ROBOTS)


async def test_the_run_ends_by_itself_and_every_bad_server_has_a_named_outcome(tmp_path):
    assert await watched(CASES, tmp_path) == {}


async def test_a_fault_of_the_living_web_leaves_the_sound_pages_of_its_host_alone(tmp_path):
    slow = dict.fromkeys(("never_answers", "slow_headers", "slow_body"), 30.0)
    world = fault_world(amounts={**slow, "throttled": 1.0, "throttled_date": 1.0, "unavailable": 1.0})
    async with LivingWeb(world) as web:
        config = quick_config(web.port)
        # A sound page of a slow machine may take seconds too.
        config["fetch"] |= {"nameservers": [web.nameserver], "read_timeout": "5s", "total_timeout": "15s"}
        sources = [source | source.pop("options") for source in web.sources()]
        living = Field(tmp_path, config | {"sources": sources})
        told = await living.run("--until-idle")
        assert (told.code, told.err) == (7, "")  # some are not seen, and that is told
        for number, host in enumerate(world.hosts[: len(FAULTS)]):
            looks = [living.explain(web.url(number, n))["outcome"] for n in range(len(host.pages))]
            assert set(looks) <= set(Outcome) - {"bug"}, host.spec.name
            assert looks[2:] == ["ok", "ok"], (host.spec.name, looks)
        fronts = [living.explain(source["url"])["outcome"] for source in sources[len(FAULTS) :]]
        assert fronts == "ok server_error timeout connect_error ok ok throttled".split()
    assert living.tell("evidence", "verify").code == 0
