"""The write side of one worker among several: a group is written as long as its lanes are this worker's.

The check is in the transaction that writes.  A worker that was stopped for ten minutes writes nothing for lanes that
were taken from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from vedette.contracts.copies import replace
from vedette.contracts.errors import LanesLostError
from vedette.contracts.schedule import ScheduleRows
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.watch import Ask, Group, Segment, Watch
from vedette.contracts.words import LaneKey, Risk, RunId, WatchId
from vedette.core.urls.canonical import lane_of
from vedette.store import statements as sql
from vedette.store.connection import BEGIN, at_once, in_parts
from vedette.store.group import rows_of
from vedette.store.lane_visits import held_lanes_query, held_tokens
from vedette.store.rows import RISKS, from_ms, lane_id, opt_at, read_watch, to_ms
from vedette.store.schedule_rows import merged
from vedette.store.seal_rows import LAST_SEAL, last_seal, write_sealed
from vedette.store.sqlite import Heads, Writer

HOST, BUDGET = "host:", "budget:"
_KILLED = "UPDATE runs SET ended_by = 'killed', ended_at = started_at WHERE ended_by IS NULL AND id LIKE ?"
_LEARNS = {sql.SAVE_HOST: sql.LEARN_HOST}  # prices are the scheduler's
_WRITTEN = "SELECT 1 FROM visits WHERE id = ?"


class FencedWriter(Writer):
    """`tokens`: the lanes that this worker holds, as far as it knows."""

    def __init__(self, path: PostgresAddress, *, tokens: Callable[[], Mapping[LaneKey, int]]) -> None:
        super().__init__(path, worker="")
        self._tokens = tokens
        self._in_hand: dict[
            LaneKey, tuple[int, set[WatchId]]
        ] = {}  # handed out under this token, not written
        self._asked: dict[WatchId, LaneKey] = {}
        self._dues: dict[tuple[LaneKey, Risk], datetime | None] = {}
        self._in_doubt: int | None = None  # the first visit of a group whose commit nobody answered

    def take_series(self, number: int) -> bool:
        """The worker has the name of its archive files."""
        is_ours = super().take_series(number)
        self._worker = f"w{number}" if is_ours else self._worker
        return is_ours

    def claim(self, asks: Sequence[Ask], *, now: datetime, due_by: datetime) -> Mapping[LaneKey, Heads]:
        """As ever, without what was handed out already: a lane is one worker's, so nobody else need know."""
        tokens = self._tokens()
        self._asked.clear()
        hands = {ask.lane: self._hand(ask.lane, tokens.get(ask.lane, 0)) for ask in asks}
        wider = [replace(ask, most=ask.most + len(hands[ask.lane])) for ask in asks]
        found = self._heads_of(wider, now=now, due_by=due_by)
        free: dict[LaneKey, Heads] = {}
        for ask in asks:
            taken = hands[ask.lane]
            free[ask.lane] = [
                head for heads in _by_class(found[ask.lane], taken) for head in heads[: ask.most]
            ]
            self._asked.update((head[0], ask.lane) for head in free[ask.lane])
        return free

    def _heads_of(self, asks: Sequence[Ask], *, now: datetime, due_by: datetime) -> dict[LaneKey, Heads]:
        """In one trip, with what `next_dues` will be asked for."""
        at, by = to_ms(now), to_ms(due_by)
        heads = [(self._heads, (lane_id(ask.lane), by, at, ask.most) * sql.HEADS) for ask in asks]
        places = [(ask.lane, risk) for ask in asks for risk in Risk]
        dues = [(sql.LANE_NEXT_DUE, (lane_id(lane), int(risk), by)) for lane, risk in places]
        ordered = [
            (sql.ordered_heads(self._pick, len(ask.ordered)), (*ask.ordered, by, at))
            for ask in asks
            if ask.ordered
        ]
        with self._telling():
            told = iter(at_once(self._db, [*heads, *dues, *ordered]))
        found = {ask.lane: next(told) for ask in asks}
        self._dues = {place: opt_at(next(told)[0][0]) for place in places}
        for ask in asks:
            found[ask.lane] = [*next(told), *found[ask.lane]] if ask.ordered else found[ask.lane]
        return {lane: [(i, RISKS[r], from_ms(d), s) for i, r, d, s in rows] for lane, rows in found.items()}

    def next_dues(self, places: Sequence[tuple[LaneKey, Risk]], *, after: datetime) -> list[datetime | None]:
        """After the moment of the last claim, which it was answered with."""
        return [self._dues[place] for place in places]

    def take(self, ids: Sequence[WatchId], *, now: datetime, until: datetime) -> list[Watch]:
        tokens = self._tokens()
        for watch in ids:
            lane = self._asked[watch]
            self._hand(lane, tokens.get(lane, 0)).add(watch)
        self._asked.clear()
        with self._telling():
            return list(map(read_watch, in_parts(self._db, sql.WATCHES_BY_ID, ids)))

    def settle(self, group: Group) -> Segment | None:
        """All of it, or nothing: LanesLostError names the lanes that are another's by now."""
        first = group.placed[0].settlement.visit.id if group.placed else None
        try:
            with self._telling():
                sealed = self._settled(group, first)
        finally:
            self._rollback()
        self._in_doubt = None
        self._forget(group)
        return sealed

    def _settled(self, group: Group, first: int | None) -> Segment | None:
        """In three trips to the server: what must be known, the rows with what their seals need, the seal."""
        known = self._tokens()
        asked = [lane for lane in _lanes_of(group) if lane in known]
        held, running, written, last = at_once(
            self._db,
            [
                (BEGIN, ()),
                held_lanes_query(self._worker, asked),
                (sql.RUNNING, ()),
                (_WRITTEN, (first,)),
                (LAST_SEAL, ()),
            ],
        )[1:]
        if first is not None and first == self._in_doubt and written:
            return last_seal(self._db)  # that commit was made, though nobody heard of it
        tokens = held_tokens(asked, held)
        ours = self._checked(group, known, {lane for lane, token in tokens.items() if token == known[lane]})
        rows = rows_of(_only(group, ours, _running(group, running)))
        rows.ended = []  # there are no leases but those of lanes
        rows.schedule = [(_LEARNS.get(words, words), values) for words, values in rows.schedule]
        self._in_doubt = first
        writes = ((words, values) for words, values in rows.statements() if values)
        return write_sealed(self._db, writes, rows.touched(), last)

    def commit(self) -> None:
        """Nothing is open between two groups."""

    def heartbeat(self, *, until: datetime) -> None:
        """The leases of lanes are renewed beside this thread."""

    def was_killed(self) -> bool:
        """What a killed worker asked at last is known lane by lane."""
        return False

    def start_run(self, run: RunId, *, now: datetime, policy: str, digest: str, rules: str = "{}") -> None:
        with self.transaction() as db:
            db.execute(_KILLED, (f"%-{self._worker}",))
            db.execute(sql.NEW_RUN, (run, to_ms(now), policy, digest, rules))

    def end_run(self, run: RunId, *, now: datetime, ended_by: str, tally: str) -> None:
        with self.transaction() as db:
            db.execute(sql.END_RUN, (to_ms(now), ended_by, tally, run))

    def _hand(self, lane: LaneKey, token: int) -> set[WatchId]:
        known = self._in_hand.get(lane)
        if known is None or known[0] != token:
            known = self._in_hand[lane] = (token, set())
        return known[1]

    def _checked(self, group: Group, known: Mapping[LaneKey, int], held: set[LaneKey]) -> frozenset[LaneKey]:
        """The lanes of ours that this group is about; raises where a look is of another's."""
        lost = {
            one.job.watch.lane
            for one in (placed.settlement for placed in group.placed)
            if one.job.watch.lane not in held or not self._is_handed(one.job.watch, known)
        }
        if lost:
            raise LanesLostError(frozenset(lost))
        return frozenset(held)

    def _is_handed(self, watch: Watch, known: Mapping[LaneKey, int]) -> bool:
        """It was read under the lease that holds now: what was read under an earlier one may have changed since."""
        token, watches = self._in_hand.get(watch.lane, (0, set()))
        return token == known.get(watch.lane) and watch.id in watches

    def _forget(self, group: Group) -> None:
        for watch in (
            *(placed.settlement.job.watch for placed in group.placed),
            *(job.watch for job in group.released),
        ):
            self._in_hand.get(watch.lane, (0, set()))[1].discard(watch.id)


