"""Evidence read from the archive: a page as it came or as text, its act of a gazette, two states compared, exports.

An export to SQLite holds the rows that older programs read.  A view cannot read the archive, so `rawContent` is
written into a database of its own.
"""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from vedette import __version__
from vedette.app.stage_worker import redacts
from vedette.config.model import Loaded
from vedette.contracts.change import DiffOp
from vedette.contracts.errors import InputError, StoreError, VedetteError
from vedette.contracts.source import ActMetadata
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.watch import Located, Watch
from vedette.contracts.words import DOCUMENTS, ContentClass, WatchId
from vedette.core.change.diff import diff_lines, summary, with_headings
from vedette.core.text.charset import decode
from vedette.core.text.redact import redacted_document
from vedette.core.urls.canonical import origin_of, watch_id
from vedette.discover.gather import ListingDocument
from vedette.discover.gazettes import FORMS, act_of, read_metadata
from vedette.engine.crawl.compare_states import read_body
from vedette.evidence.read_records import Export, export
from vedette.evidence.text_cache import TextCache
from vedette.evidence.wacz import SUFFIX, WaczRequest, export_wacz
from vedette.extract import ALL, blocks, extract
from vedette.extract.documents import read_document
from vedette.extract.documents.language import reader_version
from vedette.extract.page import row_headings
from vedette.operations.arguments import a_moment
from vedette.operations.changes import stored_diff
from vedette.operations.installation import Installation
from vedette.operations.watches import find_evidence, is_piece, known_watch, shown_at
from vedette.report.diffs import diff_json
from vedette.store.connection import connect
from vedette.store.queries import Queries
from vedette.store.rows import to_ms
from vedette.store.sqlite import Reader
from vedette.store.statements import insert
from vedette.store.views import EvidenceView

TEXTS = frozenset(
    {ContentClass.HTML, ContentClass.JSON, ContentClass.JSON_LD, ContentClass.XML, ContentClass.TEXT}
)
EVIDENCE_001 = (
    "id sourceId url rawContent rawContentEncoding contentHash contentType contentClass hasChanged changeSummary "
    "fetchedAt primaryTextArtifactId"
).split()
_ROWS = (
    'SELECT r."id", r."sourceId", r."url", r."contentHash", r."contentType", r."contentClass", r."hasChanged", '
    'r."changeSummary", r."fetchedAt", r."primaryTextArtifactId", e.segment, e."offset", e.length, e.content_type '
    'FROM "RegulatoryEvidence" r JOIN evidence e ON e.id = CAST(r."id" AS INTEGER) WHERE e.at >= ? ORDER BY e.id'
)


@dataclass(frozen=True, slots=True)
class HandedOut:
    """What an export wrote, and what it could not."""

    path: Path
    rows: int
    lost: int  # rows without rawContent: their record cannot be read


def kept_evidence(installation: Installation, what: str, *, at: datetime | None = None) -> EvidenceView:
    """What was kept: of a URL as it was seen last, or at a time; or one piece by its number or digest."""
    with installation.queries() as queries:
        if is_piece(what):
            if at is not None:
                raise InputError("--at goes with a URL; a piece of evidence is of one moment")
            return find_evidence(installation, queries, what, 1)[0]
        watch = known_watch(installation, queries, what)
        number = shown_at(installation.loaded, watch.id, at or installation.now())
        found = None if number is None else queries.evidence_by_id(number)
    if found is None:
        raise VedetteError(f"nothing is kept of {watch.url}{' of that time' if at else ''}")
    return found


def kept_json(loaded: Loaded, one: EvidenceView, *, with_text: bool) -> dict[str, object]:
    """With `rawContent` as spec 001 has it: text where it is text and base64 where it is not."""
    content, encoding = raw_content(body_of(loaded, one), one.content_class, one.content_type)
    return {
        "evidence": one.id,
        "url": one.url,
        "at": one.at,
        "digest": one.digest,
        "contentType": one.content_type,
        "contentClass": one.content_class,
        "status": one.status,
        "rawContent": content,
        "rawContentEncoding": encoding,
        **({"text": text_of(loaded, one)} if with_text else {}),
    }


def body_of(loaded: Loaded, one: EvidenceView) -> bytes:
    """The body as the server meant it, without its content coding."""
    located = Located(segment=one.segment, offset=one.offset, length=one.length)
    body = read_body(loaded.archive, located)
    if body is None:
        raise StoreError(
            f"evidence {one.id} cannot be read from the archive; `vedette evidence verify` says why"
        )
    return body


