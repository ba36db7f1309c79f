"""The digest of a hunt: made of what is stored, written as text or HTML, or sent through a channel."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta

from vedette.app.channels import send_letter
from vedette.contracts.alerts import Delivery, Letter
from vedette.contracts.errors import InputError
from vedette.contracts.findings import HuntDigest, OddCard, PageReport
from vedette.core.findings.digest_entries import DigestTime, digest_of
from vedette.operations.finding_cards import cluster_json, found_together
from vedette.operations.hunt import cost_json, finding_json, hunt_cost
from vedette.operations.installation import Installation
from vedette.report.digest_letter import digest_html, digest_markdown
from vedette.store.finding_rows import judged_between

WEEK = timedelta(days=7)
_FORMS = {".md": digest_markdown, ".html": digest_html}


def hunt_digest(installation: Installation, *, since: datetime | None = None, top: int = 10) -> HuntDigest:
    """What was found since then; without a time: in the last week."""
    until = installation.now()
    start = since if since is not None else until - WEEK
    found = found_together(installation)
    with installation.reading() as db:
        pages = judged_between(db, start, until)
    digest = digest_of(found.cards, found.clusters, DigestTime(start, until, pages), most=top)
    return replace(digest, cost=hunt_cost(installation, since=start))


def digest_file(digest: HuntDigest, name: str) -> str:
    """As a file of that name: .md or .html."""
    return _FORMS[check_digest_name(name)](digest)


def check_digest_name(name: str) -> str:
    """Its ending; InputError where no digest is written like that."""
    found = next((ending for ending in _FORMS if name.lower().endswith(ending)), "")
    if not found:
        raise InputError(f"{name}: a digest is written as {' or '.join(_FORMS)}")
    return found


def send_digest(installation: Installation, digest: HuntDigest, channel: str) -> Delivery:
    """To one channel, now; a mail has it as text and as HTML."""
    text = digest_markdown(digest)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    letter = Letter(
        id=f"digest-{name}",
        subject=f"Vedette: {digest.headline}, {digest.until:%Y-%m-%d}",
        text=text,
        html=digest_html(digest),
        at=digest.until,
    )
    return send_letter(installation.loaded.config, channel, letter, clock=installation.clock)


def digest_json(digest: HuntDigest) -> dict[str, object]:
    return {
        "since": digest.since,
        "until": digest.until,
        "pages": digest.pages,
        "findings": digest.findings,
        "nothing": digest.is_nothing,
        "headline": digest.headline,
        "cost": None if digest.cost is None else cost_json(digest.cost),
        "cards": [card_json(card) for card in digest.cards],
        "clusters": [cluster_json(one) for one in digest.clusters],
    }


def card_json(card: OddCard) -> dict[str, object]:
    return {
        **finding_json(card.finding),
        "title": card.title,
        **report_json(card.report),
        "linked_from": card.linked_from,
        "cluster": card.cluster or None,
        "evidence": card.digest,
    }


def report_json(said: PageReport) -> dict[str, object]:
    return {
        "summary": said.summary,
        "why": [
            {"claim": one.words, "quote": one.quote.text, "at": one.quote.at, "points": one.points}
            for one in said.why
        ],
        "tags": said.tags,
        "confidence": said.confidence,
        "danger": said.danger or None,
        "analyst": said.author,
        "note": said.note,
    }
