"""The rows behind the scheduler's state: read when a host or hub is first met, written when they changed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Protocol

import numpy as np
import xxhash

from vedette.contracts.schedule import HostBelief, HubBelief, Leaf, PublishedRow, ScheduleRows
from vedette.contracts.watch import Watch
from vedette.contracts.words import LaneKey, WatchId
from vedette.core.schedule.learned.beliefs import pack_clock, pack_published, unpack_clock, unpack_published
from vedette.core.schedule.learned.scheduler_state import SchedulerCounters, SchedulerState, Where

MOST_UNLISTED = 1_000_000  # ids remembered as listing nothing


class ScheduleSide(Protocol):
    """What the scheduler reads of the store."""

    def ask_ahead(self, lanes: Sequence[LaneKey], hubs: Sequence[WatchId]) -> None: ...
    def hosts(self, lanes: Sequence[LaneKey]) -> list[HostBelief]: ...
    def hubs(self, watches: Sequence[WatchId]) -> list[HubBelief]: ...
    def clocks(self, ids: Sequence[int]) -> dict[int, bytes]: ...
    def leaves(self, watches: Sequence[WatchId]) -> list[Leaf]: ...
    def published(self) -> PublishedRow | None: ...
    def running(self) -> str: ...
    def scheduled(self) -> int: ...
    def sample(self, after: int, most: int) -> list[Leaf]: ...
    def planned(self, after: int, most: int, *, now: datetime) -> list[Leaf]: ...


class SchedulerRows:
    """Hosts by lane and hubs by watch id, as numbers of `state`."""

    def __init__(self, store: ScheduleSide) -> None:
        self._store = store
        self.state = SchedulerState()
        self.version = 0
        self._lanes: list[LaneKey] = []
        self._hub_lane: dict[int, tuple[WatchId, LaneKey]] = {}  # by number
        self._unlisted: set[WatchId] = set()
        self._clock_of: dict[int, int] = {}  # ids of published clocks, of hosts by number
        self._common: int | None = None  # of hosts that have none of their own
        self._new_clocks: dict[int, bytes] = {}
        self._known_clocks: set[int] = set()
        self._published: PublishedRow | None = None
        self._restore()
        self._written = self._running_text()

    def load(self, lanes: Iterable[LaneKey], hubs: Iterable[WatchId | None]) -> None:
        """After this, these hosts and hubs are known, as far as there is anything to know."""
        new = [key for key in dict.fromkeys(lanes) if key not in self.state.hosts.ids]
        if new:
            self._load_hosts(new)
        ids = self.state.hubs.ids
        asked = {i for i in hubs if i is not None and i not in ids and i not in self._unlisted}
        if asked:
            self._load_hubs(asked)

    def follow(self, watches: Sequence[Watch], visited: set[LaneKey]) -> None:
        """What others have written since, for looks at these watches: a server is asked for all of it at once.

        `visited`: lanes where another worker may have been.  These hosts and their hubs are as the store has them now.
        """
        ids, parts = self.state.hosts.ids, self.state.hubs.ids
        known = sorted(lane for lane in visited if lane in ids)
        hubs = sorted(watch for watch, lane in self._hub_lane.values() if lane in visited)
        if visited:
            self._unlisted.clear()
        new = {watch.lane for watch in watches if watch.lane not in ids}
        named = {i for watch in watches for i in (watch.parent, watch.id) if i is not None}
        asked = {i for i in named if i not in parts and i not in self._unlisted}
        self._store.ask_ahead([*known, *new], [*hubs, *asked])
        if known:
            self._remember(known)
        for row in self._store.hubs(hubs) if hubs else ():
            self._put_hub(row)
        self._follow_published()

    def _follow_published(self) -> None:
        published = self._store.published()
        if published is not None and published.version > self.version:
            self._adopt(published)

    def take_sums(self) -> None:
        """The sums as they are stored: what others added to them since is in there."""
        self._restore()
        self._written = self._running_text()

    def host(self, lane: LaneKey) -> int:
        return self.state.hosts.ids[lane]

    def hub(self, watch: WatchId | None) -> int:
        """The number of a hub; -1: it is none."""
        return self.state.hubs.number(watch)

    def place(self, one: Watch | Leaf) -> tuple[int, int, int]:
        """Its host, the hub that lists it and the hub that it is."""
        number = self.state.hubs.number
        return self.state.hosts.ids[one.lane], number(one.parent), number(one.id)

    def where(self, watches: Sequence[Watch] | Sequence[Leaf]) -> Where:
        places = np.array([self.place(one) for one in watches], np.int64).reshape(-1, 3)
        risk = np.array([one.risk for one in watches], np.int64)
        return Where(host=places[:, 0], risk=risk, hub=places[:, 1], own=places[:, 2])

    def hub_of(self, watch: Watch) -> int:
        """The number of the hub that this watch is from now on."""
        number = self.hub(watch.id)
        if number < 0:
            self._unlisted.discard(watch.id)
            number = self._put_hub(HubBelief(watch=watch.id, lane=watch.lane))
        return number

    def clock_id(self, lane: LaneKey) -> int | None:
        """The published clock that decisions about this host name."""
        return self._clock_of.get(self.host(lane), self._common)

    def publish(self, at: datetime) -> None:
        """A new version of what the state has published, and the clocks that came with it."""
        state = self.state
        for number in np.flatnonzero(state.hosts.has_clock[: len(state.hosts)]).tolist():
            if number in state.touched_hosts:
                self._clock_of[number] = self._keep(pack_clock(state.hosts.clocks, number))
        if state.has_common_clock:
            self._common = self._keep(state.hosts.clocks.common.tobytes())
        self.version += 1
        body = pack_published(state.published)
        self._published = PublishedRow(version=self.version, at=at, body=body, clock=self._common)

    def changed(self) -> ScheduleRows:
        """What is to be written since it was last asked for."""
        state, published = self.state, self._published
        hosts, state.touched_hosts = sorted(state.touched_hosts), set()
        hubs, state.touched_hubs = sorted(state.touched_hubs), set()
        clocks, self._new_clocks, self._published = tuple(self._new_clocks.items()), {}, None
        before, self._written = self._written, self._running_text()
        return ScheduleRows(
            hosts=tuple(state.hosts.belief(n, self._lanes[n], self._clock_of.get(n)) for n in hosts),
            hubs=tuple(sorted((self._hub_row(n) for n in hubs), key=lambda row: row.watch)),
            clocks=clocks,
            published=published,
            running=self._written,
            before=before,
        )

    def _running_text(self) -> str:
        state = self.state
        sums = {
            "bursts": state.bursts.tolist(),
            "calibration": state.calibration.counts.tolist(),
            "shared_clock": state.hosts.clocks.shared.tolist(),
        }
        return json.dumps({"running": asdict(state.counters), **sums}, separators=(",", ":"))

    def _restore(self) -> None:
        published, text, state = self._store.published(), self._store.running(), self.state
        if published is not None:
            self._adopt(published)
        if text:
            kept = json.loads(text)
            state.counters = SchedulerCounters(**kept["running"])
            state.bursts = np.array(kept["bursts"])
            state.calibration.counts = np.array(kept["calibration"])
            state.hosts.clocks.shared = np.array(kept["shared_clock"])

    def _adopt(self, published: PublishedRow) -> None:
        self.version, self._common = published.version, published.clock
        self.state.published = unpack_published(published.body)
        if self._common is not None:
            self.state.follow(unpack_clock(self._store.clocks([self._common])[self._common]))
            self._known_clocks.add(self._common)

    def _load_hosts(self, lanes: list[LaneKey]) -> None:
        self.state.hosts.numbers(lanes)
        self._lanes += lanes
        self._remember(lanes)

    def _remember(self, lanes: list[LaneKey]) -> None:
        hosts = self.state.hosts
        rows = self._store.hosts(lanes)
        clocks = self._store.clocks([row.clock for row in rows if row.clock is not None])
        for row in rows:
            number = hosts.ids[row.lane]
            hosts.remember(number, row)
            if row.clock is not None:
                hosts.clocks.upto[number], hosts.has_clock[number] = unpack_clock(clocks[row.clock]), True
                self._clock_of[number] = row.clock
                self._known_clocks.add(row.clock)

    def _load_hubs(self, asked: set[WatchId]) -> None:
        found = self._store.hubs(sorted(asked))
        self.load([row.lane for row in found], ())
        for row in found:
            self._put_hub(row)
        if len(self._unlisted) > MOST_UNLISTED:
            self._unlisted.clear()
        self._unlisted |= asked - {row.watch for row in found}

    def _keep(self, clock: bytes) -> int:
        i = xxhash.xxh3_64_intdigest(clock) >> 1
        if i not in self._known_clocks:
            self._known_clocks.add(i)
            self._new_clocks[i] = clock
        return i

    def _put_hub(self, row: HubBelief) -> int:
        hubs = self.state.hubs
        number = int(hubs.numbers([row.watch])[0])
        values = {
            "host": self.host(row.lane),
            "listed_at": -math.inf if row.listed_at is None else row.listed_at,
            "since": math.inf if row.since is None else row.since,
            "leaves": row.leaves,
            "every": row.every,
            "value": row.pull,
            "births": row.births,
        }
        for name, value in values.items():
            hubs.columns[name][number] = value
        self._hub_lane[number] = (row.watch, row.lane)
        return number

    def _hub_row(self, number: int) -> HubBelief:
        watch, lane = self._hub_lane[number]
        one = {name: float(column[number]) for name, column in self.state.hubs.columns.items()}
        return HubBelief(
            watch=watch,
            lane=lane,
            leaves=one["leaves"],
            listed_at=one["listed_at"] if math.isfinite(one["listed_at"]) else None,
            every=one["every"],
            pull=one["value"],
            births=one["births"],
            since=one["since"] if math.isfinite(one["since"]) else None,
        )
