"""Asks a provider about findings, one after the other, by the lanes, prices and budget of the panel.

At most three calls for a page.  Whatever the provider does is weather: a page without an answer that counts has the
report of the offline analyst.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from vedette.contracts.findings import FindingText, PageReport
from vedette.contracts.lane import Wait
from vedette.contracts.oddness import OddFinding
from vedette.contracts.panel_run import Answer, Price, Prompt
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.findings.analyst import CALLS, WrongAnswer, question, read_answer, shown_text
from vedette.core.lanes.outcomes import MEANING
from vedette.core.limits import budget as money
from vedette.core.panel.plan import cost_of_call, end_of, most_cost
from vedette.engine.panel.provider_lanes import KeySetup
from vedette.lanes import LaneKeeper

PATIENCE = timedelta(seconds=90)  # that a page waits for its lane
ALL = LaneKey("all")
# After these no other page is worth a call by this key.
_FINAL = frozenset((Outcome.AUTH_ERROR, Outcome.QUOTA_SPENT))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystParts:
    """What is asked through, and what it may cost."""

    keys: tuple[KeySetup, ...]  # of one model; the first whose lane is open is asked
    keeper: LaneKeeper
    clock: Clock
    price: Price | None
    most_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysed:
    """What asking about one page came to."""

    report: PageReport | None  # None: the offline analyst has to do
    calls: int
    usd: float
    why_not: str = ""
    is_end: bool = False  # no other page can be asked about either


class Analyst:
    def __init__(self, parts: AnalystParts) -> None:
        self._parts = parts
        self._budget = money.Budget(most=parts.most_usd)

    @property
    def spent(self) -> float:
        return self._budget.spent

    async def analyse(self, finding: OddFinding, given: FindingText) -> Analysed:
        """At most three calls."""
        shown = shown_text(given.text)
        if not shown.passages:
            return Analysed(
                report=None, calls=0, usd=0.0, why_not="it has no passage that may be shown to a model"
            )
        wrong: WrongAnswer | None = None
        calls, usd, why = 0, 0.0, ""
        while calls < CALLS:
            prompt = question(finding, shown, self._mark(), before=wrong)
            key, why = await self._permit(prompt, len(finding.place))
            if key is None:
                return Analysed(report=None, calls=calls, usd=usd, why_not=why, is_end=True)
            answer, paid = await self._call(key, prompt, finding.place)
            calls, usd = calls + 1, usd + paid
            if answer.resp is None:
                why = f"{answer.outcome.value}: {answer.detail}" if answer.detail else answer.outcome.value
                if answer.outcome in _FINAL:
                    return Analysed(report=None, calls=calls, usd=usd, why_not=why, is_end=True)
                continue
            read = read_answer(answer.resp.text, finding, given)
            if isinstance(read, PageReport):
                note = (
                    f"{shown.left_out} passages that speak to models were not sent" if shown.left_out else ""
                )
                report = replace(read, author=key.model, note=note)
                return Analysed(report=report, calls=calls, usd=usd)
            wrong, why = read, read.why
        return Analysed(report=None, calls=calls, usd=usd, why_not=f"after {calls} calls: {why}")

    def _mark(self) -> str:
        """A word by chance, another one for each question: no page can know it."""
        return "".join(f"{int(self._parts.clock.chance() * (1 << 48)):012x}" for _ in range(2))

    async def _permit(self, prompt: Prompt, chars: int) -> tuple[KeySetup | None, str]:
        """A key whose lanes say Go, and money for the worst case; reserved and started."""
        parts = self._parts
        most = most_cost(parts.price, prompt, chars)
        if isinstance(money.ask(self._budget, parts.clock.now(), most), Wait):
            return None, f"the budget of {parts.most_usd:g} USD does not allow another call"
        give_up_at = parts.clock.now() + PATIENCE
        while True:
            now = parts.clock.now()
            waits = [(parts.keeper.ask((key.lane, ALL), now), key) for key in parts.keys]
            key = next((one for answer, one in waits if not isinstance(answer, Wait)), None)
            if key is not None:
                self._budget = money.reserve(self._budget, now, most)
                parts.keeper.start((key.lane, ALL), now)
                return key, ""
            untils = [answer.until for answer, _ in waits if isinstance(answer, Wait) and answer.until]
            if not untils or min(untils) > give_up_at:
                return None, "the lane of the provider is closed"
            await asyncio.sleep(max(0.05, (min(untils) - now).total_seconds()))

    async def _call(self, key: KeySetup, prompt: Prompt, domain: str) -> tuple[Answer, float]:
        """One request.  What it cost is counted as if it had cost the most, where the answer does not say."""
        parts, is_sent = self._parts, False

        def on_sent() -> None:
            nonlocal is_sent
            is_sent = True
            parts.keeper.sent((key.lane, ALL), parts.clock.now())

        answer = await key.provider.query(domain, prompt, on_sent=on_sent)
        paid = cost_of_call(parts.price, prompt, len(domain), end_of(answer, is_sent=is_sent))
        self._budget = money.settle(self._budget, most_cost(parts.price, prompt, len(domain)), paid)
        verdict = MEANING[answer.outcome].lane_verdict
        parts.keeper.finish(
            (key.lane, ALL), ok=verdict, now=parts.clock.now(), retry_after=answer.retry_after
        )
        return answer, paid


def worst_case(pages: Sequence[tuple[OddFinding, FindingText]], price: Price | None) -> float:
    """What asking about these can cost at most: three calls each, with answers as long as they may be."""
    return sum(
        CALLS
        * most_cost(
            price,
            question(one, shown_text(given.text), "0" * 24, before=WrongAnswer("x" * 80)),
            len(one.place),
        )
        for one, given in pages
    )
