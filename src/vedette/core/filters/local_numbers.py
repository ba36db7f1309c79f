"""Numbers as people write them: 1.234,56 EUR; 1,234.56; 1 234,5; 1'234.50; 12 %; -5; 5,-.

A lone mark with exactly three digits behind it stands between thousands (`1.234` is 1234) unless a zero stands alone
before it (`0.125`).  Who knows better says so with `decimal`.
"""

from __future__ import annotations

import re2

_NUMBER = re2.compile(
    r"(?:^|[^\w.,])([-\x{2212}+]?)[^\S\n]?[€$£¥]?[^\S\n]?"
    r"(\d{1,3}(?:['\x{2019}  \x{00a0}\x{2009}\x{202f}]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
)
_SPACES = str.maketrans("", "", "'\u2019 \u00a0\u2009\u202f")
_MOST = 40  # digits; a longer one is no amount


def find_number(text: str, *, decimal: str = "") -> float | None:
    """The first number in a text; None: there is none."""
    for match in _NUMBER.finditer(text):  # searching again from a place would read the text anew each time
        number = _value(match.group(2), decimal)
        if number is not None:
            return -number if match.group(1) in ("-", "\u2212") else number
    return None


def number_text(number: float | None) -> str:
    """As people read it: 1234567.89."""
    return "none" if number is None else f"{number:.15g}"


def read_number(text: str, *, decimal: str = "") -> float | None:
    """A text that is a number and nothing else."""
    word = text.strip()
    sign = word[:1] if word[:1] in ("-", "+", "\u2212") else ""
    rest = word[len(sign) :]
    if not rest or not all(char.isascii() and (char.isdigit() or char in ".,' ") for char in rest):
        return None
    number = _value(rest, decimal) if rest[0].isdigit() else None
    return None if number is None else -number if sign in ("-", "\u2212") else number


def _value(digits: str, decimal: str) -> float | None:
    plain = digits.translate(_SPACES)
    if len(plain) > _MOST:
        return None
    mark = decimal or _decimal_mark(plain)
    other = "," if mark == "." else "."
    if decimal and plain.count(mark) > 1:
        return None
    try:
        return float(
            plain.replace(other, "").replace(mark, ".") if mark else plain.replace(".", "").replace(",", "")
        )
    except ValueError:
        return None


def _decimal_mark(plain: str) -> str:
    """The mark before the decimals; empty: there are none."""
    dot, comma = plain.rfind("."), plain.rfind(",")
    if dot < 0 and comma < 0:
        return ""
    if dot >= 0 and comma >= 0:
        return "." if dot > comma else ","
    mark, at = (".", dot) if dot >= 0 else (",", comma)
    whole, decimals = plain[: plain.find(mark)], len(plain) - at - 1
    if plain.count(mark) > 1:  # 1.234.567
        return ""
    is_thousand = decimals == 3 and 1 <= len(whole) <= 3 and whole != "0"
    return "" if is_thousand else mark
