"""Personal data taken out of text: what a rule is sure of becomes a word in brackets, all else stays as it is.

A rule is sure by a checksum (IBAN, card, national numbers), by a form that nothing else has (e-mail, a telephone
number with its country), or by a form and the word before it.  Time is linear in the text: expressions are RE2, and a
group of digits is tried as the beginning of a few numbers of bounded length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

import re2

from vedette.contracts.change import Block
from vedette.contracts.copies import replace
from vedette.contracts.documents import Document
from vedette.contracts.fetch import Extraction
from vedette.core.text.national_ids import (
    fiscal_code_holds,
    iban_holds,
    iban_length,
    jmbg_holds,
    luhn_holds,
    mod_11_10_holds,
    pesel_holds,
    spanish_holds,
)

EMAIL, PHONE, IBAN, CARD, NATIONAL_ID, NAME, ONION = (
    "[e-mail]",
    "[phone]",
    "[IBAN]",
    "[card]",
    "[id]",
    "[name]",
    "[onion]",
)
_SEPARATORS = r" \x{00a0}\x{2009}\x{202f}\-\x{2010}\x{2011}\x{2012}\x{2013}./()"
_WORD = r"""[^\s@<>()\[\]{},;:"|/\\=?&#.]+"""  # of an address; letters of any script
_EMAIL = re2.compile(rf"{_WORD}(?:\.+{_WORD})*@{_WORD}(?:\.{_WORD})+")
_SPELLED_EMAIL = re2.compile(
    r"(?i)[a-z0-9._%+\-]+\s?[\[({]\s?(?:at|et|ät)\s?[\])}]\s?[a-z0-9\-]+"
    r"(?:\s?[\[({]?\s?(?:dot|tocka|točka|punkt|\.)\s?[\])}]?\s?[a-z0-9\-]{2,}){1,4}"
)
_IBAN = re2.compile(r"(?i)\b[a-z]{2}[0-9]{2}(?:[ \x{00a0}\x{202f}\-]?[a-z0-9]){11,40}")
_SPANISH = re2.compile(r"(?i)\b[xyz0-9][0-9]{7}[ \-]?[a-z]\b")
_FISCAL_CODE = re2.compile(
    r"(?i)\b[a-z]{6}[0-9lmnp-v]{2}[a-ehlmprst][0-9lmnp-v]{2}[a-z][0-9lmnp-v]{3}[a-z]\b"
)
_ONION = re2.compile(r"(?i)\b(?:[a-z0-9\-]{1,63}\.){0,4}(?:[a-z2-7]{56}|[a-z2-7]{16})\.onion\b")
_RUN = re2.compile(rf"[0-9](?:[0-9]|[{_SEPARATORS}]{{1,3}}[0-9])*")
_GROUP = re2.compile("[0-9]+")
_LABELLED = re2.compile(
    r"((?i:ime i prezime|prezime i ime|full name|first and last name|vor- und nachname|nome e cognome|"
    r"imi[eę] i nazwisko|nombre y apellidos)\s?[:=]\s?)(\p{Lu}[\pL'\-]+(?: \p{Lu}[\pL'\-]+){1,3})"
)
# Endings that make `icon@2x.png` a file and not an address.
_FILES = frozenset("png jpg jpeg gif svg webp avif ico css js mjs map json xml html pdf zip".split())
_PHONE_WORD = re2.compile(
    r"(?i)(?:\b(?:tel|telefon|telephone|phone|mob|mobitel|mobile|gsm|cell|fax|faks|telefaks|whatsapp|viber|"
    r"rufnummer|telefono|t[ée]l[ée]phone)\b)[\s.:()/]*\+?$"
)
_ID_WORD = re2.compile(
    r"(?i)\b(?:oib|steuer-?id\w*|steueridentifikationsnummer|idnr|pesel|tin|jmbg|emšo|emso)\b[^0-9]{0,12}$"
)
_PESEL_WORD = re2.compile(r"(?i)\bpesel\b[^0-9]{0,12}$")
_SSN_WORD = re2.compile(r"(?i)\b(?:ssn|social security)\b[^0-9]{0,24}$")
_BEFORE = 40  # characters in which such a word is looked for
_SPACES = frozenset(" \u00a0\u2009\u202f(")
_LONGEST = 10  # groups of digits in one number,
_MOST_DIGITS = 20  # and digits
# E.164: a calling code is the first of these that the digits begin with.
_CALLING_CODES = frozenset(
    "1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 "
    "86 90 91 92 93 94 95 98 211 212 213 216 218".split()
) | {str(n) for tens in (22, 23, 24, 25, 26, 29, 35, 37, 38, 42, 50, 59, 67, 68, 69, 80, 85, 87, 88, 96, 97, 99)
     for n in range(10 * tens, 10 * tens + 10)}  # fmt: skip
_CARD_SHAPES = ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (4, 4, 4, 1))
_NOT_LINKS = ("mailto:", "tel:", "sms:", "callto:", "whatsapp:", "skype:")
_NAMED = frozenset({"author", "article:author", "dc.creator", "dcterms.creator", "twitter:creator"})


