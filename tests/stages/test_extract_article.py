"""An article is cut down to itself; a page that is none loses nothing."""

from __future__ import annotations

import random

import pytest
from test_extract_page import block_pair

from vedette.extract import blocks, extract

URL = "https://a.hr/vijesti/1"
HTML = "text/html; charset=utf-8"
SENTENCES = (
    "Ministarstvo je objavilo nove upute o prijavi poreza na dohodak za prethodnu godinu, kako je najavljeno.",
    "Obveznici koji nisu podnijeli prijavu mogu to učiniti do kraja mjeseca bez ikakvih posljedica.",
    "Uprava podsjeća da se rok ne produljuje ni u kojem slučaju, a kazne su propisane zakonom.",
    "Prijava se podnosi elektroničkim putem, a iznimno i na šalteru nadležne ispostave porezne uprave.",
    "Povrat preplaćenog poreza isplaćuje se najkasnije do trideset i prvog srpnja tekuće godine.",
)
PROSE = "".join(f"<p>{one}</p>" for one in SENTENCES)
LINKS = "".join(f"<li><a href='/v/{n}'>Druga vijest broj {n}</a></li>" for n in range(8))
SIDE = {
    "share": "<div class='social-share'>Podijelite ovu vijest s prijateljima</div>",
    "related": f"<div class=related><h3>Povezano</h3><ul>{LINKS}</ul></div>",
    "comments": "<div id=comments><p>Prvi!</p><p>Sjajan članak, hvala puno na trudu.</p></div>",
    "newsletter": "<section class=newsletter><h4>Prijavite se na bilten</h4><form><input></form></section>",
    "list of links": f"<ul>{LINKS}</ul>",
    "side column": f"<div class=col><h3>Najčitanije</h3><ul>{LINKS}</ul></div>",
}
CONTENT = {
    "table": "<table><tr><td>Stopa</td><td>25 %</td></tr><tr><td>Prag</td><td>60.000,00 EUR na godinu</table>",
    "list": "<ul><li>obrazac se predaje u dva primjerka</li><li>uz obrazac se prilaže potvrda</li></ul>",
    "document": "<div><a href='/dat/odluka.pdf'>Odluka (PDF)</a></div>",
    "documents": "<ul><li><a href='/a.pdf'>Obrazac A</a></li><li><a href='/b.docx'>Obrazac B</a></li></ul>",
    "signature": "<div>KLASA: 410-01/26-01/1</div><div>Zagreb, 5. siječnja 2026.</div><div>Ravnatelj</div>",
    "short line": "<p>Rok: 15. siječnja.</p>",
    "definition": "<dl><dt>Rok za prijavu poreza</dt><dd>15. siječnja</dd><dt>Iznos</dt><dd>25 %</dd></dl>",
    "heading": "<h2>Članak 5.</h2><p>Rok je 8 dana.</p>",
    "date in the text": "<p>Objavljeno: 5. siječnja 2026.</p>",
}


def read(body: str) -> str:
    return extract(f"<html><body>{body}</body></html>".encode(), url=URL, content_type=HTML).text


@pytest.mark.parametrize("name", SIDE)
@pytest.mark.parametrize("place", ["before", "between", "after", "outside"])
def test_what_stands_around_an_article_is_not_compared(name, place):
    side = SIDE[name]
    half = len(PROSE) // 2
    half = PROSE.index("<p>", half)
    inner = {
        "before": side + PROSE,
        "between": PROSE[:half] + side + PROSE[half:],
        "after": PROSE + side,
    }.get(place, PROSE)
    found = read(f"<div><div class=text>{inner}</div>{side if place == 'outside' else ''}</div>")
    assert found == " ".join(SENTENCES)


SHORT = ("signature", "short line", "heading", "date in the text")  # outside of the prose they are side lines
STAYS = [
    (name, place) for name in CONTENT for place in ("inside", "beside", "far")[: 1 if name in SHORT else 3]
]


