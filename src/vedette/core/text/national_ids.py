"""Checksums of account, card and national numbers.  Each takes the number in one piece and says whether it holds."""

from __future__ import annotations

# ISO 13616: how long the account number of a country is.
_IBAN_LENGTHS = {
    country: int(size)
    for size, countries in (
        ("15", "NO"), ("16", "BE"), ("18", "DK FI FO GL NL SD FK"), ("19", "MK SI"), ("20", "AT BA EE KZ LT LU XK MN"),
        ("21", "CH HR LI LV"), ("22", "BG BH CR DE GB GE IE ME RS VA"), ("23", "AE GI IL IQ TL OM SO"),
        ("24", "AD CZ ES MD PK RO SA SE SK TN VG"), ("25", "LY PT ST"), ("26", "IS TR"),
        ("27", "BI DJ FR GR IT MC MR SM"), ("28", "AL AZ BY CY DO GT HU LB NI PL SV"), ("29", "BR EG PS QA UA"),
        ("30", "JO KW MU YE"), ("31", "MT SC"), ("32", "LC"), ("33", "RU"),
    )
    for country in countries.split()
}  # fmt: skip
_ODD = {  # of the Italian fiscal code, decree of 23 December 1976
    **dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True)),
    **dict(
        zip(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
            strict=True,
        )
    ),
}
_JMBG_WEIGHTS = (7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)
_PESEL_WEIGHTS = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)
_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"


def iban_length(country: str) -> int:
    """0: the country has no such numbers."""
    return _IBAN_LENGTHS.get(country, 0)


def iban_holds(number: str) -> bool:
    """ISO 7064 mod 97-10, and the length of the country."""
    if not number.isalnum() or not number.isascii() or iban_length(number[:2]) != len(number):
        return False
    return int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1


def luhn_holds(number: str) -> bool:
    """ISO/IEC 7812.  A number of one digit alone holds, and is nobody's."""
    digits = [int(char) for char in reversed(number)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0 and len(set(number)) > 1


def mod_11_10_holds(number: str) -> bool:
    """ISO 7064 mod 11,10: the Croatian OIB and the German tax number of a person."""
    rest = 10
    for char in number[:-1]:
        rest = (rest + int(char)) % 10 or 10
        rest = rest * 2 % 11
    return (11 - rest) % 10 == int(number[-1]) and len(set(number)) > 1


def jmbg_holds(number: str) -> bool:
    """The number of a citizen of former Yugoslavia: a date of birth and mod 11."""
    day, month, year = int(number[:2]), int(number[2:4]), int(number[4:7])
    if not (1 <= day <= 31 and 1 <= month <= 12 and (year >= 800 or year < 100)):
        return False
    rest = 11 - sum(w * int(char) for w, char in zip(_JMBG_WEIGHTS, number[:12], strict=True)) % 11
    return rest != 10 and rest % 11 == int(number[12])


def pesel_holds(number: str) -> bool:
    """The Polish number: a date of birth, its century in the month, and a weighted sum."""
    month, day = int(number[2:4]) % 20, int(number[4:6])
    total = sum(w * int(char) for w, char in zip(_PESEL_WEIGHTS, number[:10], strict=True))
    return 1 <= month <= 12 and 1 <= day <= 31 and (10 - total % 10) % 10 == int(number[10])


def spanish_holds(number: str) -> bool:
    """DNI and NIE: eight digits, or X, Y, Z and seven, and a letter by mod 23."""
    plain = number.replace("-", "").replace(" ", "")
    digits = plain[:-1].translate(str.maketrans("XYZ", "012"))
    return digits.isdigit() and _DNI_LETTERS[int(digits) % 23] == plain[-1]


def fiscal_code_holds(code: str) -> bool:
    """The Italian codice fiscale: odd places by a table, even ones by their value, mod 26."""
    total = sum(_ODD[char] for char in code[0:15:2])
    total += sum(int(char) if char.isdigit() else ord(char) - ord("A") for char in code[1:15:2])
    return chr(ord("A") + total % 26) == code[15]
