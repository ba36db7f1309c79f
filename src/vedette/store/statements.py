"""The hot statements, in the SQL that SQLite and PostgreSQL share (`?` becomes `%s` for psycopg).

Column lists are plain text here because importing the schema costs 0.2 s; a test holds them to it.
"""

from __future__ import annotations

from vedette.store.row_columns import (
    ARTIFACT_COLUMNS,
    CHANGE_COLUMNS,
    CLOCK_COLUMNS,
    EVIDENCE_COLUMNS,
    HOST_COLUMNS,
    HUB_COLUMNS,
    JOB_COLUMNS,
    LANE_COLUMNS,
    LEAF_COLUMNS,
    LEASE_COLUMNS,
    LEDGER_COLUMNS,
    MEASURED_COLUMNS,
    MESSAGE_COLUMNS,
    MOVING_WATCH_COLUMNS,
    PARKED_COLUMNS,
    PUBLISHED_COLUMNS,
    REFUSAL_COLUMNS,
    ROBOTS_COLUMNS,
    SCHEDULER_COLUMNS,
    SCREENSHOT_COLUMNS,
    SEGMENT_COLUMNS,
    SOURCE_COLUMNS,
    VISIT_COLUMNS,
    WATCH_COLUMNS,
    selected,
)


def insert(table: str, columns: list[str], *, conflict: str = "") -> str:
    names = ", ".join(f'"{name}"' for name in columns)
    marks = ", ".join("?" * len(columns))
    return f'INSERT INTO "{table}" ({names}) VALUES ({marks}) {conflict}'.rstrip()


def upsert(table: str, columns: list[str], key: str) -> str:
    changed = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name != key)
    return insert(table, columns, conflict=f'ON CONFLICT ("{key}") DO UPDATE SET {changed}')


