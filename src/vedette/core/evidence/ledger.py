"""Decisions as ledger rows, and the same decisions recomputed from their rows.

A decision holds plain values only (text, numbers, None), so it reads back from JSON as it was written.
`recompute` runs today's rule on the recorded inputs; `difference` says where that is not what was recorded.
"""

from __future__ import annotations

import base64
import math
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from vedette.contracts.copies import quick
from vedette.contracts.errors import InputError
from vedette.contracts.oddness import Triage
from vedette.contracts.schedule import Asked
from vedette.contracts.source import ListerKind
from vedette.contracts.verdict import EvidenceFacts, Traits, Verdict
from vedette.contracts.watch import Decision, LedgerNote
from vedette.contracts.words import ContentClass, EvidenceId, Outcome, Reason, Risk, WatchId
from vedette.core.judging.verdict import judge
from vedette.core.lanes.outcomes import Failure, Park, Retry, RetryParams, next_attempt
from vedette.core.schedule.due import LEARNED, Due, DueParams, LookFacts, Lot, audited, decide, due_params
from vedette.core.schedule.ewma import VelocityParams, update_velocity
from vedette.core.text.nearest import unknown
from vedette.core.urls.classify import DEFAULT_PACKS, Classification, RolePattern, classify_url, inherit_risk

if TYPE_CHECKING:  # numpy comes with it, and other decisions do without
    from vedette.core.hunt_worth import HuntParams
    from vedette.core.schedule.learned.beliefs import Surroundings
    from vedette.core.schedule.learned.decide import Case, Decided
    from vedette.core.schedule.learned.listings import ListingReport, Moved, Named
    from vedette.core.schedule.learned.settings import Published

Inputs = Mapping[str, Any]
JUDGE = 1023 << 12  # a worker number of `engine/settle/ids.py` that no run has


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The parameters that decisions are recomputed with: those of the configuration that a row names."""

    due: DueParams | None = None  # None: the default parameters of the policy that the row names
    retry: RetryParams = RetryParams()
    packs: tuple[str, ...] = DEFAULT_PACKS
    rows: tuple[RolePattern, ...] = ()
    objectives: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    hunt: HuntParams | None = None  # None: the default ones
    triage: Triage = Triage()
    fitted: Callable[[str], str | None] = lambda version: None  # weights that marks gave, as they were kept
    published: Callable[[int], str | None] = lambda version: (
        None
    )  # what the scheduler published, as it was kept
    clocks: Callable[[int], bytes | None] = lambda clock: None


@quick
@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What a learned decision names instead of repeating it."""

    published: int  # version
    clock: int | None  # of the host
    lot: Lot | None


DEFAULT = InForce()
_NOT_ASKED = Asked()
_ANY = datetime(2020, 1, 1, tzinfo=UTC)  # no verdict depends on the hour


def schedule_decision(
    facts: LookFacts, due: Due, policy: str = "seed-ewma", *, lot: Lot | None = None
) -> Decision:
    """When to look next.  `lot`: what decided whether the look is an audit."""
    inputs: dict[str, object] = {
        "policy": policy,
        "velocity": facts.velocity,
        "scan_count": facts.scan_count,
        "risk": facts.risk.name,
        "changed": facts.changed,
        "now": facts.now.isoformat(),
        "jitter": facts.jitter,
        "ceiling": _seconds(facts.asked.ceiling),
        "is_parked": facts.is_parked,
    }
    if facts.asked.every is not None:
        inputs["every"] = _seconds(facts.asked.every)
    if lot is not None:
        inputs["audit"] = {"watch": lot.watch, "n": lot.n, "share": lot.share}
    return Decision(action="schedule", reasons=due.reasons, inputs=inputs, output=_due(due))


