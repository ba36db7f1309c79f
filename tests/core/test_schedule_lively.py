"""What is expected of a target that never changed hangs on what its host's others did, where hosts differ."""

from __future__ import annotations

import numpy as np
import pytest

from vedette.contracts.words import LaneKey, Risk
from vedette.core.schedule import make_policy
from vedette.core.schedule.learned import beliefs, decide
from vedette.core.schedule.learned.explain import _quantile
from vedette.core.schedule.learned.hosts import HostActivity, Hosts, spread
from vedette.core.schedule.learned.settings import ALIKE, Published
from vedette.core.schedule.protocol import SchedulePolicy, from_hours

GOAL = {"CRITICAL": (4.0, 0.95)}


@pytest.mark.parametrize("ratio", [0.2, 1.0, 3.0])
def test_chance_alone_makes_no_host_lively(ratio: float) -> None:
    """The beliefs may expect too many or too few everywhere: that is no difference between hosts."""
    rng = np.random.default_rng(11)
    taken_in = 0
    for hosts in range(2, 202):
        room = rng.uniform(0.1, 20.0, hosts)
        seen = rng.poisson(ratio * room).astype(float)
        taken_in += spread(np.stack([seen, room], axis=1))[1] < ALIKE
    assert taken_in <= 2


def test_a_quiet_host_among_lively_ones_is_known_for_it() -> None:
    lively = HostActivity()
    lively.grow(12)
    hosts = np.arange(12)
    lively.learn(hosts, np.where(hosts == 0, 1.0, 30.0), np.full(12, 25.0))
    how = spread(lively.counts)
    times = lively.times(hosts, how)
    assert how[1] < 50
    assert times[0] <= 0.25
    assert (times[1:] >= 1.0).all()


def test_a_host_that_nobody_watched_is_an_ordinary_one() -> None:
    lively = HostActivity()
    lively.grow(3)
    assert lively.times(np.arange(3), (1.0, 2.0)).tolist() == [1.0, 1.0, 1.0]
    assert spread(lively.counts) == (1.0, ALIKE)


def test_its_sums_lie_in_the_row_of_the_host() -> None:
    hosts, other = Hosts(), Hosts()
    for one in (hosts, other):
        one.numbers(np.arange(2))
    hosts.activity.learn(np.array([1, 1]), np.array([1.0, 0.0]), np.array([0.25, 0.5]))
    other.remember(1, hosts.belief(1, LaneKey("host:b"), None))
    assert other.activity.counts[:2].tolist() == [[0.0, 0.0], [1.0, 0.75]]


def test_on_a_quiet_host_a_target_that_never_changed_waits_longer() -> None:
    waits = {}
    for activity in (0.1, 1.0, 4.0):
        case = decide.Case(
            belief=beliefs.looked_once(490_000.0),
            place=beliefs.Surroundings(risk=Risk.MEDIUM, host_activity=activity),
            now=from_hours(490_030.0),
            changed=False,
        )
        waits[activity] = decide.decide([case], Published(price=5.0), {}).decided[0].wait
    assert waits[0.1] > waits[1.0] > waits[4.0]


def test_a_promise_costs_few_looks_where_hardly_anything_changes() -> None:
    """Two hosts of 60 CRITICAL pages: on one all change twice a day, on the other none does."""
    policy, looks = _watched(days=20)
    quiet, busy = looks[60:].sum(), looks[:60].sum()
    assert quiet < 0.2 * busy
    assert "changes a day" in policy.explain(60, 480.0).reasons[0].note
    assert policy.explain(60, 480.0).rate < 0.3 * policy.explain(0, 480.0).rate


def test_a_restart_knows_the_hosts_as_they_were() -> None:
    policy, _ = _watched(days=6)
    other = make_policy("learned", seed=3, objectives=GOAL)
    other.load(policy.dump())
    assert other.dump() == policy.dump()
    assert other.next_due(70) == pytest.approx(policy.next_due(70))


def _watched(days: int) -> tuple[SchedulePolicy, np.ndarray]:
    policy = make_policy("learned", seed=3, objectives=GOAL)
    ids = np.arange(120)
    policy.add(ids, risk="CRITICAL", host=ids // 60, now=0.0)
    rng = np.random.default_rng(9)
    looks, last = np.zeros(120), np.zeros(120)
    for t in np.arange(0.0, days * 24.0):
        due = policy.next(float(t), None)
        changed = (due < 60) & (rng.random(len(due)) < -np.expm1(-(t - last[due]) / 12.0))
        policy.observe(due, float(t), changed)
        looks[due] += t > days * 12.0
        last[due] = t
    return policy, looks


def test_a_target_that_hardly_ever_changes_has_an_uncertainty_that_is_not_nothing() -> None:
    """95 % of a Gamma of shape 0.02 lie below 0.046, by numerical integration; the mean is 0.02."""
    assert _quantile(0.02, 1.645) == pytest.approx(0.046, abs=0.006)
    assert _quantile(0.02, -1.645) < 1e-9
