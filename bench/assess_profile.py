"""What one look spends where, between the body and its settlement: a new page, equal bytes, a 304.

    python bench/assess_profile.py [--looks 400] [--bytes 24000]

No network, no store and no archive: what a fetch and a transaction cost is measured by `bench/crawl_column.py`.  The
totals are CPU without a profiler, the best of five rounds; a profiler only says which share of them each step has.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import pstats
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

import vedette
from vedette.contracts.fetch import Fetched, FetchSettings
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import Job, Release, Settlement, SourceState, Watch
from vedette.contracts.words import LaneKey, Outcome, RunId, SourceId, WatchId
from vedette.core.evidence.screen import screen_table
from vedette.core.schedule.due import due_params
from vedette.core.settled_watch import LookRules
from vedette.core.urls.canonical import lane_of, watch_id
from vedette.engine.crawl.answer_screen import AnswerScreen
from vedette.engine.crawl.assess import AssessOptions, Assessor
from vedette.engine.crawl.compare_states import Comparer
from vedette.engine.crawl.content_reader import ContentReader, DocumentReader
from vedette.engine.crawl.find_urls import Finder, RiskHeirs
from vedette.engine.crawl.look import Reached
from vedette.engine.crawl.source_runtime import SourceBook
from vedette.engine.settle.ids import Ids
from vedette.engine.workers.pool import Workers
from vedette.telemetry.clock import JumpingClock

NOON = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)
AT = "https://bench.example"
ROUNDS = 5
WORDS = 2000
MENU, LINKS = 40, 20  # links that all pages have, and that a page has of its own
# A step is what these files do; the first that fits.
STEPS = (
    ("which content class", ("extract/classes",)),
    ("what a parse would cost", ("core/text/parse_cost",)),
    ("letters", ("core/text/charset",)),
    ("parse, text, links", ("extract/",)),
    ("screen, gate", ("core/change/gate", "core/evidence/screen", "core/text/shell")),
    ("keys of the text", ("core/change/",)),
    ("find", ("discover/", "core/urls/", "engine/crawl/find_urls", "engine/crawl/source_runtime")),
    ("traits", ("core/judging/",)),
    ("decide about the watch", ("core/", "engine/settle/ids")),
    ("assess", ("engine/",)),
    ("values", ("contracts/", "dataclasses", "<string>")),
)
HOME = str(Path(vedette.__file__).parent) + "/"
Table = dict[str, float]


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--looks", type=int, default=400, help="of each kind, in each round")
    given.add_argument("--bytes", type=int, default=24_000, help="of a page")
    options = given.parse_args()
    kinds = asyncio.run(measured(options.looks, options.bytes))
    print(
        f"{options.looks} looks of each kind, pages of {options.bytes // 1000} KB; microseconds of CPU per look"
    )
    print(f"{'':26}" + "".join(f"{kind:>14}" for kind in kinds))
    for step in (*(name for name, _ in STEPS), "other", "all"):
        print(f"{step:26}" + "".join(f"{table.get(step, 0.0):14.1f}" for table in kinds.values()))
    bare = asyncio.run(bare_parse(options.looks, options.bytes))
    print(f"for scale: the parser alone takes {bare:.1f} for such a page")


async def measured(looks: int, size: int) -> dict[str, Table]:
    pages = [a_page(number, size) for number in range(looks)]
    new = [(a_watch(number), answer(number, body)) for number, body in enumerate(pages)]
    desk = assessor()
    settled = [await serve(desk, watch, fetched) for watch, fetched in new]
    again = [one.watch for one in settled]
    equal = [(watch, answer(number, pages[number])) for number, watch in enumerate(again)]
    same = [(watch, answer(number, None)) for number, watch in enumerate(again)]
    kinds = {"new page": new, "equal bytes": equal, "304": same}
    return {kind: await per_step(which) for kind, which in kinds.items()}


async def bare_parse(looks: int, size: int) -> float:
    """A busy machine makes everything slower alike: this is what to divide by."""
    pages = [a_page(number, size) for number in range(looks)]

    async def once() -> None:
        for body in pages:
            LexborHTMLParser(body)

    return 1e6 * min([await cpu(once) for _ in range(ROUNDS)]) / looks


Looks = list[tuple[Watch, Fetched]]


async def per_step(looks: Looks) -> Table:
    """The CPU of one look by step, and of all."""

    async def once() -> None:
        desk = assessor()
        for watch, fetched in looks:
            await serve(desk, watch, fetched)

    total = min([await cpu(once) for _ in range(ROUNDS)]) / len(looks)
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    await once()
    profile.disable()
    shares = by_step(profile)
    scale = total / sum(shares.values())
    return {step: 1e6 * spent * scale for step, spent in shares.items()} | {"all": 1e6 * total}


async def cpu(work: Callable[[], Awaitable[None]]) -> float:
    gc.collect()
    gc.disable()
    began = time.process_time()
    await work()
    spent = time.process_time() - began
    gc.enable()
    return spent


def by_step(profile: cProfile.Profile) -> Table:
    """Own time of our files; what the standard library and others do belongs to who called it."""
    found: Table = defaultdict(float)
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for (file, _, _), (_, _, own, _, callers) in stats.items():
        if file.startswith(HOME) or not callers:
            found[step_of([file])] += own
            continue
        for (caller, _, _), (_, _, spent, _) in callers.items():
            found[step_of([file, caller])] += spent
    return found


def step_of(files: Iterable[str]) -> str:
    """The caller's step when it is ours, else that of the file itself."""
    for file in reversed(list(files)):
        name = file.removeprefix(HOME)
        for step, beginnings in STEPS:
            if name.startswith(beginnings) or (name != file and name.endswith(beginnings)):
                return step
    return "other"


