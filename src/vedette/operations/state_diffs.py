"""What differs between any two states of a page that were kept, all of their text."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.contracts.change import DiffOp
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.watch import Watch
from vedette.core.change.diff import diff_lines, summary, with_headings
from vedette.operations.arguments import a_moment
from vedette.operations.evidence import headings_of, text_of
from vedette.operations.installation import Installation
from vedette.operations.known_evidence import find_evidence, shown_at
from vedette.operations.known_watch import known_watch
from vedette.report.diffs import diff_json
from vedette.store.queries import Queries
from vedette.store.views import EvidenceView


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDiff:
    url: str
    before: EvidenceView
    after: EvidenceView
    ops: tuple[DiffOp, ...]  # empty: the text is the same


def diff_states(installation: Installation, what: str, start: str | None, end: str | None) -> StateDiff:
    """`start` and `end`: a time, or the number or first digits of a piece of evidence; no end: as seen last."""
    if start is None:
        raise InputError("--to needs --from: say from which state on")
    if "://" not in what and "." not in what:
        raise InputError("--from and --to go with a URL; a change has its own two states")
    with installation.queries() as queries:
        watch = known_watch(installation, queries, what)
        before = _state(installation, queries, watch, start, "--from")
        after = _state(installation, queries, watch, end or "0s", "--to")
    loaded = installation.loaded
    texts = [text_of(loaded, one).split("\n") for one in (before, after)]
    ops = with_headings(diff_lines(*texts)[0], headings_of(loaded, before) | headings_of(loaded, after))
    differs = any(op.op != "equal" for op in ops)
    return StateDiff(url=watch.url, before=before, after=after, ops=tuple(ops) if differs else ())


def state_diff_json(found: StateDiff) -> dict[str, object]:
    states = (("from", found.before), ("to", found.after))
    return {
        "url": found.url,
        **{name: {"evidence": one.id, "at": one.at} for name, one in states},
        "summary": summary(found.ops) if found.ops else "",
        "diff": diff_json(found.ops),
    }


def _state(
    installation: Installation, queries: Queries, watch: Watch, word: str, option: str
) -> EvidenceView:
    """By number or digits the piece itself; by time what the last look before it showed."""
    try:
        at = a_moment(word, option, installation.now())
    except InputError:
        at = None
    if word.isdigit() or at is None:
        found = find_evidence(installation, queries, word, 0)
        own = [one for one in found if one.watch == watch.id]
        if not own:
            raise InputError(f"{option}: {word} is no evidence of {watch.url}")
        return own[0]
    number = shown_at(installation.loaded, watch.id, at)
    one = None if number is None else queries.evidence_by_id(number)
    if one is None:
        raise VedetteError(f"{option} {word}: nothing was seen of {watch.url} by then")
    return one
