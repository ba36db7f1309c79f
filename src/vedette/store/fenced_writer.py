"""The write side of one worker among several: a group is written as long as its lanes are this worker's.

The check is in the transaction that writes.  A worker that was stopped for ten minutes writes nothing for lanes that
were taken from it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from vedette.contracts.copies import replace
from vedette.contracts.errors import LanesLostError
from vedette.contracts.schedule import ScheduleRows
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.watch import Ask, Group, Payload, Questions, Segment, Watch
from vedette.contracts.words import EvidenceId, LaneKey, Risk, RunId, WatchId
from vedette.core.urls.canonical import lane_of
from vedette.store import statements as sql
from vedette.store.connection import BEGIN, Order, at_once, marks
from vedette.store.group import rows_of
from vedette.store.lane_visits import all_held_query, held_lanes_query, held_tokens
from vedette.store.rows import to_ms
from vedette.store.schedule_rows import merged
from vedette.store.seal_rows import LAST_SEAL, GroupSeals, Touched, last_seal, write_sealed
from vedette.store.server_claims import ServerClaims
from vedette.store.server_reader import ReadAhead
from vedette.store.sqlite import Heads, Writer, read_payload

HOST, BUDGET = "host:", "budget:"
_KILLED = "UPDATE runs SET ended_by = 'killed', ended_at = started_at WHERE ended_by IS NULL AND id LIKE ?"
_LEARNS = {sql.SAVE_HOST: sql.LEARN_HOST}  # prices are the scheduler's
_WRITTEN = "SELECT 1 FROM visits WHERE id = ?"


class FencedWriter(Writer):
    """`tokens`: the lanes that this worker holds, as far as it knows.  `ahead`: for whoever reads for its looks."""

    def __init__(
        self,
        path: PostgresAddress,
        *,
        tokens: Callable[[], Mapping[LaneKey, int]],
        ahead: ReadAhead | None = None,
    ) -> None:
        super().__init__(path, worker="")
        self._tokens = tokens
        self._claims = ServerClaims(tokens, self._pick, ahead or ReadAhead())
        self._places = _KnownPlaces()
        self._in_doubt: int | None = None  # the first visit of a group whose commit nobody answered

    def take_series(self, number: int) -> bool:
        """The worker has the name of its archive files."""
        is_ours = super().take_series(number)
        self._worker = f"w{number}" if is_ours else self._worker
        return is_ours

    def ask_ahead(self, questions: Questions) -> None:
        """Everything in one trip; what is asked for afterwards is there already."""
        asks, due_by = questions.asks, questions.due_by or questions.now
        claims = self._claims.questions(asks, now=questions.now, due_by=due_by) if asks else []
        places = self._places.questions(questions.evidence, questions.digests)
        with self._telling():
            told = iter(at_once(self._db, [*claims, *places]))
        if claims:
            self._claims.read(told)
        self._places.read(told)

    def claim(self, asks: Sequence[Ask], *, now: datetime, due_by: datetime) -> Mapping[LaneKey, Heads]:
        """As ever, without what was handed out already: a lane is one worker's, so nobody else need know."""
        if not self._claims.has(asks):
            self.ask_ahead(Questions(now=now, asks=tuple(asks), due_by=due_by))
        return self._claims.heads()

    def next_dues(self, places: Sequence[tuple[LaneKey, Risk]], *, after: datetime) -> list[datetime | None]:
        """After the moment of the last claim, which it was answered with."""
        return [self._claims.next_due(place) for place in places]

    def take(self, ids: Sequence[WatchId], *, now: datetime, until: datetime) -> list[Watch]:
        """They came with the claim."""
        return self._claims.take(ids)

    def _payloads(self, query: str, keys: Sequence[Any]) -> Iterator[tuple[bytes, Payload]]:
        known = self._places.known(query, keys)
        return super()._payloads(query, keys) if known is None else map(read_payload, known)

    def settle(self, group: Group) -> Segment | None:
        """All of it, or nothing: LanesLostError names the lanes that are another's by now."""
        first = group.placed[0].settlement.visit.id if group.placed else None
        try:
            with self._telling():
                sealed = self._settled(group, first)
        finally:
            self._rollback()
        self._in_doubt = None
        self._claims.forget(placed.settlement.job.watch for placed in group.placed)
        self._claims.forget(job.watch for job in group.released)
        return sealed

    def _settled(self, group: Group, first: int | None) -> Segment | None:
        """In two trips to the server; where a lane may be another's, or a commit went unanswered, in three."""
        known = self._tokens()
        if first is None or first != self._in_doubt:
            self._check(group, known, known.keys())
            try:
                return self._at_once(group, known, first)
            except sqlite3.IntegrityError:  # a token is not what it was, or a row was refused
                self._rollback()
        return self._step_by_step(group, known, first)

    def _at_once(self, group: Group, known: Mapping[LaneKey, int], first: int | None) -> Segment | None:
        """The tokens, the rows and what their seals need; then the seal.

        Where a token is not what it was, its check fails, and with it all that was sent after it.
        """
        ours = {lane: known[lane] for lane in _lanes_of(group) if lane in known}
        writes, touched = self._writes(group, frozenset(ours), "")
        seals = GroupSeals(touched)
        begin = [(BEGIN, ()), *all_held_query(self._worker, ours), (sql.RUNNING, ()), (LAST_SEAL, ())]
        orders = [*begin, *writes, *seals.questions]
        if not (seals.questions or group.schedule):
            at_once(self._db, [*orders, ("COMMIT", ())])
            return None
        told = at_once(self._db, orders)
        running, last = told[len(begin) - 2 : len(begin)]
        link, reached = seals.link(last, told[len(begin) + len(writes) :])
        sums = _running(group, running)
        self._in_doubt = first
        at_once(self._db, [*([(sql.SAVE_SCHEDULER, [(1, sums)])] if sums else []), *link, ("COMMIT", ())])
        return reached

    def _step_by_step(self, group: Group, known: Mapping[LaneKey, int], first: int | None) -> Segment | None:
        """What must be known, the rows with what their seals need, the seal."""
        asked = [lane for lane in _lanes_of(group) if lane in known]
        questions = [
            held_lanes_query(self._worker, asked),
            (sql.RUNNING, ()),
            (_WRITTEN, (first,)),
            (LAST_SEAL, ()),
        ]
        held, running, written, last = at_once(self._db, [(BEGIN, ()), *questions])[1:]
        if first is not None and first == self._in_doubt and written:
            return last_seal(self._db)  # that commit was made, though nobody heard of it
        tokens = held_tokens(asked, held)
        ours = frozenset(lane for lane, token in tokens.items() if token == known[lane])
        self._check(group, known, ours)
        writes, touched = self._writes(group, ours, _running(group, running))
        self._in_doubt = first
        return write_sealed(self._db, writes, touched, last)

    def _writes(self, group: Group, ours: frozenset[LaneKey], running: str) -> tuple[list[Order], Touched]:
        """The rows that speak of lanes of ours."""
        rows = rows_of(_only(group, ours, running))
        rows.ended = []  # there are no leases but those of lanes
        rows.schedule = [(_LEARNS.get(words, words), values) for words, values in rows.schedule]
        return [(words, values) for words, values in rows.statements() if values], rows.touched()

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
        self._db.bind_writes()  # type: ignore[attr-defined]

    def end_run(self, run: RunId, *, now: datetime, ended_by: str, tally: str) -> None:
        with self.transaction() as db:
            db.execute(sql.END_RUN, (to_ms(now), ended_by, tally, run))

    def _check(self, group: Group, known: Mapping[LaneKey, int], ours: Collection[LaneKey]) -> None:
        """Raises where a look is of a lane that is not ours, or was read under an earlier lease."""
        lost = {
            one.job.watch.lane
            for one in (placed.settlement for placed in group.placed)
            if one.job.watch.lane not in ours or not self._claims.is_handed(one.job.watch, known)
        }
        if lost:
            raise LanesLostError(frozenset(lost))


