"""What people and other programs hand us: configurations, URLs, lists.  One line and a code, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from bad_kit import program, tell

from vedette.contracts.words import Outcome
from vedette.core.urls.canonical import MAX_URL

BAD_INPUT, REFUSED, BAD_CONFIG, STORE = 2, 3, 4, 5
GOOD_URL = "http://good.example/a"
LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(9)
)
HOSTILE_YAML = {
    "binary": bytes(range(256)),
    "nul": b"a: b\0",
    "utf16": "sources: []".encode("utf-16"),
    "latin1": b"data: \xe9\xff",
    "tabs": b"sources:\n\t- url: x\n",
    "list": b"- a\n- b",
    "scalar": b"hello",
    "number": b"42",
    "unclosed": b"sources: [",
    "two documents": b"a: 1\n---\nb: 2",
    "code": b'!!python/object/apply:os.system ["true"]',
    "no such date": b"data: 2026-99-99",
    "bool that is none": b"data: !!bool 7",
    "timestamp that is none": b"data: !!timestamp x",
    "deep list": b"[" * 99_999,
    "deep map": b"{a: " * 9999,
    "deep block": b"- " * 9999 + b"x",
    "laughs": LAUGHS.encode(),
    "alias of itself": b"sources: &a [*a]",
    "alias of nothing": b"sources: *a",
    "huge number": b"run: {at_once: " + b"9" * 5000 + b"}",
    "huge hex number": b"run: {at_once: 0x" + b"f" * 50_000 + b"}",
    "key that is a list": b"? [a]\n: b",
    "key that is a number": b"1: 2",
    "unknown section": b"sorces: []",
    "unknown key": b"fetch: {reed_timeout: 3s}",
}
WRONG: dict[str, dict[str, Any]] = {
    "sources is a map": {"sources": {"a": "b"}},
    "source is a word": {"sources": ["x"]},
    "source is null": {"sources": [None]},
    "url missing": {"sources": [{"name": "x"}]},
    "url is a number": {"sources": [{"url": 5}]},
    "rate not a number": {"lanes": {"default": {"per_minute": float("nan")}}},
    "rate without end": {"lanes": {"default": {"per_minute": float("inf")}}},
    "rate too small": {"lanes": {"default": {"per_minute": 1e-300}}},
    "gap of an age": {"lanes": {"default": {"gap_min": "99999w"}}},
    "gap beyond numbers": {"lanes": {"default": {"gap_min": "9" * 400 + "w"}}},
    "gap is true": {"lanes": {"default": {"gap_min": True}}},
    "lane is null": {"lanes": {"default": None}},
    "port": {"fetch": {"allow_ports": [99_999]}},
    "ports in a word": {"fetch": {"allow_ports": "all"}},
    "network": {"fetch": {"allow_networks": ["everything"]}},
    "network with host bits": {"fetch": {"allow_networks": ["10.0.0.1/8"]}},
    "nameserver": {"fetch": {"nameservers": ["nope"]}},
    "certificates": {"fetch": {"ca_file": "/nonexistent"}},
    "agent with a line end": {"fetch": {"user_agent": "a\nX-Evil: b"}},
    "agent too long": {"fetch": {"user_agent": "a" * 9999}},
    "header name with a line end": {"fetch": {"headers": {"X\r\nY": "z"}}},
    "header value with a line end": {"fetch": {"headers": {"X": "z\r\nY: w"}}},
    "header of the framing": {"fetch": {"headers": {"Content-Length": "5"}}},
    "header from nowhere": {"fetch": {"headers": {"X": "env:NOT_SET_ANYWHERE"}}},
    "proxy of another kind": {"fetch": {"proxy": "socks5://x"}},
    "proxy that is no URL": {"fetch": {"proxy": "http://[bad"}},
    "timeout of nothing": {"fetch": {"total_timeout": "0s"}},
    "no bytes at all": {"fetch": {"wire_limit": 0}},
    "more bytes than memory": {"fetch": {"body_limit": "9999g"}},
    "redirects": {"fetch": {"redirects": 9999}},
    "policy": {"schedule": {"policy": "magic"}},
    "interval of nothing": {"schedule": {"policy": "fixed", "interval": "0s"}},
    "scope": {"extract": {"scope": "everything"}},
    "negative size": {"extract": {"worker_above": -5}},
    "screen row without rule": {"screen": [{"category": "a"}]},
    "screen expression": {"screen": [{"category": "a", "pattern": "("}]},
    "screen digest": {"screen": [{"category": "a", "digest": "xyz"}]},
    "role expression": {"classify": {"patterns": [{"pattern": "(", "role": "FORM", "risk": "LOW"}]}},
    "language pack": {"classify": {"packs": ["xx"]}},
    "no attempts": {"retry": {"attempts": 0}},
    "delay of an age": {"retry": {"shortest": "99999w"}},
    "data with a nul": {"data": "a\0b"},
}
SOURCE: dict[str, dict[str, Any]] = {
    "url of a file": {"url": "file:///etc/passwd"},
    "url with a space": {"url": "http://a b/"},
    "expression": {"url_pattern": "("},
    "look-ahead": {"include": ["(?=a)"]},
    "back-reference": {"exclude": [r"(a)\1"]},
    "pagination": {"pagination_pattern": "[["},
    "lister": {"lister": "magic"},
    "risk": {"risk": "HUGE"},
    "retention as a path": {"retention": "../../x"},
    "retention too long": {"retention": "x" * 500},
    "date": {"start_date": "tomorrow"},
    "frequency": {"scrape_frequency": "SOMETIMES"},
    "depth": {"max_depth": -1},
    "setting": {"fetch": {"nope": 1}},
    "network of its own": {"fetch": {"allow_networks": ["x"]}},
    "port of its own": {"fetch": {"allow_ports": [0]}},
}


def run_with(folder: Path, body: bytes) -> tuple[int, dict[str, Any]]:
    """`vedette run --once` with this file; what it says on stderr is one JSON object."""
    file = folder / "vedette.yaml"
    file.write_bytes(body)
    told = tell("run", "--once", "--json", "--config", str(file))
    assert told.out == ""
    return told.code, json.loads(told.err)


@pytest.mark.parametrize("name", HOSTILE_YAML)
def test_a_file_that_is_no_configuration_is_refused_in_one_line(name, tmp_path):
    code, said = run_with(tmp_path, HOSTILE_YAML[name])
    assert code == BAD_CONFIG
    assert 10 < len(said["error"]) < 600
    assert "\n" not in said["error"]


@pytest.mark.parametrize("name", WRONG)
def test_a_value_that_no_run_could_use_is_refused_before_anything_is_opened(name, tmp_path):
    code, said = run_with(tmp_path, yaml.safe_dump(WRONG[name]).encode())
    assert (code, said["kind"]) == (BAD_CONFIG, "bad_config"), said
    assert not (tmp_path / "vedette-data").exists()


@pytest.mark.parametrize("name", SOURCE)
def test_a_source_that_cannot_be_watched_is_named(name, tmp_path):
    row = {"url": "http://127.0.0.1/", "lister": "page"} | SOURCE[name]
    code, said = run_with(tmp_path, yaml.safe_dump({"sources": [row]}).encode())
    assert code == BAD_CONFIG, said


@pytest.mark.parametrize("body", [b"", b"  \n", b"null", b"\xef\xbb\xbfsources: []", b'{"sources": []}\r\n'])
def test_an_empty_configuration_is_one(body, tmp_path):
    file = tmp_path / "vedette.yaml"
    file.write_bytes(body)
    assert tell("run", "--once", "--config", str(file)).code == 0


def test_sources_whose_names_look_alike_are_all_kept(tmp_path):
    urls = [f"http://127.0.0.1/{path}" for path in ("a-b", "a_b", "a+b", "A.B")]
    file = tmp_path / "vedette.yaml"
    file.write_text(
        yaml.safe_dump({"data": "data", "sources": [{"url": url, "lister": "page"} for url in urls]})
    )
    assert tell("run", "--once", "--max-visits", "1", "--config", str(file)).code == 7  # refused, and told
    listed = tell("sources", "list", "--json", "--config", str(file)).json["sources"]
    assert sorted(row["url"] for row in listed) == sorted(urls)


NO_URLS = (
    "", " ", "x", "example.org", "//example.org/", "http://", "http:///", "http://?", "http://#", "htp://example.org/",
    "file:///etc/passwd", "ftp://example.org/", "javascript:alert(1)", "data:text/html,x", "mailto:a@b", "about:blank",
    "gopher://x/", "ws://example.org/", "blob:http://example.org/x", "view-source:http://example.org/", "feed://example.org/",
    "http://exa mple.org/", "http://example.org:99999/", "http://example.org:-1/", "http://example.org:abc/", "http://[::1",
    "http://[fe80::1%25eth0]/", "http://[1:2:3:4:5:6:7:8:9]/", "http://[v1.x]/", "http://[]/", "http://.../",
    "http://1.2.3.4.5/", "http://256.1.1.1/", "http://999999999999/", "http://example.org%00.evil/", "\ud800",
    "http://example.org/\udcff", "http://example.org/" + "a" * 5000, "http://example.org/" + "a" * 100_000,
)  # fmt: skip
SAME_URL = {
    "HTTP://EXAMPLE.ORG": "http://example.org/",
    "http:example.org": "http://example.org/",
    "http:\\\\example.org\\": "http://example.org/",
    "http://example.org./": "http://example.org/",
    "http://user:secret@example.org/": "http://example.org/",
    "http://example.org:80/#top": "http://example.org/",
    "http://ex%61mple.org/": "http://example.org/",
    "http://example.org/../../etc/passwd": "http://example.org/etc/passwd",
    "http://example.org/a b": "http://example.org/a%20b",
    "http://example.org/\x1b[2J": "http://example.org/%1B[2J",
    "http://example.org/\u202e": "http://example.org/%E2%80%AE",
    "http://šđčć.hr/": "http://xn--4dall33a.hr/",
    "http://127.1/": "http://127.0.0.1/",
    "http://2130706433/": "http://127.0.0.1/",
    "http://0x7f000001/": "http://127.0.0.1/",
    "http://0177.0.0.1/": "http://127.0.0.1/",
}


@pytest.mark.parametrize("url", NO_URLS, ids=lambda url: ascii(url)[:40])
@pytest.mark.parametrize("verb", ["add", "classify", "why-not"])
def test_what_is_no_url_of_ours_is_bad_input(verb, url, tmp_path):
    if verb == "why-not" and len(url) > MAX_URL:
        verb = "add"  # that it is too long is the answer to why not: test_url_length
    told = tell(verb, "--json", "--data", str(tmp_path / "data"), "--", url)
    assert told.code == BAD_INPUT, told.err
    assert json.loads(told.err)["error"]


@pytest.mark.parametrize(("given", "kept"), SAME_URL.items(), ids=ascii)
def test_a_url_in_another_spelling_is_the_same_target(given, kept, tmp_path):
    told = tell("add", "--json", "--data", str(tmp_path / "data"), "--", given)
    assert (told.code, told.json["url"]) == (0, kept)
    assert tell("explain", "--json", "--data", str(tmp_path / "data"), "--", given).json["url"] == kept


def test_a_blocked_host_is_refused(tmp_path):
    assert tell("add", "https://test.example.org/", "--data", str(tmp_path / "data")).code == REFUSED


ODD_HOSTS = {
    "http://127.0.0.1/": "address_refused",
    "http://0/": "address_refused",
    "http://[::1]/": "address_refused",
    "http://[::ffff:10.0.0.1]/": "address_refused",
    "http://[64:ff9b::10.0.0.1]/": "address_refused",
    "http://169.254.169.254/latest/": "address_refused",
    "http://100.64.0.1/": "address_refused",
    "http://example.org:0/": "address_refused",
    "http://example.org:22/": "address_refused",
    "http://xn--/": "dns_error",
    "http://.example.org/": "dns_error",
    "http://-example.org/": "dns_error",
    "http://a_b.example/": "dns_error",
    "http://exa$mple.org/": "dns_error",
    f"http://{'a' * 64}.org/": "dns_error",
    f"http://{'a.' * 200}org/": "dns_error",
    "https://no-such-name.invalid/": "dns_error",
}


async def test_odd_hosts_end_as_named_outcomes(tmp_path):
    config = {
        "data": "data",
        "fetch": {"nameservers": ["127.0.0.1:9"], "connect_timeout": "2s"},  # nobody answers there
        "lanes": {"default": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0}},
        "retry": {"attempts": 1},
        "sources": [{"url": url, "lister": "page"} for url in ODD_HOSTS],
    }
    file = tmp_path / "vedette.yaml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    told = await program(tmp_path, "run", "--until-idle", "--json", config=file)
    assert (told.code, told.err) == (7, "")  # none of them is seen
    found = {url: tell("explain", "--json", url, "--data", str(tmp_path / "data")).json for url in ODD_HOSTS}
    assert {url: said["outcome"] for url, said in found.items() if said["outcome"] != ODD_HOSTS[url]} == {}
    assert all(said["visits"][0]["detail"] for said in found.values())
    assert not any(visit["outcome"] == Outcome.BUG for said in found.values() for visit in said["visits"])


CUT_OPML = '<opml><body><outline xmlUrl="http://good.example/a"/><outl'
EVIL_OPML = '<!DOCTYPE o [<!ENTITY x SYSTEM "file:///etc/passwd">]><opml><body><outline text="&x;" xmlUrl="http://good.example/a"/></body></opml>'
LISTS: dict[str, tuple[str | bytes, int]] = {  # what is in it, how many can be taken
    "blank.txt": ("\n\n# nothing\n", 0),
    "binary.txt": (bytes(range(256)) * 9, 0),
    "utf16.txt": (f"{GOOD_URL}\n".encode("utf-16"), 1),
    "evil.txt": (f"file:///etc/passwd\njavascript:1\nhttp://[bad\n{GOOD_URL}\n", 1),
    "long.txt": (f"http://a.example/{'x' * 10**6}\n{GOOD_URL}\n", 1),
    "many.txt": ("x\n" * 5000, 0),
    "quote.csv": (f'{GOOD_URL},"never closed\n', 1),
    "quotes.csv": ('"' * 99_999, 0),
    "risk.csv": (f"url,risk\n{GOOD_URL},HUGE\n", 0),
    "json.csv": (f'url,fetch\n{GOOD_URL},"{"[" * 9999}"\n', 0),
    "field.csv": (f"url,name\n{GOOD_URL},{'n' * 200_000}\n", 0),
    "nul.csv": (f"url,name\n{GOOD_URL},a\0b\n", 1),
    "cut.opml": (CUT_OPML, 1),
    "evil.opml": (EVIL_OPML, 1),
    "deep.opml": ("<opml><body>" + "<outline>" * 9999, 0),
    "page.opml": ("<html><body>x</body></html>", 0),
    "text.opml": ("hello", 0),
    "bad.jsonl": (f'{{"url": \n[]\n5\nnull\n{{"url": 5}}\n{{"nope": 1}}\n{{"url": "{GOOD_URL}"}}\n', 1),
    "deep.jsonl": ("[" * 99_999, 0),
    "number.jsonl": (f'{{"url": "{GOOD_URL}", "max_depth": {"9" * 9999}}}\n', 0),
    "surrogate.jsonl": (f'{{"url": "{GOOD_URL}", "name": "\\ud800"}}\n{{"url": "{GOOD_URL}"}}\n', 1),
    "laughs.yaml": (LAUGHS + "sources: [*j]\n", 0),
    "itself.yaml": ("sources: &a [*a]\n", 0),
    "code.yaml": ("sources: !!python/object/apply:os.system [x]\n", 0),
    "mixed.yaml": (f"sources:\n- 5\n- null\n- {{url: 5}}\n- {{url: '{GOOD_URL}'}}\n", 1),
    "jobs.yaml": (
        f"url: {GOOD_URL}\n---\ncommand: rm -rf /\n---\n{{bad\n---\nurl: [1]\n---\n0x{'f' * 9999}\n",
        1,
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_bad_line_of_a_list_is_named_and_the_good_ones_are_taken(name, tmp_path):
    body, good = LISTS[name]
    file = tmp_path / name
    file.write_bytes(body if isinstance(body, bytes) else body.encode())
    told = tell("import", str(file), "--json", "--data", str(tmp_path / "data"))
    said = told.json
    assert said["taken"] == good
    assert told.code == (BAD_INPUT if said["problems"] else 0)
    assert all(problem["why"] for problem in said["problems"])


@pytest.mark.parametrize("form", ["urls", "csv", "opml", "urlwatch", "webchanges", "jsonl", "yaml"])
def test_a_list_in_no_format_at_all_is_bad_input_in_every_format(form, tmp_path):
    file = tmp_path / "noise"
    file.write_bytes(bytes(range(1, 256)) * 9)
    told = tell("import", str(file), "--format", form, "--json", "--data", str(tmp_path / "data"))
    assert (told.code, told.json["taken"]) == (BAD_INPUT, 0)


def test_a_list_that_is_not_there_or_a_folder_is_bad_input(tmp_path):
    for place in (tmp_path / "nothing", tmp_path):
        assert tell("import", str(place), "--data", str(tmp_path / "data")).code == BAD_INPUT
