"""What reading documents costs, what OCR gets right, and whether a thousand bad files do any harm.

    python bench/documents.py              # all three, some minutes
    python bench/documents.py --files 200 --no-ocr

A file that hurts may cost a worker process its life; the main process must go on, and read a good file right after.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "stages"))

from document_kit import BOMBS, DAMAGES, LINES, TYPES, WHOLE, scanned

from vedette.contracts.documents import Document
from vedette.engine.crawl.content_reader import DocumentReader
from vedette.engine.workers.pool import Workers
from vedette.extract.documents import read_document

SCANS = [
    {"font": font, "skew": skew, "noise": noise}
    for font in ("DejaVuSerif.ttf", "DejaVuSans.ttf", "STIXGeneral.ttf")
    for skew, noise in ((-3.0, 12.0), (-1.2, 25.0), (0.6, 18.0), (2.5, 25.0))
]
TARGETS = {150: 0.90, 300: 0.95}  # share of characters, issue of the sentinel


def costs() -> None:
    print("milliseconds of processor time for a document of one page")
    for kind, make in WHOLE.items():
        body = make()
        _read(body, kind)
        started = time.process_time()
        for _ in range(50):
            _read(body, kind)
        print(f"  {kind:<5} {(time.process_time() - started) * 20:6.2f}")


async def ocr(reader: DocumentReader) -> bool:
    is_good = True
    for dpi, target in TARGETS.items():
        found, times = [], []
        for seed, how in enumerate(SCANS):
            body = scanned(dpi, seed=seed, **how)
            started = time.perf_counter()
            document = await reader.read((body, "application/pdf", "http://a.example/scan.pdf"))
            times.append(time.perf_counter() - started)
            found.append(_similarity(document))
        print(
            f"OCR at {dpi} dpi, {len(found)} pages: similarity least {min(found):.4f}, "
            f"mean {sum(found) / len(found):.4f} (target {target}); {sum(times) / len(times):.1f} s a page"
        )
        is_good = is_good and min(found) >= target
    return is_good


async def harm(reader: DocumentReader, files: int) -> bool:
    """Reads so many whole, damaged and hostile files, and now and then a good one that must come out right."""
    chance = random.Random(7)
    ends: Counter[str] = Counter()
    whole = {kind: make() for kind, make in WHOLE.items()}
    bombs = {name: make() for name, make in BOMBS.items()}
    slowest, wrong = 0.0, 0
    for number in range(files):
        if number < len(bombs):
            name, body = list(bombs.items())[number]
        else:
            kind = chance.choice(list(whole))
            name = f"{number}.{kind}"
            body = whole[kind] if number % 20 == 0 else chance.choice(DAMAGES)(whole[kind], chance)
        started = time.perf_counter()
        document = await reader.read((body, "", f"http://a.example/{name.replace(' ', '-')}"))
        slowest = max(slowest, time.perf_counter() - started)
        ends[_end(document)] += 1
        wrong += body in whole.values() and not document.blocks
    print(f"{files} files: {dict(ends)}; slowest {slowest:.1f} s; whole files that were not read: {wrong}")
    return wrong == 0


def _end(document: Document) -> str:
    return (
        "missing"
        if document.missing
        else "problem"
        if document.problem
        else "text"
        if document.blocks
        else "no text"
    )


def _read(body: bytes, kind: str) -> Document:
    return read_document(body, url=f"http://a.example/x.{kind}", content_type=TYPES[kind])


def _similarity(document: Document) -> float:
    said = " ".join(text for _, text in document.blocks)
    return difflib.SequenceMatcher(None, said, " ".join(LINES), autojunk=False).ratio()


async def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--files", type=int, default=1000)
    options.add_argument("--no-ocr", action="store_true")
    given = options.parse_args()
    costs()
    workers = Workers()
    reader = DocumentReader(workers=workers)
    try:
        is_good = await harm(reader, given.files)
        if not given.no_ocr:
            is_good = await ocr(reader) and is_good
    finally:
        workers.close()
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
