"""Reports about findings: by a model where there is a key and money, by the offline analyst everywhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vedette.app.configured_analyst import AnalystTerms, Page, analyse_pages, analyst_of, most_usd
from vedette.app.panel import Panel
from vedette.contracts.findings import OFFLINE, FindingText, KeptReport, PageReport
from vedette.contracts.oddness import Action, OddFinding
from vedette.core.findings.offline_report import NO_MODEL, offline_report
from vedette.engine.panel.report_caller import Analysed
from vedette.operations.finding_cards import finding_texts, words_of
from vedette.operations.hunt_digest import report_json
from vedette.operations.installation import Installation
from vedette.store.finding_rows import judged_bodies, kept_reports, save_report
from vedette.store.hunt_rows import HuntReader

NO_KEY = "no provider has a key, so no model was asked: this follows from the score and the stored text"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisRequest:
    model: str | None = None  # None: as configured, else the first provider with a key
    budget: float | None = None  # US dollars; None: as configured
    most: int = 20  # pages
    again: bool = False  # also pages that have a report


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystRun:
    """What an analyst was asked about, and what it came to."""

    model: str | None  # None: offline
    worst_usd: float
    reports: tuple[tuple[OddFinding, KeptReport], ...]

    @property
    def usd(self) -> float:
        return sum(kept.usd for _, kept in self.reports)

    @property
    def calls(self) -> int:
        return sum(kept.calls for _, kept in self.reports)

    @property
    def offline(self) -> int:
        return sum(kept.report.author == OFFLINE for _, kept in self.reports)


def plan_analysis(installation: Installation, *, most: int, again: bool = False) -> list[Page]:
    """Findings of action llm that no model was asked about yet, the oddest first; `again`: also those."""
    with installation.reading() as db:
        found = [one for one in HuntReader(db).findings() if one.action is Action.LLM]
        bodies = judged_bodies(db, [one.watch for one in found])
        kept = kept_reports(db)
    asked = {
        watch
        for watch, one in kept.items()
        if one.calls and watch in bodies and one.digest == bodies[watch][0]
    }
    fresh = [one for one in found if again or one.watch not in asked][:most]
    texts = finding_texts(installation, {one.watch: bodies[one.watch][0] for one in fresh})
    return [(one, texts.get(one.watch, FindingText("", ""))) for one in fresh]


def analyse(
    installation: Installation, panel: Panel, pages: Sequence[Page], terms: AnalystTerms
) -> AnalystRun:
    """Asks about each, keeps each report when it is there."""
    with installation.reading() as db:
        bodies = judged_bodies(db, [one.watch for one, _ in pages])
    known: Counter[str] = Counter(word for _, given in pages for word in words_of(given))
    texts = {one.watch: given for one, given in pages}
    found: dict[int, KeptReport] = {}

    def keep(finding: OddFinding, done: Analysed) -> None:
        report = done.report or _offline(finding, texts[finding.watch], known, why=done.why_not)
        kept = KeptReport(
            watch=finding.watch,
            report=report,
            digest=bodies[finding.watch][0],
            calls=done.calls,
            usd=done.usd,
            at=installation.now(),
        )
        with installation.operating() as db:
            save_report(db, kept)
        found[finding.watch] = kept

    worst = most_usd(pages, terms)
    analyse_pages(panel, [page for page in pages if page[1].text], terms, keep)
    why = "" if terms.model else NO_KEY
    for one, _ in pages:
        if one.watch not in found:
            keep(one, Analysed(report=None, calls=0, usd=0.0, why_not=why))
    return AnalystRun(
        model=terms.model, worst_usd=worst, reports=tuple((one, found[one.watch]) for one, _ in pages)
    )


def analysis(installation: Installation, asked: AnalysisRequest) -> AnalystRun:
    """What `vedette hunt analyse` does."""
    section = installation.loaded.config.hunt
    panel = Panel(installation.loaded, clock=installation.clock)
    most = section.analyst_usd if asked.budget is None else asked.budget
    terms = analyst_of(panel, asked.model or section.analyst, most)
    pages = plan_analysis(installation, most=asked.most, again=asked.again)
    return analyse(installation, panel, pages, terms)


def analyst_json(run: AnalystRun) -> dict[str, object]:
    return {
        "model": run.model,
        "offline": run.offline,
        "calls": run.calls,
        "usd": run.usd,
        "worst_usd": run.worst_usd,
        "reports": [
            {
                "url": one.url,
                "score": one.score,
                "calls": kept.calls,
                "usd": kept.usd,
                **report_json(kept.report),
            }
            for one, kept in run.reports
        ],
    }


def _offline(finding: OddFinding, given: FindingText, known: Counter[str], *, why: str) -> PageReport:
    note = why if why == NO_KEY else f"{NO_MODEL}; the model was not used: {why}" if why else NO_MODEL
    made = offline_report(finding, given if given.text else None, known)
    return replace(made, note=note if given.text else f"{note}; {made.note}")
