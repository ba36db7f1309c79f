"""Lives of pages of the living web, whose hosts all draw noise, without an engine: what was told, missed, made up."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime

from vedette.contracts.change import ChangeKind, Noise
from vedette.contracts.words import Outcome
from vedette.core.change.life import Blocks, Confirm, LookState, Observe, Past, Pending, advance
from vedette.extract import blocks as page_blocks
from vedette.livingweb import grid_world
from vedette.livingweb.chance import Chance
from vedette.livingweb.noise import Roll
from vedette.livingweb.presets import GridMix
from vedette.livingweb.process import ChangeMix
from vedette.livingweb.render import render_page
from vedette.livingweb.world import Page, World

HOUR = 3600.0


@dataclass
class Lives:
    looks: int = 0
    told: int = 0
    missed: list[str] = field(default_factory=list)  # an edit that the visit which saw it did not tell
    false: list[str] = field(default_factory=list)

    def __iadd__(self, other: Lives) -> Lives:
        self.looks, self.told = self.looks + other.looks, self.told + other.told
        self.missed += other.missed
        self.false += other.false
        return self


def restless_world(seed: int, *, hosts: int, pages: int, tempo: float) -> World:
    return grid_world(hosts, pages, seed=seed, mix=GridMix(noisy=1, changes=ChangeMix(tempo=tempo)))


def lives_of(world: World, seed: int, host: int, *, days: float) -> Lives:
    """All pages of a host, visited every few hours, each by its own chance."""
    total = Lives()
    for page in world.hosts[host].pages:
        if page.kind == "html":
            total += _Watching(world, seed, host, page).run(days)
    return total


class _Watching:
    def __init__(self, world: World, seed: int, host: int, page: Page) -> None:
        self.world, self.seed, self.host, self.page = world, seed, host, page
        self.chance = random.Random(f"{seed} {host} {page.index}")
        self.t = world.epoch + self.chance.random() * HOUR
        self.lives = Lives()

    def run(self, days: float) -> Lives:
        seen, truth = self._look()
        seen_at, noise, age = self.t, Noise(), 1
        while self._wait() <= self.world.epoch + days * 86_400:
            pending: Pending | None = None
            blocks, now = self._look()
            states = [truth, now]
            while True:
                past = Past(before=seen, before_at=_at(seen_at), noise=noise, pending=pending, age=age)
                step = advance(LookState(outcome=Outcome.OK, at=_at(self.t), blocks=blocks), past)
                if not isinstance(step, Observe):
                    break
                looks, ats = (pending.looks, pending.ats) if pending else ((), ())
                pending = Pending(kind=ChangeKind.CHANGED, looks=(*looks, blocks), ats=(*ats, _at(self.t)))
                self.t += self.chance.uniform(5, 9)
                blocks, now = self._look()
                states.append(now)
            self._judge(states, is_told=isinstance(step, Confirm), visit=age)
            seen, seen_at, noise, age, truth = blocks, self.t, step.noise, age + 1, now
        return self.lives

    def _wait(self) -> float:
        self.t += self.chance.choice((1, 2, 4, 4, 6, 12)) * HOUR * self.chance.uniform(0.9, 1.1)
        return self.t

    def _look(self) -> tuple[Blocks, str]:
        host, page = self.world.hosts[self.host], self.page
        rendered = render_page(host, page, page.history.version(self.t), "a.example")
        chance = Chance(self.seed, self.host, page.path, "noise", self.lives.looks)
        roll = Roll(chance, self.lives.looks, self.t, host.spec.lang)
        body = rendered.fill(host.spec.noise, roll, host.spec.charset)
        self.lives.looks += 1
        url = f"http://a.example{page.path}"
        blocks = page_blocks(body, url=url, content_type=rendered.content_type, scope="main")
        return blocks, self.world.state(self.host, page.index, self.t).body

    def _judge(self, states: list[str], *, is_told: bool, visit: int) -> None:
        is_edited = any(one != other for one, other in itertools.pairwise(states))
        where = f"seed {self.seed}, host {self.host}, page {self.page.index}, visit {visit}"
        self.lives.told += is_edited and is_told
        if is_edited and not is_told:
            self.lives.missed.append(where)
        elif is_told and not is_edited:
            self.lives.false.append(where)


def _at(t: float) -> datetime:
    return datetime.fromtimestamp(t, UTC)
