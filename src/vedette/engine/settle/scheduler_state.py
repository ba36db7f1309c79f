"""What the scheduler knows of hosts and hubs: read from their rows when first needed, written when they changed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Protocol

import numpy as np
import xxhash

from vedette.contracts.schedule import HostBelief, HubBelief, Leaf, PublishedRow
from vedette.contracts.words import LaneKey, Risk, WatchId
from vedette.core.schedule.learned.row import (
    HubTold,
    Place,
    pack_clock,
    pack_published,
    unpack_clock,
    unpack_published,
)
from vedette.core.schedule.learned.shared import Shared

FRESH = 8  # changes of a host after which its clock is published anew
MOST_UNLISTED = 1_000_000  # ids remembered as listing nothing
_SHARED_LEAST = 48.0  # changes of all hosts before new ones follow their rhythm (learned/clock.py)


class ScheduleSide(Protocol):
    """What the scheduler reads of the store."""

    def hosts(self, lanes: Sequence[LaneKey]) -> list[HostBelief]: ...
    def hubs(self, watches: Sequence[WatchId]) -> list[HubBelief]: ...
    def clocks(self, ids: Sequence[int]) -> dict[int, bytes]: ...
    def leaves(self, watches: Sequence[WatchId]) -> list[Leaf]: ...
    def published(self) -> PublishedRow | None: ...
    def running(self) -> str: ...
    def scheduled(self) -> int: ...
    def sample(self, after: int, most: int) -> list[Leaf]: ...
    def planned(self, after: int, most: int, *, now: datetime) -> list[Leaf]: ...


@dataclass(slots=True)
class SchedulerCounters:
    """The scheduler's own sums, beside those of `Shared`."""

    reviewed_at: float = -math.inf
    started_at: float = math.inf
    watched: int = 0  # scheduled watches at the last review,
    found: int = 0  # and those that came in since
    looks: int = 0  # all looks, and
    planned: int = 0  # those that the schedule asked for: no retries, no second looks
    replan: int | None = None  # ids up to here are planned at the newest price; None: all are
    sampled: int = 0  # where the last sample ended
    looked: int = 0  # looks up to the last review
    spare: float = 1.0  # how many times the budget is asked for, because less than it was spent


