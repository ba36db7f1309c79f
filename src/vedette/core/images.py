"""Is an image opened, how large is it drawn for OCR, and which lines of what OCR read are text?

OCR finds letters in leaves and walls, others in every encoding of the same photograph.  It is unsure of them: a line
counts when OCR is sure of half of its letters.  Of 14 drawn photographs without a word two had other "words" as JPEG
than as PNG when every word counted; by this rule none has any (`tests/stages/test_extract_images.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_PIXELS = 50_000_000  # THREATS: image and OCR bombs are refused before they are decoded
MOST_BYTES = 96 * 1024 * 1024  # while it is made grey
# Bytes a pixel by kind, with what is made of it: colours take four, values of 16 bits and fractions their range.
_COST = {"1": 2, "L": 2, "P": 6, "RGB": 6, "I;16": 6}
_MOST_COST = 9
LEAST_SIDE = 8  # pixels; no letter is smaller
SMALL = 2_000_000  # pixels: a screenshot; doubled, its letters of 9 pixels are read (0.94 -> 1.0)
ENOUGH = 16_000_000  # pixels: a page of A4 at 400 dpi; more only takes longer
SURE = 75.0  # confidence of a word, 0 to 100
LEAST_LETTERS = 3  # letters and digits of a line

Word = tuple[str, float]  # as OCR read it, and how sure it is, 0 to 100


def refusal(width: int, height: int) -> str:
    """Why an image of this size is not opened; empty when it is."""
    if width * height <= MOST_PIXELS:
        return ""
    return f"{width} x {height} pixels are more than we read ({MOST_PIXELS // 1_000_000} million)"


def decoding_refusal(width: int, height: int, mode: str) -> str:
    """Why an image of this size and kind (the word of Pillow) is not decoded; empty when it is."""
    if width * height * _COST.get(mode, _MOST_COST) <= MOST_BYTES:
        return ""
    return f"{width} x {height} pixels of kind {mode} are more than we read"


def may_have_text(width: int, height: int) -> bool:
    return min(width, height) >= LEAST_SIDE


def drawn_size(width: int, height: int) -> tuple[int, int]:
    """In pixels, as OCR gets it."""
    area = width * height
    factor = 2.0 if area <= SMALL else min(1.0, (ENOUGH / area) ** 0.5)
    return max(1, round(width * factor)), max(1, round(height * factor))


def is_line_of_text(words: Sequence[Word]) -> bool:
    """Is this a line that somebody wrote, or a texture that looks like letters?"""
    letters = sum(len(text) for text, _ in words)
    readable = sum(letter.isalnum() for text, _ in words for letter in text)
    sure = sum(len(text) for text, confidence in words if confidence >= SURE)
    return readable >= LEAST_LETTERS and 2 * sure >= letters