class _KnownPlaces:
    """Where the archive has payloads, as the server said in one trip with other things."""

    def __init__(self) -> None:
        self._asked: dict[str, Sequence[Any]] = {}  # keys, by query
        self._rows: dict[str, list[Any]] = {}

    def questions(self, evidence: Sequence[EvidenceId], digests: Sequence[bytes]) -> list[Order]:
        asked: dict[str, Sequence[Any]] = {sql.PAYLOADS_BY_ID: evidence, sql.PAYLOADS: digests}
        self._asked = {query: keys for query, keys in asked.items() if keys}
        self._rows.clear()
        return [(query.format(marks=marks(keys)), tuple(keys)) for query, keys in self._asked.items()]

    def read(self, told: Iterator[list[Any]]) -> None:
        self._rows = dict(zip(self._asked, told, strict=True))

    def known(self, query: str, keys: Sequence[Any]) -> list[Any] | None:
        """The rows of these keys; None: not all of them were asked for."""
        if query not in self._rows or not set(keys) <= set(self._asked[query]):
            return None
        place = 0 if query == sql.PAYLOADS else 1  # PAYLOAD_COLUMNS begin with the digest and the id
        wanted = set(keys)
        return [row for row in self._rows[query] if row[place] in wanted]


def _running(group: Group, stored: Sequence[Any]) -> str:
    """The scheduler's sums are everybody's: what this worker learned since is added to what is stored."""
    if group.schedule is None or not group.schedule.running:
        return ""
    return merged(str(stored[0][0]) if stored else "", group.schedule.before, group.schedule.running)


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