class SchedulerState:
    """Hosts and hubs by number, as the arrays of `Shared` count them."""

    def __init__(self, store: ScheduleSide) -> None:
        self._store = store
        self.shared = Shared()
        self.running = SchedulerCounters()
        self.version = 0
        self._host_of: dict[LaneKey, int] = {}
        self._lanes: list[LaneKey] = []
        self._clock_of: list[int | None] = []
        self._fresh: list[int] = []
        self._clocks: dict[int, bytes] = {}
        self._common: int | None = None  # the clock of hosts that have none of their own
        self._unlisted: set[WatchId] = set()
        self._hub_lane: dict[WatchId, LaneKey] = {}
        self._dirty_hosts: set[int] = set()
        self._dirty_hubs: set[WatchId] = set()
        self._new_clocks: dict[int, bytes] = {}
        self._restore()

    def load(self, lanes: Iterable[LaneKey], hubs: Iterable[WatchId | None]) -> None:
        """After this, these hosts and hubs are known, as far as there is anything to know."""
        new = [key for key in dict.fromkeys(lanes) if key not in self._host_of]
        if new:
            self._take_hosts(new)
        ids = self.shared.hubs.ids
        asked = {i for i in hubs if i is not None and i not in ids and i not in self._unlisted}
        if asked:
            found = self._store.hubs(sorted(asked))
            self.load([row.lane for row in found], ())
            for row in found:
                self._put_hub(row)
            if len(self._unlisted) > MOST_UNLISTED:
                self._unlisted.clear()
            self._unlisted |= asked - {row.watch for row in found}

    def host(self, lane: LaneKey) -> int:
        return self._host_of[lane]

    def hub(self, watch: WatchId | None) -> int:
        """The number of a hub; -1: it is none."""
        return -1 if watch is None else self.shared.hubs.ids.get(watch, -1)

    def new_hub(self, watch: WatchId, lane: LaneKey) -> int:
        self._unlisted.discard(watch)
        self._put_hub(HubBelief(watch=watch, lane=lane))
        self._dirty_hubs.add(watch)
        return self.hub(watch)

    def place(self, watch: WatchId, lane: LaneKey, risk: Risk, parent: WatchId | None, t: float) -> Place:
        """Where a watch stands, as its decision records it."""
        number, hubs = self._host_of[lane], self.shared.hubs
        told, pull = None, 0.0
        if hubs.ids:
            hub, own = hubs.ids.get(parent, -1) if parent else -1, hubs.ids.get(watch, -1)
            listed = float(hubs.columns["listed_at"][hub]) if hub >= 0 else -math.inf
            if math.isfinite(listed):
                recall = float(self.shared.hosts.quality.recall(int(hubs.columns["host"][hub])))
                told = HubTold(listed, max(float(hubs.columns["every"][hub]), t - listed), recall)
            if own >= 0:
                pull = float(hubs.pull(own, t))
        clock = self.clock_id(lane)
        return Place(
            risk=risk,
            host_clock=b"" if clock is None else self._clocks[clock],
            hub=told,
            pull=pull,
            dear=float(self.shared.hosts.dear[number]),
            lively=self.shared.lively(number),
        )

    def clock_id(self, lane: LaneKey) -> int | None:
        own = self._clock_of[self._host_of[lane]]
        return self._common if own is None else own

    def counted(self, hosts: Sequence[int]) -> None:
        """Changes were counted for the clocks of these hosts."""
        for number in hosts:
            self._fresh[number] += 1
            self._dirty_hosts.add(number)

    def touch_host(self, number: int) -> None:
        self._dirty_hosts.add(number)

    def touch_hub(self, watch: WatchId) -> None:
        self._dirty_hubs.add(watch)

    def set_dear(self, dear: dict[int, float], seen: Iterable[int]) -> None:
        """Looks at these hosts cost so many times the price; at the others that were `seen`, once."""
        for number in set(seen) | set(dear):
            times = float(f"{dear.get(number, 1.0):.5g}")
            if times != self.shared.hosts.dear[number]:
                self.shared.hosts.dear[number] = times
                self._dirty_hosts.add(number)

    def publish(self, at: datetime) -> PublishedRow:
        """A new version: bursts, and the clocks of hosts that have counted enough."""
        shared = self.shared
        shared.publish_bursts()
        due = [number for number, fresh in enumerate(self._fresh) if fresh >= FRESH]
        shared.hosts.clocks.set(np.array(due, np.int64))
        for number in due:
            self._clock_of[number], self._fresh[number] = (
                self._keep(pack_clock(shared.hosts.clocks, number)),
                0,
            )
            self._dirty_hosts.add(number)
        if shared.hosts.clocks.shared.sum() >= _SHARED_LEAST:
            self._common = self._keep(shared.hosts.clocks.shared_clock().astype("<f4").tobytes())
            self._follow_common()
        self.version += 1
        body = pack_published(shared.published)
        shared.published = unpack_published(body)  # decide by what is kept
        return PublishedRow(version=self.version, at=at, body=body, clock=self._common)

    def changed_hosts(self) -> tuple[HostBelief, ...]:
        dirty, self._dirty_hosts = sorted(self._dirty_hosts), set()
        hosts = self.shared.hosts
        return tuple(
            replace(hosts.belief(n, self._lanes[n]), clock=self._clock_of[n], fresh=self._fresh[n])
            for n in dirty
        )

    def changed_hubs(self) -> tuple[HubBelief, ...]:
        dirty, self._dirty_hubs = sorted(self._dirty_hubs), set()
        return tuple(self._hub_row(watch) for watch in dirty)

    def changed_clocks(self) -> tuple[tuple[int, bytes], ...]:
        new, self._new_clocks = self._new_clocks, {}
        return tuple(new.items())

    def running_text(self) -> str:
        shared = self.shared
        sums = {
            "bursts": shared.bursts.tolist(),
            "calibration": shared.calibration.counts.tolist(),
            "shared_clock": shared.hosts.clocks.shared.tolist(),
        }
        return json.dumps({"running": asdict(self.running), **sums}, separators=(",", ":"))

    def _restore(self) -> None:
        published, text = self._store.published(), self._store.running()
        if published is not None:
            self.version, self._common = published.version, published.clock
            self.shared.published = unpack_published(published.body)
            if self._common is not None:
                self._clocks |= self._store.clocks([self._common])
        if text:
            kept = json.loads(text)
            self.running = SchedulerCounters(**kept["running"])
            self.shared.bursts = np.array(kept["bursts"])
            self.shared.calibration.counts = np.array(kept["calibration"])
            self.shared.hosts.clocks.shared = np.array(kept["shared_clock"])

    def _take_hosts(self, lanes: list[LaneKey]) -> None:
        first = len(self._lanes)
        for number, key in enumerate(lanes, first):
            self._host_of[key] = number
        self._lanes += lanes
        self._clock_of += [None] * len(lanes)
        self._fresh += [0] * len(lanes)
        room = len(self.shared.hosts)
        if len(self._lanes) > room:  # by a quarter at a time: arrays are copied when they grow
            self.shared.hosts.numbers(np.arange(room, max(len(self._lanes), room + room // 4)))
        rows = self._store.hosts(lanes)
        self._clocks |= self._store.clocks([row.clock for row in rows if row.clock is not None])
        for row in rows:
            number = self._host_of[row.lane]
            self.shared.hosts.remember(number, row)
            self._clock_of[number], self._fresh[number] = row.clock, row.fresh
        for number in range(first, len(self._lanes)):
            self._wind(number)

    def _follow_common(self) -> None:
        for number, own in enumerate(self._clock_of):
            if own is None:
                self._wind(number)

    def _wind(self, number: int) -> None:
        """The clock of this host goes by what is published."""
        own = self._clock_of[number]
        clock = self._common if own is None else own
        if clock is not None:
            self.shared.hosts.clocks.upto[number] = unpack_clock(self._clocks[clock])
        else:
            self.shared.hosts.clocks.upto[number] = _FLAT

    def _keep(self, clock: bytes) -> int:
        i = xxhash.xxh3_64_intdigest(clock) >> 1
        if i not in self._clocks:
            self._clocks[i] = self._new_clocks[i] = clock
        return i

    def _put_hub(self, row: HubBelief) -> None:
        hubs = self.shared.hubs
        number = int(hubs.numbers([row.watch])[0])
        c = hubs.columns
        c["host"][number] = self._host_of[row.lane]
        c["listed_at"][number] = -math.inf if row.listed_at is None else row.listed_at
        c["since"][number] = math.inf if row.since is None else row.since
        for name in ("leaves", "every", "pull", "births"):
            c[name][number] = getattr(row, name)
        self._hub_lane[row.watch] = row.lane

    def _hub_row(self, watch: WatchId) -> HubBelief:
        hubs = self.shared.hubs
        number = hubs.ids[watch]
        one = {name: float(column[number]) for name, column in hubs.columns.items()}
        return HubBelief(
            watch=watch,
            lane=self._hub_lane[watch],
            leaves=one["leaves"],
            listed_at=one["listed_at"] if math.isfinite(one["listed_at"]) else None,
            every=one["every"],
            pull=one["pull"],
            births=one["births"],
            since=one["since"] if math.isfinite(one["since"]) else None,
        )


_FLAT = np.broadcast_to(np.arange(25, dtype=np.float32), (2, 25))
