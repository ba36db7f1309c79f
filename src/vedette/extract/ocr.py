"""Letters from pictures, by the tesseract program: its own process, argument lists, never a shell."""

from __future__ import annotations

import asyncio
import re
import resource
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec

from vedette.core.text.images import is_line_of_text
from vedette.extract.documents.packages import MISSING, clean
from vedette.extract.documents.pdf import TextLine, paragraphs

LANGUAGES = "eng"
WALL_S = 60.0  # for one page; a page of dense print takes five
CPU_S = 60
MEMORY = 1536 * 1024 * 1024  # of addresses, docs/politeness.md
DATA = (
    100 * 1024 * 1024
)  # that it writes to: a dense page of 16 million pixels takes 70, one of noise twice that
MAX_OUTPUT = 16 * 1024 * 1024
# One thread: two take three times as long.  Nothing else of our environment goes along.
ENVIRONMENT = {"OMP_THREAD_LIMIT": "1", "LC_ALL": "C.UTF-8"}
JUNK = 15.0  # a word that was read with less confidence is a speck of dust
REMEDY = "apt-get install tesseract-ocr tesseract-ocr-eng, and tesseract-ocr-hrv for Croatian"
_VERSION = re.compile(r"tesseract v?(\S+)")


@dataclass(frozen=True, slots=True)
class OcrText:
    """What a picture of a page says."""

    paragraphs: tuple[str, ...]
    confidence: float  # mean of its words, 0 to 100; 0 when there are none


@dataclass(frozen=True, slots=True)
class Tesseract:
    """The program as it was found."""

    program: str  # absolute
    version: str
    languages: str = LANGUAGES
    wall_s: float = WALL_S

    async def read(self, image: bytes, *, may_be_photo: bool = False) -> OcrText | None:
        """The text of a page image (PGM).  None: it took too long, or the program failed.

        `may_be_photo`: what looks like letters may be leaves; only lines that OCR is sure of are taken.
        """
        options = ("stdin", "stdout", "-l", self.languages, "--dpi", "300", "tsv")
        answer = await _run((self.program, *options), image, self.wall_s)
        return None if answer is None else _recognised(answer, may_be_photo=may_be_photo)


async def find_tesseract(languages: str = LANGUAGES, name: str = "tesseract") -> Tesseract | str:
    """The program with the languages that are asked for, or what is missing and how to get it."""
    program = shutil.which(name)
    if program is None:
        return f"tesseract, which reads scanned pages and images, is not installed: {REMEDY}"
    listed = await _run((program, "--list-langs"), b"", WALL_S)
    known = set((listed or b"").decode("utf-8", "replace").split())
    lacking = [name for name in languages.split("+") if name not in known]
    if lacking:
        packages = " ".join(f"tesseract-ocr-{name}" for name in lacking)
        return f"tesseract lacks the language {' and '.join(lacking)}: apt-get install {packages}"
    said = await _run((program, "--version"), b"", WALL_S)
    found = _VERSION.search((said or b"").decode("utf-8", "replace"))
    return Tesseract(program, found[1] if found else "unknown", languages)


async def _run(command: tuple[str, ...], given: bytes, wall_s: float) -> bytes | None:
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=pipe if given else nothing,
            stdout=pipe,
            stderr=nothing,
            env=ENVIRONMENT,
            start_new_session=True,
        )
    except OSError:
        return None
    with suppress(ProcessLookupError, PermissionError):
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (DATA, DATA))
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (CPU_S, CPU_S))
    try:
        answer, _ = await asyncio.wait_for(process.communicate(given or None), wall_s)
    except (
        TimeoutError,
        RuntimeError,
    ):  # uvloop raises the latter when the program ended before it was given all
        return None
    finally:
        if process.returncode is None:  # out of time, or our own task was cancelled
            with suppress(ProcessLookupError):
                process.kill()
            await asyncio.shield(process.wait())
    return answer if process.returncode == 0 and len(answer) <= MAX_OUTPUT else None


def _recognised(table: bytes, *, may_be_photo: bool = False) -> OcrText:
    words = list(_words(table.decode("utf-8", "replace")))
    if may_be_photo:
        words = _in_sure_lines(words)
    letters = sum(len(word.text) for word in words)
    confidence = sum(word.confidence * len(word.text) for word in words) / letters if letters else 0.0
    found = (clean(text) for block in _blocks(words) for text in paragraphs(block))
    kept = tuple(text for text in found if any(letter.isalnum() for letter in text))
    return OcrText(kept, round(confidence, 1))


@dataclass(frozen=True, slots=True)
class _Word:
    block: str
    line: str  # block, paragraph and line number
    left: float
    top: float
    right: float
    bottom: float
    confidence: float
    text: str


def _words(table: str) -> Iterator[_Word]:
    """Rows of level 5: level page block par line word left top width height conf text."""
    for row in table.splitlines()[1:]:
        cells = row.split("\t")
        if len(cells) < 12 or cells[0] != "5":
            continue
        try:
            left, top, width, height, confidence = map(float, cells[6:11])
        except ValueError:
            continue
        if confidence >= JUNK and cells[11].strip():
            line = "-".join(cells[2:5])
            yield _Word(cells[2], line, left, top, left + width, top + height, confidence, cells[11])


def _in_sure_lines(words: list[_Word]) -> list[_Word]:
    lines: dict[str, list[tuple[str, float]]] = {}
    for word in words:
        lines.setdefault(word.line, []).append((word.text, word.confidence))
    sure = {line for line, read in lines.items() if is_line_of_text(read)}
    return [word for word in words if word.line in sure]


def _blocks(words: list[_Word]) -> Iterator[list[TextLine]]:
    """Lines by block of the page (a column, a table), in the order in which they were read."""
    by_block: dict[str, dict[str, list[_Word]]] = {}
    for word in words:
        by_block.setdefault(word.block, {}).setdefault(word.line, []).append(word)
    for lines in by_block.values():
        yield [_line(line) for line in lines.values()]


def _line(words: list[_Word]) -> TextLine:
    """The height is the middle one of its words: a speck beside a line must not raise it."""
    heights = sorted(word.bottom - word.top for word in words)
    bottom = max(word.bottom for word in words)
    text = " ".join(word.text for word in words)
    height = heights[len(heights) * 3 // 4]
    return TextLine(text, min(w.left for w in words), max(w.right for w in words), -bottom, height - bottom)


# Which tools that some documents need are not installed here?


async def missing_tools(languages: str) -> frozenset[str]:
    """In the words that a look which needed them is parked with: which tool, and how to get it."""
    found = await find_tesseract(languages)
    absent = [found] if isinstance(found, str) else []
    if find_spec("kreuzberg") is None:
        absent.append(MISSING)
    return frozenset(absent)