def text_of(loaded: Loaded, one: EvidenceView, *, reader: Reader | None = None) -> str:
    """All that it says, line by line.  Who reads many has a reader of its own."""
    body = body_of(loaded, one)
    is_redacted = _redacts(loaded, one) if reader is None else redacts(reader, one.watch)
    if ContentClass(one.content_class) not in DOCUMENTS:
        found = blocks(body, url=one.url, content_type=one.content_type, scope=ALL, redacts=is_redacted)
        return "\n".join(text for _, text in found)
    text_cache = TextCache(loaded.data, reader_version(loaded.config.extract.ocr_languages))
    document = (text_cache.redacted() if is_redacted else text_cache).latest(one.digest)
    if document is None and one.content_class != ContentClass.IMAGE:
        document = read_document(body, url=one.url, content_type=one.content_type)
        document = redacted_document(document) if is_redacted else document
    if document is None or (document.scans and not document.blocks):
        raise StoreError(
            f"evidence {one.id} was not read by OCR; `vedette look` reads it where tesseract is installed"
        )
    return "\n".join(text for _, text in document.blocks)


def title_of(loaded: Loaded, one: EvidenceView) -> str:
    """The title of a page; of anything else there is none."""
    if ContentClass(one.content_class) is not ContentClass.HTML:
        return ""
    body, is_redacted = body_of(loaded, one), _redacts(loaded, one)
    return extract(body, url=one.url, content_type=one.content_type, redacts=is_redacted).title or ""


def headings_of(loaded: Loaded, one: EvidenceView) -> dict[str, tuple[str, ...]]:
    """The headings of the columns beside rows of its tables."""
    is_page = ContentClass(one.content_class) is ContentClass.HTML
    if not is_page:
        return {}
    return row_headings(body_of(loaded, one), content_type=one.content_type, redacts=_redacts(loaded, one))


def _redacts(loaded: Loaded, one: EvidenceView) -> bool:
    """What a source that redacts keeps as it came is shown as text without personal data."""
    with closing(Reader(loaded.store)) as reader:
        return redacts(reader, one.watch)


def raw_content(body: bytes, content_class: str, content_type: str) -> tuple[str, str]:
    """`rawContent` of spec 001, and how it is written: exact where it is UTF-8 or base64."""
    if ContentClass(content_class) not in TEXTS:
        return base64.b64encode(body).decode(), "base64"
    try:
        return body.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        text, charset = decode(body, content_type)
        return text, f"from {charset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChoice:
    """Which records: of a URL or a piece of evidence, or the two states of a change."""

    what: str | None = None
    change: str | None = None  # its number
    since: datetime | None = None


def export_records(installation: Installation, choice: RecordChoice, target: Path) -> Export:
    """Writes the records as a file that stands by itself: .warc.gz, or .wacz for viewers of archived pages."""
    found = _chosen(installation, choice)
    places = dict.fromkeys((one.segment, one.offset, one.length) for one in reversed(found))
    located = [Located(segment=segment, offset=at, length=length) for segment, at, length in places]
    archive, software = installation.loaded.archive, f"vedette/{__version__}"
    if not target.name.endswith(SUFFIX):
        return export(archive, located, target, software=software, now=installation.now())
    with installation.queries() as queries:
        watches = {one.url: queries.watch(one.watch) for one in found}
    asked = WaczRequest(
        directory=archive,
        places=located,
        target=target,
        software=software,
        title=f"Evidence of {choice.what or f'change {choice.change}'}",
        titles={url: watch.title for url, watch in watches.items() if watch is not None},
    )
    return export_wacz(asked, now=installation.now())


def _chosen(installation: Installation, choice: RecordChoice) -> list[EvidenceView]:
    """Newest first."""
    if choice.change is not None:
        change = stored_diff(installation, choice.change).change.view.change
        pieces = [one for one in (change.after_evidence, change.before_evidence) if one is not None]
        with installation.queries() as queries:
            found = [one for piece in pieces if (one := queries.evidence_by_id(piece)) is not None]
    elif choice.what is not None:
        with installation.queries() as queries:
            found = find_evidence(installation, queries, choice.what, 0)
    else:
        raise InputError("name a URL, a number or a sha256, or a change; only --as-001 takes all evidence")
    found = [one for one in found if choice.since is None or one.at >= choice.since]
    if not found:
        word = choice.what or f"change {choice.change}"
        raise VedetteError(f"no evidence of {word}{' since then' if choice.since else ''}")
    return found


def export_001(
    installation: Installation,
    target: Path,
    *,
    what: str | None = None,
    since: datetime | None = None,
    progress: Callable[[int, int], None] = lambda done, whole: None,
) -> HandedOut:
    """Writes a database with the table `Evidence` as spec 001 has it, of all or of one URL; whole or not at all."""
    path, watch = installation.store(), None
    if what is not None:
        with installation.queries() as queries:
            watch = known_watch(installation, queries, what).id
    if target.exists():
        raise InputError(f"{target} exists; name another file")
    half_done = target.with_name(f".{target.name}.part")
    half_done.unlink(missing_ok=True)
    try:
        with closing(connect(path, read_only=True)) as db:
            rows, lost = _fill(half_done, _filled(installation.loaded, db, since, watch), progress)
        half_done.rename(target)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"cannot write {target}: {error}; nothing was kept") from None
    finally:
        half_done.unlink(missing_ok=True)
    return HandedOut(target, rows, lost)