def _running(group: Group, stored: Sequence[Any]) -> str:
    """The scheduler's sums are everybody's: what this worker learned since is added to what is stored."""
    if group.schedule is None or not group.schedule.running:
        return ""
    return merged(str(stored[0][0]) if stored else "", group.schedule.before, group.schedule.running)


def _by_class(heads: Heads, taken: set[WatchId]) -> list[Heads]:
    """The second looks, ordered looks and classes as they were asked for, without what was taken."""
    classes: dict[tuple[bool, int], Heads] = {}
    for head in heads:
        if head[0] not in taken:
            classes.setdefault((head[3] < 0, int(head[1])), []).append(head)
    return list(classes.values())


def _lanes_of(group: Group) -> set[LaneKey]:
    """All that a group speaks of."""
    lanes = {placed.settlement.job.watch.lane for placed in group.placed}
    lanes.update(lane for key, _ in group.lanes if (lane := _far_end(key)) is not None)
    lanes.update(lane_of(rules.origin) for rules in group.robots)
    if group.schedule is not None:
        lanes.update(host.lane for host in group.schedule.hosts)
        lanes.update(hub.lane for hub in group.schedule.hubs)
    return lanes


def _only(group: Group, ours: frozenset[LaneKey], running: str) -> Group:
    """What of a group speaks of lanes of ours; what speaks of no lane stays."""
    schedule = group.schedule
    if schedule is not None:
        schedule = _only_hosts(schedule, ours, running)
    return replace(
        group,
        lanes=tuple(one for one in group.lanes if (lane := _far_end(one[0])) is None or lane in ours),
        robots=tuple(one for one in group.robots if lane_of(one.origin) in ours),
        notes=tuple(note for note in group.notes if note.kind != "lane" or _lane_in(note) in ours),
        schedule=schedule,
    )


def _only_hosts(rows: ScheduleRows, ours: frozenset[LaneKey], running: str) -> ScheduleRows:
    return replace(
        rows,
        hosts=tuple(host for host in rows.hosts if host.lane in ours),
        hubs=tuple(hub for hub in rows.hubs if hub.lane in ours),
        running=running,
    )


def _far_end(key: LaneKey) -> LaneKey | None:
    """The host whose lane, or whose budget of looks, this is; None: it is of no host."""
    lane = LaneKey(key.removeprefix(BUDGET))
    return lane if lane.startswith(HOST) else None


def _lane_in(note: Any) -> object:
    return note.decision.inputs.get("lane")