NOTHING = "ON CONFLICT DO NOTHING"
NEW_WATCH = insert("watches", WATCH_COLUMNS, conflict=NOTHING)
# A look that was under way when the operator paused its source does not schedule the next one.
_PAUSED = "EXISTS (SELECT 1 FROM sources s WHERE s.id = watches.source_id AND s.paused_at IS NOT NULL)"
looked_at = (
    "EXISTS (SELECT 1 FROM sources s WHERE s.id = watches.source_id AND s.is_active AND s.paused_at IS NULL)"
)
# Nor does it lower a risk that a page raised meanwhile, or forget a shorter way that was seen.
_NEW_VALUE = {
    "due_at": f"CASE WHEN {_PAUSED} THEN NULL ELSE ? END",
    "risk": '(SELECT MAX(v) FROM (SELECT "risk" AS v UNION ALL SELECT ?) AS two)',
    "depth": '(SELECT MIN(v) FROM (SELECT "depth" AS v UNION ALL SELECT ?) AS two)',
}
MOVE_WATCH = (
    "UPDATE watches SET "
    + ", ".join(f'"{name}" = {_NEW_VALUE.get(name, "?")}' for name in MOVING_WATCH_COLUMNS)
    + " WHERE id = ?"
)
# A signal pulls a look forward; it never pushes one back and never wakes what is not scheduled.  A look that it
# pulls forward is no audit: the signal chose its moment.
SIGNAL = (
    "UPDATE watches SET modified_at = ?, audit_s = CASE WHEN due_at > ? THEN NULL ELSE audit_s END, "
    "due_at = CASE WHEN due_at > ? THEN ? ELSE due_at END "
    "WHERE id = ? AND due_at IS NOT NULL AND (seen_at IS NULL OR seen_at < ?)"
)
RAISE_WATCH = (
    "UPDATE watches SET risk = 3, audit_s = CASE WHEN due_at > ? THEN NULL ELSE audit_s END, "
    "due_at = CASE WHEN due_at > ? THEN ? ELSE due_at END WHERE id = ?"
)
COME_NEARER = "UPDATE watches SET depth = ? WHERE id = ? AND depth > ?"
SAVE_HOST = upsert("hosts", HOST_COLUMNS, "lane_id")
SAVE_HUB = upsert("hubs", HUB_COLUMNS, "watch_id")
SAVE_CLOCK = insert("clocks", CLOCK_COLUMNS, conflict=NOTHING)
SAVE_PUBLISHED = insert("published", PUBLISHED_COLUMNS, conflict=NOTHING)
SAVE_SCHEDULER = upsert("scheduler", SCHEDULER_COLUMNS, "id")
MARK_WATCH = "UPDATE watches SET belief = ? WHERE id = ?"
# A host answers again: what failed there while it was down need not wait.
TRY_AGAIN = "UPDATE watches SET due_at = ? WHERE lane_id = ? AND attempt > 0 AND due_at > ?"
_PLANNED = (
    "due_at IS NOT NULL AND pending_change IS NULL AND attempt = 0 AND audit_s IS NULL AND belief IS NOT NULL"
)
REPLAN_WATCH = f"UPDATE watches SET due_at = ?, interval_s = ? WHERE id = ? AND {_PLANNED}"
# Where one process publishes prices and others look, each writes of a host what it alone decides.
PRICE_HOST = "UPDATE hosts SET dear = ?, clock_id = ?, fresh = ? WHERE lane_id = ?"
REPLAN_SETTLED = f"{REPLAN_WATCH} AND due_at = ?"
LEARN_HOST = insert(
    "hosts",
    HOST_COLUMNS,
    conflict="ON CONFLICT (lane_id) DO UPDATE SET "
    + ", ".join(
        f'"{name}" = excluded."{name}"'
        for name in HOST_COLUMNS
        if name not in ("lane_id", "dear", "clock_id")
    ),
)
_HOST_NAMES = ", ".join(f'"{name}"' for name in HOST_COLUMNS)
HOSTS_BY_ID = f"SELECT {_HOST_NAMES} FROM hosts WHERE lane_id IN ({{marks}})"
HUBS_BY_ID = f"SELECT {', '.join(HUB_COLUMNS)} FROM hubs WHERE watch_id IN ({{marks}})"
CLOCKS_BY_ID = "SELECT id, data FROM clocks WHERE id IN ({marks})"
PUBLISHED = f"SELECT {', '.join(PUBLISHED_COLUMNS)} FROM published"
LAST_PUBLISHED = f"{PUBLISHED} ORDER BY version DESC LIMIT 1"
CRAWL_DELAY = "SELECT crawl_delay_ms FROM lanes WHERE id = ?"
RUNNING = "SELECT running FROM scheduler WHERE id = 1"
_LEAVES = f"SELECT {', '.join(LEAF_COLUMNS)} FROM watches "
LEAVES_BY_ID = _LEAVES + "WHERE id IN ({marks}) ORDER BY id"
# Ids are hashes: any stretch of them is a fair sample.
LEAVES_FROM = _LEAVES + "WHERE id > ? AND due_at IS NOT NULL ORDER BY id LIMIT ?"
COUNT_SCHEDULED = "SELECT COUNT(*) FROM watches WHERE due_at IS NOT NULL"
# Of these somebody said how often they are looked at: a price does not move them.
_ASKED = (
    "SELECT 1 FROM sources s WHERE s.id = watches.source_id AND s.url = watches.url "
    "AND (s.scrape_frequency_s IS NOT NULL OR s.options LIKE '%\"every\":%')"
)
PLANNED_FROM = (
    _LEAVES + f"WHERE id > ? AND {_PLANNED} AND due_at > ? AND NOT EXISTS ({_ASKED}) "
    "AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.watch_id = watches.id) ORDER BY id LIMIT ?"
)
NEW_VISIT = insert("visits", VISIT_COLUMNS, conflict=NOTHING)
NEW_EVIDENCE = insert("evidence", EVIDENCE_COLUMNS, conflict=NOTHING)
NEW_SCREENSHOT = insert("screenshots", SCREENSHOT_COLUMNS, conflict=NOTHING)
PICTURED = "SELECT DISTINCT evidence_id FROM screenshots WHERE evidence_id IN ({marks})"
_WAITS = "SELECT 1 FROM evidence WHERE id = ? AND standing = 'waiting'"
CONFIRM_EVIDENCE = "UPDATE evidence SET standing = 'content' WHERE id = ? AND standing = 'waiting'"
NEW_ARTIFACT = insert(
    "artifacts",
    ARTIFACT_COLUMNS,
    conflict=(
        "ON CONFLICT (evidence_id, kind) DO UPDATE SET reader = excluded.reader, chars = excluded.chars, "
        "confidence = excluded.confidence, path = excluded.path, at = excluded.at"
    ),
)
NEW_MEASURE = insert("verdicts", MEASURED_COLUMNS, conflict=NOTHING)
NEW_JOB = insert("jobs", JOB_COLUMNS, conflict=NOTHING)  # an id that the queue knows already stays as it is
CONFIRMED_JOB = (
    f'INSERT INTO "jobs" ({", ".join(JOB_COLUMNS)}) SELECT {", ".join("?" * len(JOB_COLUMNS))} '
    f"WHERE EXISTS ({_WAITS}) {NOTHING}"
)
NEW_CHANGE = insert("changes", CHANGE_COLUMNS, conflict=NOTHING)
NUMBER_CHANGE = insert("change_numbers", ["change_id"], conflict=NOTHING)
MOVE_CHANGE = (
    "UPDATE changes SET state = ?, decided_at = ?, reasons = ?, layer = COALESCE(?, layer), "
    "similarity = COALESCE(?, similarity), summary = COALESCE(?, summary), diff = COALESCE(?, diff), "
    "seal = COALESCE(?, seal) WHERE id = ?"
)
NEW_MESSAGE = insert("outbox", MESSAGE_COLUMNS, conflict=NOTHING)
NEW_LEDGER = insert("ledger", LEDGER_COLUMNS, conflict=NOTHING)
PARK = upsert("parked", PARKED_COLUMNS, "watch_id")
UNPARK = "DELETE FROM parked WHERE watch_id = ?"
REFUSE = insert(
    "refusals",
    REFUSAL_COLUMNS,
    conflict=(
        "ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, note = excluded.note, "
        "last_at = excluded.last_at, "
        "count = refusals.count + CASE WHEN excluded.last_at > refusals.last_at THEN 1 ELSE 0 END"
    ),
)
# What the operator's word decides.  An engine that has not heard the last one must not write it away.
SPOKEN_OF = ("failures", "recent", "recent_count", "closed_until", "held_until", "blocked_by")
LANE_CONFLICT = (
    "ON CONFLICT (id) DO UPDATE SET next_start_at = excluded.next_start_at, bucket_at = excluded.bucket_at, "
    "crawl_delay_ms = excluded.crawl_delay_ms, "
    + ", ".join(
        f"{name} = CASE WHEN lanes.word > excluded.word THEN lanes.{name} ELSE excluded.{name} END"
        for name in SPOKEN_OF
    )
)
SAVE_LANE = insert("lanes", LANE_COLUMNS, conflict=LANE_CONFLICT)
SAY_LANE = upsert("lanes", LANE_COLUMNS, "id")
SAVE_ROBOTS = upsert("robots", ROBOTS_COLUMNS, "origin")
SAVE_SEGMENT = upsert("segments", SEGMENT_COLUMNS, "name")
SAVE_SOURCE_STATE = (
    "UPDATE sources SET failures = ?, last_error = ?, last_success_at = COALESCE(?, last_success_at), "
    "closed_until = ?, tally = ? WHERE id = ?"
)
TAKE_LEASE = upsert("leases", LEASE_COLUMNS, "watch_id")
END_LEASE = "DELETE FROM leases WHERE watch_id = ?"
LEASED_URLS = "SELECT w.url FROM leases l JOIN watches w ON w.id = l.watch_id"
EXTEND_LEASES = "UPDATE leases SET until_at = ? WHERE worker = ?"