def _filled(
    loaded: Loaded, db: SqlConnection, since: datetime | None, watch: WatchId | None
) -> Iterator[tuple[object, ...]]:
    query = _ROWS if watch is None else _ROWS.replace("WHERE", f"WHERE e.watch_id = {int(watch)} AND")
    for row in db.execute(query, (0 if since is None else to_ms(since),)):
        number, source, url, digest, kind, content_class, *rest = row
        changed, summary, at, artifact, segment, offset, length, content_type = rest
        body = read_body(loaded.archive, Located(segment=segment, offset=offset, length=length))
        content, encoding = (None, None) if body is None else raw_content(body, content_class, content_type)
        said = (number, source, url, content, encoding, digest, kind, content_class)
        yield (*said, changed, summary, at, artifact)


def _fill(
    path: Path, rows: Iterator[tuple[object, ...]], progress: Callable[[int, int], None]
) -> tuple[int, int]:
    names = ", ".join(f'"{name}"' for name in EVIDENCE_001)
    done = lost = 0
    with closing(sqlite3.connect(path)) as db:
        db.execute(f'CREATE TABLE "Evidence" ({names}, PRIMARY KEY ("id"))')
        for row in rows:
            db.execute(insert("Evidence", EVIDENCE_001), row)
            done += 1
            lost += row[3] is None
            progress(done, 0)
        db.commit()
    return done, lost


# Acts of the official gazette, read from the evidence of their pages.


def act_metadata(loaded: Loaded, one: EvidenceView) -> ActMetadata | None:
    """What the evidence says of an act of the gazette; None where it is of something else, or says nothing."""
    if act_of(one.url) is None or ContentClass(one.content_class) not in TEXTS:
        return None
    located = Located(segment=one.segment, offset=one.offset, length=one.length)
    body = read_body(loaded.archive, located)
    if body is None:
        return None
    read = read_metadata(ListingDocument(url=one.url, body=body, content_type=one.content_type, now=one.at))
    return read if read.eli else None


def act_of_watch(loaded: Loaded, queries: Queries, watch: Watch) -> ActMetadata | None:
    """What is known of the act behind an address: said by the page itself, or by its JSON-LD where that is watched."""
    act = act_of(watch.url)
    if act is None:
        return None
    forms = (
        queries.watch(watch_id(origin_of(watch.url) + act.eli + form)) for form in (FORMS["json-ld"], "")
    )
    for one in filter(None, (watch, *forms)):
        kept = queries.evidence_by_id(one.seen.evidence) if one.seen else None
        said = act_metadata(loaded, kept) if kept else None
        if said is not None:
            return said
    return None


# What differs between any two states of a page that were kept, all of their text.


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDiff:
    url: str
    before: EvidenceView
    after: EvidenceView
    ops: tuple[DiffOp, ...]  # empty: the text is the same


def diff_states(installation: Installation, what: str, start: str | None, end: str | None) -> StateDiff:
    """`start` and `end`: a time, or the number or first digits of a piece of evidence; no end: as seen last."""
    if start is None:
        raise InputError("--to needs --from: say from which state on")
    if "://" not in what and "." not in what:
        raise InputError("--from and --to go with a URL; a change has its own two states")
    with installation.queries() as queries:
        watch = known_watch(installation, queries, what)
        before = _state(installation, queries, watch, start, "--from")
        after = _state(installation, queries, watch, end or "0s", "--to")
    loaded = installation.loaded
    texts = [text_of(loaded, one).split("\n") for one in (before, after)]
    ops = with_headings(diff_lines(*texts)[0], headings_of(loaded, before) | headings_of(loaded, after))
    differs = any(op.op != "equal" for op in ops)
    return StateDiff(url=watch.url, before=before, after=after, ops=tuple(ops) if differs else ())


def state_diff_json(found: StateDiff) -> dict[str, object]:
    states = (("from", found.before), ("to", found.after))
    return {
        "url": found.url,
        **{name: {"evidence": one.id, "at": one.at} for name, one in states},
        "summary": summary(found.ops) if found.ops else "",
        "diff": diff_json(found.ops),
    }


def _state(
    installation: Installation, queries: Queries, watch: Watch, word: str, option: str
) -> EvidenceView:
    """By number or digits the piece itself; by time what the last look before it showed."""
    try:
        at = a_moment(word, option, installation.now())
    except InputError:
        at = None
    if word.isdigit() or at is None:
        found = find_evidence(installation, queries, word, 0)
        own = [one for one in found if one.watch == watch.id]
        if not own:
            raise InputError(f"{option}: {word} is no evidence of {watch.url}")
        return own[0]
    number = shown_at(installation.loaded, watch.id, at)
    one = None if number is None else queries.evidence_by_id(number)
    if one is None:
        raise VedetteError(f"{option} {word}: nothing was seen of {watch.url} by then")
    return one
