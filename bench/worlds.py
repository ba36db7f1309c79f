"""Three further worlds for the schedule policies, written after the constants of `learned` were frozen.

    python bench/worlds.py                   # learned against seed-ewma and per-risk, at a full and a quarter budget
    python bench/worlds.py --slo             # CRITICAL within 4 h, 95 %: what is forecast on day 14, what is then seen

weather   looks fail at random, and hosts are down for hours at a time; a failed look costs as much as a good one
caps      three hosts hold most targets and let few looks through per hour
gossip    half of the hosts invent Last-Modified, hubs name few changes and many that are none, and all is
          published in a few hours of the week

Cost J = risk-weighted stale share + mean age of stale copies / 24 h, from day 10 on; the known rates, looked at in the
best order with no weather, are the reference.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vedette.core.schedule import make_policy
from vedette.core.schedule.learned.policy import LearnedPolicy
from vedette.core.schedule.protocol import SchedulePolicy

WEIGHT = np.array([0.5, 1.0, 2.0, 4.0])
TICK, DAYS, WARM = 0.5, 45, 10
ASKED, WITHIN = 14, 4.0  # the day of the forecast, hours of the objective
Floats = NDArray[np.float64]


@dataclass
class World:
    risk: NDArray[np.int64]
    host: NDArray[np.int64]
    rate: Floats
    events: list[Floats]  # change times of each target
    parent: NDArray[np.int64]
    dated: NDArray[np.int64]  # Last-Modified: 0 none, 1 true, 2 the time of the look
    fails: float = 0.0
    down: dict[int, list[tuple[float, float]]] = field(default_factory=dict)  # outages of a host
    caps: dict[int, int] = field(default_factory=dict)  # looks that a host lets through per tick
    listed: list[list[tuple[float, int]]] = field(default_factory=list)  # per hub: when, which leaf


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--n", type=int, default=600)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--only", nargs="*", default=())
    asked.add_argument("--slo", action="store_true")
    a = asked.parse_args()
    for name, make in WORLDS.items():
        if a.only and name not in a.only:
            continue
        world = make(np.random.default_rng([a.seed, len(name)]), a.n)
        for share in (1.0, 0.25):
            if a.slo:
                told, seen = promised(world, share)
                print(
                    f"{name:8} {share:4} looks per target and day: forecast {told:.3f}, seen {seen:.3f}",
                    flush=True,
                )
                continue
            best = run(world, None, share)
            costs = {
                one: run(world, make_policy(one, seed=a.seed), share)
                for one in ("learned", "seed-ewma", "per-risk")
            }
            told = "  ".join(f"{one} {cost / best:.2f}" for one, cost in costs.items())
            print(f"{name:8} {share:4} looks per target and day: {told}", flush=True)


def promised(world: World, per_day: float) -> tuple[float, float]:
    """The share of CRITICAL changes that is forecast to be seen within 4 h, and that which is."""
    policy = make_policy("learned", seed=1, objectives={"CRITICAL": (WITHIN, 0.95)})
    assert isinstance(policy, LearnedPolicy)
    limits = {host: looks * 24.0 / TICK for host, looks in world.caps.items()}
    told: list[float] = []
    looks: list[list[float]] = [[] for _ in world.risk]

    def watch(t: float, done: NDArray[np.int64]) -> None:
        if t >= ASKED * 24 and not told:
            budget = per_day * len(world.risk)
            told.append(policy.forecast(t, budget, host_limits=limits).coverage["CRITICAL"])
        for i in done.tolist():
            looks[i].append(t)

    run(world, policy, per_day, watch)
    total = seen = 0
    for i in np.flatnonzero(world.risk == 3).tolist():
        events = world.events[i][(world.events[i] >= ASKED * 24) & (world.events[i] < DAYS * 24 - WITHIN)]
        at = np.array([*looks[i], np.inf])
        total += len(events)
        seen += int((at[np.searchsorted(at, events)] - events <= WITHIN).sum())
    return told[0], seen / total


def run(
    world: World,
    policy: SchedulePolicy | None,
    per_day: float,
    watch: Callable[[float, NDArray[np.int64]], None] = lambda t, done: None,
) -> float:
    """Cost J of a policy; None: the reference, which knows the rates.  `watch` hears of every good look."""
    n, rng = len(world.risk), np.random.default_rng(9)
    ids = np.arange(n)
    last, credit, cost = np.zeros(n), 0.0, np.zeros(n)
    if policy is not None:
        policy.add(ids, risk=world.risk, host=world.host, parent=world.parent, now=0.0)
        policy.observe(ids, 0.0, np.zeros(n, bool))
    for t in np.arange(TICK, DAYS * 24, TICK):
        credit += per_day * n * TICK / 24
        k, credit = int(credit), credit % 1.0
        if policy is None:
            chosen = np.argsort(-_known_value(world, t - last))[:k]
            done = np.ones(len(chosen), bool)
        else:
            chosen = policy.next(float(t), k, host_room=world.caps or None)
            done = np.array([_answers(world, int(i), t, rng) for i in chosen], bool)
        cost += _charge(world, chosen[done], last, t)
        if policy is not None and len(chosen):
            _report(world, policy, (chosen, done), last, float(t))
        last[chosen[done]] = t
        watch(float(t), chosen[done])
    cost += _charge(world, ids, last, DAYS * 24.0)
    hours = (DAYS - WARM) * 24.0
    weight = WEIGHT[world.risk]
    return float((weight * cost).sum() / (weight.sum() * hours))


def _charge(world: World, ids: NDArray[np.int64], last: Floats, t: float) -> Floats:
    """Stale hours and age that these targets ran up since their last look, after the warm-up."""
    cost = np.zeros(len(world.risk))
    for i in ids.tolist():
        first = _first(world.events[i], last[i], t)
        if first is not None:
            begin = max(first, WARM * 24.0)
            if t > begin:
                cost[i] = (t - begin) + ((t - first) ** 2 - (begin - first) ** 2) / 2 / 24
    return cost


def _first(events: Floats, after: float, upto: float) -> float | None:
    place = int(np.searchsorted(events, after, side="right"))
    return float(events[place]) if place < len(events) and events[place] <= upto else None


def _known_value(world: World, age: Floats) -> Floats:
    x = world.rate * age
    p = -np.expm1(-x)
    rate = np.maximum(world.rate, 1e-9)
    first = age**2 / 2 - (1.0 - (1.0 + x) * np.exp(-x)) / rate**2
    value: Floats = WEIGHT[world.risk] * (age * p - (age - p / rate) + np.maximum(first, 0.0) / 24)
    return value


def _answers(world: World, i: int, t: float, rng: np.random.Generator) -> bool:
    is_down = any(start <= t < end for start, end in world.down.get(int(world.host[i]), ()))
    return not is_down and rng.random() >= world.fails


def _report(
    world: World,
    policy: SchedulePolicy,
    seen: tuple[NDArray[np.int64], NDArray[np.bool_]],
    last: Floats,
    t: float,
) -> None:
    chosen, done = seen
    newest = [
        world.events[i][: np.searchsorted(world.events[i], t, side="right")][-1:] for i in chosen.tolist()
    ]
    at = np.array([one[0] if len(one) else -1.0 for one in newest])
    changed = (at > last[chosen]) & done
    dates = np.select([world.dated[chosen] == 1, world.dated[chosen] == 2], [at, np.full(len(at), t)], np.nan)
    status = np.where(done, 200, 503)
    policy.observe(chosen, t, changed, last_modified=np.where(changed, dates, np.nan), status=status)
    for hub in chosen[done].tolist():
        if hub < len(world.listed):
            named = {leaf for when, leaf in world.listed[hub] if last[hub] < when <= t}
            policy.signal(np.array(sorted(named), int), t, kind="hub", source=hub, complete=True)


def _plain(rng: np.random.Generator, n: int) -> World:
    """Heavy-tailed rates, median once in 15 days."""
    rate = np.minimum(np.exp(rng.normal(np.log(1 / 360), 1.8, n)), 0.5) * (rng.random(n) > 0.2)
    events = [np.sort(rng.random(rng.poisson(one * DAYS * 24)) * DAYS * 24) for one in rate]
    host = rng.integers(0, max(4, n // 60), n)
    risk = rng.choice(4, n, p=(0.2, 0.45, 0.25, 0.1))
    return World(risk, host, rate, events, np.full(n, -1), (rng.random(n) < 0.3).astype(np.int64))


def weather(rng: np.random.Generator, n: int) -> World:
    world = _plain(rng, n)
    world.fails = 0.05
    for host in range(0, int(world.host.max()) + 1, 2):
        starts = np.sort(rng.random(12) * DAYS * 24)
        world.down[host] = [(float(s), float(s + rng.exponential(18))) for s in starts]
    return world


def caps(rng: np.random.Generator, n: int) -> World:
    world = _plain(rng, n)
    world.host = np.where(rng.random(n) < 0.7, rng.integers(0, 3, n), world.host)
    world.caps = {0: 1, 1: 1, 2: 2}
    return world


def gossip(rng: np.random.Generator, n: int) -> World:
    world = _plain(rng, n)
    hubs = max(1, n // 40)
    world.parent[hubs:] = rng.integers(0, hubs, n - hubs)
    week = np.floor(np.arange(DAYS * 24) / 168) * 168
    slots = np.array([9.0, 9.5, 10.0, 57.0, 57.5, 105.0])  # Monday, Wednesday, Friday morning
    world.events = [np.sort(week[one.astype(int)] + rng.choice(slots, len(one)) + rng.random(len(one)) / 4)
                    for one in world.events]  # fmt: skip
    world.dated = np.where(world.host % 2 == 0, 2, 0)
    world.listed = [[] for _ in range(hubs)]
    for leaf in range(hubs, n):
        true = [float(t) for t in world.events[leaf] if rng.random() < 0.4]
        false = (rng.random(rng.poisson(0.1 * DAYS)) * DAYS * 24).tolist()
        world.listed[int(world.parent[leaf])] += [(when, leaf) for when in true + false]
    for hub in range(hubs):
        own = [when for when, _ in world.listed[hub]]
        world.events[hub] = np.sort(np.r_[world.events[hub], own])
        world.rate[hub] = len(world.events[hub]) / (DAYS * 24)
    return world


WORLDS = {"weather": weather, "caps": caps, "gossip": gossip}


if __name__ == "__main__":
    main()
