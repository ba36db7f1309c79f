"""Fills a store: 100,000 watches, 1,000,000 looks, 50,000 changes, as rows, from a seed.  Takes a minute or two.

`python bench/large_store.py FOLDER [--watches 100000] [--looks 1000000] [--changes 50000] [--seed 1]`

The looks lie in the 30 days before now.  2,000 bodies are in a real archive and are shared by all evidence, so a page
that reads one reads a real record.  The ledger has the looks of the last week, as after `vedette gc`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind, Registered, Source
from vedette.contracts.watch import ArchiveEntry, RecordKind, Seen, VisitFacts, Watch
from vedette.contracts.words import EvidenceId, Outcome, Risk, SourceId, VisitId, WatchId
from vedette.core.schedule.learned.beliefs import Beliefs, pack_beliefs
from vedette.core.schedule.protocol import to_hours
from vedette.core.urls.canonical import lane_of, watch_id
from vedette.evidence.archive import Archive
from vedette.store import statements as sql
from vedette.store.connection import connect
from vedette.store.group import change_seal
from vedette.store.migrate import ARCHIVE, prepare
from vedette.store.row_columns import SOURCE_COLUMNS
from vedette.store.rows import lane_row, segment_row, source_row, to_ms, watch_row
from vedette.store.text_columns import dump_json
from vedette.store.text_index import IndexedText, opened

DAYS = 30
BODIES = 2_000
HOUR_MS = 3_600_000
STEMS = (
    "porez pdv zakon pravilnik naredba uredba stopa obveznik prijava rok objava narodne novine ministarstvo financija "
    "obrt pausal doprinos mirovinsko zdravstveno osiguranje tarifa carina izmjena dopuna clanak stavak tocka uputa"
).split()
OUTCOMES = (
    ("ok", 40),
    ("not_modified", 52),
    ("timeout", 3),
    ("server_error", 2),
    ("throttled", 1),
    ("gone", 2),
)
RISKS = ((Risk.CRITICAL, 5), (Risk.HIGH, 15), (Risk.MEDIUM, 50), (Risk.LOW, 30))
STATES = (("reported", 80), ("confirmed", 5), ("rejected", 10), ("observed", 5))


@dataclass(frozen=True)
class Size:
    watches: int = 100_000
    looks: int = 1_000_000
    changes: int = 50_000
    seed: int = 1

    @property
    def hosts(self) -> int:
        return max(2, self.watches // 50)

    @property
    def sources(self) -> int:
        return max(2, self.watches // 333)


@dataclass(frozen=True)
class Body:
    """One record of the archive."""

    digest: bytes
    segment: str
    offset: int
    length: int
    size: int
    text: str


def words_of(chance: random.Random) -> list[str]:
    """4,000 words: the language of this web."""
    made = {stem + end for stem in STEMS for end in ("", "a", "u", "om", "i", "ima")}
    while len(made) < 4_000:
        made.add("".join(chance.choice("bcdfghklmnprstvz") + chance.choice("aeiou") for _ in range(3)))
    return sorted(made)


def fill(folder: Path, size: Size, now: datetime) -> Path:
    chance = random.Random(size.seed)
    path = prepare(folder)
    words = words_of(chance)
    db = connect(path)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    bodies, segments = archived(folder / ARCHIVE, words, chance, now)
    db.executemany(sql.SAVE_SEGMENT, [segment_row(one) for one in segments])
    hosts = [f"{chance.choice(words)}-{n}.example" for n in range(size.hosts)]
    sources = some_sources(hosts, size, chance)
    marks = ", ".join("?" * len(SOURCE_COLUMNS))
    db.executemany(f"INSERT INTO sources VALUES ({marks})", [source_row(one, now=now) for one in sources])
    plan = Plan(size, chance, now, words, hosts, sources, bodies)
    db.executemany(sql.NEW_WATCH, plan.watches())
    for statement, rows in plan.rows():
        db.executemany(statement, rows)
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    indexed(folder, path, plan)
    return path


def indexed(folder: Path, path: Path, plan: Plan) -> None:
    """The text of every piece, in the index of the search."""
    with opened(folder, path) as index:
        begun, pieces = time.process_time(), list(plan.texts())
        for start in range(0, len(pieces), 1000):
            index.add(pieces[start : start + 1000])
    print(json.dumps({"index_ms_per_piece": round((time.process_time() - begun) * 1000 / len(pieces), 3)}))


def archived(folder: Path, words: list[str], chance: random.Random, now: datetime) -> tuple[list[Body], Any]:
    archive, made = Archive(folder), []
    archive.recover((), now=now)
    for n in range(BODIES):
        lines = [" ".join(chance.choices(words, k=12)) for _ in range(24)]
        text = "\n".join((f"Objava {n}", *lines))
        body = f"<html><title>Objava {n}</title><main><h1>Objava {n}</h1><p>{'</p><p>'.join(lines)}</p></main></html>"
        data = body.encode()
        digest = hashlib.sha256(data).digest()
        facts = VisitFacts(
            visit=VisitId(n + 1), watch=WatchId(n + 1), url=f"https://body.example/{n}", at=now, outcome=Outcome.OK,
            status=200, digest=digest,
        )  # fmt: skip
        entry = ArchiveEntry(
            facts=facts, kind=RecordKind.RESPONSE, payload=data, headers=(("content-type", "text/html"),)
        )
        done = archive.append(entry)
        made.append(Body(digest, done.segment, done.offset or 0, done.length or 0, len(data), text))
    segments = archive.sync()
    archive.committed(now)
    archive.close(now)
    return made, segments


def some_sources(hosts: list[str], size: Size, chance: random.Random) -> list[Source]:
    kinds = (ListerKind.PAGE, ListerKind.FEED, ListerKind.SITEMAP, ListerKind.HTML_LIST)
    return [
        Source(
            id=SourceId(f"source-{n}"), name=f"Source {n}", url=f"https://{hosts[n % len(hosts)]}/", tier=Risk(n % 4),
            lister=kinds[n % 4], registered=Registered(tags=(f"tag{n % 10}",)), is_active=chance.random() > 0.03,
        )
        for n in range(size.sources)
    ]  # fmt: skip


class Plan:
    """Every row, one after another; what is kept between them is arrays."""

    def __init__(
        self, size: Size, chance: random.Random, now: datetime, words: list[str], hosts: list[str],
        sources: list[Source], bodies: list[Body],
    ) -> None:  # fmt: skip
        self.size, self.chance, self.now, self.words = size, chance, now, words
        self.hosts, self.sources, self.bodies = hosts, sources, bodies
        self.by_digest = {body.digest: body for body in bodies}
        self.now_ms = to_ms(now)
        numbers = np.random.default_rng(size.seed)
        places = (numbers.random(size.watches) ** 3 * len(hosts)).astype(int)
        self.urls = [
            f"https://{hosts[places[n]]}/{chance.choice(STEMS)}/{n}.html" for n in range(size.watches)
        ]
        for n, source in enumerate(sources):
            self.urls[n] = source.url  # its own address
        self.ids = [int(watch_id(url)) for url in self.urls]
        self.risks = self._drawn(RISKS, size.watches)
        self.rates = numbers.gamma(0.5, 1 / 168, size.watches)
        # Visits are numbered by time: the n-th look is at times[n], at watch who[n].
        span = DAYS * 24 * HOUR_MS
        self.times = np.unique(self.now_ms - numbers.integers(60_000, span, int(size.looks * 1.01)))[
            -size.looks :
        ]
        who = numbers.permutation(np.resize(np.arange(size.watches), len(self.times)))
        self.who = who
        self.outcomes = self._drawn(OUTCOMES, len(self.times))
        self.last = np.full(size.watches, -1)
        self.last[who] = np.arange(len(who))
        self.changed: dict[int, int] = {}  # look: number of the change

    def visit_id(self, look: int) -> int:
        return int(self.times[look] - 1_577_836_800_000) << 22 | (look & 0xFFF)

    def watches(self) -> Iterator[tuple[Any, ...]]:
        belief = self._beliefs()
        for n, url in enumerate(self.urls):
            look = int(self.last[n])
            seen_at = None if look < 0 else datetime.fromtimestamp(self.times[look] / 1000, UTC)
            interval = timedelta(hours=4 + (n * 7919) % 600)
            is_asleep = n % 41 == 0
            due_at = None if is_asleep else self.now + timedelta(seconds=(n * 104_729) % 900_000 - 20_000)
            seen = None
            if look >= 0:
                body = self.bodies[n % BODIES]
                number = self.visit_id(look)
                seen = Seen(
                    visit=VisitId(number), evidence=EvidenceId(n + 1), at=seen_at or self.now, digest=body.digest,
                    text_chars=body.size,
                )  # fmt: skip
            source = self.sources[n % len(self.sources)]
            yield watch_row(
                Watch(
                    id=WatchId(self.ids[n]), url=url, lane=lane_of(url), source=source.id, risk=self.risks[n],
                    title=" ".join(self.chance.choices(self.words, k=5)).capitalize(), due_at=due_at,
                    lister=source.lister if n < len(self.sources) else None, depth=1, velocity=0.3, scan_count=10,
                    interval=interval, created_at=self.now - timedelta(days=DAYS), last_visit_at=seen_at,
                    last_outcome=None if look < 0 else Outcome(self.outcomes[look]), seen=seen, belief=belief[n],
                )
            )  # fmt: skip

    def rows(self) -> Iterator[tuple[str, Any]]:
        yield sql.NEW_VISIT, self._visits()
        yield sql.NEW_EVIDENCE, self._evidence()
        yield sql.NEW_CHANGE, self._changes()
        yield sql.NUMBER_CHANGE, [(self.visit_id(look) + 1,) for look in self.changed]
        yield sql.NEW_LEDGER, self._ledger()
        used = sorted({lane_of(url) for url in self.urls})
        yield sql.SAVE_LANE, [lane_row(key, self._lane(n)) for n, key in enumerate(used)]
        yield (
            sql.PARK,
            [
                (self.ids[-n], self.urls[-n], "timeout", "", 3, self.now_ms - n * 60_000)
                for n in range(1, 501)
            ],
        )
        yield sql.REFUSE, self._refusals()
        alert = (
            "INSERT INTO alerts (kind, kinds, subject, risk, sources, detail, opened_at, recovered_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        yield alert, [
            ("ENDPOINT_SLA_BREACH", '["ENDPOINT_SLA_BREACH"]', f"host:{self.hosts[n]}", n % 4, "[]", "",
             self.now_ms - n * 9_000, None if n < 40 else self.now_ms - n * 8_000)
            for n in range(min(400, len(self.hosts)))
        ]  # fmt: skip

    def _visits(self) -> Iterator[tuple[Any, ...]]:
        segment = self.bodies[0].segment
        chosen = self.chance.sample(range(len(self.times) // 20, len(self.times)), self.size.changes)
        self.changed = {look: n for n, look in enumerate(sorted(chosen))}
        for look, at in enumerate(self.times.tolist()):
            n, outcome = int(self.who[look]), self.outcomes[look]
            body = self.bodies[n % BODIES]
            is_seen = outcome in ("ok", "not_modified")
            yield (
                self.visit_id(look), self.ids[n], f"run-{look // 40_000}", at, 80 + look % 400,
                "ok" if look in self.changed else outcome, self.urls[n],
                200 if is_seen else None, look in self.changed, body.digest if is_seen else None,
                n + 1 if is_seen else None, body.size if is_seen else None, 9_000 if outcome == "ok" else 200, "",
                segment, BODIES + look + 1, "revisit" if is_seen else "none", None, None, None, b"c" * 32,
                20_000 if look % 50 == 0 else None,
            )  # fmt: skip

    def _evidence(self) -> Iterator[tuple[Any, ...]]:
        """A first piece of every watch, and one of every change."""
        start = self.now_ms - DAYS * 24 * HOUR_MS
        for n in range(self.size.watches):
            yield self._piece(n + 1, n, self.bodies[n % BODIES], start + n * 20)
        for look, number in self.changed.items():
            n = int(self.who[look])
            body = self.bodies[(n + 1 + number) % BODIES]
            yield self._piece(self.visit_id(look), n, body, int(self.times[look]))

    def texts(self) -> Iterator[IndexedText]:
        for row in self._evidence():
            body = self.by_digest[row[2]]
            yield IndexedText(row[0], body.digest, body.text[:12], body.text)

    def _piece(self, number: int, n: int, body: Body, at: int) -> tuple[Any, ...]:
        return (
            number, self.ids[n], body.digest, self.urls[n], at, "HTML", "text/html", body.size, body.segment,
            body.offset, body.length, number, "content", None, self.sources[n % len(self.sources)].id,
        )  # fmt: skip

    def _changes(self) -> Iterator[tuple[Any, ...]]:
        states = self._drawn(STATES, len(self.changed))
        for look, number in self.changed.items():
            n, at = int(self.who[look]), int(self.times[look])
            before, after = (" ".join(self.chance.choices(self.words, k=10)) for _ in range(2))
            equal = [" ".join(self.chance.choices(self.words, k=8)) for _ in range(6)]
            diff = [["equal", equal, equal, []], ["replace", [before], [after], [[before[:9], after[:9]]]]]
            words = f"1 line changed: '{before[:40]}' -> '{after[:40]}'"
            row = (
                self.visit_id(look) + 1, self.ids[n], "changed", states[number], self.visit_id(max(0, look - 1)),
                self.visit_id(look), n + 1, self.visit_id(look), at, at + 30_000, "content", 0.9, words,
                json.dumps(diff), '[["second_look", 0.0, "same again"]]',
            )  # fmt: skip
            yield (*row, change_seal(row))

    def _ledger(self) -> Iterator[tuple[Any, ...]]:
        since = self.now_ms - 7 * 24 * HOUR_MS
        reasons = [["base", 4.0, "floor"], ["velocity", 3.5, "0.65"], ["jitter", -0.25, ""]]
        for look in np.flatnonzero(self.times >= since).tolist():
            n, at = int(self.who[look]), int(self.times[look])
            output = {"due_at": "2026-11-15T19:15:00+00:00", "hours": 7.25}
            decisions = [
                {"action": "fetch", "reasons": [], "inputs": {}, "output": self.outcomes[look]},
                {"action": "schedule", "reasons": reasons, "inputs": {"velocity": 0.65}, "output": output},
            ]
            number = self.visit_id(look)
            yield number, at, self.ids[n], number, f"run-{look // 40_000}", "visit", dump_json(decisions)

    def _lane(self, n: int) -> LaneState:
        is_shut = n % 97 == 0
        return LaneState(
            next_start_at=self.now - timedelta(minutes=1),
            closed_until=self.now + timedelta(hours=1) if is_shut else None,
            failures=6 if is_shut else 0,
            crawl_delay=timedelta(seconds=10) if n % 13 == 0 else None,
        )

    def _refusals(self) -> Iterator[tuple[Any, ...]]:
        for n in range(self.size.watches // 5):
            url = f"https://{self.hosts[n % len(self.hosts)]}/refused/{n}"
            yield int(watch_id(url)), url, "source-0", "scope", "", self.now_ms - n, self.now_ms - n, 1

    def _beliefs(self) -> list[bytes]:
        count, now = self.size.watches, to_hours(self.now)
        events = np.random.default_rng(self.size.seed).poisson(self.rates * DAYS * 24).astype(float)
        zeros = np.zeros(count)
        last = np.where(
            self.last >= 0, now - (self.now_ms - self.times[self.last]) / HOUR_MS, now - DAYS * 24
        )
        return pack_beliefs(
            Beliefs(events, zeros + DAYS * 24.0, zeros + 0.5, zeros + 0.1, last, zeros + np.inf, zeros, zeros)
        )

    def _drawn(self, table: tuple[tuple[Any, int], ...], count: int) -> list[Any]:
        values, weights = zip(*table, strict=True)
        return self.chance.choices(values, weights, k=count)


def counted(path: Path) -> dict[str, int]:
    db = sqlite3.connect(path)
    names = ("watches", "visits", "changes", "evidence", "ledger", "lanes", "sources")
    found = {name: db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in names}
    db.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for name in ("watches", "looks", "changes", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Size(), name))
    given = vars(parser.parse_args())
    folder, begun = given.pop("folder"), time.monotonic()
    path = fill(folder, Size(**given), datetime.now(UTC))
    print(
        json.dumps(
            {"seconds": round(time.monotonic() - begun, 1), "bytes": path.stat().st_size, **counted(path)}
        )
    )


if __name__ == "__main__":
    main()
