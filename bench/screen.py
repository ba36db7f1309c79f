"""What the screen costs: CPU for each MiB of an answer, by what it is made of.

    python bench/screen.py

Ten MiB each, twenty patterns and fifty digests, none of which is there: the worst case, everything is read.
"""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta

from vedette.contracts.fetch import Fetched
from vedette.contracts.words import Outcome
from vedette.core.evidence.screen import ScreenRow, screen_answer, screen_table

SIZE = 10 << 20


def main() -> None:
    table = screen_table(
        [
            *(ScreenRow(name=f"w{n}", category="x", pattern=f"(?i)forbidden{n}word") for n in range(20)),
            *(ScreenRow(name=f"d{n}", category="x", digest=f"{n:064x}") for n in range(50)),
        ]
    )
    for name, body in _bodies().items():
        answer = Fetched(
            url="https://a.example/x", outcome=Outcome.OK, at=datetime(2026, 1, 5, tzinfo=UTC), took=timedelta(0),
            body=body, wire=body, content_type="text/html; charset=utf-8",
        )  # fmt: skip
        began = time.process_time()
        assert screen_answer(answer, table) is None
        print(f"{name:10}{(time.process_time() - began) / (SIZE >> 20) * 1e3:8.1f} ms per MiB", flush=True)


def _bodies() -> dict[str, bytes]:
    chance = random.Random(1)
    words = [
        "".join(chance.choices("abcdefghijklmnoprstuvz", k=chance.randrange(2, 10))) for _ in range(9_000)
    ]
    text = " ".join(words)
    link = '<p class="x"><a href="/a/b%20c?x=1&amp;y=2">{0}</a> &nbsp; \u0161\u017e {0}</p>\n'
    made = {
        "plain": text,
        "html": "".join(link.format(word) for word in words),
        "entities": "".join(f"&#{ord(char)};" for char in text),
        "percent": "".join(f"%{ord(char):02x}" for char in text),
        "escapes": "".join(f"\\u{ord(char):04x}" for char in text),
        "data URLs": "".join(f'<img src="data:image/png;base64,{"QUJD" * 50}{n}">' for n in range(5_000)),
        "mixed": "".join(f"<b>&#{ord(char)};</b>%{ord(char):02x}\\x41&amp;%25 \u00e9 " for char in text),
    }
    bodies = {name: (part * (SIZE // len(part) + 1)).encode()[:SIZE] for name, part in made.items()}
    return bodies | {"binary": chance.randbytes(SIZE)}


if __name__ == "__main__":
    main()