def redact(text: str) -> str:
    """The text without personal data that a rule is sure of."""
    if not text:
        return text
    if "@" in text or "(at)" in text or "[at]" in text or "{at}" in text:
        text = _EMAIL.sub(_email, text)
        text = _SPELLED_EMAIL.sub(EMAIL, text)
    if _GROUP.search(text) is not None:
        text = _walked(_IBAN, text, _iban_end, IBAN)
        text = _walked(_SPANISH, text, _spanish_end, NATIONAL_ID)
        text = _walked(_FISCAL_CODE, text, _fiscal_end, NATIONAL_ID)
        text = _without_numbers(text)
    if ".onion" in text.lower():
        text = _ONION.sub(ONION, text)
    return (
        _LABELLED.sub(lambda found: f"{found.group(1)}{NAME}", text) if ":" in text or "=" in text else text
    )


def redacted_extraction(found: Extraction) -> Extraction:
    """What is handed on of a page: text, title, metadata; links that name a person are not followed."""
    return replace(
        found,
        text=redact(found.text),
        title=redact(found.title),
        metadata=_metadata(found.metadata),
        hrefs=_links(found.hrefs),
        nofollow=_links(found.nofollow),
        targets=_links(found.targets),
        feeds=_links(found.feeds),
        canonical=None if found.canonical is None or _is_personal(found.canonical) else found.canonical,
        problem=redact(found.problem),
    )


