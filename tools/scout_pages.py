"""Writes tests/fixtures/scout/pages.jsonl.gz: labelled pages of the living web, good and worthless, hr and en.

A good page is an article of the truth.  A worthless one is a list, a front page, a part of a trap, a wall, or a page
of the host that says nothing.  `python tools/scout_pages.py [--check]`; a test compares.
"""

from __future__ import annotations

import gzip
import json
import pathlib
import sys
from collections.abc import Iterator

from vedette.livingweb import HostSpec, World
from vedette.livingweb.chance import Chance
from vedette.livingweb.faults import FAULTS, Case, trap_body, trap_entry, trap_links
from vedette.livingweb.layouts import LAYOUTS
from vedette.livingweb.render import render_home, render_list, render_note, render_page
from vedette.livingweb.wire import Reply
from vedette.livingweb.world import Host

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "tests/fixtures/scout/pages.jsonl.gz"
WHERE = "127.0.0.1:80"
GOOD = 10  # articles per host
WALLS = ("soft_404", "login_wall", "block_page_200", "captcha")
TRAPS = ("calendar", "facets", "nesting")
SAYINGS = {  # title, HTML: what sites say instead of something
    "hr": (
        ("Pretraživanje", "<p>Pretraga nije dala rezultata. Pokušajte s drugim pojmom.</p>"),
        ("Natječaji", "<p>Trenutačno nema objava.</p>"),
        ("U pripremi", "<p>Sadržaj je u pripremi.</p>"),
        ("Obavijest", "<p>Usluga je privremeno nedostupna zbog održavanja sustava.</p>"),
        ("Pogreška", "<p>Došlo je do pogreške prilikom obrade vašeg zahtjeva.</p>"),
        ("Prijava na newsletter", "<p>Hvala vam na prijavi! Vaša prijava je zaprimljena.</p>"),
        (
            "Kolačići",
            "<p>Koristimo kolačiće kako bismo poboljšali vaše iskustvo.</p><p>Postavke kolačića</p>",
        ),
        (
            "Moj račun",
            "<p>Prijavite se</p><form><input name=a><input type=password name=b></form><p>Lozinka</p>",
        ),
        ("Galerija", "<p>1 2 3 4 5</p>"),
        ("Preseljenje", "<p>Stranica je premještena. Bit ćete preusmjereni za nekoliko sekundi.</p>"),
        ("Dokumenti", "<p>Nema podataka za prikaz.</p>"),
        ("Aplikacija", "<p>Za rad aplikacije omogućite JavaScript.</p>"),
    ),
    "en": (
        ("Search", "<p>Your search returned no results. Check the spelling or try another word.</p>"),
        ("Vacancies", "<p>There are no entries at the moment.</p>"),
        ("News", "<p>This page is under construction. Come back soon.</p>"),
        ("Notice", "<p>The service is down for maintenance until tomorrow.</p>"),
        ("Error", "<p>An unexpected error has occurred. Reference 8812.</p>"),
        ("Newsletter", "<p>Thank you for subscribing. Please confirm by mail.</p>"),
        ("Privacy", "<p>This site uses cookies. Accept all cookies or change your cookie preferences.</p>"),
        ("Account", "<p>Sign in to your account</p><form><input name=a><input type=password name=b></form>"),
        ("Photographs", "<p>1 2 3 4 5</p>"),
        ("Moved", "<p>Our content has moved. You are being redirected.</p>"),
        ("Downloads", "<p>No documents found.</p>"),
        ("Map", "<p>JavaScript is required to show the map.</p>"),
    ),
}


def pages(seed: int = 41) -> Iterator[dict[str, str]]:
    specs = [
        HostSpec(name=f"{lang}-{layout}.example", lang=lang, layout=layout, pages=24, listing="html_list")
        for lang in ("hr", "en")
        for layout in LAYOUTS
    ]
    world = World(specs, seed=seed)
    for number, host in enumerate(world.hosts):
        yield from _good(host)
        yield from _worthless(host, number)
    for name in WALLS:
        case = Case(good=Reply(200), target="/", where=WHERE, t=world.epoch, amount=0.0)
        yield _row("worthless", "hr", f"wall {name}", FAULTS[name](case).body)


def _good(host: Host) -> Iterator[dict[str, str]]:
    for page in host.pages[:GOOD]:
        body = b"".join(render_page(host, page, page.index % 3, WHERE).parts)
        yield _row("good", host.spec.lang, f"{host.spec.layout} article {page.index}", body)


def _worthless(host: Host, number: int) -> Iterator[dict[str, str]]:
    lang, layout = host.spec.lang, host.spec.layout
    for count in (6, 20):
        body = b"".join(render_list(host, host.pages[:count], "", "").parts)
        yield _row("worthless", lang, f"{layout} list of {count}", body)
    yield _row("worthless", lang, f"{layout} front page", b"".join(render_home(host, WHERE, "").parts))
    trap = TRAPS[number % len(TRAPS)]
    links = trap_links(trap, trap_entry(trap), Chance("scout", number)) or []
    inside = render_note(host, "", trap_body(trap_entry(trap), links))
    yield _row("worthless", lang, f"{layout} trap {trap}", b"".join(inside.parts))
    sayings = SAYINGS[lang]
    for turn in range(6):
        title, text = sayings[(number * 5 + turn) % len(sayings)]
        body = b"".join(render_note(host, title, text).parts)
        yield _row("worthless", lang, f"{layout} says {title}", body)


def _row(label: str, lang: str, name: str, body: bytes) -> dict[str, str]:
    return {"label": label, "lang": lang, "name": name, "html": body.decode("utf-8")}


def written() -> bytes:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in pages()]
    return gzip.compress("".join(lines).encode(), 9, mtime=0)


def main() -> int:
    if "--check" in sys.argv:
        return 0 if gzip.decompress(PAGES.read_bytes()) == gzip.decompress(written()) else 1
    PAGES.write_bytes(written())
    print(f"{PAGES.relative_to(ROOT)}: {sum(1 for _ in pages())} pages, {PAGES.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