_CLASS_HEAD = (
    "SELECT * FROM (SELECT w.id, w.risk, w.due_at, w.interval_s FROM watches w "
    "WHERE w.lane_id = {lane} AND w.risk = {risk} AND w.due_at <= ? "
    "AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.watch_id = w.id AND l.until_at > ?) {pick}"
    "ORDER BY w.due_at, w.interval_s, w.id LIMIT {most}) AS heads"
)


_SECOND_LOOKS = (
    "SELECT * FROM (SELECT w.id, 3 AS risk, w.due_at, -1 AS interval_s FROM watches w "
    "WHERE w.lane_id = {lane} AND w.pending_change IS NOT NULL AND w.due_at <= ? "
    "AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.watch_id = w.id AND l.until_at > ?) {pick}"
    "ORDER BY w.due_at, w.id LIMIT {most}) AS heads"
)


_ORDERED_HEADS = (
    "SELECT w.id, w.risk, w.due_at, -1 AS interval_s FROM watches w WHERE w.id IN ({marks}) AND w.due_at <= ? "
    "AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.watch_id = w.id AND l.until_at > ?) {pick} ORDER BY w.id"
)
# Orders that nobody has carried out yet, with the address that tells their lane.
ORDERED_LOOKS = (
    "SELECT w.id, w.url FROM orders o JOIN watches w ON w.id = CAST(o.subject AS BIGINT) "
    "WHERE o.action = 'look' AND o.id > ? AND o.at >= ? AND COALESCE(w.last_visit_at, -1) < o.at ORDER BY o.id"
)