async def serve(desk: Assessor, watch: Watch, fetched: Fetched) -> Settlement:
    desk.looker.answer = Reached(fetched=fetched)  # type: ignore[attr-defined]
    job = Job(
        watch=watch, lanes=(watch.lane, LaneKey("all")), run=RunId("bench"), value=1.0, leased_until=NOON
    )
    settlement = await desk.serve(job)
    assert not isinstance(settlement, Release)
    assert settlement.visit.outcome in (Outcome.OK, Outcome.NOT_MODIFIED), settlement.visit.detail
    return settlement


class Told:
    """A looker that gives the answer that was put there."""

    answer: Reached

    async def look(self, job: Job) -> Reached:
        return self.answer


class NothingKept:
    def body(self, evidence: object) -> None:
        return None

    def change(self, change: object) -> None:
        return None

    def looks_since(self, watch: object, at: object) -> list[object]:
        return []


def assessor() -> Assessor:
    source = Source(id=SourceId("bench"), name="bench", url=f"{AT}/", lister=ListerKind.CRAWL)
    looker, workers, ids = Told(), Workers(), Ids()
    return Assessor(
        looker=looker,  # type: ignore[arg-type]
        finder=Finder(known=known().intersection),
        comparer=Comparer(NothingKept(), "main"),  # type: ignore[arg-type]
        book=SourceBook(
            load=lambda i: (source, SourceState(source=i)), settings_of=lambda s: FetchSettings()
        ),
        ids=ids,
        clock=JumpingClock(NOON),
        reading=ContentReader(
            looker=looker,  # type: ignore[arg-type]
            workers=workers,
            documents=DocumentReader(workers=workers),
            renders_shells=True,
        ),
        screen=AnswerScreen(screen_table(()), set(), lambda crumb: None),
        peer=lambda watch: None,
        heirs=RiskHeirs(peer=lambda watch: None, has_own_risk=lambda source: False, ids=ids),
        options=AssessOptions(rules=LookRules(due=due_params("learned"))),
    )


@lru_cache(maxsize=1)
def known() -> set[WatchId]:
    return {watch_id(f"{AT}/p/{number}") for number in range(10_000)}


def a_watch(number: int) -> Watch:
    url = f"{AT}/p/{number}"
    return Watch(
        id=watch_id(url), url=url, lane=lane_of(url), source=SourceId("bench"), lister=ListerKind.CRAWL,
        depth=1, due_at=NOON, created_at=NOON,
    )  # fmt: skip


def answer(number: int, body: bytes | None) -> Fetched:
    url, took = f"{AT}/p/{number}", timedelta(milliseconds=20)
    if body is None:
        return Fetched(url=url, outcome=Outcome.NOT_MODIFIED, at=NOON, took=took, status=304, etag='"1"')
    return Fetched(
        url=url, outcome=Outcome.OK, at=NOON, took=took, status=200, phrase="OK", etag='"1"', wire=body, body=body,
        headers=(("Content-Type", "text/html; charset=utf-8"), ("ETag", '"1"'), ("Server", "bench")),
        content_type="text/html; charset=utf-8",
    )  # fmt: skip


def a_page(number: int, size: int) -> bytes:
    """A page as sites have them: menus around an article with links and a table; its words are its own."""
    draw = random.Random(number)
    words = [
        f"{draw.choice('bcdfgklmnprstvz')}{draw.choice('aeiou')}{w:x}čš"[: 3 + w % 7] for w in range(WORDS)
    ]

    def prose(count: int) -> str:
        return " ".join(draw.choices(words, k=count)).capitalize() + "."

    links = [f'<a href="/p/{draw.randrange(10_000)}">{prose(3)}</a>' for _ in range(LINKS)]
    menu = "".join(f'<li><a href="/p/{at}">Section {at}</a></li>' for at in range(MENU))
    rows = "".join(f"<tr><td>{prose(2)}</td><td>{draw.randrange(1000)},50</td></tr>" for _ in range(12))
    article = "".join(f"<p>{prose(30)} {link} {prose(20)}</p>" for link in links)
    head = (
        f'<title>{prose(6)}</title><meta charset="utf-8"><link rel="canonical" href="{AT}/p/{number}">'
        f'<meta property="article:published_time" content="2026-11-{1 + number % 28:02d}T08:00:00Z">'
        f'<script>var settings = {{"number": {number}}};</script>'
    )
    filled = f"<h1>{prose(5)}</h1>{article}<table>{rows}</table>"
    while len(filled.encode()) + len(menu) + len(head) < size - 1000:
        filled += f"<p>{prose(60)}</p>"
    return (
        f'<!doctype html><html lang="hr"><head>{head}</head><body><header class="masthead"><nav><ul>{menu}</ul></nav>'
        f'</header><main><article>{filled}</article></main><aside class="related">{prose(20)}</aside>'
        f'<footer>{prose(12)}</footer></body></html>'
    ).encode()  # fmt: skip


if __name__ == "__main__":
    main()
