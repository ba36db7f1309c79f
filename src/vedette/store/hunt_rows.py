"""The rows of a hunt: read on the settler's own connection, written with its group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from vedette.contracts.hunt import HuntRecord, HuntRows, HuntState, Open, Waiting
from vedette.contracts.oddness import (
    Action,
    Contribution,
    Family,
    FeatureSet,
    FeatureValue,
    OddFacts,
    OddFinding,
    OddPage,
    Provenance,
    ScoreDecision,
)
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import Risk, SourceId, WatchId
from vedette.core.oddness.figure_bytes import pack_figures, unpack_figures
from vedette.store.connection import in_parts, marks
from vedette.store.finding_rows import packed_ids
from vedette.store.hunt_line_rows import LineReader, line_statements
from vedette.store.row_columns import HUNT_COLUMNS, YIELD_COLUMNS, reader
from vedette.store.rows import from_ms, opt_at, opt_ms, to_ms
from vedette.store.statements import NOTHING, insert, looked_at, upsert

# Open: found and never looked at.  What its source's pause put to rest, nobody chooses.
NEW_PROSPECT = insert("prospects", ["watch_id", "place"], conflict=NOTHING)
OPEN_PROSPECT = "UPDATE prospects SET seed = ?, words = ? WHERE watch_id = ? AND seed IS NULL"
CHOOSE_WATCH = (
    f"UPDATE watches SET due_at = ? WHERE id = ? AND due_at IS NULL AND merged_into IS NULL AND {looked_at}"
)
REST_WATCH = "UPDATE watches SET due_at = NULL WHERE id = ? AND depth > 0"
END_PROSPECT = "DELETE FROM prospects WHERE watch_id = ?"
REOPEN = insert("prospects", ["watch_id", "not_before", "place", "seed"], conflict=NOTHING)
# Not by a page of its own place: whoever links to himself proves nothing.
PULL = (
    "UPDATE prospects SET pull = (SELECT MAX(v) FROM (SELECT pull AS v UNION ALL SELECT ?) AS two) "
    "WHERE watch_id = ? AND chosen_at IS NULL "
    "AND COALESCE(place, '') NOT LIKE '%' || ? || '/%'"
)
SAVE_YIELD = upsert("yields", YIELD_COLUMNS, "place")
SAVE_HUNT = upsert("hunts", HUNT_COLUMNS, "id")
HUNT = f"SELECT {', '.join(HUNT_COLUMNS)} FROM hunts WHERE id = 1"
YIELDS = f"SELECT {', '.join(YIELD_COLUMNS)} FROM yields"
PROSPECTS_BY_ID = "SELECT watch_id, pull, COALESCE(seed, '') FROM prospects WHERE watch_id IN ({marks})"
_OPEN = (
    "SELECT w.id, w.url, w.risk, p.seed, p.pull, COALESCE(p.words, '') FROM prospects p "
    "JOIN watches w ON w.id = p.watch_id "
    "JOIN sources s ON s.id = w.source_id WHERE {which} AND p.seed IS NOT NULL AND p.chosen_at IS NULL "
    "AND w.due_at IS NULL "
    "AND (p.not_before IS NULL OR p.not_before <= ?) "
    "AND w.merged_into IS NULL AND s.is_active AND s.paused_at IS NULL {pick}ORDER BY p.watch_id LIMIT ?"
)
_WAITING = (
    "SELECT w.id, w.url, (l.closed_until > ? OR l.held_until > ? OR l.blocked_by <> '') FROM prospects p "
    "JOIN watches w ON w.id = p.watch_id LEFT JOIN lanes l ON l.id = w.lane_id "
    "WHERE p.chosen_at IS NOT NULL AND w.due_at IS NOT NULL {pick}"
)
RELEASE = (
    "UPDATE watches SET due_at = ? WHERE id IN (SELECT watch_id FROM prospects WHERE chosen_at IS NULL) "
    f"AND due_at IS NULL AND merged_into IS NULL AND {looked_at} AND source_id NOT IN ({{marks}})"
)
END_RELEASED = (
    "DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM watches w WHERE w.id = {table}.watch_id "
    "AND w.source_id NOT IN ({marks}))"
)
BEST_HOSTS = (
    f"SELECT {', '.join(YIELD_COLUMNS)} FROM yields WHERE place <> '' AND place NOT LIKE '%/%' "
    "AND place NOT LIKE 'seed:%' AND place NOT LIKE 'word:%' AND place <> 'link:' "
    "ORDER BY found / looks DESC, looks DESC, place LIMIT ?"
)
SEEDS = (
    f"SELECT {', '.join(YIELD_COLUMNS)} FROM yields WHERE place LIKE 'seed:%' "
    "ORDER BY found / looks DESC, looks DESC, place LIMIT ?"
)
COUNT_PROSPECTS = (
    "SELECT COUNT(*) FILTER (WHERE p.chosen_at IS NULL AND w.due_at IS NULL), COUNT(p.chosen_at) FROM prospects p "
    "JOIN watches w ON w.id = p.watch_id WHERE w.merged_into IS NULL"
)
_ODD_COLUMNS = (
    "watch_id number url place source_id at digest pull simhash figures features provenance score action twin weights"
).split()
_FINDING_COLUMNS = "watch_id number score action contributions weights found_at".split()
SAVE_ODD = upsert("odd_pages", _ODD_COLUMNS, "watch_id")
SAVE_FINDING = upsert("findings", _FINDING_COLUMNS, "watch_id")
DROP_FINDING = "DELETE FROM findings WHERE watch_id = ?"
SAVE_LINKS = upsert("page_links", ["watch_id", "targets"], "watch_id")
SAVE_BACKGROUND = upsert("backgrounds", ["id", "number", "body"], "id")
_FACTS = (
    "SELECT o.number, o.watch_id, o.place, o.at, o.digest, o.pull, o.figures, l.targets FROM odd_pages o "
    "LEFT JOIN page_links l ON l.watch_id = o.watch_id WHERE o.number > ? ORDER BY o.number LIMIT ?"
)
_FINDINGS = (
    "SELECT f.watch_id, f.number, o.url, o.place, o.source_id, f.score, f.action, f.contributions, f.weights, "
    "f.found_at, COALESCE(m.word, '') FROM findings f JOIN odd_pages o ON o.watch_id = f.watch_id "
    "LEFT JOIN marks m ON m.watch_id = f.watch_id WHERE f.score >= ? ORDER BY f.score DESC, f.number LIMIT ?"
)
_ODD = (
    "SELECT o.watch_id, o.number, o.url, o.place, o.source_id, o.at, o.digest, o.pull, o.figures, o.features, "
    "o.provenance, o.score, o.action, o.twin, o.weights, f.contributions FROM odd_pages o "
    "LEFT JOIN findings f ON f.watch_id = o.watch_id WHERE o.{which} ORDER BY o.number"
)
ALL = 2**31  # rows: no limit
Statements = list[tuple[str, list[tuple[Any, ...]]]]
_read_state = reader(
    HuntState, HUNT_COLUMNS, number="number", empty_at=("empty_at", opt_at), after="after", turn="turn",
    learned="learned", weighed="weighed",
)  # fmt: skip


class HuntReader(LineReader):
    """What a hunt reads.  Implements the `HuntSide` of the engine."""

    def __init__(self, db: SqlConnection, pick: str = "") -> None:
        """`pick`: SQL about the watch `w`, of a run that looks at a part only."""
        super().__init__(db, f"AND {pick} " if pick else "")
        self._waiting = _WAITING.format(pick=self._pick)
        self._open = _OPEN.replace("{pick}", self._pick)

    def state(self) -> HuntState:
        row = self._db.execute(HUNT).fetchone()
        return HuntState() if row is None else _read_state(row)

    def records(self) -> dict[str, HuntRecord]:
        """Everything that was ever looked at: places, seeds, words of links."""
        return {place: HuntRecord(*rest) for place, *rest in self._db.execute(YIELDS)}

    def prospects(self, watches: Sequence[WatchId]) -> dict[WatchId, tuple[float, SourceId]]:
        """Which of these a hunt found and has not seen, how odd the best page is that links there, and their seed."""
        rows = in_parts(self._db, PROSPECTS_BY_ID, watches)
        return {WatchId(watch): (pull, SourceId(seed)) for watch, pull, seed in rows}

    def open(self, after: int, most: int, *, now: datetime) -> list[Open]:
        """What may be chosen, with ids above `after`, in order."""
        rows = self._db.execute(self._open.format(which="p.watch_id > ?"), (after, to_ms(now), most))
        return [_read_open(row) for row in rows]

    def open_of(self, watches: Sequence[WatchId], *, now: datetime) -> list[Open]:
        """Which of these may be chosen."""
        query = self._open.format(which="p.watch_id IN ({marks})")
        return [_read_open(row) for row in in_parts(self._db, query, watches, to_ms(now), ALL)]

    def later(self, *, now: datetime) -> list[tuple[datetime, WatchId]]:
        """What failed, and when it may be chosen again."""
        query = "SELECT not_before, watch_id FROM prospects WHERE not_before > ?"
        return [(from_ms(at), WatchId(watch)) for at, watch in self._db.execute(query, (to_ms(now),))]

    def choosable(self) -> frozenset[SourceId]:
        """Sources that are neither paused nor removed."""
        query = "SELECT id FROM sources WHERE is_active AND paused_at IS NULL"
        return frozenset(SourceId(source) for (source,) in self._db.execute(query))

    def waiting(self, *, now: datetime) -> list[Waiting]:
        """What was chosen and not looked at yet."""
        at = to_ms(now)
        rows = self._db.execute(self._waiting, (at, at))
        return [Waiting(WatchId(i), url, bool(shut)) for i, url, shut in rows]

    def hosts(self, most: int) -> list[tuple[str, HuntRecord]]:
        """Places that were looked at, those that gave most first."""
        rows = self._db.execute(BEST_HOSTS, (most,))
        return [(place, HuntRecord(*rest)) for place, *rest in rows]

    def seeds(self, most: int) -> list[tuple[str, HuntRecord]]:
        """Seeds whose crawl was looked at, those that gave most first."""
        rows = self._db.execute(SEEDS, (most,))
        return [(place.removeprefix("seed:"), HuntRecord(*rest)) for place, *rest in rows]

    def counts(self) -> tuple[int, int]:
        """How many are open, and how many were chosen and wait."""
        is_open, waiting = self._db.execute(COUNT_PROSPECTS).fetchone()
        return is_open or 0, waiting

    def background(self) -> tuple[int, bytes] | None:
        """What looks taught, up to a number."""
        row = self._db.execute("SELECT number, body FROM backgrounds WHERE id = 1").fetchone()
        return None if row is None else (row[0], row[1])

    def facts(self, after: int, most: int) -> list[OddFacts]:
        """What was looked at after that number, in order."""
        return [_read_facts(row) for row in self._db.execute(_FACTS, (after, most))]

    def shown(self, until: int) -> list[tuple[int, int]]:
        """Texts up to that number, as simhash and watch, in order."""
        query = "SELECT simhash, watch_id FROM odd_pages WHERE number <= ? AND simhash <> 0 ORDER BY number"
        return list(self._db.execute(query, (until,)))

    def findings(self, *, least: float = 0.0, most: int = ALL) -> list[OddFinding]:
        """The oddest first."""
        return [_read_finding(row) for row in self._db.execute(_FINDINGS, (least, most))]

    def page(self, watch: WatchId) -> OddPage | None:
        row = self._db.execute(_ODD.format(which="watch_id = ?"), (watch,)).fetchone()
        return None if row is None else _read_odd(row)

    def judged(self) -> int:
        """How many pages were judged."""
        return int(self._db.execute("SELECT COUNT(*) FROM odd_pages").fetchone()[0])

    def measured(self) -> Iterator[tuple[str, dict[str, float]]]:
        """The place of each page, and the values of its features by name; the newest first."""
        for place, features in self._db.execute("SELECT place, features FROM odd_pages ORDER BY number DESC"):
            yield place, {name: value for name, _, _, value, *_ in json.loads(features)}

    def marked(self) -> list[tuple[OddPage, str]]:
        """Pages that the operator marked, by number."""
        words = dict(self._db.execute("SELECT watch_id, word FROM marks"))
        rows = self._db.execute(_ODD.format(which="watch_id IN (SELECT watch_id FROM marks)"))
        return [(page, words[page.watch]) for page in map(_read_odd, rows)]

    def mark(self, watch: WatchId) -> str:
        row = self._db.execute("SELECT word FROM marks WHERE watch_id = ?", (watch,)).fetchone()
        return "" if row is None else str(row[0])

    def weights(self, version: str | None = None) -> str | None:
        """Fitted weights: of this version, or the last ones."""
        query = "SELECT body FROM odd_weights WHERE ? IN (version, '') ORDER BY at DESC, version DESC LIMIT 1"
        row = self._db.execute(query, (version or "",)).fetchone()
        return None if row is None else str(row[0])


def release(db: SqlConnection, hunting: Sequence[SourceId], *, now: datetime) -> int:
    """What other sources left open, because they do not hunt any more, is due.  Gives how many."""
    due = db.execute(RELEASE.format(marks=marks(hunting)), (to_ms(now), *hunting)).rowcount
    for table in ("prospects", "hunt_looks"):
        db.execute(END_RELEASED.format(table=table, marks=marks(hunting)), hunting)
    return due


def hunt_statements(rows: HuntRows) -> Statements:
    """After the watches of the group were written and moved."""
    state, background = rows.state, rows.background
    return [
        *line_statements(rows),  # what was chosen is not pulled any more
        (CHOOSE_WATCH, [(to_ms(one.at), one.watch) for one in (*rows.chosen, *rows.revisits)]),
        (REST_WATCH, [(watch,) for watch in rows.dropped]),
        (NEW_PROSPECT, list(rows.found)),
        (END_PROSPECT, [(watch,) for watch in rows.ended]),
        (REOPEN, [(watch, to_ms(at), place, seed) for watch, at, place, seed in rows.reopened]),
        (OPEN_PROSPECT, [(seed, " ".join(words), watch) for watch, seed, words in rows.opened]),
        (PULL, [(pull, watch, place) for watch, pull, place in rows.pulls]),
        (SAVE_YIELD, [(place, *record) for place, record in rows.yields]),
        (SAVE_HUNT, [] if state is None else [_state_row(state)]),
        *odd_statements(rows.odd),
        (SAVE_LINKS, [(watch, packed_ids(targets)) for watch, targets in rows.links]),
        (SAVE_BACKGROUND, [] if background is None else [(1, *background)]),
    ]


def _state_row(state: HuntState) -> tuple[Any, ...]:
    empty_at = opt_ms(state.empty_at)
    return 1, state.number, empty_at, state.after, state.turn, state.learned, state.weighed


def odd_statements(pages: Sequence[OddPage]) -> Statements:
    """What pages were held for, and the findings among them."""
    kept = [page for page in pages if page.decision.action is not Action.SKIP]
    return [
        (SAVE_ODD, [_odd_row(page) for page in pages]),
        (DROP_FINDING, [(page.watch,) for page in pages if page.decision.action is Action.SKIP]),
        (SAVE_FINDING, [_finding_row(page) for page in kept]),
    ]


def save_mark(db: SqlConnection, watch: WatchId, word: str, *, now: datetime) -> None:
    db.execute(upsert("marks", ["watch_id", "word", "at"], "watch_id"), (watch, word, to_ms(now)))


def save_weights(db: SqlConnection, version: str, body: str, *, now: datetime) -> None:
    db.execute(upsert("odd_weights", ["version", "body", "at"], "version"), (version, body, to_ms(now)))


def _odd_row(page: OddPage) -> tuple[Any, ...]:
    decision, made = page.decision, page.features.provenance
    features = [
        [one.name, one.version, one.family.value, one.value, one.rarity, one.evidence]
        for one in page.all_features
    ]
    provenance = [made.page, made.figures, made.features, made.embedding, made.looks]
    return (
        page.watch, page.number, page.url, page.place, page.source, to_ms(page.at), page.digest, page.pull,
        page.page.simhash, pack_figures(page.page), _json(features), _json(provenance), decision.score,
        decision.action.value, decision.twin, decision.weights,
    )  # fmt: skip


def _finding_row(page: OddPage) -> tuple[Any, ...]:
    decision = page.decision
    reasons = [[one.feature, one.version, one.family.value, one.points] for one in decision.reasons]
    word = decision.action.value
    return page.watch, page.number, decision.score, word, _json(reasons), decision.weights, to_ms(page.at)


def _read_open(row: tuple[Any, ...]) -> Open:
    watch, url, risk, source, pull, words = row
    return Open(WatchId(watch), url, Risk(risk), SourceId(source), pull, tuple(words.split()))


def _read_facts(row: tuple[Any, ...]) -> OddFacts:
    number, watch, place, at, digest, pull, figures, links = row
    return OddFacts(
        number=number,
        watch=WatchId(watch),
        place=place,
        at=from_ms(at),
        digest=digest,
        pull=pull,
        page=unpack_figures(figures),
        links=links or b"",
    )


def _read_finding(row: tuple[Any, ...]) -> OddFinding:
    watch, number, url, place, source, score, action, reasons, weights, at, mark = row
    return OddFinding(
        watch=WatchId(watch),
        number=number,
        url=url,
        place=place,
        source=SourceId(source),
        score=score,
        action=Action(action),
        reasons=_read_reasons(reasons),
        weights=weights,
        found_at=from_ms(at),
        mark=mark,
    )


def _read_odd(row: tuple[Any, ...]) -> OddPage:
    (
        watch,
        number,
        url,
        place,
        source,
        at,
        digest,
        pull,
        figures,
        features,
        made,
        score,
        action,
        twin,
        by,
        why,
    ) = row
    page, version, named, embedding, looks = json.loads(made)
    decision = ScoreDecision(
        score=score,
        reasons=_read_reasons(why) if why else (),
        thresholds_hit=(),
        action=Action(action),
        weights=by,
        twin=twin,
    )
    return OddPage(
        number=number,
        watch=WatchId(watch),
        url=url,
        place=place,
        source=SourceId(source),
        at=from_ms(at),
        digest=digest,
        pull=pull,
        page=unpack_figures(figures),
        features=FeatureSet(
            features=tuple(_read_feature(one) for one in json.loads(features)),
            provenance=Provenance(
                page=page, figures=version, features=named, embedding=embedding, looks=looks
            ),
        ),
        decision=decision,
    )


def _read_feature(given: list[Any]) -> FeatureValue:
    name, version, family, value, rarity, evidence = given
    return FeatureValue(
        name=name, version=version, family=Family(family), value=value, rarity=rarity, evidence=evidence
    )


def _read_reasons(text: str) -> tuple[Contribution, ...]:
    return tuple(
        Contribution(feature=name, version=version, family=Family(family), points=points)
        for name, version, family, points in json.loads(text)
    )


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
