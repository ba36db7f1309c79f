"""What one new page, one 304 and one page with equal bytes spend where: CPU per look and step.

Runs the passes of `bench/crawl_column.py --again` against a web that is being served (see the judge's README), with a
stopwatch of the thread's CPU time around each step.  A step is charged for what it does itself; what a step inside it
does is charged to that one.  The stopwatches cost about a tenth, so the whole is told by the column, not by this.

    python bench/look_profile.py --seed http://127.0.1.1:18092/p/0.html --max 4000
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from types import CoroutineType
from typing import Any

import crawl_column

# Step: the functions that do it, as module and name.  Coroutines are charged for the time that they run.
STEPS: dict[str, tuple[str, ...]] = {
    "loop: turn": ("lanes.dispatcher:Dispatcher._turn",),
    "loop: committed": ("engine.crawl.loop:Engine.on_committed", "engine.crawl.loop:Engine.on_claimed"),
    "loop: serve": ("engine.crawl.assess:Assessor.serve",),
    "look: robots": ("engine.crawl.look:_Walk.robots_refuse",),
    "look: permits, hops": ("engine.crawl.look:Looker.look",),
    "fetch: send": ("fetch.connections:Client.send",),
    "fetch: line": ("fetch.far_end:FarEnd.data_received",),
    "fetch: rest": ("fetch.http:HttpFetcher.fetch",),
    "read: begin, digest": ("engine.crawl.look_record:LookRecord.begun",),
    "read: parse, text, links": ("engine.crawl.content_reader:ContentReader.read",),
    "read: gate": ("engine.crawl.assess:gate",),
    "judge": (
        "engine.crawl.compare_states:Comparer.judge",
        "engine.crawl.compare_states:Comparer.judge_same",
    ),
    "find": ("engine.crawl.assess:Assessor._linked",),
    "decide: watch after the look": ("engine.crawl.assess:settle",),
    "decide: traits": ("engine.crawl.look_record:measure",),
    "decide: settlement": ("engine.crawl.look_record:LookRecord.settlement",),
    "settle: turn": ("engine.settle.settler:Settler.turn",),
    "settle: claim": ("engine.settle.settler:Settler._answer",),
    "settle: place": ("engine.settle.settler:Settler._place",),
    "settle: schedule": ("engine.settle.fallback:GuardedScheduler.decide",),
    "archive: append": ("evidence.archive:Archive.append",),
    "archive: record": ("evidence.archive:visit_record",),
    "archive: sync": ("evidence.archive:Archive.sync",),
    "archive: HEADS": ("evidence.archive:Archive.committed",),
    "store: rows": ("store.sqlite:rows_of",),
    "store: statements": ("store.sqlite:Writer._write",),
    "store: seal": ("store.sqlite:seal",),
    "store: commit": ("store.sqlite:Writer.settle",),
    "store: checkpoint": ("store.sqlite:Writer.checkpoint",),
    "events": ("engine.crawl.run:CrawlRun._acknowledge",),
}
REST = "loop, imports, start and end"


class Stopwatch:
    """CPU of each step, its own.  One stack per thread."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()
        self._local = threading.local()

    def enter(self, step: str) -> None:
        now, stack = time.thread_time(), self._stack()
        if stack:
            self.spent[stack[-1][0]] += now - stack[-1][1]
        stack.append([step, now])

    def leave(self) -> None:
        now, stack = time.thread_time(), self._stack()
        step, since = stack.pop()
        self.spent[step] += now - since
        if stack:
            stack[-1][1] = now

    def take(self) -> tuple[dict[str, float], Counter[str]]:
        taken = (dict(self.spent), self.calls.copy())
        self.spent.clear()
        self.calls.clear()
        return taken

    def _stack(self) -> list[list[Any]]:
        if not hasattr(self._local, "stack"):
            self._local.stack = []
        stack: list[list[Any]] = self._local.stack
        return stack


class _Timed:
    """An awaitable that is charged each time it runs, not while it waits."""

    def __init__(self, watch: Stopwatch, step: str, made: CoroutineType[Any, Any, Any]) -> None:
        self._watch, self._step, self._made = watch, step, made

    def __await__(self) -> Generator[Any, Any, Any]:
        sent, error = None, None
        while True:
            self._watch.enter(self._step)
            try:
                waited = self._made.send(sent) if error is None else self._made.throw(error)
            except StopIteration as end:
                return end.value
            finally:
                self._watch.leave()
            try:
                sent, error = (yield waited), None
            except BaseException as thrown:  # noqa: BLE001  handed on to whom it is meant for
                error = thrown


def wrap(watch: Stopwatch, step: str, place: str) -> None:
    module, _, name = place.partition(":")
    owner: Any = importlib.import_module(f"vedette.{module}")
    *path, name = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    setattr(owner, name, _timed(watch, step, getattr(owner, name)))


def _timed(watch: Stopwatch, step: str, what: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(what):

        async def run(*args: Any, **named: Any) -> Any:
            watch.calls[step] += 1
            return await _Timed(watch, step, what(*args, **named))

        return run

    def call(*args: Any, **named: Any) -> Any:
        watch.calls[step] += 1
        watch.enter(step)
        try:
            return what(*args, **named)
        finally:
            watch.leave()

    return call


def main() -> None:
    watch = Stopwatch()
    for step, places in STEPS.items():
        for place in places:
            wrap(watch, step, place)
    columns: dict[str, dict[str, float]] = {}

    def passed(name: str, looks: int, cpu: float) -> None:
        spent, _ = watch.take()
        each = {step: 1e6 * seconds / max(looks, 1) for step, seconds in spent.items()}
        each[REST] = 1e6 * cpu / max(looks, 1) - sum(each.values())
        columns[name] = each

    with tempfile.TemporaryDirectory() as folder:
        options = crawl_column.options_of([*sys.argv[1:], "--again", "--workdir", folder])
        crawl_column.crawl(options, passed)
    print("| step, microseconds of CPU per look |" + "".join(f" {name} |" for name in columns))
    print("|---|" + "---:|" * len(columns))
    for step in (*STEPS, REST):
        print(f"| {step} |" + "".join(f" {column.get(step, 0.0):.0f} |" for column in columns.values()))
    totals = {name: round(sum(column.values())) for name, column in columns.items()}
    print("| all |" + "".join(f" {total} |" for total in totals.values()))
    print(json.dumps(totals), file=sys.stderr)


if __name__ == "__main__":
    main()
