"""Looks at what a killed run left behind, by other means than the program that wrote it."""

from __future__ import annotations

import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from vedette.contracts.watch import SEALS, ChainRow, VisitFacts, WrittenRecord
from vedette.contracts.words import Outcome
from vedette.core.evidence import chain
from vedette.evidence.heads import Anchors
from vedette.evidence.read_records import UnreadableRecord, check_digests, read_record, read_start
from vedette.store.claims import StoreClaims
from vedette.store.rows import from_ms

SAMPLE = 200  # older visits that are read again after each kill
KINDS = (
    "lost",
    "duplicate evidence",
    "unscouted",
    "unreadable",
    "unchained",
    "unsealed",
    "stuck leases",
    "astray",
    "impolite",
)
_VISIT = "id, watch_id, url, at, outcome, status, digest, segment, seq, offset, length, record_digest, chain"


@dataclass
class Problems:
    """What was found wrong, by name.  A drill that found nothing has empty lists."""

    by_name: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    def add(self, name: str, words: str) -> None:
        self.by_name.setdefault(name, []).append(words)

    def expect(self, name: str, is_so: bool, words: str) -> None:
        if not is_so:
            self.add(name, words)

    def __bool__(self) -> bool:
        return any(self.by_name.values())

    def __str__(self) -> str:
        found = [f"{name}: {len(told)}, first: {told[0]}" for name, told in self.by_name.items() if told]
        return "; ".join(found) or "no problems"


