"""Is this answer the page, or something that stands in front of it?

A block page, a captcha, a login wall, a soft 404 or an empty shell is an Outcome, not a change.
Evidence is counted in points.  Words weigh less the longer the text is, and nothing in a long text:
an article about captchas, or a law that mentions a page not found, is an ordinary page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import re2

from vedette.contracts.fetch import Extraction
from vedette.contracts.watch import Seen
from vedette.contracts.words import ContentClass, Outcome, Reason

ENOUGH = 10.0
PASSWORD_FIELD = 4.0
SHORT, MEDIUM, LONG = 400, 1200, 2500  # characters of text
WEIGHTS = {  # what a sign still says in a page of this size
    "title": ((MEDIUM, 1.0), (LONG, 0.6)),
    "text": ((SHORT, 1.0), (MEDIUM, 0.6), (LONG, 0.3)),
}
TEXTUAL = (ContentClass.HTML, ContentClass.TEXT, ContentClass.JSON, ContentClass.JSON_LD, ContentClass.XML)
WAS_TEXT = 500  # a page that had this much and now has next to nothing was not emptied by its editor
NEXT_TO_NOTHING = 60
A_FEW_WORDS = 20  # of a main part that is as short as that the rest of the page says whether it was emptied
REFUSING = (401, 403, 407, 429, 503)  # sent with the page of a wall
_LOGIN_PATH = re2.compile(r"(?i)/(?:log-?in|sign-?in|prijava|auth|sso)\b")


@dataclass(frozen=True, slots=True)
class Gated:
    """Why an answer is not the page."""

    outcome: Outcome
    reasons: tuple[Reason, ...]


class GateSign(NamedTuple):
    outcome: Outcome
    code: str
    where: str  # title | text
    points: float
    regex: Any


def _sign(outcome: Outcome, code: str, where: str, points: float, pattern: str) -> GateSign:
    return GateSign(outcome, code, where, points, re2.compile(f"(?i){pattern}"))


BLOCKED, LOGIN, LOST = Outcome.BLOCKED_PAGE, Outcome.LOGIN_WALL, Outcome.SOFT_404
DOWN = Outcome.SERVER_ERROR  # a page of the server about itself, sent with status 200
SIGNS = (
    _sign(
        BLOCKED,
        "title_challenge",
        "title",
        8,
        r"just a moment|one moment, please|attention required|security (?:check|verification)|are you (?:a )?"
        r"(?:robot|human)|(?:bot|human) verification|robot check|pardon our interruption|ddos.guard|"
        r"sigurnosna provjera|jeste li (?:robot|čovjek)",
    ),
    _sign(BLOCKED, "title_captcha", "title", 4, r"captcha"),
    _sign(
        BLOCKED,
        "title_denied",
        "title",
        7,
        r"access denied|request rejected|forbidden|\bblocked\b|too many requests|"
        r"access to this (?:page|site) (?:has been|is|was) (?:denied|blocked)|"
        r"pristup (?:je )?(?:odbijen|zabranjen|onemogućen)|zabranjen pristup",
    ),
    _sign(
        BLOCKED,
        "checks_browser",
        "text",
        7,
        r"checking (?:if the site connection|your browser)|verif(?:y|ying) "
        r"(?:that )?you are (?:a )?(?:human|not a robot)|enable (?:javascript|js) and|"
        r"please enable (?:javascript|js|cookies)|"
        r"made us think (?:that )?you (?:are|were) a bot|you.re not a robot|characters you see|"
        r"(?:potvrdite|dokažite) da niste robot|provjeravamo vaš preglednik",
    ),
    _sign(BLOCKED, "names_captcha", "text", 4, r"\b(?:re|h)?captcha\b|turnstile|nisam robot|i'm not a robot"),
    _sign(
        BLOCKED,
        "unusual_traffic",
        "text",
        7,
        r"unusual traffic|automat(?:ed|ion) (?:requests|queries|access|tools)|too many requests|rate limit exceeded|"
        r"neuobičajen promet|automatizirani (?:pristup|zahtjevi)",
    ),
    _sign(
        BLOCKED,
        "denies",
        "text",
        7,
        r"(?:access (?:to this page )?(?:has been |is )?(?:denied|blocked))|"
        r"your ip (?:address )?(?:has been|is) (?:blocked|banned)|"
        r"you (?:have been|are) blocked|requested url was rejected|you don.t have permission to access|"
        r"pristup (?:vam )?(?:je )?(?:odbijen|zabranjen|blokiran)",
    ),
    _sign(
        BLOCKED,
        "names_wall",
        "text",
        7,
        r"\bincapsula\b|sucuri website firewall|cloudflare ray id|\bdatadome\b",
    ),
    _sign(BLOCKED, "incident_number", "text", 4, r"\b(?:ray|incident|support|reference)(?: id|:? ?#)"),
    _sign(
        LOGIN,
        "title_login",
        "title",
        6,
        r"^(?:log ?in|sign ?in|login|prijava|prijavite se|autentifikacija)\b|"
        r"\b(?:log ?in|sign ?in|prijava korisnika)$",
    ),
    _sign(LOGIN, "asks_password", "text", 3, r"\bpassword\b|\blozink[aeu]\b|\bzaporka\b"),
    _sign(LOGIN, "asks_user", "text", 2, r"\busername\b|\be-?mail address\b|korisničk[oi]m? ime"),
    _sign(
        LOGIN,
        "forgotten",
        "text",
        3,
        r"forgot(?:ten)? (?:your )?password|zaboravljena lozinka|zaboravili ste",
    ),
    _sign(
        LOGIN,
        "must_log_in",
        "text",
        5,
        r"(?:please|you must|you need to) (?:log|sign) in|(?:morate|molimo) (?:se )?"
        r"prijavi(?:ti|te)|za nastavak (?:se )?prijavite",
    ),
    _sign(
        LOGIN,
        "log_in_to_see",
        "text",
        7,
        r"(?:log|sign|logged|signed) in to (?:view|see|access|read|continue)|session (?:has )?expired|"
        r"prijavi(?:ti|te) (?:se )?(?:za|kako biste) (?:pristup|nastav|vidje)|sesija (?:vam )?je istekla",
    ),
    _sign(
        LOST,
        "title_lost",
        "title",
        8,
        r"^404\b|(?:error|greška|http) 404|404 (?:error|not found|greška)|not found|nije pronađen|ne postoji",
    ),
    _sign(LOST, "title_404", "title", 4, r"\b404\b"),
    _sign(
        LOST,
        "says_lost",
        "text",
        7,
        r"page (?:you (?:requested|are looking for|were looking for) )?(?:was not|could not "
        r"be|cannot be|can.t be|does not|doesn.t|no longer) (?:found|exists?)|error 404|404 (?:error|not found)|"
        r"page not found|(?:can.t|cannot|couldn.t|could not) find (?:the |that |this )?page|"
        r"requested (?:url|document|file|page) (?:was|is|could) not (?:be )?found|nothing was found at this location|"
        r"stranic[au] (?:koju (?:ste )?traž\w+ )?(?:nije pronađena|ne postoji|nije dostupna)|"
        r"traženi (?:dokument|sadržaj) (?:nije pronađen|ne postoji)|tražena stranica|greška 404|"
        r"seite (?:wurde )?nicht gefunden|page introuvable|pagina non trovata|página no encontrada|stran ne obstaja",
    ),
    _sign(
        LOST,
        "nobody_lives_here",
        "text",
        7,
        r"domain (?:name )?(?:is|may be) (?:for sale|parked)|buy this domain|get this domain|"
        r"this account has been suspended|domena (?:je )?(?:na prodaju|parkirana|istekla)",
    ),
    _sign(
        DOWN,
        "title_maintenance",
        "title",
        7,
        r"^\W*(?:(?:we are |the )?(?:site|website|page|system|service|scheduled|planned|down|under|in|for|is|our)"
        r"\W+)*"
        r"(?:maintenance(?: (?:mode|page|break|in progress|work))?|temporarily (?:unavailable|down|offline)|"
        r"(?:we.ll|we will) be (?:right )?back(?: (?:soon|shortly))?)\W*$|"
        r"^\W*(?:(?:web|mrežna|mrežne|stranic[ae]|sustav[au]?|portal[a]?|stranica|u|na|je|radovi|tijeku)\W+)*"
        r"(?:održavanj[eau](?: (?:sustava|stranica|stranice|portala|u tijeku))?|"
        r"privremeno (?:nedostup\w+|nije dostup\w+))\W*$",
    ),
    _sign(
        DOWN,
        "says_maintenance",
        "text",
        5,
        r"\b(?:is|are) (?:currently |temporarily |now )?(?:down|offline|unavailable|closed|undergoing|under|in)"
        r" (?:for |due to |because of )?(?:a |some |our )?(?:brief |short |scheduled |planned |routine |essential )*"
        r"maintenance|"
        r"(?:is|are) temporarily (?:unavailable|offline|down)|maintenance (?:is )?in progress|"
        r"(?:trenutno|privremeno) (?:je |su |nije |nisu )?(?:nedostup|dostup|u fazi održavanja|na održavanju)|"
        r"(?:je|su) (?:trenutno |privremeno )?(?:nedostup\w+|u fazi održavanja|na održavanju)|"
        r"održavanje (?:\w+ )?(?:je )?u tijeku",
    ),
    _sign(
        DOWN,
        "will_be_back",
        "text",
        4,
        r"(?:we.ll|we will|should|will) be (?:right )?(?:back|up|online|available)\b|please (?:try|check|come|visit) "
        r"(?:us )?(?:again|back)|(?:thank you|thanks) for your (?:patience|understanding)|"
        r"sorry for (?:the|any) inconvenience|"
        r"vraćamo se|pokušajte (?:ponovn?o |opet )?(?:kasnije|malo)|hvala (?:vam )?na (?:strpljenju|razumijevanju)|"
        r"ispričavamo se|dostupn\w+ (?:uskoro|ubrzo)",
    ),
)
# A text about maintenance may be news.  It is the server's own only under such a title, or where a page was.
_SURE = {DOWN: ({"title_maintenance", "shrunk"}, {"says_maintenance", "will_be_back"})}  # one of each


def gate(status: int | None, extraction: Extraction, url: str, seen: Seen | None) -> Gated | None:
    """None: an ordinary answer.  Otherwise the Outcome that it is, and the evidence.

    What stands in front of a page is told before a filter that finds nothing in it.
    """
    found = _in_front(status, extraction, url, seen)
    if found is None and extraction.unmatched:
        return Gated(Outcome.FILTER_UNMATCHED, (Reason("filter_unmatched", note=extraction.unmatched),))
    return found


def _in_front(status: int | None, extraction: Extraction, url: str, seen: Seen | None) -> Gated | None:
    if extraction.missing:
        return Gated(Outcome.TOOL_MISSING, (Reason("tool_missing", note=extraction.missing),))
    if extraction.problem:
        return Gated(Outcome.PARSE_FAILED, (Reason("unreadable", note=extraction.problem),))
    if extraction.content_class not in TEXTUAL:
        return None
    size = len(extraction.text)
    if size > LONG:
        return None
    if size and extraction.content_class is ContentClass.HTML:
        on_login = _LOGIN_PATH.search(url) is not None
        hints = {BLOCKED: status in REFUSING, LOGIN: on_login, LOST: False, DOWN: False}
        found = [_weigh(outcome, extraction, seen, is_hinted=hints[outcome]) for outcome in hints]
        best = max(found, key=_points)
        if _points(best) >= ENOUGH:
            return best
    emptied = _emptied(extraction, seen)
    return Gated(Outcome.EMPTY, (emptied,)) if emptied is not None else None


def _points(gated: Gated) -> float:
    return sum(reason.points for reason in gated.reasons)


def _emptied(extraction: Extraction, seen: Seen | None) -> Reason | None:
    size, visible = len(extraction.text), extraction.visible_chars
    if size == 0:
        return Reason("no_text")
    if seen is None or seen.text_chars < WAS_TEXT:
        return None
    shown = max(size, visible) if size < A_FEW_WORDS else size
    is_read_otherwise = (
        abs(visible - seen.text_chars) <= seen.text_chars / 10
    )  # all of it was compared before
    if shown < NEXT_TO_NOTHING and not is_read_otherwise:
        return Reason("text_gone", size, f"{seen.text_chars} characters before")
    return None


def _weigh(outcome: Outcome, extraction: Extraction, seen: Seen | None, *, is_hinted: bool) -> Gated:
    size = len(extraction.text)
    weight = {
        where: next(share for limit, share in steps if size <= limit) for where, steps in WEIGHTS.items()
    }
    reasons = []
    if outcome is LOGIN and extraction.asks_password:
        reasons.append(Reason("password_field", round(PASSWORD_FIELD * weight["text"], 2)))
    for sign in SIGNS:
        said = extraction.title if sign.where == "title" else extraction.text
        if sign.outcome is outcome and sign.regex.search(said):
            reasons.append(Reason(sign.code, round(sign.points * weight[sign.where], 2)))
    if reasons and size <= SHORT:
        reasons.append(Reason("short", 3.0, f"{size} characters"))
    if reasons and seen is not None and size < seen.text_chars * 0.3:
        reasons.append(Reason("shrunk", 3.0, f"{seen.text_chars} characters before"))
    if reasons and is_hinted:
        reasons.append(Reason("status_or_address", 2.0))
    codes = {reason.code for reason in reasons}
    if not all(codes & one for one in _SURE.get(outcome, ())):
        return Gated(outcome, ())
    return Gated(outcome, tuple(reasons))


# Is this page an empty shell that only scripts fill?  Asked of pages that say next to nothing.

LITTLE = 200  # characters; a page that says more is read as it is
LOOK = 64 * 1024  # at either end
# The places where frameworks put what they make, empty or with a sign that something loads.
_ROOT = re.compile(
    rb"""<(?:div|main|section|body)\b[^>]{0,300}\bid\s*=\s*["']?(?:root|app|main-app|application|__next|__nuxt|___gatsby|q-app|svelte)
    (?=["'\s>])[^>]{0,300}>(?:\s|<!--.{0,200}?-->){0,20}<
    | <(?:app-root|my-app|[a-z]{1,20}-app|[a-z]{1,20}-root)\b[^>]{0,300}>""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_ASKS = re.compile(rb"<noscript\b[^>]{0,100}>.{0,600}?java\s?script", re.IGNORECASE | re.DOTALL)


def is_shell(extraction: Extraction, body: bytes) -> bool:
    """Little text, scripts, and either an empty root for them or a word to those who have none."""
    if len(extraction.text) >= LITTLE or extraction.content_class is not ContentClass.HTML:
        return False
    head = body if len(body) <= 2 * LOOK else body[:LOOK] + body[-LOOK:]
    if b"<script" not in head and b"<SCRIPT" not in head:
        return False
    return bool(_ROOT.search(head) or _ASKS.search(head))
