"""Other people's readers are the judge of our records."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import fastwarc.warc
import pytest
from evidence_kit import NOON, again, not_modified, nothing, sample, visit
from hypothesis import given
from hypothesis import strategies as st
from isal import isal_zlib
from warcio.archiveiterator import ArchiveIterator
from warcio.cli import main as warcio_cli

from vedette.contracts.errors import StoreError
from vedette.contracts.watch import ArchiveEntry, Located, RecordKind
from vedette.contracts.words import Outcome
from vedette.evidence.read_records import (
    UnreadableRecord,
    check_digests,
    check_for_others,
    read_payload,
    read_record,
)
from vedette.evidence.warc import record_id, visit_record, warcinfo_record

SEGMENT = "standard-20261115-0001"
PAGE = visit(1)

wild_text = st.text(st.characters(exclude_categories=()), max_size=40)  # surrogates and controls too
injections = st.sampled_from(
    [
        "\r\n\r\nWARC/1.1\r\n",
        "a\r\nX-Evil: 1",
        "\n",
        "\0",
        "\r",
        "\x85",
        "\u2028",
        "WARC-Type: request\r\n",
        "",
    ]
)
nasty = st.lists(wild_text | injections, max_size=3).map("".join)
entries = st.builds(
    lambda url, phrase, headers, payload, status: replace(
        PAGE,
        facts=replace(PAGE.facts, url=url, status=status),
        phrase=phrase,
        headers=tuple(headers),
        payload=payload,
    ),
    url=nasty.map(lambda rest: "https://www.hgk.hr/" + rest),
    phrase=nasty,
    headers=st.lists(st.tuples(nasty, nasty), max_size=5),
    payload=st.binary(max_size=200),
    status=st.none() | st.integers(-5, 2000),
)


def by_warcio(member: bytes) -> list[tuple[object, bytes]]:
    """Each record and its content; digests checked on the way."""
    records = ArchiveIterator(io.BytesIO(member), check_digests="raise")
    return [(record, record.raw_stream.read()) for record in records]


def by_fastwarc(member: bytes, *, parse_http: bool = True) -> list[fastwarc.warc.WarcRecord]:
    found = []
    for record in fastwarc.warc.ArchiveIterator(io.BytesIO(member), parse_http=parse_http):
        record.freeze()
        found.append(record)
    return found


def test_both_readers_give_back_what_was_put_in_and_agree_with_both_digests():
    member = visit_record(PAGE, SEGMENT)
    ((record, content),) = by_warcio(member)
    assert record.digest_checker.passed is True
    assert content == PAGE.payload
    assert record.rec_headers.get_header("WARC-Target-URI") == PAGE.facts.url
    assert record.rec_headers.get_header("WARC-IP-Address") == "127.0.0.1"
    assert record.http_headers.get_statuscode() == "200"
    (fast,) = by_fastwarc(member)
    assert fast.verify_payload_digest()
    assert fast.reader.read() == PAGE.payload
    assert fast.record_date == PAGE.facts.at
    (fast,) = by_fastwarc(member, parse_http=False)
    assert fast.verify_block_digest()


def test_both_readers_would_have_noticed_a_wrong_digest():
    wrong = visit_record(replace(PAGE, payload_digest=bytes(32)), SEGMENT)
    for record in ArchiveIterator(io.BytesIO(wrong), check_digests=True):
        record.content_stream().read()
        assert record.digest_checker.passed is False
    (fast,) = by_fastwarc(wrong)
    assert not fast.verify_payload_digest()


@given(entries)
def test_nothing_that_a_server_sends_adds_a_field_or_a_record(entry: ArchiveEntry):
    plain = {name for name, _ in by_warcio(visit_record(PAGE, SEGMENT))[0][0].rec_headers.headers}
    member = visit_record(entry, SEGMENT)
    ((record, content),) = by_warcio(member)
    assert len(record.rec_headers.headers) == len(plain)
    assert {name for name, _ in record.rec_headers.headers} == plain
    assert content == entry.payload
    assert len(record.http_headers.headers) <= len(entry.headers) + 1
    (fast,) = by_fastwarc(member)
    assert fast.verify_payload_digest()
    assert fast.reader.read() == entry.payload
    mine = read_record(member)
    check_digests(mine)
    assert mine.payload == entry.payload
    assert len(mine.http_headers) <= len(entry.headers) + 1


def test_header_bytes_come_back_as_they_were_sent():
    sent = b"caf\xe9 \xc5\xa1".decode("utf-8", "surrogateescape")
    member = visit_record(replace(PAGE, headers=(("X-Name", sent),)), SEGMENT)
    assert b"X-Name: caf\xe9 \xc5\xa1\r\n" in gzip.decompress(member)


def test_the_stored_head_never_contradicts_the_stored_bytes():
    headers = (("content-length", "9999"), ("Transfer-Encoding", "gzip, chunked"), ("Content-Encoding", "br"))
    record = read_record(visit_record(replace(PAGE, headers=headers), SEGMENT))
    assert record.http_headers == (
        ("Content-Length", str(len(PAGE.payload))),
        ("X-Vedette-Content-Length", "9999"),
        ("X-Vedette-Transfer-Encoding", "gzip, chunked"),
        ("Content-Encoding", "br"),
    )


def test_a_length_that_was_sent_right_is_kept_once():
    length = str(len(PAGE.payload))
    record = read_record(visit_record(replace(PAGE, headers=(("content-length", length),) * 2), SEGMENT))
    assert record.http_headers == (("Content-Length", length),)


def test_an_identical_page_becomes_a_revisit_that_names_the_record_with_the_payload():
    member = visit_record(again(PAGE, 2), SEGMENT)
    ((record, content),) = by_warcio(member)
    fields = record.rec_headers
    assert content == b""
    assert fields.get_header("WARC-Type") == "revisit"
    assert fields.get_header("WARC-Profile").endswith("/identical-payload-digest")
    assert fields.get_header("WARC-Refers-To-Target-URI") == PAGE.facts.url
    original = by_warcio(visit_record(PAGE, SEGMENT))[0][0].rec_headers
    assert fields.get_header("WARC-Refers-To-Date") == original.get_header("WARC-Date")
    assert fields.get_header("WARC-Payload-Digest") == original.get_header("WARC-Payload-Digest")
    assert by_fastwarc(member, parse_http=False)[0].verify_block_digest()


def test_a_revisit_of_coded_bytes_claims_no_digest_that_it_does_not_know():
    coded = replace(again(PAGE, 2), headers=(("Content-Encoding", "gzip"),))
    assert "warc-payload-digest" not in read_record(visit_record(coded, SEGMENT)).headers
    told = replace(coded, payload_digest=b"\x07" * 32)
    assert read_record(visit_record(told, SEGMENT)).headers["warc-payload-digest"] == "sha256:" + "07" * 32


def test_a_304_becomes_a_revisit_that_the_server_vouched_for():
    ((record, _),) = by_warcio(visit_record(not_modified(PAGE, 2), SEGMENT))
    assert record.rec_headers.get_header("WARC-Profile").endswith("/server-not-modified")
    assert record.http_headers.get_statuscode() == "304"


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (Outcome.TOO_LARGE, "length"),
        (Outcome.TRUNCATED, "disconnect"),
        (Outcome.TIMEOUT, "time"),
        (Outcome.OK, None),
    ],
)
def test_a_payload_that_was_cut_says_why(outcome, word):
    entry = replace(PAGE, facts=replace(PAGE.facts, outcome=outcome))
    assert read_record(visit_record(entry, SEGMENT)).headers.get("warc-truncated") == word


def test_a_visit_that_brought_nothing_has_no_record():
    with pytest.raises(ValueError):
        visit_record(nothing(1), SEGMENT)


def test_the_same_visit_gives_the_same_bytes_and_another_segment_another_id():
    assert visit_record(PAGE, SEGMENT) == visit_record(PAGE, SEGMENT)
    assert record_id(SEGMENT, "1") != record_id("standard-20261115-0002", "1")


def test_warcio_check_passes_on_every_file(tmp_path):
    sample(tmp_path)
    files = sorted(str(path) for path in tmp_path.glob("*.warc.gz"))
    assert len(files) > 2
    with pytest.raises(SystemExit) as ended:
        warcio_cli(["check", *files])
    assert ended.value.code == 0


def test_every_file_begins_with_what_it_is(tmp_path):
    sample(tmp_path)
    for path in tmp_path.glob("*.warc.gz"):
        (first, content), *_rest = by_warcio(path.read_bytes())
        assert first.rec_type == "warcinfo"
        assert first.rec_headers.get_header("WARC-Filename") == path.name
        assert b"software: vedette test\r\n" in content


def test_each_record_can_be_read_by_its_place_alone(tmp_path):
    database = sample(tmp_path)
    row = database.rows[SEGMENT][2]
    payload = read_payload(
        tmp_path,
        Located(segment=SEGMENT, offset=row.written.offset, length=row.written.length),
    )
    assert sha256(payload.wire).digest() == row.facts.digest
    assert payload.content_type == "text/html"
    assert payload.content_encoding == ""


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ((SEGMENT, 0, 1), "cut short"),
        ((SEGMENT, 3, 50), "not a gzip member"),
        ((SEGMENT, 0, 10**6), "ends before"),
        ((SEGMENT, -1, 5), "no record can be there"),
        ((SEGMENT, 0, 10**12), "no record can be there"),
        (("short-20261115-0009", 0, 5), "expired or lost"),
        (("../../etc/passwd", 0, 5), "no name of a segment"),
    ],
)
def test_a_place_without_a_record_is_a_store_error_in_words(tmp_path, place, words):
    sample(tmp_path)
    segment, offset, length = place
    with pytest.raises(StoreError, match=words):
        read_payload(tmp_path, Located(segment=segment, offset=offset, length=length))


def test_a_record_is_not_read_beyond_the_limit():
    bomb = visit_record(replace(PAGE, payload=bytes(10**6)), SEGMENT)
    assert len(bomb) < 10_000
    with pytest.raises(UnreadableRecord, match="over 100000 bytes"):
        read_record(bomb, limit=100_000)


@given(st.binary(max_size=300))
def test_reading_garbage_raises_only_in_our_words(data):
    for member in (data, isal_zlib.compress(data, 1, 31), isal_zlib.compress(b"WARC/1.1\r\n" + data, 1, 31)):
        with pytest.raises(UnreadableRecord):
            read_record(member)


def test_a_warcinfo_is_no_visit():
    record = read_record(warcinfo_record("x", {"software": "a\r\nb: c"}, NOON))
    assert record.kind is RecordKind.NONE
    assert b"software: a  b: c\r\n" in record.block


def rewritten(member: bytes, changed: Callable[[bytes], bytes]) -> bytes:
    """The same record by a writer with a fault: its bytes changed, both digests and the length made to fit."""
    head, _, rest = gzip.decompress(member).partition(b"\r\n\r\n")
    head, mark, block = changed(head + b"\r\n\r\n" + rest[:-4]).partition(b"\r\n\r\n")
    digests = {b"Block": block, b"Payload": block.partition(b"\r\n\r\n")[2]}
    for what, covered in digests.items():
        said = b"WARC-%s-Digest: sha256:%s" % (what, sha256(covered).hexdigest().encode())
        head = re.sub(rb"WARC-%s-Digest: \S+" % what, said, head)
    head = re.sub(rb"Content-Length: \d+\Z", b"Content-Length: %d" % len(block), head)
    return gzip.compress(head + mark + block + b"\r\n\r\n")


def with_field(line: bytes) -> Callable[[bytes], bytes]:
    return lambda whole: whole.replace(b"\r\nContent-Type", b"\r\n" + line + b"\r\nContent-Type", 1)


def with_http_field(line: bytes) -> Callable[[bytes], bytes]:
    return lambda whole: whole.replace(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n" + line + b"\r\n")


def without(name: bytes) -> Callable[[bytes], bytes]:
    return lambda whole: re.sub(rb"\r\n" + name + rb": [^\r\n]*", b"", whole, count=1)


LINES = (
    *(
        b"X: a\nContent-Length: 3",
        b"Content-Length: 3",
        b"  ",
        b"\t",
        b"X: a\n\nY: b",
        b"X: " + b"a" * 40_000,
    ),
    *(b"X: \xff\xfe", b"X-Y: z", b"nonsense", b": x", b"X: a\rb", b"X: a\0b", b"X: " + b"a" * 20_000),
)
FAULTS = (
    *(with_field(line) for line in LINES),
    *(with_http_field(line) for line in LINES),
    *(without(name) for name in (b"WARC-Target-URI", b"WARC-Record-ID", b"WARC-Date", b"Content-Type")),
    lambda whole: whole,
)


def reads_all(members: list[bytes], payloads: list[bytes]) -> bool:
    """Do both readers come to the end, with every payload as it was written?"""
    data = b"".join(members)
    try:
        one = [record.raw_stream.read() for record in ArchiveIterator(io.BytesIO(data))]
        other = [record.reader.read() for record in fastwarc.warc.ArchiveIterator(io.BytesIO(data))]
    except Exception:  # noqa: BLE001  whatever a reader says when it stops
        return False
    return one == payloads == other


@pytest.mark.parametrize("fault", FAULTS, ids=range(len(FAULTS)))
def test_a_record_at_which_another_reader_stops_is_not_taken_for_readable(fault):
    good = visit_record(PAGE, SEGMENT)
    member = rewritten(good, fault)
    is_readable = reads_all([good, member, good], [PAGE.payload] * 3)
    record = read_record(member)
    check_digests(record)
    try:
        check_for_others(record)
    except UnreadableRecord:
        assert member != rewritten(good, FAULTS[-1]), "an ordinary record is readable"
    else:
        assert is_readable


@given(entries)
def test_every_record_that_we_write_is_readable_for_others(entry: ArchiveEntry):
    check_for_others(read_record(visit_record(entry, SEGMENT)))
    check_for_others(read_record(visit_record(again(entry, 2), SEGMENT)))
    check_for_others(read_record(visit_record(not_modified(entry, 3), SEGMENT)))
    check_for_others(read_record(warcinfo_record(SEGMENT, {"software": entry.phrase}, NOON)))