@pytest.mark.parametrize(("name", "place"), STAYS)
def test_what_is_content_of_an_article_stays_wherever_it_stands(name, place):
    """Also outside of the part that holds the prose: a deadline in a box of its own is compared too."""
    content = CONTENT[name]
    forms = {
        "inside": f"<div>{PROSE}{content}</div>",
        "beside": f"<div><div>{PROSE}</div><div>{content}</div></div>",
        "far": f"<div><div><div>{PROSE}</div></div></div><div><div>{content}</div></div>",
    }
    page = f"{forms[place]}<div class=related><ul>{LINKS}</ul></div>"
    words = read(content)
    assert words
    assert words in read(page)
    assert "Druga vijest" not in read(page)


MANY = range(20)
NO_ARTICLES = {
    "list of notices": "".join(f"<li><a href='/n/{n}'>Obavijest {n}</a> {n}. 1. 2026.</li>" for n in MANY),
    "table of rates": "".join(f"<table><tr><td>Valuta {n}</td><td>1,{n:04}</td></tr></table>" for n in MANY),
    "short notice": "<h1>Obavijest</h1><div class=meta>Zagreb, 5. 1. 2026.</div><p>Ured u petak ne radi.</p>",
    "documents": "".join(f"<div class=tags><a href='/d/{n}.pdf'>Dokument {n}</a></div>" for n in MANY),
    "contacts": "".join(f"<div class=widget>Ispostava {n}: 01 4591 {n:03}</div>" for n in MANY),
    "teasers": "".join(
        f"<div class=latest><h3><a href='/{n}'>Vijest {n}</a></h3><p class=date>{n}. 1.</p></div>"
        for n in MANY
    ),
    "questions": "".join(
        f"<details><summary>Pitanje {n}?</summary><p>Odgovor {n}.</p></details>" for n in range(12)
    ),
    "one long paragraph": f"<p>{' '.join(SENTENCES)}</p><div class=latest><p>Cijena: 5 EUR</p></div>",
}


@pytest.mark.parametrize("name", NO_ARTICLES)
def test_a_page_that_is_no_article_loses_nothing(name):
    body = f"<div>{NO_ARTICLES[name]}</div>"
    whole = extract(f"<body>{body}</body>".encode(), url=URL, content_type=HTML, scope="all").text
    assert read(body) == whole


@pytest.mark.parametrize("seed", range(30))
def test_prose_is_never_lost_whatever_it_is_wrapped_in(seed):
    """Long paragraphs in any nesting, under any name but those of comments and the like."""
    chance = random.Random(seed)
    parts = []
    for one in chance.sample(SENTENCES * 2, 8):
        depth = chance.randint(0, 4)
        names = [chance.choice(("text", "a1", "entry", "wp-block", "col-md-8", "body")) for _ in range(depth)]
        parts.append("".join(f"<div class={name}>" for name in names) + f"<p>{one}</p>" + "</div>" * depth)
    found = read("".join(parts) + f"<div class=related><ul>{LINKS}</ul></div>")
    assert all(found.count(one) == "".join(parts).count(one) for one in SENTENCES)


