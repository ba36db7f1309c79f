"""Batches that several workers ask: whose provider it is, what each may spend, and the end of the whole.

A worker visits a provider by a lease with a token that rises with every holder; what it writes is checked against the
token in the same transaction.  A provider has one visitor, so its limits are held as in one process.  Times are the
server's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from vedette.contracts.errors import TakenOverError
from vedette.contracts.panel_run import Batch, BatchId, Progress, ProviderTally
from vedette.contracts.sql_connection import PostgresAddress, SqlConnection
from vedette.core.panel.deadline import RUNNING, status_of
from vedette.core.panel.shares import SharedMoney, allotted, ends_by
from vedette.store.connection import at_once, connect, transaction
from vedette.store.dialect import Insert, Sql
from vedette.store.lane_visits import SERVER_MS
from vedette.store.panel import panel_rows as sql
from vedette.store.panel.batches import PanelStore
from vedette.store.panel.lane_ledger import PanelLedger
from vedette.store.panel.panel_rows import Projection
from vedette.store.rows import to_ms

_NEW_SHARE = Insert("panel_shares", ("batch_id", "provider", "free_at"))
_NEW_VISIT = Insert("panel_visits", ("provider",), "ON CONFLICT DO NOTHING")
_OPEN = "s.ended_by = '' AND b.status = 'running'"
_SHARES = "panel_shares s JOIN crawl_batches b ON b.id = s.batch_id"
_BUSY = f"SELECT DISTINCT s.provider FROM {_SHARES} WHERE {_OPEN}"
_TAKE = (
    "WITH free AS (SELECT v.provider, v.worker FROM panel_visits v WHERE "
    f"(v.worker = '' OR v.until_at <= {SERVER_MS}) AND v.until_at <= {SERVER_MS} - ? AND v.provider IN ({{marks}}) "
    f"AND EXISTS (SELECT 1 FROM {_SHARES} WHERE s.provider = v.provider AND {_OPEN} AND s.free_at <= {SERVER_MS} - ?) "
    "ORDER BY v.until_at LIMIT ? FOR UPDATE OF v SKIP LOCKED) "
    f"UPDATE panel_visits v SET worker = ?, token = v.token + 1, batch_id = '', until_at = {SERVER_MS} + ? "
    "FROM free f WHERE v.provider = f.provider RETURNING v.provider, v.token, f.worker <> ''"
)
# What a worker that is gone was allotted may have been spent: nobody knows.
_LOST = (
    "UPDATE panel_shares SET lost_usd = lost_usd + allotted_usd, allotted_usd = 0, under_way = 0 "
    "WHERE provider = ? AND ended_by = ''"
)
_RENEW = (
    f"UPDATE panel_visits SET until_at = {SERVER_MS} + ? WHERE worker = ? AND provider = ? AND token = ? "
    "RETURNING provider, token"
)
_VISITED = (
    f"SELECT worker, COUNT(*) FROM panel_visits WHERE worker <> '' AND until_at > {SERVER_MS} GROUP BY worker"
)
_NEXT = (
    f"SELECT s.batch_id FROM {_SHARES} WHERE s.provider = ? AND {_OPEN} AND b.stop_asked_at IS NULL "
    f"AND b.hard_at > {SERVER_MS} ORDER BY b.started_at, b.id LIMIT 1"
)
_SERVES = "UPDATE panel_visits SET batch_id = ? WHERE provider = ? AND worker = ? AND token = ?"
_GIVE_BACK = (
    f"UPDATE panel_visits SET worker = '', batch_id = '', until_at = {SERVER_MS} "
    "WHERE provider = ? AND worker = ? AND token = ?"
)
_REST = (
    f"UPDATE panel_shares SET under_way = 0, allotted_usd = 0, ended_by = ?, free_at = {SERVER_MS}, "
    "lost_usd = lost_usd + CASE WHEN ? THEN 0 ELSE allotted_usd END "
    "WHERE batch_id = ? AND provider = ? AND ended_by = '' AND EXISTS "
    "(SELECT 1 FROM panel_visits v WHERE v.provider = panel_shares.provider AND v.worker = ? AND v.token = ?)"
)
_ELSEWHERE = "SELECT COALESCE(SUM(allotted_usd), 0) FROM panel_shares WHERE batch_id = ? AND provider <> ?"
# Shares that nobody asks just now end here, when their batch is stopped or late.
_OVER = (
    "UPDATE panel_shares s SET ended_by = CASE WHEN b.stop_asked_at IS NOT NULL THEN 'killed' ELSE 'hard_stop' END "
    f"FROM crawl_batches b WHERE b.id = s.batch_id AND {_OPEN} "
    f"AND (b.stop_asked_at IS NOT NULL OR b.hard_at <= {SERVER_MS}) AND NOT EXISTS (SELECT 1 FROM panel_visits v "
    f"WHERE v.provider = s.provider AND v.batch_id = s.batch_id AND v.worker <> '' AND v.until_at > {SERVER_MS})"
)
_WHOLE = (
    f"SELECT DISTINCT b.id FROM {_SHARES} WHERE b.status = 'running' AND NOT EXISTS "
    "(SELECT 1 FROM panel_shares o WHERE o.batch_id = b.id AND o.ended_by = '')"
)
_OURS = (
    "SELECT 1 FROM panel_visits v JOIN panel_shares s ON s.provider = v.provider AND s.batch_id = ? "
    "WHERE v.provider = ? AND v.worker = ? AND v.token = ? AND s.ended_by = '' FOR KEY SHARE"
)
_SHARE = (
    "UPDATE panel_shares SET under_way = ?, waiting = ?, eta_at = ?, "
    "allotted_usd = GREATEST(0, allotted_usd - ?) WHERE batch_id = ? AND provider = ?"
)
_PROGRESS = (
    "UPDATE crawl_batches SET heartbeat_at = ?, spent_usd = COALESCE(spent_usd, 0) + ?, "
    "dropped_from = LEAST(dropped_from, CAST(? AS INTEGER)), under_way = t.under_way, waiting = t.waiting, "
    "eta_at = t.eta_at FROM (SELECT SUM(under_way) AS under_way, SUM(waiting) AS waiting, MAX(eta_at) AS eta_at "
    "FROM panel_shares WHERE batch_id = ?) t WHERE id = ? RETURNING spent_usd, budget_usd"
)
_MONEY = (
    "SELECT COALESCE(SUM(lost_usd), 0), COALESCE(SUM(allotted_usd) FILTER (WHERE provider <> ?), 0), "
    "COALESCE(SUM(allotted_usd) FILTER (WHERE provider = ?), 0) FROM panel_shares WHERE batch_id = ?"
)
_ALLOT = "UPDATE panel_shares SET allotted_usd = ? WHERE batch_id = ? AND provider = ?"
# Of a worker that is stopped in the middle of a transaction: the server ends its session, others go on.
STOPPED_MS = 10_000
_BOUNDED = f"SET LOCAL idle_in_transaction_session_timeout = {STOPPED_MS}"
_STATUS = "SELECT status FROM crawl_batches WHERE id = ? FOR UPDATE"
_OPEN_SHARE = "SELECT 1 FROM panel_shares WHERE batch_id = ? AND ended_by = '' LIMIT 1"
_ENDED = "SELECT ended_by FROM panel_shares WHERE batch_id = ?"
_WAITING = (
    f"SELECT COALESCE(SUM(s.waiting), 0), MIN(s.free_at) FILTER (WHERE v.worker = '' OR v.until_at <= {SERVER_MS}) "
    f"FROM {_SHARES} LEFT JOIN panel_visits v ON v.provider = s.provider WHERE {_OPEN}"
)


@dataclass(frozen=True, slots=True)
class PanelVisit:
    """A provider that this worker may ask."""

    provider: str
    worker: str
    token: int
    was_lost: bool = False  # whoever had it before is gone: what it asked at last is in no store


@dataclass(frozen=True, slots=True)
class VisitCounts:
    """Providers that have something to ask, and how many each worker visits that has any."""

    busy: tuple[str, ...]
    by_worker: Mapping[str, int]
    held: Mapping[str, int]  # ours, with their tokens


class PanelVisits:
    """The visits of one worker, on a connection of its own."""

    def __init__(self, path: PostgresAddress, *, worker: str, lease: timedelta) -> None:
        self._db = connect(path)
        self._path = path
        self._worker = worker
        self._lease = int(lease.total_seconds() * 1000)
        self._one = Lock()  # several threads, one connection

    def renew(self, tokens: Mapping[str, int]) -> VisitCounts:
        """Those of these that are still ours are so for another lease; shares that nobody will ask any more are ended.

        What we do not serve lapses, though it may carry our name: a worker that is begun again has that of the last.
        """
        with self._alone() as db:
            db.execute(_OVER)
            asked = [
                (_RENEW, (self._lease, self._worker, name, token)) for name, token in sorted(tokens.items())
            ]
            held = dict(row for rows in at_once(db, asked) for row in rows)
            busy = tuple(sorted(name for (name,) in db.execute(_BUSY)))
            return VisitCounts(busy, dict(db.execute(_VISITED).fetchall()), held)

    def take(self, providers: Sequence[str], most: int, *, late: timedelta) -> list[PanelVisit]:
        """Of these, that have something to ask and were nobody's for so long."""
        if most <= 0 or not providers:
            return []
        marks, waited = ", ".join("?" * len(providers)), int(late.total_seconds() * 1000)
        values = (waited, *providers, waited, most, self._worker, self._lease)
        with self._alone() as db:
            taken = db.execute(_TAKE.format(marks=marks), values).fetchall()
            for provider, _, _ in taken:
                db.execute(_LOST, (provider,))
        return [PanelVisit(name, self._worker, token, was_lost) for name, token, was_lost in taken]

    def next_batch(self, visit: PanelVisit) -> BatchId | None:
        """The oldest that has something to ask of the provider; it is what the visit asks from now on."""
        with self._alone() as db:
            row = db.execute(_NEXT, (visit.provider,)).fetchone()
            found = "" if row is None else row[0]
            is_ours = db.execute(_SERVES, (found, visit.provider, visit.worker, visit.token)).rowcount
        return BatchId(found) if found and is_ours else None

    def end_share(self, visit: PanelVisit, batch: BatchId, by: str, *, is_known: bool = True) -> bool:
        """Nothing of it is under way.  An empty word: it goes on later.  False: others may yet leave it dollars.

        `is_known`: all that it spent is in the store.  Where it is not, what it had in hand counts as lost.
        """
        with self._alone() as db:
            db.execute(_STATUS, (batch,)).fetchone()  # one at a time
            left = db.execute(_ELSEWHERE, (batch, visit.provider)).fetchone()[0]
            is_over = by != "budget_spent" or left <= 0
            word = by if is_over else ""
            db.execute(_REST, (word, is_known, batch, visit.provider, visit.worker, visit.token))
        return is_over

    def whole(self) -> list[BatchId]:
        """Batches whose shares have all ended, and that nobody has ended yet."""
        with self._alone() as db:
            return [BatchId(name) for (name,) in db.execute(_WHOLE)]

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _alone(self) -> Iterator[SqlConnection]:
        with self._one, transaction(self._db, self._path) as db:
            db.execute(_BOUNDED)
            yield db


