"""What a clock that stood ahead has left in the store, and how it is mended."""

from __future__ import annotations

from vedette.config.policies import lane_policies
from vedette.operations.installation import Installation
from vedette.report.plain import count
from vedette.store.clock_repair import Ahead, heal, survey
from vedette.store.operator_orders import HEALED, order


def clock_ahead(installation: Installation) -> Ahead:
    """Times that lie further ahead than their rules allow."""
    policy_of = lane_policies(installation.loaded.config).of
    with installation.reading() as db:
        return survey(db, now=installation.now(), policy_of=policy_of)


def heal_clock(installation: Installation) -> Ahead:
    """Brings them back; a running engine hears of it.  Gives what was healed."""
    now, policy_of = installation.now(), lane_policies(installation.loaded.config).of
    with installation.operating() as db:
        healed = heal(db, now=now, policy_of=policy_of)
        if healed.is_any:
            order(db, HEALED, "", now=now)
    return healed


def ahead_words(left: Ahead) -> str:
    until = "" if left.until is None else f", the latest of {left.until:%Y-%m-%d %H:%M}"
    return (
        f"the clock stood ahead: times too far ahead in {count(left.watches, 'watch', 'watches')}, "
        f"{count(left.lanes, 'lane')} and {count(left.others, 'other row')}{until}"
    )
