"""The panel's side of the store: batches, cells, answers and their projection.  One thread, one connection.

What `write` returned from survives a kill.  A cell has one row: the unique key says so, not the code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vedette.contracts.errors import InputError, TakenOverError
from vedette.contracts.panel_run import (
    Batch,
    BatchId,
    BatchView,
    CellRow,
    ConsensusCache,
    Dropped,
    PanelGroup,
    ParkedCell,
    Progress,
    ProviderTally,
    Reopening,
)
from vedette.contracts.words import Outcome
from vedette.core.panel.compare import AnswerRow, Cohort, Key
from vedette.core.panel.deadline import RUNNING, BatchStanding, left_over, status_of
from vedette.core.panel.pace import Latencies
from vedette.core.panel.plan import cells
from vedette.store.dialect import RowRefused, Sql, in_groups, open_sql
from vedette.store.migrate import DATABASE
from vedette.store.panel import panel_rows as sql
from vedette.store.panel.panel_rows import KEY, RESPONSES, TEXT_NAMES, Projection
from vedette.store.rows import from_ms, opt_at, to_ms

if TYPE_CHECKING:
    from vedette.store.panel.lane_ledger import PanelLedger

USABLE = ("ok", "truncated")  # quality flags of an answer that says something


def open_view(data: Path, database: str | None, table: str | None, *, read_only: bool = True) -> PanelStore:
    """To read, or to pull the kill switch: nothing is created, added or migrated.

    A database that is not there, or has no tables of the panel, has no batch and no domains.
    """
    url = database or f"sqlite:///{data / DATABASE}"
    path = url.removeprefix("sqlite:///")
    if path != url and not Path(path).exists():
        url, read_only = "sqlite:///:memory:", False
    db = open_sql(url, read_only=read_only)
    owns = "added_by" in (columns := db.columns("domains")) or not columns
    return PanelStore(
        db, Projection(table=table or RESPONSES, text_column="", key=(), times="", owns_domains=owns)
    )


class NoCache:
    """Where no Redis is configured."""

    def forget(self, domains: Sequence[str]) -> None:
        pass


class PanelStore:
    """Owned by one thread; every method leaves the store whole."""

    def __init__(
        self,
        db: Sql,
        projection: Projection,
        *,
        ledger: PanelLedger | None = None,
        cache: ConsensusCache | None = None,
    ) -> None:
        self._db = db
        self._projection = projection
        self._ledger = ledger
        self._cache = cache or NoCache()
        self._told: dict[BatchId, sql.ProviderStateRow] = {}
        self.refused: dict[str, int] = {}  # rows that the database did not take, by its words

    def create(self, batch: Batch, domains: Iterable[tuple[str, str]]) -> None:
        """A new batch and what it asks about: all of it, or nothing."""
        values = dict.fromkeys(sql.BATCH_COLUMNS)
        values |= {
            "id": batch.id,
            "status": "running",
            "started_at": to_ms(batch.started_at),
            "target_at": to_ms(batch.target_at),
            "hard_at": to_ms(batch.hard_at),
            "plan": sql.plan_text(batch.shape),
            "cells": cells(batch.shape),
            "settled": 0,
            "answered": 0,
            "budget_usd": batch.budget_usd,
            "spent_usd": 0.0,
            "written_to": self._projection.table,
        }
        rows = ((batch.id, n, key, name) for n, (key, name) in enumerate(domains))
        with self._db.transaction():
            self._db.insert(sql.NEW_BATCH, [tuple(values.values())])
            for group in in_groups(rows):
                self._db.insert(sql.NEW_DOMAIN, group)
        self._told[batch.id] = sql.ProviderStateRow()

    def reopen(self, batch: BatchId, how: Reopening) -> tuple[Batch, int]:
        """The batch as it goes on, and how many cells may have been under way when it ended.

        Parked cells that are asked again have no row any more, so they are asked like new ones.
        """
        leased = self._count("SELECT COUNT(*) FROM panel_leases WHERE batch_id = ?", batch)
        with self._db.transaction():
            self._db.run(sql.SPENT, (batch, batch))
            self._db.run(sql.MAY_BE_SPENT, (batch, batch))
            if how.with_parked:
                self._db.run("DELETE FROM panel_answers WHERE batch_id = ? AND outcome <> 'ok'", (batch,))
            if how.with_cut:
                self._db.run("UPDATE crawl_batches SET dropped_from = NULL WHERE id = ?", (batch,))
            for table in ("panel_leases", "panel_shares"):  # workers that ask it hear that it is not theirs
                self._db.run(f"DELETE FROM {table} WHERE batch_id = ?", (batch,))
            self._db.run(
                "UPDATE crawl_batches SET status = 'running', stop_asked_at = NULL, ended_at = NULL, "
                "dropped = NULL, target_at = ?, hard_at = ?, budget_usd = ? WHERE id = ?",
                (to_ms(how.target_at), to_ms(how.hard_at), how.budget_usd, batch),
            )
            self._db.run(sql.RECOUNT, (batch, batch, batch))
            self._db.run(sql.TAKE_OVER, (batch,))
            said_at = self._db.rows("SELECT heartbeat_at FROM crawl_batches WHERE id = ?", (batch,))[0][0]
        found = self.batch(batch)
        self._told[batch] = sql.ProviderStateRow(found.spent_usd, said_at=said_at)
        return found, leased

    def latencies(self, batch: BatchId) -> dict[str, Latencies]:
        """How long answered calls took, by model, over all runs of the batch."""
        found: dict[str, Latencies] = {}
        for model, ms, count in self._db.rows(sql.TIMES, (batch,)):
            found.setdefault(model, Latencies()).add(ms, count)
        return found

    def parked(self, batch: BatchId) -> tuple[ParkedCell, ...]:
        """Cells that ended without an answer, by model and outcome, with the last words of one of them."""
        rows = self._db.rows(sql.PARKED, (batch,))
        return tuple(ParkedCell(model=m, outcome=o, cells=n, detail=d or "") for m, o, n, d in rows)

    def batch(self, batch: BatchId) -> Batch:
        rows = self._db.rows(f"{sql.BATCH} WHERE id = ?", (batch,)) if self._has_batches() else []
        if not rows or rows[0][sql.BATCH_COLUMNS.index("plan")] is None:
            raise InputError(f"there is no batch {batch}; `vedette panel status` shows the last one")
        return sql.read_batch(rows[0])

    def last_batch(self) -> BatchId | None:
        if not self._has_batches():
            return None
        rows = self._db.rows(sql.LAST_BATCH)
        return BatchId(rows[0][0]) if rows else None

    def view(self, batch: BatchId) -> BatchView:
        """All that is known about a batch."""
        found = self.batch(batch)
        values = dict(
            zip(sql.BATCH_COLUMNS, self._db.rows(f"{sql.BATCH} WHERE id = ?", (batch,))[0], strict=True)
        )
        metrics = self._db.rows(sql.METRICS, (batch,))
        return BatchView(
            batch=found,
            status=values["status"],
            ended_at=opt_at(values["ended_at"]),
            heartbeat_at=opt_at(values["heartbeat_at"]),
            eta=opt_at(values["eta_at"]),
            is_stop_asked=values["stop_asked_at"] is not None,
            cells=values["cells"] or 0,
            settled=values["settled"] or 0,
            answered=values["answered"] or 0,
            under_way=values["under_way"] or 0,
            waiting=values["waiting"] or 0,
            leased=self._count("SELECT COUNT(*) FROM panel_leases WHERE batch_id = ?", batch),
            written_to=values["written_to"] or "",
            unasked=(values["cells"] or 0) - self._count(sql.ROWS, batch),
            dropped=self._dropped(found, values["status"], values["dropped"]),
            parked=self.parked(batch),
            providers=tuple(dict(zip(sql.METRIC_COLUMNS, row, strict=True)) for row in metrics),
        )

    def domains(self, batch: BatchId, first: int, count: int) -> list[tuple[str, str]]:
        rows = self._db.rows(
            "SELECT domain_id, domain FROM panel_domains WHERE batch_id = ? AND n >= ? AND n < ? ORDER BY n",
            (batch, first, first + count),
        )
        return [(key, name) for key, name in rows]

    def settled(self, batch: BatchId, first: int, last: int) -> frozenset[int]:
        rows = self._db.rows(
            "SELECT cell FROM panel_answers WHERE batch_id = ? AND cell >= ? AND cell < ?",
            (batch, first, last),
        )
        return frozenset(cell for (cell,) in rows)

    def write(self, group: PanelGroup) -> float | None:
        """All of the group, or nothing of it.  The cache hears of it after the commit.

        Gives what all runs of the batch have spent together, with a word about the progress.
        """
        try:
            return self._write(group, self._write_rows)
        except RowRefused:
            return self._write(group, self._write_one_by_one)

    def _write(self, group: PanelGroup, write_rows: Callable[[PanelGroup], None]) -> float | None:
        batch, told = group.batch, None
        with self._db.transaction():
            self._check_ours(batch)
            write_rows(group)
            if group.progress is not None:
                told = self._write_progress(batch, group.progress)
            if self._ledger is not None and self._ledger.db is self._db:
                self._ledger.write(group)
        if told is not None:
            self._told[batch] = told
        if self._ledger is not None and self._ledger.db is not self._db:
            self._ledger.write_alone(group)
        answered = {row.domain for row in group.rows if row.outcome is Outcome.OK}
        if answered:
            self._cache.forget(sorted(answered))
        return None if told is None else told.spent_usd

    def _check_ours(self, batch: BatchId) -> None:
        """In a transaction: the row stays locked, and nobody takes the batch over before the commit."""
        told = self._told.get(batch)
        if told is not None and not self._db.run(sql.OURS, (batch, told.said_at, told.said_at)):
            raise TakenOverError(
                f"another run took the batch {batch} over (`panel resume --take-over`); this one has stopped"
            )

    def silent(self, batch: BatchId) -> list[tuple[str, str, int, int, str, str]]:
        """Providers that were asked and answered nothing, or were stopped: model, breaker, ok, calls, and the outcome
        that most of their cells ended by, with the words of one."""
        parked: dict[str, ParkedCell] = {}
        for one in sorted(self.parked(batch), key=lambda one: one.cells):
            parked[one.model] = one
        found = []
        for model, breaker, ok, calls in self._db.rows(sql.SILENT, (batch,)):
            most = parked.get(model) or ParkedCell(model=model, outcome="", cells=0)
            found.append((model, str(breaker), int(ok or 0), int(calls), most.outcome, most.detail))
        return found

    def is_stopped(self, batch: BatchId) -> bool:
        asked = self._db.rows("SELECT stop_asked_at FROM crawl_batches WHERE id = ?", (batch,))
        return any(at is not None for (at,) in asked)

    def ask_stop(self, batch: BatchId | None, *, now: datetime) -> int:
        """The kill switch: of one batch, or of all that run.  Gives how many there were."""
        if not self._has_batches():
            return 0
        where, values = ("AND id = ?", (to_ms(now), batch)) if batch else ("", (to_ms(now),))
        with self._db.transaction():
            return self._db.run(
                f"UPDATE crawl_batches SET stop_asked_at = ? WHERE status = 'running' {where}", values
            )

    def end(self, batch: Batch, *, by: str, now: datetime) -> tuple[Dropped, ...]:
        """The batch is over; what has no row was dropped, and the reason is kept with it."""
        dropped = left_over(self._standing(batch), by)
        body = json.dumps([asdict(one) for one in dropped])
        with self._db.transaction():
            self._db.run(
                "UPDATE crawl_batches SET status = ?, ended_at = ?, dropped = ?, under_way = 0 WHERE id = ?",
                (status_of(by, dropped), to_ms(now), body, batch.id),
            )
            self._db.run(sql.RECOUNT, (batch.id, batch.id, batch.id))
        return dropped

    def active_domains(self) -> Iterator[tuple[str, str]]:
        """`domains WHERE active`: id and name."""
        if "active" not in self._db.columns("domains"):
            return
        for key, name in self._db.rows("SELECT id, domain FROM domains WHERE active ORDER BY id"):
            yield str(key), name

    def ids_of(self, names: Sequence[str]) -> dict[str, str]:
        """The ids of these domains.  Those that the table does not have get one, where the table is ours."""
        known = self._known(names)
        missing = self.check_names(names, known)
        if missing:
            with self._db.transaction():
                for group in in_groups((name, "panel") for name in missing):
                    self._db.many(
                        "INSERT INTO domains (domain, added_by) VALUES (?, ?) ON CONFLICT DO NOTHING", group
                    )
            known = self._known(names)
        return known

    def check_names(self, names: Sequence[str], known: Mapping[str, str] | None = None) -> list[str]:
        """Those that the table does not have yet.  Raises InputError where it is another program's."""
        if known is None:
            known = self._known(names) if self._db.columns("domains") else {}
        missing = [name for name in names if name not in known]
        if missing and not self._projection.owns_domains:
            shown = ", ".join(missing[:5])
            raise InputError(
                f"{len(missing)} domains are not in the table `domains`: {shown}; add them there first"
            )
        return missing

    def responses(self, table: str) -> dict[Key, AnswerRow]:
        """The rows of a table of answers, for `compare`; it may be an older one with fewer columns."""
        columns = self._db.columns(table)
        said = next((name for name in TEXT_NAMES if name in columns), None)
        missing = [name for name in KEY[:2] if name not in columns]
        if not columns:
            raise InputError(f"there is no table {table!r}")
        if missing or said is None or '"' in table:
            raise InputError(f"{table} is not a table of provider answers")
        kind, flag = (name if name in columns else "NULL" for name in ("prompt_type", "quality_flag"))
        rows = self._db.rows(f'SELECT domain_id, model, {kind}, "{said}", {flag} FROM "{table}"')
        return {
            (str(domain), model, kind or ""): AnswerRow(text or "", None if flag is None else flag in USABLE)
            for domain, model, kind, text, flag in rows
        }

    def asked(self, table: str) -> list[Cohort]:
        """What batches planned to ask whose answers went to this table."""
        if not self._has_batches():
            return []
        plans = self._db.rows(f"{sql.BATCH} WHERE written_to = ? AND plan IS NOT NULL", (table,))
        found = []
        for batch in map(sql.read_batch, plans):
            named = self._db.rows(
                "SELECT domain_id, domain FROM panel_domains WHERE batch_id = ?", (batch.id,)
            )
            cohort = Cohort(
                domains=dict(named),
                models=frozenset(batch.shape.models),
                kinds=frozenset(prompt.prompt_type for prompt in batch.shape.prompts),
            )
            found.append(cohort)
        return found

    def answers(self, batch: BatchId, model: str) -> dict[tuple[str, str], list[str]]:
        """What a model answered, by domain and prompt type, its repeats in order."""
        rows = self._db.rows(
            "SELECT domain, prompt_type, text FROM panel_answers WHERE batch_id = ? AND model = ? AND outcome = 'ok' "
            "ORDER BY domain, prompt_type, repeat",
            (batch, model),
        )
        found: dict[tuple[str, str], list[str]] = {}
        for domain, kind, text in rows:
            found.setdefault((domain, kind), []).append(text or "")
        return found

    def about(self, domain: str, batch: BatchId | None = None) -> list[dict[str, Any]]:
        """What was answered about a domain, or how it ended, newest first; of one batch, or of all."""
        if not self._has_batches():
            return []
        where, values = (" AND batch_id = ?", (domain, batch)) if batch else ("", (domain,))
        rows = self._db.rows(f"{sql.ABOUT}{where} ORDER BY at DESC, model, prompt_type, repeat", values)
        found = [dict(zip(sql.ABOUT_COLUMNS, row, strict=True)) for row in rows]
        return [{**one, "at": from_ms(one["at"])} for one in found]

    def batch_before(self, batch: BatchId) -> BatchId | None:
        """The last batch that began before this one."""
        rows = self._db.rows(
            "SELECT id FROM crawl_batches WHERE plan IS NOT NULL AND started_at < "
            "(SELECT started_at FROM crawl_batches WHERE id = ?) ORDER BY started_at DESC LIMIT 1",
            (batch,),
        )
        return BatchId(rows[0][0]) if rows else None

    def close(self) -> None:
        self._db.close()

    def _write_progress(self, batch: BatchId, progress: Progress) -> sql.ProviderStateRow:
        """Adds what is new since the last word of this run: other runs of the batch may add theirs."""
        told = self._told.get(batch) or sql.ProviderStateRow()
        spent = progress.spent_usd - told.spent_usd
        said_at = sql.later(to_ms(progress.at), told.said_at)
        self._db.run(sql.PROGRESS, (said_at, *sql.progress_row(batch, progress, spent=spent)))
        metrics = [
            sql.metric_row(
                batch, one, told.tallies.get(one.model) or ProviderTally(model=one.model), progress.at
            )
            for one in progress.providers
        ]
        self._db.insert(sql.ADD_METRICS, metrics)
        rows = self._db.rows("SELECT spent_usd FROM crawl_batches WHERE id = ?", (batch,))
        whole = float(rows[0][0] or 0.0) if rows else progress.spent_usd
        return sql.ProviderStateRow(whole, {one.model: one for one in progress.providers}, said_at)

    def _write_rows(self, group: PanelGroup, *, is_projected: bool = True) -> None:
        """Counts the rows that are new: another run of the batch may have written some of them."""
        batch = group.batch
        if group.rows:
            answers, others = (
                self._db.insert(sql.NEW_ANSWER, [sql.answer_row(batch, row) for row in rows])
                for rows in _parted(group.rows)
            )
            self._db.run(sql.COUNTED, (answers + others, answers, batch))
            if is_projected:
                self._project(group)
        ended = [(batch, row.cell) for row in group.rows] + [(batch, cell) for cell in group.released]
        if ended:
            self._db.many(sql.END_LEASE, ended)
        if group.leases:
            self._db.insert(sql.NEW_LEASE, [(batch, cell) for cell in group.leases])

    def _write_one_by_one(self, group: PanelGroup) -> None:
        """The database refuses a row of the group: it costs itself.  What it refuses to project is kept with us."""
        self._write_rows(replace(group, rows=()))
        for row in group.rows:
            alone = PanelGroup(batch=group.batch, rows=(row,))
            try:
                with self._db.savepoint():
                    self._write_rows(alone)
            except RowRefused as error:
                self._refuse(alone, error)

    def _refuse(self, alone: PanelGroup, error: RowRefused) -> None:
        words = str(error)
        self.refused[words] = self.refused.get(words, 0) + 1
        with suppress(RowRefused), self._db.savepoint():
            self._write_rows(alone, is_projected=False)

    def _project(self, group: PanelGroup) -> None:
        """Of repeats and of whatever else shares a key of the table, the last one stays."""
        projection = self._projection
        columns = sql.response_columns(projection)
        key = [columns.index(name) for name in projection.key or KEY]
        rows = {
            tuple(values[n] for n in key): values
            for row in group.rows
            if row.outcome is Outcome.OK
            for values in (sql.response_row(group.batch, row, projection),)
        }
        if projection.key and rows:
            self._db.insert(sql.save_response(projection), list(rows.values()))
            return
        for values in rows.values():
            if not self._db.run(sql.update_response(projection), (*values[3:], *values[:3])):
                self._db.insert(sql.save_response(projection), [values])

    def _dropped(self, batch: Batch, status: str, kept: str | None) -> tuple[Dropped, ...]:
        """As it ended; while it runs, what nobody will ask any more."""
        if status == RUNNING:
            return left_over(self._standing(batch), RUNNING)
        return tuple(Dropped(**row) for row in json.loads(kept or "[]"))

    def _standing(self, batch: Batch) -> BatchStanding:
        """As the rows say, whoever wrote them."""
        counted = self._db.rows(
            "SELECT model, prompt_type, COUNT(*) FROM panel_answers WHERE batch_id = ? GROUP BY model, prompt_type",
            (batch.id,),
        )
        cut = self._db.rows("SELECT dropped_from FROM crawl_batches WHERE id = ?", (batch.id,))[0][0]
        tier_of = {prompt.prompt_type: prompt.tier for prompt in batch.shape.prompts}
        done: dict[tuple[str, int], int] = {}
        for model, kind, count in counted:
            place = model, tier_of.get(kind, 0)
            done[place] = done.get(place, 0) + count
        told = {row[0]: row[1:] for row in self._db.rows(sql.HOW_IT_DID, (batch.id,))}
        return BatchStanding(
            shape=batch.shape,
            done=done,
            cut=cut,
            breakers={model: str(row[0]) for model, row in told.items()},
            notes={model: _how_it_did(*row) for model, row in told.items()},
        )

    def _known(self, names: Sequence[str]) -> dict[str, str]:
        known: dict[str, str] = {}
        for group in in_groups(((name,) for name in names), 500):
            marks = ", ".join("?" * len(group))
            rows = self._db.rows(
                f"SELECT domain, id FROM domains WHERE domain IN ({marks})", [name for (name,) in group]
            )
            known |= {name: str(key) for name, key in rows}
        return known

    def _has_batches(self) -> bool:
        """The tables of the panel are there."""
        return "plan" in self._db.columns("crawl_batches")

    def _count(self, statement: str, batch: BatchId) -> int:
        return int(self._db.rows(statement, (batch,))[0][0])


def _how_it_did(breaker: str | None, calls: int, throttled: int, errors: int) -> str:
    """For the report: what a provider did that some of its cells were dropped."""
    state = "" if breaker in (None, "closed") else f"breaker {breaker}; "
    return f"{state}{throttled} of {calls} calls throttled, {errors} failed"


def _parted(rows: Sequence[CellRow]) -> tuple[list[CellRow], list[CellRow]]:
    """Answers, and the others."""
    answers = [row for row in rows if row.outcome is Outcome.OK]
    return answers, [row for row in rows if row.outcome is not Outcome.OK]