class SharedPanelStore(PanelStore):
    """What one visit writes of one batch.  Its ledger is on the same connection, so a late worker writes nothing."""

    def __init__(
        self, db: Sql, projection: Projection, ledger: PanelLedger, visit: PanelVisit, *, wants_usd: float
    ) -> None:
        super().__init__(db, projection, ledger=ledger)
        self._visit = visit
        self._wants_usd = wants_usd

    def begin(self, batch: Batch) -> float:
        """What counts as spent at first.  With a ceiling: all of it, until something is allotted."""
        spent = batch.spent_usd if batch.budget_usd is None else batch.budget_usd
        self._told[batch.id] = sql.ProviderStateRow(spent)
        return spent

    def _check_ours(self, batch: BatchId) -> None:
        visit = self._visit
        self._db.run(_BOUNDED)
        if not self._db.rows(_OURS, (batch, visit.provider, visit.worker, visit.token)):
            raise TakenOverError(f"another worker asks {visit.provider} for {batch} by now")

    def _write_progress(self, batch: BatchId, progress: Progress) -> sql.ProviderStateRow:
        told, provider = self._told[batch], self._visit.provider
        spent = progress.spent_usd - told.spent_usd
        eta = None if progress.eta is None else to_ms(progress.eta)
        self._db.rows(_STATUS, (batch,))  # one at a time: what is allotted is counted by all
        self._db.run(_SHARE, (progress.under_way, progress.waiting, eta, spent, batch, provider))
        values = (to_ms(progress.at), spent, progress.dropped_from, batch, batch)
        whole, budget = self._db.rows(_PROGRESS, values)[0]
        self._add_metrics(batch, progress, told.tallies)
        counts_as_spent = whole if budget is None else budget - self._allot(batch, budget, whole)
        return sql.ProviderStateRow(counts_as_spent, {one.model: one for one in progress.providers})

    def _allot(self, batch: BatchId, budget: float, spent: float) -> float:
        provider = self._visit.provider
        lost, elsewhere, has = self._db.rows(_MONEY, (provider, provider, batch))[0]
        money = SharedMoney(budget=budget, spent=spent, lost=lost, elsewhere=elsewhere)
        found = allotted(money, has=has, wants=self._wants_usd)
        self._db.run(_ALLOT, (found, batch, provider))
        return found

    def _add_metrics(self, batch: BatchId, progress: Progress, told: Mapping[str, ProviderTally]) -> None:
        rows = [
            sql.metric_row(batch, one, told.get(one.model) or ProviderTally(model=one.model), progress.at)
            for one in progress.providers
        ]
        self._db.insert(sql.ADD_METRICS, rows)


