"""A fetcher that answers from a script, for whole-stream tests of one page's life."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from watching import Watched

from vedette.config.model import parse
from vedette.contracts.fetch import Fetched, FetchRequest
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import outcome_of_status
from vedette.telemetry.clock import JumpingClock

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
Answer = tuple[int, str] | tuple[int, str, dict[str, str]]
Script = Callable[[str, float], Answer]  # url, hours since the start


class Scripted:
    """Implements `Fetcher`.  robots.txt is a 404 unless the script says otherwise."""

    def __init__(self, clock: JumpingClock, script: Script) -> None:
        self._clock = clock
        self._script = script
        self.asked: list[tuple[float, str]] = []

    async def fetch(self, request: FetchRequest) -> Fetched:
        hours = (self._clock.now() - START) / timedelta(hours=1)
        self.asked.append((hours, request.url))
        answer = self._script(request.url, hours)
        status, text = answer[0], answer[1]
        headers = answer[2] if len(answer) == 3 else {}
        if request.url.endswith("/robots.txt") and text == "":
            status = 404
        body = text.encode()
        moved = headers.get("location")
        outcome = Outcome.OK if moved else outcome_of_status(status, "retry-after" in headers)
        wait = headers.get("retry-after")
        return Fetched(
            url=request.url,
            outcome=outcome,
            at=self._clock.now(),
            took=timedelta(milliseconds=5),
            status=status,
            phrase="OK",
            headers=(("Content-Type", "text/html; charset=utf-8"), *headers.items()),
            wire=body,
            body=body,
            address="192.0.2.1",
            redirect_to=moved,
            retry_after=timedelta(seconds=int(wait)) if wait else None,
            content_type="text/html; charset=utf-8",
        )

    async def close(self) -> None:
        return None

    def looks(self, url: str) -> list[float]:
        return [hours for hours, asked in self.asked if asked == url]


class Life(Watched):
    """One configured page or site on a jumping clock."""

    fetcher: Scripted


def life(folder: Path, script: Script, *sources: dict[str, Any], **config: Any) -> Life:
    clock = JumpingClock(START)
    raw = {"sources": list(sources), "schedule": {"policy": "fixed", "interval": "4h"}} | config
    watched = Life(None, folder, clock, None, parse(raw))  # type: ignore[arg-type]
    watched.fetcher = Scripted(clock, script)
    return watched


def page(*paragraphs: str, title: str = "Obavijest", head: str = "") -> str:
    filler = "Ured objavljuje obavijesti za obveznike, rokove i obrasce koji se predaju svake godine. " * 3
    text = "".join(f"<p>{p}</p>" for p in (*paragraphs, filler))
    return f"<html><head><title>{title}</title>{head}</head><body><h1>{title}</h1>{text}</body></html>"
