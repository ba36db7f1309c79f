"""Beliefs, looks and policies for the tests of the learned policy."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np

from vedette.core.schedule import make_policy
from vedette.core.schedule.learned.beliefs import BeliefContext, Beliefs
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.learn import GoodLooks
from vedette.core.schedule.learned.policy import LearnedPolicy
from vedette.core.schedule.learned.settings import Published

HOUR = timedelta(hours=1)
RISKS = ("LOW", "MEDIUM", "HIGH", "CRITICAL")


def belief(n: int = 1, **parts: float | np.ndarray) -> Beliefs:
    plain = {
        "events": 0.0, "hours": 0.0, "steady": 1.0, "asleep": 0.0, "last": 0.0, "lag": math.inf, "listed_change_p": 0.0,
        "listed_change_lag": 0.0,
    } | parts  # fmt: skip
    return Beliefs(*(np.full(n, value) for value in plain.values()))


def around(n: int = 1, clocks: Clocks | None = None, **parts: object) -> BeliefContext:
    flat = Clocks()
    flat.grow(1)
    plain: dict[str, object] = {
        "published": Published(bursts=(0.0, 0.0, 0.0)), "clocks": clocks or flat, "host": np.zeros(n, np.int64),
        "weight": np.ones(n), "listed_at": np.full(n, -np.inf), "listed_every": np.full(n, np.inf),
        "recall": np.zeros(n), "hub_value": np.zeros(n), "price_factor": np.ones(n),
        "host_activity": np.ones(n),
    } | parts  # fmt: skip
    return BeliefContext(**plain)  # type: ignore[arg-type]


def looks(at: float, changed: bool, modified: float = math.nan, n: int = 1) -> GoodLooks:
    return GoodLooks(np.full(n, at), np.full(n, changed), np.full(n, modified))


def watching(n: int = 40, hosts: int = 4, **options: object) -> LearnedPolicy:
    policy = make_policy("learned", seed=7, **options)
    assert isinstance(policy, LearnedPolicy)
    policy.add(
        np.arange(n) * 10**15, risk=[RISKS[i % 4] for i in range(n)], host=np.arange(n) % hosts, now=0.0
    )
    policy.observe(np.arange(n) * 10**15, 0.0, np.zeros(n, bool))
    return policy


def live(policy: LearnedPolicy, rates: np.ndarray, until: float, k: int | None = 4, step: float = 1.0) -> int:
    """Pages that change at random, looked at as the policy says; ids are i * 10**15.  Gives the number of looks."""
    rng = np.random.default_rng(1)
    last, count = np.zeros(len(rates)), 0
    for t in np.arange(step, until, step):
        ids = policy.next(float(t), k)
        i = ids // 10**15
        changed = rng.random(len(i)) < -np.expm1(-rates[i] * (t - last[i]))
        policy.observe(ids, float(t), changed)
        last[i] = t
        count += len(i)
    return count