def redacted_blocks(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Path and text: a path may hold a key of a JSON document."""
    return tuple((redact(path) if "@" in path else path, redact(text)) for path, text in blocks)


def redacted_document(document: Document) -> Document:
    """Its author is a name, whatever it says."""
    return replace(
        document,
        blocks=redacted_blocks(document.blocks),
        title=redact(document.title),
        author=NAME if document.author else "",
    )


def redacted_headings(headings: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {redact(row): tuple(map(redact, cells)) for row, cells in headings.items()}


def _metadata(said: Mapping[str, str] | None) -> Mapping[str, str] | None:
    if said is None:
        return None
    return {name: NAME if name.lower() in _NAMED else redact(value) for name, value in said.items()}


def _links(links: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(link for link in links if not _is_personal(link))


def _is_personal(link: str) -> bool:
    """The address itself names a person.  Digits alone are an article's number more often than a person's."""
    if ":" in link[:12] and link.lstrip().lower().startswith(_NOT_LINKS):
        return True
    if "@" not in link and "%40" not in link:
        return False
    plain = unquote(link)
    return redact(plain.rpartition("//")[2]) != plain.rpartition("//")[2]


def _email(found: re2._Match[str]) -> str:
    """An address ends in letters that are no ending of a file."""
    said: str = found.group(0)
    end = said.rstrip(".-")
    top = end.rpartition(".")[2]
    is_address = len(top) > 1 and not top.isdigit() and top.lower() not in _FILES and top[0].isalpha()
    local = said.partition("@")[0].strip(".'")
    return EMAIL + said[len(end) :] if is_address and local else said


# Numbers with letters in them.


def _walked(pattern: re2._Regexp[str], text: str, end_of: Callable[[str], int], word: str) -> str:
    """Every match of which `end_of` says how long it is; 0: it is none."""
    parts, at = [], 0
    for found in pattern.finditer(text):
        start = found.start()
        if start < at:
            continue
        length = end_of(found.group(0))
        if length and not text[start + length : start + length + 1].isalnum():
            parts += [text[at:start], word]
            at = start + length
    return "".join([*parts, text[at:]]) if parts else text


def _iban_end(said: str) -> int:
    """How far the account number goes: its country says how long it is."""
    needed = iban_length(said[:2].upper())
    letters: list[str] = []
    for place, char in enumerate(said):
        if char.isalnum():
            letters.append(char)
        if len(letters) == needed:
            return place + 1 if iban_holds("".join(letters).upper()) else 0
    return 0


def _spanish_end(said: str) -> int:
    return len(said) if spanish_holds(said.upper()) else 0


def _fiscal_end(said: str) -> int:
    return len(said) if fiscal_code_holds(said.upper()) else 0


# Numbers of digits alone.


class _Digits(NamedTuple):
    """Groups of digits, what stands between them, and what before the first."""

    text: str
    spans: tuple[tuple[int, int], ...]

    def group(self, i: int) -> str:
        return self.text[self.spans[i][0] : self.spans[i][1]]

    def between(self, i: int) -> str:
        """What stands before group i, inside the run."""
        return self.text[self.spans[i - 1][1] : self.spans[i][0]] if i else ""

    def before(self, i: int) -> str:
        start = self.spans[i][0]
        return self.text[max(0, start - _BEFORE) : start]

    def reach(self, i: int) -> int:
        """The last group, exclusive, that a number from the i-th on may have."""
        digits, j = 0, i
        while j < min(len(self.spans), i + _LONGEST):
            digits += self.spans[j][1] - self.spans[j][0]
            if digits > _MOST_DIGITS:
                break
            j += 1
        return j

    def joined(self, i: int, j: int) -> str:
        return "".join(self.group(k) for k in range(i, j))


def _without_numbers(text: str) -> str:
    parts, at = [], 0
    for start, end, word in _numbers(text):
        parts += [text[at:start], word]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def _numbers(text: str) -> Iterator[tuple[int, int, str]]:
    for run in _RUN.finditer(text):
        begin, end = run.span()
        if end - begin < 6:
            continue
        groups = tuple((begin + g.start(), begin + g.end()) for g in _GROUP.finditer(text[begin:end]))
        yield from _in_run(_Digits(text, groups))


def _in_run(digits: _Digits) -> Iterator[tuple[int, int, str]]:
    i, spans, text = 0, digits.spans, digits.text
    while i < len(spans):
        found = _number_at(digits, i)
        if found is None:
            i += 1
            continue
        groups, word = found
        start, end = spans[i][0], spans[i + groups - 1][1]
        start -= len(word) and _lead(text, start, word)
        yield start, end, word
        i += groups


def _lead(text: str, start: int, word: str) -> int:
    """Characters before the digits that belong to the number: `+`, `(+`, and the letters of a VAT number."""
    if word == PHONE:
        return next(
            (len(lead) for lead in ("(+", "+", "(") if text[max(0, start - len(lead)) : start] == lead), 0
        )
    return 2 if word == NATIONAL_ID and text[max(0, start - 2) : start].upper() == "HR" else 0


def _number_at(digits: _Digits, i: int) -> tuple[int, str] | None:
    """How many groups from the i-th on are a number, and of which kind."""
    if digits.reach(i) == i:
        return None
    before, first = digits.before(i), digits.group(i)
    last = before[-1:]
    is_vat = before[-2:].upper() == "HR" and not before[-3:-2].isalnum()
    if (last.isalnum() or last == "_") and not is_vat:
        return None
    if _is_glued(digits, i) or _is_tail(digits, i):
        return None
    if _national(first, before):
        return 1, NATIONAL_ID
    if is_vat:
        return None
    for kind, groups in ((CARD, _card(digits, i)), (NATIONAL_ID, _grouped_id(digits, i, before))):
        if groups:
            return groups, kind
    phone = _phone(digits, i, before)
    return (phone, PHONE) if phone else None


def _is_glued(digits: _Digits, i: int) -> bool:
    """The last group goes on in letters: a word with digits, not a number."""
    end = digits.spans[i][1]
    after = digits.text[end : end + 1]
    return after.isalpha() or after == "_"


def _is_tail(digits: _Digits, i: int) -> bool:
    """Part of what may have been an account's number: two letters and two digits, then groups of four."""
    if not i or len(digits.group(0)) != 2 or not digits.before(0)[-1:].isalpha() or i > _LONGEST:
        return False
    return all(len(digits.group(k)) == 4 and len(digits.between(k)) == 1 for k in range(1, i))


def _national(group: str, before: str) -> bool:
    """One group of digits with a checksum of its own."""
    if len(group) == 13:
        return jmbg_holds(group)
    if len(group) != 11:
        return False
    return mod_11_10_holds(group) or (pesel_holds(group) and _PESEL_WORD.search(before) is not None)


def _card(digits: _Digits, i: int) -> int:
    """Groups of a card's number: in one piece, or in the groups that cards are printed in."""
    if i and not set(digits.between(i)) & _SPACES:
        return 0  # in the middle of something else
    shapes = ((len(digits.group(i)),), *_CARD_SHAPES)
    for shape in shapes:
        j = i + len(shape)
        if j > digits.reach(i) or tuple(len(digits.group(k)) for k in range(i, j)) != shape:
            continue
        marks = {digits.between(k) for k in range(i + 1, j)}
        if len(marks) > 1 or any(len(mark) != 1 or mark in "./()" for mark in marks):
            continue
        if not _is_glued(digits, j - 1) and _is_card(digits.joined(i, j)):
            return len(shape)
    return 0


def _is_card(number: str) -> bool:
    """By length and the digits of its issuer (ISO/IEC 7812), then Luhn."""
    size, lead = len(number), number[:2]
    is_issued = {
        13: number[0] == "4",
        14: lead in ("30", "36", "38", "39"),
        15: lead in ("34", "37"),
        16: number[0] in "23456",
        18: lead in ("50", "56", "58", "62", "63", "67"),
        19: number[0] in "46" or lead in ("50", "56", "58"),
    }
    return is_issued.get(size, False) and luhn_holds(number)


def _grouped_id(digits: _Digits, i: int, before: str) -> int:
    """National numbers in groups, which only the word before makes sure."""
    many = min(digits.reach(i), i + 5)
    if _SSN_WORD.search(before) is not None and i + 3 <= many:
        shape = [digits.group(k) for k in range(i, i + 3)]
        if [len(part) for part in shape] == [3, 2, 4] and _is_ssn(shape):
            return 3
    if _ID_WORD.search(before) is None:
        return 0
    for j in range(i + 2, many + 1):
        number = digits.joined(i, j)
        if (len(number) == 11 and mod_11_10_holds(number)) or (len(number) == 13 and jmbg_holds(number)):
            return j - i
    return 0


def _is_ssn(parts: list[str]) -> bool:
    area, group, serial = parts
    return area not in ("000", "666") and area[0] != "9" and group != "00" and serial != "0000"


# Telephone numbers.


def _phone(digits: _Digits, i: int, before: str) -> int:
    """Groups of a telephone number; 0: nothing is sure."""
    most = digits.reach(i)
    if i and not set(digits.between(i)) & _SPACES and not before.endswith("+"):
        return 0  # in the middle of something else
    if before.rstrip(" \u00a0").endswith("+"):
        return _longest(digits, i, most, _is_international)
    if _is_of_four(digits, i):
        return 0
    if digits.group(i).startswith("00") and (found := _longest(digits, i, most, _is_dialled)):
        return found
    if _PHONE_WORD.search(before.rstrip("(")) is not None:
        return _longest(digits, i, most, _has_digits)
    return _longest(digits, i, most, _is_domestic)


def _longest(digits: _Digits, i: int, most: int, holds: Callable[[_Digits, int, int], bool]) -> int:
    """The most groups of which it holds.  What is glued to a letter is no end of a number."""
    for j in range(most, i, -1):
        if holds(digits, i, j) and not _is_glued(digits, j - 1):
            return j - i
    return 0


def _is_international(digits: _Digits, i: int, j: int) -> bool:
    return _is_e164(digits.joined(i, j))


def _is_dialled(digits: _Digits, i: int, j: int) -> bool:
    """With 00 before it.  In one piece a short one may be a number with zeros before it."""
    number = digits.joined(i, j)
    return _is_e164(number[2:]) and (j - i > 1 or len(number) >= 12)


def _is_e164(number: str) -> bool:
    if number[:1] == "1":
        return len(number) == 11 and number[1] in "23456789"
    has_code = any(number[:size] in _CALLING_CODES for size in (1, 2, 3))
    return has_code and 8 <= len(number) <= 15


def _has_digits(digits: _Digits, i: int, j: int) -> bool:
    """After a word that says so, six digits are enough.  A date is still a date."""
    return 6 <= len(digits.joined(i, j)) <= 13 and not _is_date(digits, i)


def _is_domestic(digits: _Digits, i: int, j: int) -> bool:
    """With a trunk zero and in groups, or a mobile number of Croatia in one, or in the groups of North America."""
    sizes = [len(digits.group(k)) for k in range(i, j)]
    number, first = digits.joined(i, j), digits.group(i)
    if len(sizes) == 1:
        return number[:2] == "09" and number[2:3] in ("1", "2", "5", "7", "8", "9") and len(number) in (9, 10)
    if j < len(digits.spans) and not set(digits.between(j)) & _SPACES:
        return False  # it goes on
    if sizes == [3, 3, 4] and first[0] in "23456789":
        return digits.group(i + 1)[0] in "23456789" and _is_even(digits, i, j)
    is_led = first[0] == "0" and first[1:2] not in ("", "0") and sizes[0] <= 5
    if not is_led or not 9 <= len(number) <= 12:
        return False
    is_grouped = all(2 <= size <= 8 for size in sizes[1:]) and max(sizes[1:]) > 2
    marks = [digits.between(k).strip("() ") for k in range(i + 1, j)]
    has_dash = marks[0] != "" and marks[0] in "-\u2010\u2011\u2012\u2013."
    if has_dash and set(marks) != {marks[0]}:  # ISSN 0353-7889 2026
        return False
    has_slash = any("/" in digits.between(k) for k in range(i + 2, j))  # 034-04/19-01/12 is a file number
    return is_grouped and not has_slash and not _is_date(digits, i)


def _is_of_four(digits: _Digits, i: int) -> bool:
    """In the middle of groups of four: part of an account's or a card's number."""
    return i > 0 and len(digits.group(i)) == 4 and len(digits.group(i - 1)) in (2, 4)


def _is_even(digits: _Digits, i: int, j: int) -> bool:
    """The same mark between all groups, or a bracket round the first."""
    marks = {digits.between(k).strip(" ()") for k in range(i + 1, j)}
    return len(marks) == 1 or (len(marks) == 2 and ")" in digits.between(i + 1))


def _is_date(digits: _Digits, i: int) -> bool:
    """12.03.2024, 12/03/24, 2024-03-12."""
    if i + 3 > digits.reach(i):
        return False
    parts = [digits.group(k) for k in range(i, i + 3)]
    numbers, sizes = [int(part) for part in parts if len(part) <= 4], tuple(map(len, parts))
    if len(numbers) < 3 or max(sizes[:2]) > 4:
        return False
    if sizes[2] in (2, 4) and max(sizes[:2]) <= 2:
        return (
            1 <= numbers[0] <= 31 and 1 <= numbers[1] <= 12 and (sizes[2] == 2 or 1800 <= numbers[2] <= 2200)
        )
    return sizes[0] == 4 and 1800 <= numbers[0] <= 2200 and 1 <= numbers[1] <= 12 and 1 <= numbers[2] <= 31