def lane_heads(pick: str = "", *, lane: str = "?", most: str = "?") -> str:
    """Second looks, then the heads of the four risk classes of one lane: index order, no sort, flat in the number
    of watches.  A second look may stand there twice; whoever picks takes it once.  Each of the HEADS parts takes lane,
    due by, now and how many."""
    clause = f"AND {pick} " if pick else ""
    given = {"pick": clause, "lane": lane, "most": most}
    classes = [_CLASS_HEAD.format(risk=risk, **given) for risk in (3, 2, 1, 0)]
    return " UNION ALL ".join([_SECOND_LOOKS.format(**given), *classes])


def ordered_heads(pick: str, count: int) -> str:
    """Of so many watches those that may be looked at now.  Takes their ids, due by and now."""
    return _ORDERED_HEADS.format(marks=", ".join("?" * count), pick=f"AND {pick}" if pick else "")


HEADS = 5
LANE_NEXT_DUE = "SELECT MIN(due_at) FROM watches WHERE lane_id = ? AND risk = ? AND due_at > ?"
# A skip scan: one seek per lane and class, however many watches there are.
LANES_DUE = (
    "WITH RECURSIVE hop(lane) AS (SELECT MIN(lane_id) FROM watches UNION ALL "
    "SELECT (SELECT MIN(lane_id) FROM watches WHERE lane_id > hop.lane) FROM hop WHERE hop.lane IS NOT NULL) "
    "SELECT (SELECT url FROM watches WHERE lane_id = hop.lane LIMIT 1), "
    + ", ".join(
        f"(SELECT MIN(due_at) FROM watches WHERE lane_id = hop.lane AND risk = {risk} AND due_at IS NOT NULL)"
        for risk in range(4)
    )
    + " FROM hop WHERE hop.lane IS NOT NULL"
)
WATCHES_BY_ID = f"SELECT {', '.join(WATCH_COLUMNS)} FROM watches WHERE id IN ({{marks}}) ORDER BY id"
KNOWN_IDS = "SELECT id FROM watches WHERE id IN ({marks})"
LOOKS_SINCE = (
    "SELECT evidence_id, at FROM visits WHERE watch_id = ? AND at >= ? AND evidence_id IS NOT NULL "
    "AND outcome IN ('ok', 'not_modified') ORDER BY at"
)
# A payload that retention dropped is offered to nobody, whatever rows still name it.
_PAYLOADS = (
    # In the order of PAYLOAD_COLUMNS: url and time are those of the visit that stored it.
    'SELECT e.digest, e.id, e.watch_id, v.id, v.url, v.at, e.segment, e."offset", e.length, e.standing, e.same_as '
    "FROM evidence e JOIN visits v ON v.id = e.stored_by WHERE NOT EXISTS "
    "(SELECT 1 FROM segments s WHERE s.name = e.segment AND s.state = 'expired') AND "
)
PAYLOADS = _PAYLOADS + "e.digest IN ({marks})"
PAYLOADS_BY_ID = _PAYLOADS + "e.id IN ({marks})"
LAST_ID = "SELECT COALESCE(MAX(id), 0) FROM (" + (
    " UNION ALL ".join(f"SELECT MAX(id) AS id FROM {table}" for table in ("visits", "ledger", "changes"))
    + ") AS ids"
)
FOUND_SOURCE = insert("sources", SOURCE_COLUMNS, conflict=NOTHING)
SEGMENTS = f"SELECT {', '.join(SEGMENT_COLUMNS)} FROM segments ORDER BY name"
LANE = f"SELECT {', '.join(LANE_COLUMNS)} FROM lanes WHERE id = ?"
SOURCES = f"SELECT {selected(SOURCE_COLUMNS)} FROM sources"
SOURCE = f"{SOURCES} WHERE id = ?"
NEW_RUN = insert("runs", "id started_at policy config_digest rules".split())
END_KILLED_RUNS = "UPDATE runs SET ended_by = 'killed', ended_at = started_at WHERE ended_by IS NULL"
END_RUN = "UPDATE runs SET ended_at = ?, ended_by = ?, tally = ? WHERE id = ?"


def overdue(clause: str) -> str:
    """What waits of each source in each lane and was not looked at since: the least URL, its source, how many."""
    also = f" AND {clause}" if clause else ""
    waits = "w.due_at <= ? AND (w.last_visit_at IS NULL OR w.last_visit_at < ?)"
    groups = "GROUP BY w.lane_id, w.source_id"
    return f"SELECT MIN(w.url), w.source_id, COUNT(*) FROM watches w WHERE {waits}{also} {groups}"