CALLS = "".join(f"<li><a href='/n/{n}'>Javni poziv za dodjelu potpora broj {n}</a></li>" for n in range(40))
AGREED = "Slažem se s autorom, ali je taj rok prekratak za sve nas male poduzetnike i obrtnike."
REMARK = f"<div class=comment><p>{AGREED}</p></div>"
KEPT = {
    "linked headings": (f"<h2><a href='/x'>Kalkulator poreza</a></h2>{PROSE}", "Kalkulator poreza"),
    "a headline as id": (
        f"{PROSE}<div id=share-of-the-tax-in-all-income><p>{SENTENCES[0][:99]}</p>Udio</div>",
        "Udio",
    ),
    "words of a paragraph": (
        f"{PROSE}<p>{SENTENCES[0]} <a class=popup href='/z'>Zakon o porezu</a></p>",
        "Zakon o porezu",
    ),
    "a discussion": (f"<p>{SENTENCES[0]}</p><div class=comments>{REMARK * 9}</div>", "obrtnike. Slažem"),
    "a list with an introduction": (f"<p>{'</p><p>'.join(SENTENCES)}</p><ul>{CALLS}</ul>", "broj 39"),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_only_looks_like_side_matter_is_compared(name):
    body, words = KEPT[name]
    assert words in read(body)


def test_an_article_is_found_behind_a_menu_that_is_longer():
    menu = "".join(f"<li><a href='/m/{n}'>Stavka izbornika broj {n}</a></li>" for n in range(200))
    assert read(f"<nav><ul>{menu}</ul></nav><main>{PROSE}</main>") == " ".join(SENTENCES)
    assert read(f"<div><ul>{menu}</ul></div><article>{PROSE}</article>") == " ".join(SENTENCES)


def test_a_part_named_main_is_not_believed_when_more_prose_is_outside():
    rest = "".join(f"<p>{n}. {one}</p>" for n in range(4) for one in SENTENCES)
    assert "3. Obveznici" in read(f"<div>{rest}</div><article>{PROSE}</article>")


WORDS = "porez prijava rok obveznik uprava zakon članak iznos obrazac potvrda račun dohodak".split()


class Page:
    """A page drawn by chance, near every threshold of the rule, that can be edited a little."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.number = 0
        tags = ("main", "article", "div", "section")
        self.wrapper = (chance.choice(tags), chance.choice(("text", "post tag-porez", "has-sidebar", "a b")))
        self.paragraphs = [self.line(chance.randint(60, 300)) for _ in range(chance.randint(2, 8))]
        self.content = [self.line(20) for _ in range(chance.randint(2, 5))]
        self.side = chance.choice(("comments", "related", "promo", "latest"))
        self.remarks = [self.line(chance.randint(60, 200)) for _ in range(chance.randint(0, 4))]
        self.teasers = [self.line(40) for _ in range(chance.choice((0, 3, 30)))]
        self.cards = [self.line(30) for _ in range(chance.choice((0, 0, 1)))]

    def line(self, chars: int) -> str:
        self.number += 1
        said = f"Redak {self.number}"
        while len(said) < chars:
            said += " " + self.chance.choice(WORDS)
        return said

    def edit(self) -> tuple[set[str], set[str]]:
        """Changes one thing; the lines that went and those that came."""
        part = self.chance.choice((self.paragraphs, self.content, self.remarks, self.teasers, self.cards))
        kind = self.chance.choice(("change", "add", "remove")) if len(part) > 2 else "add"
        new = {self.line(self.chance.randint(30, 150))} if kind != "remove" else set()
        at = self.chance.randrange(len(part)) if part else 0
        old = {part[at]} if kind != "add" else set()
        part[at : at + len(old)] = new
        return old, new

    def html(self) -> bytes:
        tag, name = self.wrapper
        prose = "".join(f"<p>{one}</p>" for one in self.paragraphs)
        items = "".join(f"<li>{one}</li>" for one in self.content)
        remarks = "".join(f"<div class=item><p>{one}</p></div>" for one in self.remarks)
        teasers = "".join(f"<li><a href='/{n}'>{one}</a></li>" for n, one in enumerate(self.teasers))
        cards = "".join(f"<article>{one}</article>" for one in self.cards)
        return (
            f"<body><div>Vrh stranice</div><{tag} class='{name}'>{prose}<ul>{items}</ul>"
            f"<div class={self.side}>{remarks}</div></{tag}><div><ul>{teasers}</ul></div>{cards}</body>"
        ).encode()


@pytest.mark.parametrize("seed", range(300))
def test_a_small_edit_changes_nothing_else_of_what_is_compared(seed):
    """Whatever an edit adds or takes away, the same parts of the page are compared before and after it."""
    page = Page(seed)
    for _ in range(4):
        before = page.html()
        old, new = page.edit()
        one, other = block_pair(before, page.html(), url=URL, content_type=HTML)
        was, now = {text for _, text in one}, {text for _, text in other}
        assert was - now <= old
        assert now - was <= new


def test_a_page_that_becomes_an_article_does_not_seem_to_lose_its_surroundings():
    side = SIDE["related"]
    before = f"<body><div><p>{SENTENCES[0]}</p></div>{side}</body>".encode()
    after = f"<body><div>{PROSE}</div>{side}</body>".encode()
    one, other = block_pair(before, after, url=URL, content_type=HTML)
    gone = {text for _, text in one} - {text for _, text in other}
    assert gone == set()


def test_blocks_and_text_are_cut_alike():
    page = f"<body><div>{PROSE}{SIDE['share']}</div>{SIDE['related']}</body>".encode()
    text = extract(page, url=URL, content_type=HTML).text
    assert " ".join(words for _, words in blocks(page, url=URL, content_type=HTML)) == text
