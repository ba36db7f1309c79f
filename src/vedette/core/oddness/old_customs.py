"""Customs of a web that is gone: guestbooks, counters, rings, "best viewed with".  In several languages.

A row is one custom; a page is counted by how many different ones it has, never by how often it says a word.
"""

from __future__ import annotations

import re2

CUSTOMS = (
    ("guestbook", r"guest ?book|g[aä]stebuch|livre d.or|libro de visitas|gastenboek|knjiga gostiju|libro degli ospiti"),
    ("counter", r"hit counter|counter\.(?:gif|cgi|png)|visitors? since|you are visitor|besucher(?:z[aä]hler| seit| nr)|"
                r"compteur|contador de visitas|brojač|posjetitelj br|visitatori dal"),
    ("ring", r"web ?ring|\[ ?(?:prev|previous|next|random) ?\]|ring ?(?:master|meister)|previous site|next site"),
    ("best_viewed", r"best viewed|optimi[sz]ed for|optimiert f[uü]r|netscape|800 ?x ?600|640 ?x ?480|1024 ?x ?768|"
                    r"internet explorer|lynx|najbolje se (?:vidi|gleda)|resoluci[oó]n de"),
    ("updated", r"last (?:updated|modified|revised|changed)|zuletzt (?:ge[aä]ndert|aktualisiert)|letzte [aä]nderung|"
                r"derni[eè]re mise|[uú]ltima (?:actualizaci[oó]n|modifica)|ultimo aggiornamento|zadnja izmjena|"
                r"posljednj[ae] (?:izmjena|promjena)"),
    ("construction", r"under construction|im aufbau|en construction|en construcci[oó]n|u izradi|"
                     r"in costruzione|baustelle"),
    ("home_page", r"my (?:home ?page|corner of|little corner|web ?site)|personal home ?page|meine (?:homepage|seite)|"
                  r"ma page perso|mi p[aá]gina|moja stranica|pagina personale|webmaster|web ?master"),
    ("host", r"geocities|angelfire|tripod|xoom|fortunecity|aol\.com|compuserve|gopher|telnet|usenet|bbs\b|ftp\.|alt\."),
    ("plain_text", r"made (?:with|in|by) (?:notepad|vi\b|hand|emacs)|hand-?(?:coded|made|written) html|no javascript|"
                   r"html 3\.2|html 4\.0|text only|nur text"),
    ("sign_off", r"sysop|e-?mail the|mail me|write to me|send me (?:an )?e-?mail|schreib(?:t)? mir|piši(?:te)? mi|"
                 r"escr[ií]beme|scrivimi|[eé]crivez-moi"),
)  # fmt: skip
_ROWS = tuple((name, re2.compile(pattern)) for name, pattern in CUSTOMS)
_ANY = re2.compile("|".join(f"(?:{pattern})" for _, pattern in CUSTOMS))


def customs_in(said: str) -> int:
    """How many customs a text in small letters has."""
    if _ANY.search(said) is None:
        return 0
    return sum(row.search(said) is not None for _, row in _ROWS)
