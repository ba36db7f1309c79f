"""The rules that a run decides by: those of its scheduler and its hunt, and what is kept of them with the run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from datetime import timedelta

from vedette import __version__
from vedette.config.model import Config, parse, written
from vedette.config.pace_policies import lane_policies, objectives, velocity_params
from vedette.config.policies import (
    FETCH_NAMES,
    due_rule,
    fetch_settings,
    patterns,
    retry_rule,
    sources_of,
)
from vedette.config.values import file_digest
from vedette.contracts.oddness import Triage
from vedette.contracts.words import LaneKey, SourceId
from vedette.core.evidence.ledger import InForce
from vedette.core.hunt_worth import HuntParams
from vedette.core.lanes.lane import starts_per_day
from vedette.core.oddness.odd_score import DEFAULT, configured, read_weights
from vedette.core.oddness.triage import Revisits
from vedette.core.urls.admission import ADMISSION_FORM
from vedette.engine.settle.hunter import HuntOptions
from vedette.engine.settle.scheduler import SchedulerOptions
from vedette.store.corrections import ADMISSION, FETCH_ONLY, SETTINGS

RULE_SECTIONS = ("classify", "hunt", "objectives", "retry", "schedule")
_SECRET = ("headers", "post", "proxy", "secrets")


def scheduler_options(config: Config, crawl_delay: Callable[[LaneKey], timedelta | None]) -> SchedulerOptions:
    """What the scheduler of the engine may spend and has to promise."""
    lanes, most = lane_policies(config), config.schedule.host_budget_per_day
    return SchedulerOptions(
        budget_per_day=config.schedule.budget_per_day,
        objectives=objectives(config),
        velocity=velocity_params(config),
        room_of=lambda lane: min(
            starts_per_day(lanes.of(lane), crawl_delay(lane)), float("inf") if most is None else most
        ),
    )


def hunt_options(
    config: Config, hunting: Iterable[SourceId] = (), *, fitted: str | None = None
) -> HuntOptions:
    """Where the hunt of the engine may look, how much, and what is odd.  `fitted`: weights that marks gave."""
    section = config.hunt
    weights = DEFAULT if fitted is None else read_weights(fitted)
    return HuntOptions(
        params=hunt_params(config),
        looks_per_day=section.looks_per_day,
        revisits=Revisits(finding=section.revisit, failure=timedelta(seconds=section.failure_cache_seconds)),
        weights=configured(weights, triage(config)),
        hunting=frozenset(hunting),
    )


def hunt_params(config: Config) -> HuntParams:
    """Spec 004's novelty and yield, as configured."""
    names = ("share", "host_budget", "error_cost", "at_host", "daring")
    return HuntParams(**config.hunt.model_dump(include=set(names)))


def triage(config: Config) -> Triage:
    """From which score on a page is kept, and what does not count."""
    section = config.hunt
    return Triage(
        persist_at=section.persist_at,
        llm_at=section.llm_at,
        without=tuple(section.without),
        has_forest=section.isolation_forest,
    )


def in_force(config: Config, policy: str) -> InForce:
    """The rules by which decisions are made, and made again."""
    return InForce(
        due=due_rule(config, policy),
        retry=retry_rule(config),
        packs=config.classify.packs,
        rows=patterns(config),
        objectives=objectives(config),
        hunt=hunt_params(config),
        triage=triage(config),
    )


def rules_text(config: Config, *, fetch_only: bool = False) -> str:
    """What is kept with a run: the sections that `in_force` reads, and by digests what else it was configured with."""
    sections = config.model_dump(include=set(RULE_SECTIONS))
    rules = {name: written(sections[name]) for name in RULE_SECTIONS}
    return json.dumps({**rules, SETTINGS: settings_in_force(config, fetch_only=fetch_only)})


def read_rules(text: str) -> Config:
    """The rules that a run decided by."""
    rules = json.loads(text)
    rules.pop(SETTINGS, None)
    return parse(rules, "the rules of a run")


def settings_in_force(config: Config, *, fetch_only: bool = False) -> dict[str, str]:
    """A digest of every setting that could heal a look, so that the next run knows which ones were changed.

    Of what may be a secret the digest has two bytes: enough to notice another one, too few to find it.
    """
    every = [fetch_settings(config), *(fetch_settings(config, source) for source in sources_of(config))]
    values: dict[str, object] = {name: getattr(every[0], name) for name in sorted(FETCH_NAMES)}
    values["headers"] = sorted(f"{name}: {value}" for one in every for name, value in one.headers)
    values["ca_file"] = [
        (path, file_digest(path)) for path in sorted({one.ca_file for one in every if one.ca_file})
    ]
    section = config.extract
    values |= {"scope": section.scope, "render": section.render, "ocr_languages": section.ocr_languages}
    values |= {"screen": written([row.model_dump() for row in config.screen]), "version": __version__}
    values[ADMISSION] = ADMISSION_FORM
    digests = {name: _digest(str(value), 2 if name in _SECRET else 8) for name, value in values.items()}
    return digests | ({FETCH_ONLY: "yes"} if fetch_only else {})


def _digest(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
