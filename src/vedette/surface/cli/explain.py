"""Why: explain, why-not.  Both read what is on record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.operations.arguments import a_url
from vedette.operations.asked_intervals import interval_of
from vedette.operations.configured_sources import written_url
from vedette.operations.known_watch import known_watch
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    from vedette.contracts.words import WatchId
    from vedette.report.explanation import WatchExplanation
    from vedette.report.why_not import WhyNotFacts
    from vedette.store.queries import Queries


ACTS = ("/eli/", "/clanci/")  # in addresses of a gazette; only there its reader is loaded


def register(app: typer.Typer) -> None:
    verb(app, "explain", example="vedette explain https://example.org/rules")(explain)
    verb(app, "why-not", example="vedette why-not https://example.org/private/")(why_not)


def explain(
    session: Session,
    url: Annotated[str, typer.Argument(metavar="URL", help="In any spelling.")],
    visits: Annotated[
        int, typer.Option("--visits", min=0, metavar="N", help="At most so many looks; 0: all.")
    ] = 10,
) -> None:
    """The recorded decision about a URL, with its reasons.

    Risk, role, velocity, interval, due time, and reasons with points that add up.  Prints
    what was decided at the last look and never decides again.  Of the learned policy also the rate of change, the
    chance of a change by now, value against price, and the plan taken apart; and what the scout said of the page.
    Looks are listed newest first.
    """
    from vedette.report.explanation import explanation_json, explanation_lines
    from vedette.store.stage_results import likeness_of, verdict_of

    with session.queries() as queries:
        now = session.now()
        said = _explanation(session, queries, url, visits)
        if said.watch.seen is not None:
            evidence = said.watch.seen.evidence
            near = likeness_of(session.store(), evidence)
            other = queries.evidence_by_id(near.other) if near else None
            similar = (other.url, near.share) if near and other else None
            said = replace(said, verdict=verdict_of(session.store(), evidence), similar=similar)
        if any(word in said.watch.url for word in ACTS):
            from vedette.operations.evidence import act_of_watch

            said = replace(said, act=act_of_watch(session.loaded, queries, said.watch))
    if session.given.as_json:
        session.out.document(explanation_json(said, now))
    else:
        session.out.lines(explanation_lines(said, now))


def why_not(
    session: Session, url: Annotated[str, typer.Argument(metavar="URL", help="In any spelling.")]
) -> None:
    """Why a URL was not looked at.

    robots.txt, a blocked word, a refused sighting, not yet due, a closed lane, parked, paused, merged, not chosen by
    the hunt, unknown.

    One sentence first, what to do about it second, everything else that holds it back after that.
    """
    from vedette.core.urls.canonical import clipped
    from vedette.report.lines import line, quoted
    from vedette.report.plain import plain
    from vedette.report.why_not import too_long_answer
    from vedette.report.why_not import why_not as answers_of

    refused, due_at = too_long_answer(url.strip()), None
    if refused is None:
        wanted = a_url(url)
        with session.queries() as queries:
            facts = facts_of(session, queries, wanted)
        answers = answers_of(facts)
        due_at = facts.watch.due_at if facts.watch else None
    else:
        wanted, answers = clipped(url.strip()), [refused]
    if session.given.as_json:
        first = answers[0]
        body = {"url": wanted, "reason": first.code, "answer": first.sentence, "remedy": first.remedy}
        every = [{"reason": a.code, "answer": a.sentence, "remedy": a.remedy} for a in answers]
        session.out.document({**body, "due_at": due_at, "all": every})
        return
    for number, answer in enumerate(answers):
        session.out.lines([line(quoted(answer.sentence, "" if number else "head"))])
        if answer.remedy:
            session.out.lines([line(("dim", f"  {plain(answer.remedy)}"))])


def _explanation(session: Session, queries: Queries, url: str, visits: int) -> WatchExplanation:
    from vedette.config.policies import objectives
    from vedette.core.urls.canonical import watch_id
    from vedette.report.explanation import WatchExplanation
    from vedette.surface.cli.beliefs import believed

    watch = known_watch(session.installation, queries, url)
    rows = queries.ledger(watch.id, most=50)
    last, chosen = (next((row for row in rows if row.kind == kind), None) for kind in ("visit", "hunt"))
    entry = last or chosen
    source = queries.source(watch.source)
    seen = [watch.seen.evidence] if watch.seen else []
    made = queries.artifacts(seen)
    asked = a_url(url)
    return WatchExplanation(
        watch=watch,
        interval=interval_of(session.installation, queries, watch, source.source if source else None),
        is_open=queries.is_open(watch.id),
        merged_from=asked if watch_id(asked) != watch.id else None,
        decided_at=entry.at if entry else None,
        decisions=tuple(one for row in (last, chosen) if row is not None for one in row.decisions),
        visits=tuple(queries.visits(watch.id, most=visits)),
        source=source.source if source else None,
        lane=queries.lane(watch.lane),
        believed=believed(queries, watch, objectives(session.loaded.config), session.now()),
        texts=tuple(view.artifact for evidence in seen for view in made.get(evidence, ())),
    )


def facts_of(session: Session, queries: Queries, url: str) -> WhyNotFacts:
    from vedette.core.urls.blocked import blocked_by
    from vedette.core.urls.canonical import host_of, watch_id
    from vedette.report.why_not import WhyNotFacts
    from vedette.store.operator import lock_holder

    number, settings = watch_id(url), session.loaded.config
    watch, refusal = queries.watch(number), queries.refusal(number)
    merged = queries.watch(watch.merged_into) if watch and watch.merged_into else None
    source = queries.source(watch.source) if watch else None
    visits = queries.visits(number, most=1)
    lease = queries.lease(number)
    return WhyNotFacts(
        url=url,
        now=session.now(),
        classified=session.classify(url),
        blocked_word=blocked_by(host_of(url), settings.discover.blocked_words),
        watch=watch,
        merged_url=merged.url if merged else None,
        refused=refusal.refused if refusal else None,
        refused_count=refusal.count if refusal else 0,
        source=source.source if source else None,
        source_state=source.state if source else None,
        parked=next(iter(queries.parked(number)), None),
        leased_until=lease.until_at if lease else None,
        lane=queries.lane(watch.lane) if watch else None,
        last_detail=visits[0].detail if visits else "",
        policy=_policy(queries, number),
        is_open=queries.is_open(number),
        engine=lock_holder(session.loaded.data),
        is_written=watch is None and written_url(session.installation, url) is not None,
        interval=interval_of(session.installation, queries, watch, source.source)
        if watch and source
        else None,
    )


def _policy(queries: Queries, watch: WatchId) -> str:
    """Which policy decided when it is looked at next?"""
    decisions = (one for row in queries.ledger(watch, most=5) for one in row.decisions)
    said = next((one.inputs.get("policy") for one in decisions if one.action in ("schedule", "replan")), None)
    return str(said or "")
