"""Where the hunt has been, what that gave, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.config.rules import hunt_options
from vedette.contracts.hunt import HuntRecord, HuntState
from vedette.core.hunt import Chosen, HuntParams, room_of
from vedette.engine.settle.hunter import Hunter
from vedette.operations.installation import Installation
from vedette.store.schedule_rows import HuntReader


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOverview:
    state: HuntState
    whole: HuntRecord
    open: int
    waiting: int
    hosts: list[tuple[str, HuntRecord]]
    next: list[Chosen]
    params: HuntParams
    looks_per_day: float | None

    def room(self, record: HuntRecord) -> int:
        """How many more looks its errors leave to a host."""
        return room_of(record, self.params)


def hunt(installation: Installation, *, top: int) -> HuntOverview:
    """So many hosts and pages of each kind.  Changes nothing."""
    options = hunt_options(installation.loaded.config)
    with installation.reading() as db:
        reader = HuntReader(db)
        is_open, waiting = reader.counts()
        return HuntOverview(
            state=reader.state(),
            whole=reader.records([""]).get("", HuntRecord()),
            open=is_open,
            waiting=waiting,
            hosts=reader.hosts(top),
            next=Hunter(reader, options, lambda now: 0).next(top, installation.now()),
            params=options.params,
            looks_per_day=options.looks_per_day,
        )


def hunt_json(found: HuntOverview) -> dict[str, object]:
    return {
        "chosen": found.state.number,
        "waiting": found.waiting,
        "open": found.open,
        "looks_per_day": found.looks_per_day,
        "share": found.params.share,
        **found.whole._asdict(),
        "hosts": [{"host": host, **one._asdict(), "room": found.room(one)} for host, one in found.hosts],
        "next": [
            {
                "url": one.prospect.url,
                "is_new": one.is_new,
                "value": one.value,
                "reasons": [{"code": r.code, "points": r.points, "note": r.note} for r in one.reasons],
            }
            for one in found.next
        ],
    }
