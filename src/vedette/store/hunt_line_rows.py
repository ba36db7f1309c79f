"""The line of looks that a hunt ordered, as rows: read at the start of a run, written with its groups."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from vedette.contracts.hunt import EndedLook, HuntRows, OrderedLook
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import Outcome, Risk, SourceId, WatchId
from vedette.core.oddness.figure_bytes import pack_figures, unpack_figures
from vedette.store.connection import marks
from vedette.store.rows import from_ms, to_ms
from vedette.store.statements import NOTHING, insert

Statements = list[tuple[str, list[tuple[Any, ...]]]]
ORDER = insert("hunt_looks", "turn watch_id url seed pull words is_prospect".split(), conflict=NOTHING)
CHOOSE = "UPDATE prospects SET chosen_at = ? WHERE watch_id = ?"
CAME = "UPDATE hunt_looks SET facts = ?, figures = ? WHERE watch_id = ?"
DONE = "DELETE FROM hunt_looks WHERE watch_id = ?"
_LINE = (
    "SELECT l.turn, l.watch_id, l.url, l.seed, l.pull, l.words, l.is_prospect, w.due_at IS NOT NULL, l.facts, "
    "l.figures FROM hunt_looks l JOIN watches w ON w.id = l.watch_id WHERE l.turn > 0 {pick}ORDER BY l.turn"
)
# Due, never looked at, and nobody chose them; of a store that has no line yet, also those that were chosen.
_UNORDERED = (
    "SELECT w.id, w.url, w.source_id, p.pull, p.watch_id IS NOT NULL FROM watches w "
    "LEFT JOIN prospects p ON p.watch_id = w.id WHERE w.due_at IS NOT NULL AND w.merged_into IS NULL "
    "AND w.source_id IN ({marks}) AND ((p.watch_id IS NULL AND w.last_visit_at IS NULL) "
    "OR (p.chosen_at IS NOT NULL AND ? = 0)) "
    "AND NOT EXISTS (SELECT 1 FROM hunt_looks l WHERE l.watch_id = w.id) {pick}ORDER BY w.id"
)
_STUCK = (
    "SELECT h.watch_id FROM hunt_looks h JOIN watches w ON w.id = h.watch_id LEFT JOIN lanes l ON l.id = w.lane_id "
    "WHERE h.facts IS NULL AND (w.due_at IS NULL OR l.closed_until > ? OR l.held_until > ? OR l.blocked_by <> '')"
)


class LineReader:
    def __init__(self, db: SqlConnection, pick: str) -> None:
        self._db = db
        self._pick = pick

    def line(self) -> list[OrderedLook]:
        """Looks that were ordered and not learned from, in their order."""
        return [_read_ordered(row) for row in self._db.execute(_LINE.format(pick=self._pick))]

    def unordered(self, hunting: Sequence[SourceId], *, turn: int) -> list[OrderedLook]:
        """Seeds that wait for their first look.  `turn`: the last place of the line that was given."""
        if not hunting:
            return []
        query = _UNORDERED.format(marks=marks(hunting), pick=self._pick)
        rows = self._db.execute(query, (*hunting, turn)).fetchall()
        return [
            OrderedLook(
                turn=turn + n, watch=WatchId(watch), url=url, seed=SourceId(source), pull=pull or 0.0,
                is_prospect=bool(is_prospect),
            )
            for n, (watch, url, source, pull, is_prospect) in enumerate(rows, 1)
        ]  # fmt: skip

    def stuck(self, *, by: datetime) -> set[WatchId]:
        """Looks of the line that nobody will make by then: their lane is closed, or they are not due any more."""
        return {WatchId(watch) for (watch,) in self._db.execute(_STUCK, (to_ms(by), to_ms(by)))}


def line_statements(rows: HuntRows) -> Statements:
    prospects = [one for one in rows.ordered if one.is_prospect and one.ordered_at is not None]
    return [
        (ORDER, [_ordered_row(one) for one in rows.ordered]),
        (CHOOSE, [(to_ms(one.ordered_at), one.watch) for one in prospects if one.ordered_at is not None]),
        (CAME, [_came_row(look) for look in rows.came]),
        (DONE, [(watch,) for watch in rows.done]),
    ]


def _ordered_row(one: OrderedLook) -> tuple[Any, ...]:
    return one.turn, one.watch, one.url, one.seed, one.pull, " ".join(one.words), one.is_prospect


def _came_row(look: EndedLook) -> tuple[Any, ...]:
    facts = [
        look.url, look.shown_url, look.source, int(look.risk), look.outcome.value, to_ms(look.at), look.digest.hex(),
        list(look.links), look.said,
    ]  # fmt: skip
    text = json.dumps(facts, separators=(",", ":"))
    return text, None if look.page is None else pack_figures(look.page), look.watch


def _read_ordered(row: tuple[Any, ...]) -> OrderedLook:
    turn, watch, url, seed, pull, words, is_prospect, is_due, facts, figures = row
    return OrderedLook(
        turn=turn,
        watch=WatchId(watch),
        url=url,
        seed=SourceId(seed),
        pull=pull,
        words=tuple(words.split()),
        is_prospect=bool(is_prospect),
        is_due=bool(is_due),
        look=None if facts is None else _read_look(WatchId(watch), facts, figures),
    )


def _read_look(watch: WatchId, facts: str, figures: bytes | None) -> EndedLook:
    url, shown_url, source, risk, outcome, at, digest, links, said = json.loads(facts)
    return EndedLook(
        watch=watch,
        url=url,
        shown_url=shown_url,
        source=SourceId(source),
        risk=Risk(risk),
        outcome=Outcome(outcome),
        at=from_ms(at),
        digest=bytes.fromhex(digest),
        links=tuple(map(WatchId, links)),
        said=tuple((WatchId(target), tuple(words)) for target, words in said),
        page=None if figures is None else unpack_figures(figures),
    )