class Inspector:
    """Knows what was acknowledged so far and how far each chain was checked."""

    def __init__(self, data: Path, problems: Problems, chance: random.Random) -> None:
        self._data = data
        self._problems = problems
        self._chance = chance
        self._visits: list[dict[str, Any]] = []  # acknowledged
        self._heads: dict[str, tuple[int, bytes]] = {}  # segment: seq and link checked so far

    def look(self, lines: list[dict[str, Any]], *, pid: int) -> None:
        """The store as the kill left it holds every acknowledged line."""
        new = [line for line in lines if line["event"] == "visited"]
        older = self._chance.sample(self._visits, min(SAMPLE, len(self._visits)))
        self._visits += new
        if not (self._data / "vedette.db").exists():
            self._problems.expect("lost", not new, "no database")
            return
        with _as_left(self._data) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'visits'").fetchone():
                self._problems.expect("lost", not new, "no tables")
                return
            sizes = dict(db.execute("SELECT name, size FROM segments").fetchall())
            for line in new + older:
                self._check_visit(db, line, sizes)
            self._check_changes(db, lines)
            self._check_chains(db)
            self._check_seals(db)
            self._check_leases(db, pid)
            for row in db.execute(
                "SELECT watch_id, hex(digest), COUNT(*) FROM evidence GROUP BY 1, 2 HAVING COUNT(*) > 1"
            ):
                self._problems.add("duplicate evidence", f"{row}")
            self._check_scouts(db)
            self._check_hunt(db)

    def wait_for_all(
        self, lines: list[dict[str, Any]], *, since: float, but: set[str], within: float
    ) -> None:
        """Every watch that is scheduled is looked at again: no lease of the dead keeps it.  A hunt goes on choosing.

        A slow machine takes its time; what counts is how long nothing more was looked at.
        """
        deadline = time.monotonic() + within
        scheduled: set[str] = set()
        fewest = sys.maxsize
        while time.monotonic() < deadline:
            db = sqlite3.connect(f"file:{self._data / 'vedette.db'}?mode=ro", uri=True, timeout=30)
            rows = db.execute(
                "SELECT url FROM watches WHERE due_at < ? AND (last_visit_at IS NULL OR last_visit_at < ?) "
                "AND id NOT IN (SELECT watch_id FROM prospects)",
                (int(time.time() * 1000), int(since * 1000)),
            ).fetchall()
            db.close()
            scheduled = {url for (url,) in rows if urlsplit(url).hostname not in but}
            if not scheduled:
                return
            if len(scheduled) < fewest:
                fewest, deadline = len(scheduled), time.monotonic() + within
            time.sleep(0.2)
        for url in sorted(scheduled)[:20]:
            self._problems.add(
                "stuck leases", f"{url} is due, and for {within} s nothing like it was looked at"
            )

    def look_at_the_end(self) -> None:
        """After a clean stop: no lease, no run without an end, every record of every file readable."""
        with _as_left(self._data) as db:
            for row in db.execute("SELECT watch_id, worker FROM leases"):
                self._problems.add("stuck leases", f"{row} after the end")
            for (run,) in db.execute("SELECT id FROM runs WHERE ended_by IS NULL"):
                self._problems.add("not ended well", f"{run} never ended")
            for name, size, count in db.execute("SELECT name, size, count FROM segments"):
                self._check_file(self._data / "archive" / f"{name}.warc.gz", size)
                found = db.execute("SELECT COUNT(*) FROM visits WHERE segment = ?", (name,)).fetchone()[0]
                self._problems.expect("lost", found == count, f"{name}: {found} visits, {count} were chained")
            ids = {row[0] for row in db.execute("SELECT id FROM visits")}
        for line in self._visits:
            self._problems.expect("lost", line["visit"] in ids, f"{line['visit']} at the end")
        twice = len(self._visits) - len({line["visit"] for line in self._visits})
        self._problems.expect("duplicate evidence", twice == 0, f"{twice} visits acknowledged twice")

    def closed_at(self, address: str) -> float | None:
        """When the store first had a reason to leave this host alone; a second is room for the look itself."""
        with _as_left(self._data) as db:
            row = db.execute(
                "SELECT MIN(at) FROM (SELECT v.at FROM visits v JOIN watches w ON w.id = v.watch_id "
                "WHERE v.outcome = 'throttled' AND w.url LIKE ? UNION ALL SELECT at FROM ledger "
                "WHERE kind = 'lane' AND payload LIKE ?)",
                (f"%//{address}:%", f'%"breaker"%host:{address}"%'),
            ).fetchone()
        return None if row[0] is None else row[0] / 1000 + 1.0

    def _check_seals(self, db: sqlite3.Connection) -> None:
        """Every covered row is as it was sealed, and HEADS remembers no link that is not there."""
        marks = Anchors(self._data / "archive").marks(SEALS)
        for words in StoreClaims(db).seal_problems(marks):
            self._problems.add("unsealed", words)
        for row, words in StoreClaims(db).row_problems():
            self._problems.add("unsealed", f"{row}: {words}")

    def _check_hunt(self, db: sqlite3.Connection) -> None:
        """What was found is scheduled or open, and every look that the hunt chose is counted or waits."""
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'hunts'").fetchone():
            return
        for (url,) in db.execute(
            "SELECT url FROM watches WHERE due_at IS NULL AND merged_into IS NULL AND last_visit_at IS NULL "
            "AND id NOT IN (SELECT watch_id FROM prospects)"
        ):
            self._problems.add("astray", f"{url} is neither scheduled nor open")
        chosen, looked, waiting = db.execute(
            "SELECT (SELECT number FROM hunts), (SELECT looks FROM yields WHERE place = ''), "
            "(SELECT COUNT(*) FROM prospects WHERE chosen_at IS NOT NULL)"
        ).fetchone()
        told = f"{chosen} chosen, {looked} looked at, {waiting} waiting"
        self._problems.expect("astray", (chosen or 0) == (looked or 0) + waiting, told)

    def _check_visit(self, db: sqlite3.Connection, line: dict[str, Any], sizes: dict[str, int]) -> None:
        row = db.execute(
            "SELECT digest, segment, offset, length, record_digest, outcome FROM visits WHERE id = ?",
            (line["visit"],),
        ).fetchone()
        if row is None:
            self._problems.add("lost", f"visit {line['visit']} of {line['url']}")
            return
        digest, segment, offset, length, record_digest, outcome = row
        said = tuple(line[name] for name in ("digest", "segment", "offset", "length", "outcome"))
        kept = (digest.hex() if digest else None, segment, offset, length, outcome)
        self._problems.expect("lost", said == kept, f"visit {line['visit']}: told {said}, kept {kept}")
        if offset is None:
            return
        if segment not in sizes or offset + length > sizes[segment]:
            self._problems.add("lost", f"{segment} {offset}+{length} is beyond {sizes.get(segment)}")
            return
        self._check_record(segment, offset, length, record_digest)

    def _check_record(self, segment: str, offset: int, length: int, record_digest: bytes) -> None:
        with (self._data / "archive" / f"{segment}.warc.gz").open("rb") as file:
            file.seek(offset)
            member = file.read(length)
        place = f"{segment} {offset}+{length}"
        if sha256(member).digest() != record_digest:
            self._problems.add("unreadable", f"{place}: other bytes than were committed")
            return
        try:
            check_digests(read_record(member))
        except UnreadableRecord as error:
            self._problems.add("unreadable", f"{place}: {error}")

    def _check_changes(self, db: sqlite3.Connection, lines: Iterable[dict[str, Any]]) -> None:
        for line in lines:
            if line["event"] == "changed":
                row = db.execute("SELECT state FROM changes WHERE id = ?", (line["change"],)).fetchone()
                self._problems.expect("lost", row == ("reported",), f"change {line['change']} is {row}")

    def _check_scouts(self, db: sqlite3.Connection) -> None:
        """New evidence and its scout job are one transaction: none without the other, and each once.

        A job that was done long ago is forgotten; then its verdict stands.
        """
        without = db.execute(
            "SELECT e.id FROM evidence e LEFT JOIN verdicts v ON v.evidence_id = e.id WHERE v.word IS NULL "
            "AND e.standing = 'content' AND NOT EXISTS "
            "(SELECT 1 FROM jobs j WHERE j.queue = 'scout' AND j.id = 'scout-' || e.id)"
        )
        for (evidence,) in without:
            self._problems.add("unscouted", f"evidence {evidence} has no scout job")
        query = "SELECT queue, id, COUNT(*) FROM jobs GROUP BY 1, 2 HAVING COUNT(*) > 1"
        for row in db.execute(query):
            self._problems.add("unscouted", f"twice: {row}")

    def _check_chains(self, db: sqlite3.Connection) -> None:
        """Every link since the last look follows from the one before, up to the committed head."""
        for name, count, head in db.execute("SELECT name, count, head FROM segments").fetchall():
            if name not in self._heads:
                self._heads[name] = (0, read_start(self._data / "archive", name).head)
            seq, last = self._heads[name]
            rows = db.execute(
                f"SELECT {_VISIT} FROM visits WHERE segment = ? AND seq > ? ORDER BY seq", (name, seq)
            )
            for row in rows:
                seq, last = self._follow(name, seq, last, row)
            self._problems.expect(
                "unchained", (seq, last) == (count, head), f"{name} ends at {seq}, committed {count}"
            )
            self._heads[name] = (seq, last)

    def _follow(self, name: str, seq: int, last: bytes, row: tuple[Any, ...]) -> tuple[int, bytes]:
        visit, watch, url, at, outcome, status, digest, segment, number, offset, length, sha, link = row
        facts = VisitFacts(
            visit=visit, watch=watch, url=url, at=from_ms(at), outcome=Outcome(outcome), status=status,
            digest=digest,
        )  # fmt: skip
        written = WrittenRecord(
            visit=visit, segment=segment, seq=number, offset=offset, length=length, record_digest=sha, chain=link
        )  # fmt: skip
        follows = number == seq + 1 and chain.link_kind(last, ChainRow(facts=facts, written=written))
        self._problems.expect("unchained", bool(follows), f"{name} link {number} after {seq}")
        return number, link

    def _check_leases(self, db: sqlite3.Connection, pid: int) -> None:
        """What is leased was leased by the run that was killed, and is not over yet."""
        now = int(time.time() * 1000)
        is_begun = db.execute("SELECT 1 FROM runs WHERE id LIKE ?", (f"%-{pid}",)).fetchone()
        for watch, worker, until in db.execute("SELECT watch_id, worker, until_at FROM leases"):
            self._problems.expect("stuck leases", until > now, f"{watch} of {worker}, over {now - until} ms")
            is_ours = worker.endswith(f":{pid}")
            self._problems.expect("stuck leases", is_ours or not is_begun, f"{watch} of {worker}, not {pid}")

    def _check_file(self, path: Path, size: int) -> None:
        """warcio reads the whole file, and it is as long as was committed."""
        self._problems.expect(
            "unreadable", path.stat().st_size == size, f"{path.name}: not {size} bytes long"
        )
        with path.open("rb") as file:
            records = ArchiveIterator(file, check_digests=True)
            try:
                for record in records:
                    record.content_stream().read()
                    is_wrong = record.digest_checker.passed is False
                    self._problems.expect("unreadable", not is_wrong, f"{path.name} at {records.offset}")
            except ArchiveLoadFailed as error:
                self._problems.add("unreadable", f"{path.name}: {str(error)[:60]!r}")
            self._problems.expect("unreadable", records.err_count == 0, f"{path.name}: {records.err_count}")


@contextmanager
def _as_left(data: Path) -> Iterator[sqlite3.Connection]:
    """The database as it was left, read without touching it: WAL recovery happens in a copy."""
    with tempfile.TemporaryDirectory(dir=data.parent, prefix="look-") as name:
        copy = Path(name) / "vedette.db"
        shutil.copyfile(data / "vedette.db", copy)
        if (wal := data / "vedette.db-wal").exists():
            shutil.copyfile(wal, f"{copy}-wal")
        db = sqlite3.connect(f"file:{copy}?mode=ro", uri=True)
        try:
            yield db
        finally:
            db.close()
