"""Changes that a group reports, as messages that are written with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from vedette.contracts.alerts import Message, Notice
from vedette.contracts.change import Change
from vedette.contracts.watch import Placed, Settlement
from vedette.contracts.words import SourceId
from vedette.report.notices import change_notice

Route = Callable[[Notice], Iterable[Message]]


IsMuted = Callable[[SourceId, datetime], bool]
TagsOf = Callable[[SourceId], tuple[str, ...]]


def messages_of(
    placed: Sequence[Placed],
    route: Route,
    is_muted: IsMuted = lambda source, at: False,
    tags_of: TagsOf = lambda source: (),
) -> tuple[Message, ...]:
    """Costs nothing for looks that report no change."""
    return tuple(
        message
        for one in placed
        if one.settlement.reports and not is_muted(one.settlement.watch.source, one.settlement.visit.at)
        for report in one.settlement.reports
        for message in route(_notice(report, one.settlement, tags_of))
    )


def _notice(report: Change, settlement: Settlement, tags_of: TagsOf) -> Notice:
    made = change_notice(_decided(report, settlement), settlement.watch, at=settlement.visit.at)
    return replace(made, tags=tags_of(settlement.watch.source))


def _decided(report: Change, settlement: Settlement) -> Change:
    """With the reasons for which this look confirmed it."""
    reasons = next((one.reasons for one in settlement.decisions if one.action == "change"), ())
    return replace(report, comparison=replace(report.comparison, reasons=reasons)) if reasons else report
