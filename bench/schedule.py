"""What do decisions and beliefs of the learned policy cost, and does it stay so at a million targets?

    python bench/schedule.py                 # 10,000 against 1,000,000 targets
    python bench/schedule.py --large 300000

Ratios are taken within one run: rounds of the small and the large policy alternate, so a busy machine hurts both.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from vedette.core.schedule import make_policy
from vedette.core.schedule.learned.learn import GoodLooks, learn
from vedette.core.schedule.learned.policy import LearnedPolicy

ROUNDS = {1: 1500, 50: 300}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--small", type=int, default=10_000)
    asked.add_argument("--large", type=int, default=1_000_000)
    sizes = asked.parse_args()
    small, large = built(sizes.small), built(sizes.large)
    for batch, rounds in ROUNDS.items():
        costs = measured((small, large), batch, rounds)
        print(
            f"batch of {batch}: {costs[0] * 1e6:.0f} us per decision at {sizes.small:,}, "
            f"{costs[1] * 1e6:.0f} us at {sizes.large:,}: {costs[1] / costs[0]:.2f}x (goal <= 2)"
        )
    print(f"belief updates: {updates(large):,.0f} per CPU second (goal >= 1,000,000)")
    print(f"state: {held(large):.1f} bytes per target, queue and index included (goal <= 64)")
    data = large.dump()
    again = make_policy("learned", seed=1)
    again.load(data)
    t = 10_000.0
    same = all((large.next(t + i, 50) == again.next(t + i, 50)).all() for i in range(5))
    print(f"restart: {len(data) / sizes.large:.1f} bytes per target in the dump, decides identically: {same}")


def built(size: int) -> LearnedPolicy:
    """A policy with some history: 100 targets per host, a hub for every 50."""
    rng = np.random.default_rng(size)
    policy = make_policy("learned", seed=1)
    assert isinstance(policy, LearnedPolicy)
    ids = rng.permutation(size) * 1_000_003
    parent = np.where(np.arange(size) % 50 == 0, -1, ids[np.arange(size) // 50 * 50])
    risk = rng.integers(0, 4, size)
    for start in range(0, size, 100_000):
        part = slice(start, start + 100_000)
        policy.add(
            ids[part], risk=risk[part], host=np.arange(size)[part] // 100, parent=parent[part], now=0.0
        )
        policy.observe(ids[part], 0.0, np.zeros(len(ids[part]), bool))
        for day in (1, 2, 3):
            policy.observe(ids[part], 24.0 * day, rng.random(len(ids[part])) < 0.1)
        print(f"\rbuilding {size:,}: {min(start + 100_000, size) / size:.0%}", end="", flush=True)
    print()
    return policy


def measured(policies: tuple[LearnedPolicy, LearnedPolicy], batch: int, rounds: int) -> list[float]:
    """CPU seconds per decision (next, then observe) of each policy, half of the rounds being warm-up."""
    spent = [0.0, 0.0]
    rng = np.random.default_rng(batch)
    for done in range(2 * rounds):
        for which, policy in enumerate(policies):
            t = policy_time(policy, batch)
            start = time.process_time()
            ids = policy.next(t, batch)
            policy.observe(ids, t, rng.random(len(ids)) < 0.2)
            if done >= rounds:
                spent[which] += time.process_time() - start
        if done % 50 == 0:
            print(f"\rbatches of {batch}: {done / (2 * rounds):.0%}", end="", flush=True)
    print("\r", end="")
    return [one / (rounds * batch) for one in spent]


_CLOCKS: dict[int, float] = {}


def policy_time(policy: LearnedPolicy, batch: int) -> float:
    """Each policy lives at one look per target and day, so both are equally busy."""
    size = policy._rows.size
    _CLOCKS[id(policy)] = _CLOCKS.get(id(policy), 96.0) + 24.0 * batch / size
    return _CLOCKS[id(policy)]


def updates(policy: LearnedPolicy) -> float:
    memory = policy._rows
    rows = np.arange(min(memory.size, 200_000))
    beliefs, around = memory.beliefs(rows), memory.state.context(memory.where(rows), 5000.0)
    rng = np.random.default_rng(1)
    best = 0.0
    for _ in range(5):
        start = time.process_time()
        for part in np.array_split(rows, 25):
            seen = GoodLooks(
                np.full(len(part), 5000.0), rng.random(len(part)) < 0.1, np.full(len(part), np.nan)
            )
            learn(beliefs.take(part), around.take(part), seen)
        best = max(best, len(rows) / (time.process_time() - start))
    return best


def held(policy: LearnedPolicy) -> float:
    """Bytes of every array that the policy keeps, hosts and hubs among them."""
    return float(sum(one.nbytes for one in policy._rows.held())) / policy._rows.size


if __name__ == "__main__":
    main()
