"""Changes that a group reports, as messages that are written with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from vedette.contracts.alerting import Message, Notice
from vedette.contracts.watch import Placed
from vedette.report.notices import change_notice

Route = Callable[[Notice], Iterable[Message]]


def messages_of(placed: Sequence[Placed], route: Route) -> tuple[Message, ...]:
    """Costs nothing for looks that report no change."""
    return tuple(
        message
        for one in placed
        if one.settlement.reports
        for report in one.settlement.reports
        for message in route(change_notice(report, one.settlement.watch, at=one.settlement.visit.at))
    )
