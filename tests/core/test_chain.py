from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.watch import ChainRow, RecordKind, Segment, VisitFacts, WrittenRecord
from vedette.contracts.words import Outcome, VisitId, WatchId
from vedette.core.evidence import chain, seals

FACTS = VisitFacts(
    visit=VisitId(7),
    watch=WatchId(2**62),
    url="https://www.hgk.hr/",
    at=datetime(2026, 11, 15, 12, 0, 0, 123456, tzinfo=UTC),
    outcome=Outcome.OK,
    status=200,
    digest=bytes(32),
)
SEGMENT = Segment(
    name="standard-20261115-0001", retention="standard", day="2026-11-15", size=9, count=2, head=bytes(32)
)

facts_values = st.builds(
    VisitFacts,
    visit=st.integers(0, 2**63 - 1).map(VisitId),
    watch=st.integers(0, 2**63 - 1).map(WatchId),
    url=st.text(st.characters(), max_size=60),
    at=st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)),
    outcome=st.sampled_from(Outcome),
    status=st.none() | st.integers(0, 999),
    digest=st.none() | st.binary(min_size=32, max_size=32),
)
whereabouts = st.tuples(
    st.sampled_from([RecordKind.RESPONSE, RecordKind.IDENTICAL, RecordKind.NOT_MODIFIED]),
    st.integers(0, 2**40),
    st.integers(1, 2**30),
    st.binary(min_size=32, max_size=32),
)


def test_the_spelling_of_a_visit_is_fixed():
    spelled = chain.canonical_facts(FACTS, RecordKind.RESPONSE, 10, 20, b"\x01" * 32)
    assert json.loads(spelled) == [
        "vedette-chain-1", "visit", 7, 2**62, "https://www.hgk.hr/", 1794744000123456, "ok", 200,
        "00" * 32, "response", 10, 20, "01" * 32,
    ]  # fmt: skip
    # A change here would make every archive that exists unverifiable.
    assert sha256(spelled).hexdigest() == "bd799dee039316f64fffba91308b334b6eb48395189fba7ee59b29c52241c1fe"


@given(facts_values, facts_values, whereabouts, whereabouts)
def test_different_visits_never_spell_the_same(one, other, here, there):
    is_same = one == other and here == there
    assert (chain.canonical_facts(one, *here) == chain.canonical_facts(other, *there)) == is_same


def test_a_moment_spells_the_same_in_every_zone():
    zagreb = FACTS.at.astimezone(timezone(timedelta(hours=1)))
    there = replace(FACTS, at=zagreb)
    assert chain.canonical_facts(there, RecordKind.NONE, None, None, None) == chain.canonical_facts(
        FACTS, RecordKind.NONE, None, None, None
    )
    assert chain.stamp(zagreb) == "2026-11-15T12:00:00.123456Z"


def test_a_naive_time_is_a_bug():
    naive = replace(FACTS, at=FACTS.at.replace(tzinfo=None))
    with pytest.raises(TypeError):
        chain.canonical_facts(naive, RecordKind.NONE, None, None, None)
    with pytest.raises(TypeError):
        chain.stamp(naive.at)


@given(facts_values, whereabouts)
def test_a_link_remembers_its_kind_and_everything_before(facts, where):
    kind, offset, length, digest = where
    head = chain.link(chain.GENESIS, chain.canonical_facts(facts, *where))
    written = WrittenRecord(
        visit=facts.visit, segment="s", seq=1, offset=offset, length=length, record_digest=digest, chain=head
    )
    row = ChainRow(facts=facts, written=written)
    assert chain.link_kind(chain.GENESIS, row) is kind
    assert chain.link_kind(head, row) is None
    assert chain.link_kind(chain.GENESIS, replace(row, facts=replace(facts, url=facts.url + "x"))) is None


def test_an_opening_depends_on_what_it_stands_on_its_name_and_its_first_record():
    heads = {
        chain.opening(chain.GENESIS, "a-20261115-0001", bytes(32)),
        chain.opening(bytes(32), "a-20261115-0001", bytes(32)),
        chain.opening(chain.GENESIS, "a-20261115-0002", bytes(32)),
        chain.opening(chain.GENESIS, "a-20261115-0001", b"\x01" * 32),
    }
    assert len(heads) == 4


def test_a_tombstone_says_what_is_gone_and_when():
    assert chain.tombstone(SEGMENT, FACTS.at).decode() == (
        f"2026-11-15T12:00:00.123456Z expired standard-20261115-0001 2 9 {'00' * 32}"
    )


_VALUES = st.one_of(
    st.none(),
    st.integers(),
    st.booleans(),
    st.floats(),
    st.text(),
    st.text(alphabet=st.characters(categories=["Cs"])),
    st.binary(),
)


@given(st.lists(_VALUES, max_size=8))
def test_a_row_is_spelled_as_the_json_of_the_standard_library_spells_it(row: list[Any]) -> None:
    hexed = [{"hex": value.hex()} if isinstance(value, bytes) else value for value in row]
    said = json.dumps(["visits", *hexed], ensure_ascii=False, separators=(",", ":"))
    try:
        data = said.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return  # text that no store can hold
    assert seals.row_seal("visits", row) == sha256(data).digest()


@given(st.text(), st.integers(), st.datetimes(timezones=st.timezones()))
def test_facts_are_spelled_as_the_json_of_the_standard_library_spells_them(
    url: str, number: int, at: Any
) -> None:
    facts = VisitFacts(
        visit=VisitId(number), watch=WatchId(1), url=url, at=at, outcome=Outcome.OK, status=None, digest=b"\1"
    )
    said = json.loads(chain.canonical_facts(facts, RecordKind.NONE, None, None, None))
    assert json.dumps(said, separators=(",", ":")).encode() == chain.canonical_facts(
        facts, RecordKind.NONE, None, None, None
    )
    assert said[2:5] == [number, 1, url]


@given(
    st.lists(
        st.tuples(st.integers(0, 255), st.integers(-(2**63), 2**63 - 1), st.binary(min_size=32, max_size=32))
    )
)
def test_an_entry_takes_41_bytes_in_the_order_of_the_network(entries: list[seals.Entry]) -> None:
    packed = b"".join(tag.to_bytes(1) + key.to_bytes(8, signed=True) + seal for tag, key, seal in entries)
    assert seals.pack(entries) == packed
    assert seals.is_packed(packed)