def learned_decision(
    case: Case, velocity: tuple[float, int], due: Due, decided: Decided, written: LedgerEntry
) -> Decision:
    """When to look next, by a belief.  What is as usual is not written down."""
    lot = written.lot
    inputs: dict[str, object] = {
        "policy": LEARNED,
        "published": written.published,
        "belief": _text(case.belief),
        "risk": case.place.risk.name,
        "changed": case.changed,
        "now": case.now.isoformat(),
        "velocity": velocity[0],
        "scan_count": velocity[1],
    }
    inputs |= _unusual(case)
    if written.clock is not None:
        inputs["clock"] = written.clock
    if lot is not None:
        inputs["audit"] = {"watch": lot.watch, "n": lot.n, "share": lot.share}
    output = {**_due(due), "belief": _text(decided.belief)}
    return Decision(action="schedule", reasons=due.reasons, inputs=inputs, output=output)


def replan_decision(named: Named, report: ListingReport, moved: Moved, written: LedgerEntry) -> Decision:
    """A listing named a target, which is due sooner for it."""
    inputs: dict[str, object] = {
        "policy": LEARNED,
        "published": written.published,
        "belief": _text(named.belief),
        "risk": named.place.risk.name,
        "by": named.by,
        "now": named.heard_at.isoformat(),
        "due_at": named.due_at.isoformat(),
        "stated": _number(named.stated),
        "told": [report.t, _number(report.before), report.recall, report.false],
    }
    inputs |= _usual_left_out(_place_inputs(named.place))
    if written.clock is not None:
        inputs["clock"] = written.clock
    return Decision(action="replan", reasons=moved.reasons, inputs=inputs, output=_replanned(moved))


def _unusual(case: Case) -> dict[str, object]:
    """The inputs of a case that most cases have none of."""
    place = case.place
    is_alone = place.hub is None and not place.hub_value and place.price_factor == place.host_activity == 1.0
    if (
        is_alone
        and case.modified is None
        and not (case.failures or case.is_parked or case.asked != _NOT_ASKED)
    ):
        return {}
    found: dict[str, object] = {
        "modified": case.modified,
        "failures": case.failures or None,
        "is_down": case.is_down or None,
        "ceiling": _seconds(case.asked.ceiling),
        "every": _seconds(case.asked.every),
        "is_parked": case.is_parked or None,
        "false": case.false or None,
    }
    return _usual_left_out({**found, **_place_inputs(case.place)})


def _place_inputs(place: Surroundings) -> dict[str, object]:
    hub = place.hub
    return {
        "hub": None if hub is None else [hub.listed_at, hub.listed_every, hub.recall],
        "pull": place.hub_value or None,
        "dear": None if place.price_factor == 1.0 else place.price_factor,
        "lively": None if place.host_activity == 1.0 else place.host_activity,
    }


def _usual_left_out(inputs: Inputs) -> dict[str, object]:
    return {name: value for name, value in inputs.items() if value is not None}


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


def _asked(given: Inputs) -> Asked:
    every, ceiling = given.get("every"), given.get("ceiling")
    return Asked(
        every=None if every is None else timedelta(seconds=every),
        ceiling=None if ceiling is None else timedelta(seconds=ceiling),
    )


