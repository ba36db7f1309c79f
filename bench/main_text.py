"""How much of what is compared is the article, on public corpora of pages with their text.

    python bench/main_text.py FOLDER [FOLDER ...]

A folder has `ground-truth.json` and `html/` (article-extraction-benchmark), `evaldata.json` with `cache/` and `eval/`
(the evaluation of trafilatura: sentences that must be there and sentences that must not), `ground-truth/` and `html/`
with a file per page (the splits of WCXB, which has other kinds of pages too), or `test-pages/` (readability:
`source.html` and `expected.html`).  Shingles of four words, each page counting the same.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from selectolax.lexbor import LexborHTMLParser

from vedette.extract import extract

URL = "https://example.org/article"
KIND = "text/html"
WORDS = 4
_TOKEN = re.compile(r"\w+")


def main() -> None:
    for name in sys.argv[1:]:
        folder = Path(name)
        if (folder / "evaldata.json").exists():
            _sentences(folder)
        elif (folder / "ground-truth").is_dir():
            for kind in ("article", "documentation", "service", "forum", "product", "collection", "listing"):
                _texts(f"{folder} ({kind})", _typed_pages(folder, kind))
        else:
            _texts(str(folder), _pages(folder))


def _texts(name: str, pages: Iterator[tuple[bytes, str]]) -> None:
    scores, took = [], []
    for body, wanted in pages:
        begin = time.process_time()
        read = extract(body, url=URL, content_type=KIND)
        took.append(time.process_time() - begin)
        scores.append(score(wanted, read.text))
    precision = mean(one for one, _ in scores)
    recall = mean(one for _, one in scores)
    _tell(name, precision, recall, took)


def _tell(name: str, precision: float, recall: float, took: list[float]) -> None:
    f1 = 2 * precision * recall / (precision + recall)
    print(
        f"{name}: {len(took)} pages, F1 {f1:.3f}, precision {precision:.3f}, recall {recall:.3f}, "
        f"{1000 * mean(took):.2f} ms per page"
    )


def score(wanted: str, found: str) -> tuple[float, float]:
    """Precision and recall of the shingles."""
    one, other = _shingles(wanted), _shingles(found)
    both = (one & other).total()
    if not one and not other:
        return 1.0, 1.0
    return both / max(1, other.total()), both / max(1, one.total())


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _TOKEN.findall(text)
    return Counter(tuple(words[at : at + WORDS]) for at in range(max(1, len(words) - WORDS + 1)) if words)


def _sentences(folder: Path) -> None:
    kept = wanted = shown = unwanted = 0
    took = []
    for page in json.loads((folder / "evaldata.json").read_text("utf-8")).values():
        path = next(
            (p for p in (folder / "cache" / page["file"], folder / "eval" / page["file"]) if p.exists()), None
        )
        if path is None:
            continue
        begin = time.process_time()
        text = extract(path.read_bytes(), url=URL, content_type=KIND).text
        took.append(time.process_time() - begin)
        folded = "".join(text.split())
        wanted += len(page["with"])
        unwanted += len(page["without"])
        kept += sum("".join(one.split()) in folded for one in page["with"])
        shown += sum("".join(one.split()) in folded for one in page["without"])
    _tell(
        f"{folder} ({kept} of {wanted} sentences, {shown} of {unwanted} unwanted ones)",
        kept / (kept + shown),
        kept / wanted,
        took,
    )


def _typed_pages(folder: Path, kind: str) -> Iterator[tuple[bytes, str]]:
    for path in sorted((folder / "ground-truth").glob("*.json")):
        page = json.loads(path.read_text("utf-8"))
        wanted = page["ground_truth"].get("main_content")
        if wanted is not None and page["_internal"]["page_type"]["primary"] == kind:
            yield gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes()), wanted


def _pages(folder: Path) -> Iterator[tuple[bytes, str]]:
    truth = folder / "ground-truth.json"
    if truth.exists():
        for key, row in json.loads(truth.read_text("utf-8")).items():
            yield (
                gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes()),
                row.get("articleBody", ""),
            )
        return
    for page in sorted((folder / "test-pages").iterdir()):
        expected = LexborHTMLParser((page / "expected.html").read_bytes())
        text = expected.body.text(separator=" ", strip=True) if expected.body else ""
        yield (page / "source.html").read_bytes(), text


if __name__ == "__main__":
    main()
