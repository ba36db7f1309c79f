"""The digest of a hunt as Markdown and as HTML.  What comes from the web is text in both, and nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files

from vedette.contracts.findings import FindingCluster, HuntCost, HuntDigest, OddCard
from vedette.report.plain import count, plain

OFFLINE = "offline"
_MARKS = re.compile(r"([\\`*_\[\]<>#|!~])")
_STYLE = (files("vedette.report") / "assets" / "digest.css").read_text(encoding="utf-8")


def digest_markdown(digest: HuntDigest) -> str:
    """For a terminal, a file, a mail reader without HTML."""
    parts = [f"# {digest.headline}", "", _lead(digest), ""]
    for number, card in enumerate(digest.cards, start=1):
        row = [f"- {card.finding.score:.0f} <{card.finding.url}>"]
        parts += row if digest.is_nothing else [*_card_lines(number, card), ""]
    parts += [""] if digest.is_nothing and digest.cards else []
    if digest.clusters:
        parts += ["## Neighbourhoods", "", *(f"- {_marked(_brief(one))}" for one in digest.clusters), ""]
    return "\n".join([*parts, _how(digest), ""])


def digest_html(digest: HuntDigest) -> str:
    """For a browser and for mail."""
    told = _row if digest.is_nothing else _article
    cards = "\n".join(told(number, card) for number, card in enumerate(digest.cards, start=1))
    groups = "".join(f"<li>{escape(_brief(one))}</li>" for one in digest.clusters)
    near = f"<h2>Neighbourhoods</h2><ul>{groups}</ul>" if groups else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(digest.headline)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(digest.headline)}</h1>
<p class="lead">{escape(_lead(digest))}</p>
{cards}
{near}
<p class="dim">{escape(_how(digest).replace("`", ""))}</p>
</body>
</html>
"""


def cost_words(cost: HuntCost) -> str:
    """What a finding cost, in one sentence."""
    asked = f"{count(cost.calls, 'call')} of an analyst, ${cost.usd:.4f}"
    whole = f"{count(cost.looks, 'look')}, {cost.wire_bytes / 1e6:,.1f} MB"
    if not cost.findings:
        return f"spent without a finding: {whole}, {asked}"
    each = [f"{cost.looks / cost.findings:,.1f} looks", f"{cost.wire_bytes / 1e6 / cost.findings:,.2f} MB"]
    if cost.cpu_of_each is not None:
        each.append(f"{cost.cpu_of_each:,.2f} s of CPU")
    return f"a finding cost {', '.join(each)} and ${cost.usd / cost.findings:.4f} ({whole}, {asked})"


def _lead(digest: HuntDigest) -> str:
    time = f"{digest.since:%Y-%m-%d} to {digest.until:%Y-%m-%d}"
    looked = f"{time}: {count(digest.pages, 'new page')}, {count(digest.findings, 'finding')}."
    if not digest.is_nothing:
        return f"{looked} The oddest page of each host:"
    if not digest.findings:
        return f"{looked} There was nothing odd."
    return f"{looked} There was nothing that stood out; the best of what was kept all the same:"


def _how(digest: HuntDigest) -> str:
    spent = "" if digest.cost is None else f"Cost: {cost_words(digest.cost)}. "
    return (
        f"{spent}Every quote stands in the stored text of its page: `vedette evidence cat URL --text`. "
        "`vedette hunt show URL` says what each point is for, `vedette hunt mark URL odd` or `plain` teaches it."
    )


def _card_lines(number: int, card: OddCard) -> Iterator[str]:
    finding, said = card.finding, card.report
    yield f"## {number}. {_marked(_title(card))} ({finding.score:.0f})"
    yield ""
    yield f"<{finding.url}>"
    yield ""
    yield _marked(plain(said.summary, 600))
    if said.danger:
        yield f"Careful: {_marked(plain(said.danger, 200))}"
    yield ""
    for claim in said.why:
        points = f" (+{claim.points:.1f})" if claim.points else ""
        yield f"- {_marked(plain(claim.words, 200))}{points}:"
        yield f"  > {_marked(plain(claim.quote.text, 240))}"
    yield ""
    yield f"{_marked(_foot(card))}"


def _article(number: int, card: OddCard) -> str:
    finding, said = card.finding, card.report
    claims = "".join(
        f"<dt>{escape(plain(one.words, 200))}{f' (+{one.points:.1f})' if one.points else ''}</dt>"
        f"<dd>“{escape(plain(one.quote.text, 240))}”</dd>"
        for one in said.why
    )
    danger = f'<p class="danger">Careful: {escape(plain(said.danger, 200))}</p>' if said.danger else ""
    url = escape(finding.url)
    return (
        f'<article><div class="head"><h3>{number}. {escape(_title(card))}</h3><b>{finding.score:.0f}</b></div>'
        f'<p class="dim"><a href="{url}" rel="noopener noreferrer">{url}</a></p>'
        f"<p>{escape(plain(said.summary, 600))}</p>{danger}<dl>{claims}</dl>"
        f'<p class="dim">{escape(_foot(card))}</p></article>'
    )


def _row(number: int, card: OddCard) -> str:
    url = escape(card.finding.url)
    return f'<p>{card.finding.score:.0f} <a href="{url}" rel="noopener noreferrer">{url}</a></p>'


def _title(card: OddCard) -> str:
    return plain(card.title, 120) or plain(card.finding.place, 120)


def _foot(card: OddCard) -> str:
    """Who says so, how sure, and who links there."""
    said = card.report
    by = "Offline analyst" if said.author == OFFLINE else f"Analyst: {plain(said.author, 60)}"
    note = f" ({plain(said.note, 200)})" if said.note else ""
    links = f"; linked from {count(len(card.linked_from), 'other find')}" if card.linked_from else ""
    tags = f"; {', '.join(plain(tag, 40) for tag in said.tags)}" if said.tags else ""
    return f"{by}{note}; confidence {said.confidence:.0%}{tags}{links}."


def _brief(one: FindingCluster) -> str:
    return plain(one.brief, 600)


def _marked(text: str) -> str:
    """Text of others in Markdown: nothing of it is markup."""
    return _MARKS.sub(r"\\\1", text)