def _number(value: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None


def learned_case(given: Inputs, in_force: InForce) -> Case:
    """The case of a recorded decision."""
    from vedette.core.schedule.learned.decide import Case

    return Case(
        belief=base64.b64decode(given["belief"]),
        place=_place(given, in_force),
        now=datetime.fromisoformat(given["now"]),
        changed=given["changed"],
        modified=given.get("modified"),
        failures=given.get("failures", 0),
        is_down=given.get("is_down", False),
        asked=_asked(given),
        is_parked=given.get("is_parked", False),
        false=given.get("false", 0.0),
    )


def _place(given: Inputs, in_force: InForce) -> Surroundings:
    from vedette.core.schedule.learned.beliefs import HubListing, Surroundings

    clock, hub = given.get("clock"), given.get("hub")
    wound = b"" if clock is None else in_force.clocks(clock)
    if wound is None:
        raise InputError(f"the clock {clock} of its host is not on record")
    return Surroundings(
        risk=Risk[given["risk"]],
        host_clock=wound,
        hub=None if hub is None else HubListing(*hub),
        hub_value=given.get("pull", 0.0),
        price_factor=given.get("dear", 1.0),
        host_activity=given.get("lively", 1.0),
    )


def retry_decision(failure: Failure, verdict: Retry | Park, *, now: datetime, jitter: float) -> Decision:
    """Whether to try again, and when."""
    after = failure.retry_after
    inputs: dict[str, object] = {
        "outcome": failure.outcome.value,
        "attempt": failure.attempt,
        "retry_after": None if after is None else after.total_seconds(),
        "now": now.isoformat(),
        "jitter": jitter,
    }
    return Decision(action="retry", reasons=verdict.reasons, inputs=inputs, output=_verdict(verdict))


def admit_decision(url: str, parent_risk: Risk | None, classification: Classification) -> Decision:
    """What a new target was taken for."""
    inputs: dict[str, object] = {"url": url, "parent_risk": None if parent_risk is None else parent_risk.name}
    return Decision(
        action="admit", reasons=(classification.reason,), inputs=inputs, output=_class(classification)
    )


def verdict_note(about: EvidenceFacts, verdict: Verdict) -> LedgerNote:
    """What the scout said, and of what.  Its id follows from the evidence: a job done twice leaves one row."""
    inputs: dict[str, object] = {
        "rule": verdict.rule,
        "risk": about.risk.name,
        "outcome": about.outcome.value,
        "content_class": about.content_class.value,
        "lister": about.lister and about.lister.value,
        "twin": about.twin,
        "traits": None if about.traits is None else _traits(about.traits),
    }
    decision = Decision(action="verdict", reasons=verdict.reasons, inputs=inputs, output=_said(verdict))
    number = about.evidence | JUDGE
    return LedgerNote(id=number, at=verdict.at, kind="verdict", decision=decision, watch=about.watch)


def recompute(decision: Decision, in_force: InForce = DEFAULT) -> object:
    """What the rule says today about the recorded inputs."""
    rule = RULES.get(decision.action)
    if rule is None:
        raise InputError(unknown("recomputable decision", decision.action, RULES))
    try:
        return rule(decision.inputs, in_force)
    except (KeyError, TypeError, ValueError) as problem:
        raise InputError(f"the recorded {decision.action} cannot be read back: {problem!r}") from None


def difference(decision: Decision, in_force: InForce = DEFAULT) -> str | None:
    """How the recorded output differs from the recomputed one; None when they agree."""
    today = recompute(decision, in_force)
    return None if today == decision.output else f"recorded {decision.output!r}, recomputed {today!r}"


def adds_up(reasons: Iterable[Reason], total: float) -> bool:
    """True where the points of the reasons give the number that they explain."""
    return math.isclose(math.fsum(r.points for r in reasons), total, rel_tol=1e-9, abs_tol=1e-6)


def _learned(given: Inputs, in_force: InForce) -> object:
    from vedette.core.schedule.learned import decide as learned

    case = learned_case(given, in_force)
    decided = learned.decide([case], _published(given, in_force), in_force.objectives).decided[0]
    velocity, looks = given["velocity"], given["scan_count"]
    if case.changed is not None:
        params = VelocityParams() if in_force.due is None else in_force.due.velocity
        velocity, looks = update_velocity(velocity, looks, case.changed, params=params), looks + 1
    due = Due(
        due_at=case.now + decided.wait,
        interval=decided.wait,
        velocity=velocity,
        scan_count=looks,
        reasons=decided.reasons,
    )
    return {**_due(_with_lot(due, given)), "belief": _text(decided.belief)}


def _replan(given: Inputs, in_force: InForce) -> object:
    from vedette.core.schedule.learned import listings

    t, before, recall, false = given["told"]
    stated = given["stated"]
    named = listings.Named(
        belief=base64.b64decode(given["belief"]),
        place=_place(given, in_force),
        stated=math.nan if stated is None else stated,
        heard_at=datetime.fromisoformat(given["now"]),
        due_at=datetime.fromisoformat(given["due_at"]),
        by=given["by"],
    )
    report = listings.ListingReport(t, -math.inf if before is None else before, recall, false)
    return _replanned(listings.name([named], report, _published(given, in_force))[0])


def _published(given: Inputs, in_force: InForce) -> Published:
    from vedette.core.schedule.learned.beliefs import unpack_published

    text = in_force.published(given["published"])
    if text is None:
        raise InputError(f"version {given['published']} of what was published is not on record")
    return unpack_published(text)


def _replanned(moved: Moved) -> dict[str, object]:
    due_at = moved.due_at
    return {"due_at": None if due_at is None else due_at.isoformat(), "belief": _text(moved.belief)}


def _with_lot(due: Due, given: Inputs) -> Due:
    lot = given.get("audit")
    return due if lot is None else audited(due, Lot(lot["watch"], lot["n"], lot["share"]))


def _text(belief: bytes) -> str:
    return b2a_base64(belief, newline=False).decode()


def _schedule(given: Inputs, in_force: InForce) -> object:
    if given["policy"] == LEARNED:
        return _learned(given, in_force)
    facts = LookFacts(
        velocity=given["velocity"],
        scan_count=given["scan_count"],
        risk=Risk[given["risk"]],
        changed=given["changed"],
        now=datetime.fromisoformat(given["now"]),
        jitter=given["jitter"],
        asked=_asked(given),
        is_parked=given["is_parked"],
    )
    return _due(_with_lot(decide(facts, in_force.due or due_params(given["policy"])), given))


def _retry(given: Inputs, in_force: InForce) -> object:
    after = given["retry_after"]
    failure = Failure(
        Outcome(given["outcome"]), given["attempt"], None if after is None else timedelta(seconds=after)
    )
    now = datetime.fromisoformat(given["now"])
    return _verdict(next_attempt(failure, now=now, jitter=given["jitter"], params=in_force.retry))


def _admit(given: Inputs, in_force: InForce) -> object:
    parent = given["parent_risk"]
    found = classify_url(given["url"], packs=in_force.packs, rows=in_force.rows)
    return _class(inherit_risk(found, None if parent is None else Risk[parent]))


def _judge(given: Inputs, in_force: InForce) -> object:
    traits, lister, twin = given["traits"], given["lister"], given["twin"]
    signs = () if traits is None else tuple(traits.get("signs", ()))
    about = EvidenceFacts(
        evidence=EvidenceId(0),
        watch=WatchId(0),
        url="",
        risk=Risk[given["risk"]],
        outcome=Outcome(given["outcome"]),
        content_class=ContentClass(given["content_class"]),
        content_type="",
        digest=b"",
        text_chars=None,
        traits=None if traits is None else Traits(**{**traits, "signs": signs}),
        lister=None if lister is None else ListerKind(lister),
        twin=None if twin is None else EvidenceId(twin),
    )
    return _said(judge(about, now=_ANY))


def _of_hunt(action: str) -> Callable[[Inputs, InForce], object]:
    def rule(given: Inputs, in_force: InForce) -> object:
        from vedette.core.evidence.hunt_ledger import HUNT_RULES

        return HUNT_RULES[action](given, in_force)

    return rule


RULES: Mapping[str, Callable[[Inputs, InForce], object]] = MappingProxyType(
    {
        "schedule": _schedule,
        "replan": _replan,
        "retry": _retry,
        "admit": _admit,
        "verdict": _judge,
        "hunt": _of_hunt("hunt"),
        "oddness": _of_hunt("oddness"),
    }
)


def _due(due: Due) -> dict[str, object]:
    return {
        "due_at": due.due_at.isoformat(),
        "hours": due.interval.total_seconds() / 3600,
        "velocity": due.velocity,
    }


def _verdict(verdict: Retry | Park) -> dict[str, object]:
    return {"retry_at": verdict.at.isoformat() if isinstance(verdict, Retry) else None}


def _said(verdict: Verdict) -> dict[str, object]:
    return {"word": verdict.word.value, "score": verdict.score}


def _traits(traits: Traits) -> dict[str, object]:
    """Without what is as usual, which is nothing."""
    named = {name: getattr(traits, name) for name in Traits.__dataclass_fields__}
    return {name: list(value) if name == "signs" else value for name, value in named.items() if value}


def _class(found: Classification) -> dict[str, object]:
    return {"node_type": found.node_type.value, "node_role": found.node_role and found.node_role.value,
            "risk": found.risk.name}  # fmt: skip
