"""Lives of targets as the engine leads them: visits hours apart, further looks seconds after a difference."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from vedette.contracts.change import ChangeKind, Comparison, Noise
from vedette.contracts.words import Outcome, Risk
from vedette.core.change.life import Blocks, Confirm, LookState, Nothing, Observe, Past, Pending, advance
from vedette.extract import blocks as page_blocks

START = datetime(2026, 11, 2, tzinfo=UTC)


@dataclass
class Life:
    """One target.  `show` gives the HTML of a look."""

    show: Callable[[random.Random, float], str]
    chance: random.Random
    at: datetime = START
    seen: Blocks | None = None
    seen_at: datetime = START
    noise: Noise = Noise()
    age: int = 0
    looks: int = 0
    reports: list[tuple[int, Comparison]] = field(default_factory=list)  # number of the look, what it told
    risk: Risk = Risk.MEDIUM

    def _look(self) -> Blocks:
        self.looks += 1
        html = self.show(self.chance, (self.at - START) / timedelta(hours=1))
        return page_blocks(
            html.encode(), url="http://a.example/", content_type="text/html; charset=utf-8", scope="all"
        )

    def visit(self, hours: float = 4.0) -> list[Comparison]:
        """One visit with the looks that follow it; what was reported."""
        self.at += timedelta(hours=hours)
        blocks = self._look()
        if self.seen is None:
            self.seen, self.seen_at, self.age = blocks, self.at, 1
            return []
        pending: Pending | None = None
        while True:
            past = Past(
                before=self.seen,
                before_at=self.seen_at,
                noise=self.noise,
                pending=pending,
                age=self.age,
                risk=self.risk,
            )
            step = advance(LookState(outcome=Outcome.OK, at=self.at, blocks=blocks), past)
            if not isinstance(step, Observe):
                break
            looks, ats = (pending.looks, pending.ats) if pending else ((), ())
            pending = Pending(kind=ChangeKind.CHANGED, looks=(*looks, blocks), ats=(*ats, self.at))
            self.at += step.again_in
            blocks = self._look()
        self.seen, self.seen_at, self.noise = blocks, self.at, step.noise
        self.age += 1
        told = []
        if isinstance(step, Confirm):
            told = [step.comparison, *([step.then] if step.then else [])]
            self.reports += [(self.looks, one) for one in told]
        assert isinstance(step, Confirm | Nothing) or not told
        return told
