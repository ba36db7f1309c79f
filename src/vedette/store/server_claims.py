"""Claims of a worker among several: what is due in the lanes that it holds, and what of it was handed out.

A lane is one worker's, so nobody else need know what was handed out: it is in memory, under the token that the lane had
before its watches were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from vedette.contracts.watch import Ask, Watch
from vedette.contracts.words import LaneKey, Risk, WatchId
from vedette.store import statements as sql
from vedette.store.connection import Order
from vedette.store.row_columns import WATCH_COLUMNS
from vedette.store.rows import RISKS, from_ms, lane_id, opt_at, read_watch, to_ms
from vedette.store.server_reader import PLACE, PLACE_SIZE, ReadAhead

Heads = list[
    tuple[WatchId, Risk, datetime, int]
]  # id, risk, due_at, interval in seconds; -1: a second or ordered look
_WHOLE = ", ".join(f"w.{name}" for name in WATCH_COLUMNS)
_ASKED = "unnest(CAST(? AS BIGINT[]), CAST(? AS BIGINT[])) WITH ORDINALITY AS a(lane, most, number)"
_NEXT_DUE = (
    "SELECT MIN(w.due_at) FROM watches w WHERE w.lane_id = a.lane AND w.risk = r.risk AND w.due_at > ?"
)
_NEXT_DUES = (
    f"SELECT r.risk, ({_NEXT_DUE}) FROM unnest(CAST(? AS BIGINT[])) WITH ORDINALITY AS a(lane, number) "
    "CROSS JOIN (VALUES (3), (2), (1), (0)) AS r(risk) ORDER BY a.number, r.risk"
)


def _whole_heads(pick: str) -> str:
    """The heads of all these lanes, each with its watch: second looks, then class by class."""
    heads = sql.lane_heads(pick, lane="a.lane", most="a.most")
    return (
        f"SELECT a.number, h.risk, h.due_at, h.interval_s, {PLACE}, {_WHOLE} FROM {_ASKED} "
        f"CROSS JOIN LATERAL ({heads}) AS h JOIN watches w ON w.id = h.id "
        "LEFT JOIN evidence e ON e.id = w.seen_evidence "
        "ORDER BY a.number, h.interval_s >= 0, h.risk DESC, h.due_at, h.interval_s, h.id"
    )


class ServerClaims:
    """`tokens`: the lanes that this worker holds, as far as it knows."""

    def __init__(self, tokens: Callable[[], Mapping[LaneKey, int]], pick: str, ahead: ReadAhead) -> None:
        self._tokens = tokens
        self._ahead = ahead
        self._pick = pick
        self._heads_query = _whole_heads(pick)
        self._in_hand: dict[LaneKey, tuple[int, set[WatchId]]] = {}  # handed out and not written
        self._asks: tuple[Ask, ...] = ()  # that were asked about last
        self._held: Mapping[LaneKey, int] = {}  # tokens before that
        self._heads: dict[LaneKey, Heads] = {}
        self._dues: dict[tuple[LaneKey, Risk], datetime | None] = {}
        self._rows: dict[WatchId, Any] = {}
        self._lanes: dict[WatchId, LaneKey] = {}

    def questions(self, asks: Sequence[Ask], *, now: datetime, due_by: datetime) -> list[Order]:
        """What the server is asked.  Its answers go to `read`, with nothing in between."""
        self._asks, self._held = tuple(asks), self._tokens()
        at, by = to_ms(now), to_ms(due_by)
        lanes = [lane_id(ask.lane) for ask in asks]
        most = [ask.most + len(self._hand(ask.lane)) for ask in asks]
        orders: list[Order] = [
            (self._heads_query, (lanes, most, *((by, at) * sql.HEADS))),
            (_NEXT_DUES, (by, lanes)),
            *self._ahead.questions(lanes, due_by),
        ]
        for ask in asks:
            if ask.ordered:
                orders.append(
                    (sql.ordered_heads(self._pick, len(ask.ordered)), (*ask.ordered, by, at)),
                )
                orders.append(
                    (sql.WATCHES_BY_ID.format(marks=", ".join("?" * len(ask.ordered))), ask.ordered)
                )
        return orders

    def read(self, told: Iterator[list[Any]]) -> None:
        """The answers, in order."""
        found: dict[LaneKey, list[Any]] = {ask.lane: [] for ask in self._asks}
        self._rows.clear()
        for number, risk, due_at, interval, *both in next(told):
            place, row = both[:PLACE_SIZE], both[PLACE_SIZE:]
            if place[0] is not None:
                self._ahead.put(place)
            found[self._asks[number - 1].lane].append((row[0], risk, due_at, interval))
            self._rows[row[0]] = row
        places = [(ask.lane, risk) for ask in self._asks for risk in Risk]
        self._dues = {place: opt_at(due_at) for place, (_, due_at) in zip(places, next(told), strict=True)}
        self._ahead.read(told)
        for ask in self._asks:
            if ask.ordered:
                found[ask.lane] = [*next(told), *found[ask.lane]]
                self._rows.update((row[0], row) for row in next(told))
        self._heads.clear()
        self._lanes.clear()
        for ask in self._asks:
            heads = [(i, RISKS[r], from_ms(d), s) for i, r, d, s in found[ask.lane]]
            classes = _by_class(heads, self._hand(ask.lane))
            self._heads[ask.lane] = [head for one in classes for head in one[: ask.most]]
            self._lanes.update((head[0], ask.lane) for head in self._heads[ask.lane])

    def has(self, asks: Sequence[Ask]) -> bool:
        """The last answers are about these, and nobody has heard them yet."""
        return bool(asks) and self._asks == tuple(asks)

    def heads(self) -> Mapping[LaneKey, Heads]:
        """By lane, without what was handed out already.  An answer is used once."""
        self._asks = ()
        return dict(self._heads)

    def next_due(self, place: tuple[LaneKey, Risk]) -> datetime | None:
        """After the moment of the last claim."""
        return self._dues[place]

    def take(self, ids: Sequence[WatchId]) -> list[Watch]:
        """Hands these out."""
        for watch in ids:
            self._hand(self._lanes[watch]).add(watch)
        return [read_watch(self._rows[watch]) for watch in ids]

    def is_handed(self, watch: Watch, known: Mapping[LaneKey, int]) -> bool:
        """It was read under the lease that holds now: what was read under an earlier one may have changed since."""
        token, watches = self._in_hand.get(watch.lane, (0, set()))
        return token == known.get(watch.lane) and watch.id in watches

    def forget(self, watches: Iterable[Watch]) -> None:
        """They are written, or given back."""
        for watch in watches:
            self._in_hand.get(watch.lane, (0, set()))[1].discard(watch.id)

    def _hand(self, lane: LaneKey) -> set[WatchId]:
        """What was handed out under the token that the lane had when it was asked about."""
        token, known = self._held.get(lane, 0), self._in_hand.get(lane)
        if known is None or known[0] != token:
            known = self._in_hand[lane] = (token, set())
        return known[1]


def _by_class(heads: Heads, taken: set[WatchId]) -> list[Heads]:
    """The second looks, ordered looks and classes as they were asked for, without what was taken."""
    classes: dict[tuple[bool, int], Heads] = {}
    for head in heads:
        if head[0] not in taken:
            classes.setdefault((head[3] < 0, int(head[1])), []).append(head)
    return list(classes.values())
