"""What a demonstration came to: changes, false alarms, politeness as the servers counted it, evidence, what to type."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from vedette.contracts.events import Changed, Event, Visited
from vedette.contracts.words import ChangeId, VisitId
from vedette.core.urls.canonical import host_of
from vedette.livingweb import World
from vedette.operations.maintenance import verify_evidence
from vedette.report.lines import line
from vedette.report.plain import count, span
from vedette.store.migrate import DATABASE
from vedette.store.queries import Queries
from vedette.surface.cli.session import Session


@dataclass(slots=True)
class DemoSeen:
    """What happened, by the events of the run and by the count of the servers."""

    world: World
    began_at: datetime
    elapsed: Callable[[], timedelta]
    served: Mapping[str, Any] = field(default_factory=dict)
    looks: int = 0
    urls: set[str] = field(default_factory=set)
    changes: list[tuple[str, ChangeId]] = field(default_factory=list)
    different: list[tuple[str, datetime, datetime]] = field(
        default_factory=list
    )  # URL, look before, this look
    _last: dict[str, tuple[object, datetime]] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        if isinstance(event, Changed):
            self.changes.append((event.url, event.change))
        if not isinstance(event, Visited):
            return
        url, digest = event.url, event.digest
        self.looks += 1
        self.urls.add(url)
        before = self._last.get(url)
        if digest and before and digest != before[0]:
            self.different.append((url, before[1], event.at))
        if digest:
            self._last[url] = (digest, event.at)

    def noisy(self) -> int:
        """How often a page came back different though its server had changed nothing in it."""
        return sum(self._is_noise(*one) for one in self.different)

    def _is_noise(self, url: str, before: datetime, at: datetime) -> bool:
        place = self.world.locate(url)  # None: a listing, which changes when its pages do
        return place is not None and not self.world.changes(
            *place, before.timestamp() - 1, at.timestamp() + 1
        )


def summarise(session: Session, stage: Session, seen: DemoSeen) -> None:
    """For people; with --json the events were the result."""
    data = stage.given.data or Path()
    with Queries(data / DATABASE) as queries:
        untrue = sum(not _is_true(seen.world, queries, url, change) for url, change in seen.changes)
    hosts = {host_of(url) for url in seen.urls}
    took, theirs = span(seen.elapsed()), span(stage.now() - seen.began_at)
    lines = [
        f"{took} here, {theirs} there: {count(seen.looks, 'look')} at {count(len(seen.urls), 'page')} of "
        f"{count(len(hosts), 'host')}.",
        f"  changes       {_changes(len(seen.changes), untrue)}",
        f"  false alarms  {count(seen.noisy(), 'time')} a page came back different though its server had changed "
        "nothing in it (counters, banners, tokens): not reported",
        f"  politeness    {_politeness(seen.served)}",
        f"  evidence      {_evidence(stage)}",
        "",
    ]
    session.out.note_lines(line(words) for words in lines)
    typed = _next(data, [url for url, _ in seen.changes])
    session.out.note_lines((line(words) for words in typed), folds=False)


def _changes(number: int, untrue: int) -> str:
    if not number:
        return "none yet; an hour more and there will be some"
    if not untrue:
        return f"{number} reported, and the servers made every one of them"
    return (
        f"{number} reported; {untrue} of them the servers did not make (a line that had stood for many looks)"
    )


def _is_true(world: World, queries: Queries, url: str, change: ChangeId) -> bool:
    """Did the server change the page between the two looks that the change was seen in?"""
    place, view = world.locate(url), queries.change(change)
    if place is None or view is None:
        return True  # a listing; it changes when its pages do
    before = None if view.change.before_visit is None else queries.visit(VisitId(view.change.before_visit))
    since = world.epoch if before is None else before.at.timestamp()
    return bool(world.changes(*place, since - 1.0, view.change.observed_at.timestamp() + 1.0))


def _politeness(served: Mapping[str, Any]) -> str:
    hosts = list(served.get("hosts", {}).values())
    gaps = [host["least_gap"] for host in hosts if host["least_gap"] is not None]
    most = max((host["most_at_once"] for host in hosts), default=0)
    return (
        f"the servers counted {count(int(served.get('requests', 0)), 'request')}: never more than {most} at once, "
        f"never closer than {min(gaps, default=0.0):.1f} s of their time, "
        f"{count(int(served.get('forbidden', 0)), 'page')} that robots.txt forbids"
    )


def _evidence(stage: Session) -> str:
    report = verify_evidence(stage.installation)
    if report.is_whole:
        return f"{count(report.records, 'record')} verified, byte by byte and hash by hash: all whole"
    return f"{count(sum(report.found.values()), 'problem')} found; `vedette evidence verify` names them"


def _next(data: Path, urls: list[str]) -> list[str]:
    """Commands that work as they stand here; short enough for a narrow screen."""
    program, exports = _program()
    about = min(urls, key=len, default=None)
    verbs = ["changes --limit 5", *([] if about is None else [f"diff {about}", f"explain {about}"])]
    return [
        "Everything is kept until you delete it.  To look into it:",
        f"  export VEDETTE_DATA={shlex.quote(str(data))}",
        *(f"  {words}" for words in exports),
        *(f"  {program} {words}" for words in [*verbs, "evidence verify"]),
        "Your own web, in a new folder:",
        "  unset VEDETTE_DATA",
        f"  {program} init",
        f"  {program} add https://example.org/",
        f"  {program} run",
    ]


def _program() -> tuple[str, list[str]]:
    """How this program is called from here, and what makes that possible where the shell does not find it."""
    own = Path(sys.executable).with_name("vedette")
    if not own.exists():
        return f"{shlex.quote(sys.executable)} -m vedette", []
    found = shutil.which("vedette")
    if found is not None and Path(found).absolute() == own.absolute():
        return "vedette", []
    return "vedette", [f"export PATH={shlex.quote(str(own.parent))}:$PATH"]