class PanelHandover(PanelStore):
    """Batches that are left to workers: how one begins, and how it ends."""

    def detach(self, batch: Batch, domains: Iterable[tuple[str, str]], cells: Mapping[str, int]) -> None:
        """A new batch, with so many cells for each provider."""
        with self._db.transaction():
            self.create(batch, domains)
            at = self._db.rows(f"SELECT {SERVER_MS}")[0][0]
            self._db.insert(_NEW_SHARE, [(batch.id, provider, at) for provider in cells])
            for provider, count in cells.items():
                self._db.run(
                    "UPDATE panel_shares SET waiting = ? WHERE batch_id = ? AND provider = ?",
                    (count, batch.id, provider),
                )
            self._db.insert(_NEW_VISIT, [(provider,) for provider in cells])

    def end_once(self, batch: BatchId, *, now: datetime) -> str:
        """The word it ended by.  Empty: another worker has ended it."""
        with self._db.transaction():
            self._db.run(_BOUNDED)
            if self._db.rows(_STATUS, (batch,)) != [(RUNNING,)]:
                return ""
            by = ends_by({word for (word,) in self._db.rows(_ENDED, (batch,))})
            found = self.batch(batch)
            dropped = self.end(found, by=by, now=now)
            self._db.run("DELETE FROM panel_leases WHERE batch_id = ?", (batch,))
            return status_of(by, dropped)


def is_with_workers(db: Sql, batch: BatchId) -> bool:
    """It was left to workers, and they are not through with it."""
    return bool(db.rows(_OPEN_SHARE, (batch,)))


def panel_waits(db: SqlConnection, now: int) -> tuple[int, timedelta]:
    """Cells that could be asked, and for how long the oldest share has waited that nobody asks."""
    count, since = db.execute(_WAITING).fetchone()
    return int(count), timedelta(milliseconds=max(0, now - since) if since is not None else 0)


def end_whole(store: PanelHandover, visits: PanelVisits, now: datetime) -> list[tuple[BatchId, str]]:
    """Ends every batch that nobody has anything left to ask of."""
    return [(batch, by) for batch in visits.whole() if (by := store.end_once(batch, now=now))]


def free_visits(path: PostgresAddress, visits: Sequence[PanelVisit]) -> None:
    """At the end of a worker."""
    with closing(connect(path)) as db, transaction(db, path):
        for visit in visits:
            db.execute(_GIVE_BACK, (visit.provider, visit.worker, visit.token))
