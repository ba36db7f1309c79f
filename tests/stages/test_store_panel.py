"""Batches, cells and answers, on SQLite and on a real PostgreSQL: one suite."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vedette.contracts.errors import InputError, StoreError, TakenOverError
from vedette.contracts.panel_run import (
    Batch,
    BatchId,
    BatchShape,
    CellNumber,
    CellRow,
    PanelGroup,
    Progress,
    Prompt,
    ProviderTally,
    Reopening,
)
from vedette.contracts.words import Outcome
from vedette.core.panel.plan import CellPlace, number_of
from vedette.store.dialect import open_sql
from vedette.store.panel.batches import PanelStore
from vedette.store.panel.existing_tables import choose_key, prepare_panel

NOW = datetime(2026, 11, 16, 6, 0, tzinfo=UTC)
ONE = Prompt(prompt_type="brand", text="What is {domain}?", version="3", system="Be brief.")
TWO = Prompt(prompt_type="news", text="News of {domain}?", tier=2)


def batch_of(domains: int = 3, **given) -> Batch:
    shape = BatchShape(
        domains=domains, models=("a", "b/c"), prompts=(ONE, TWO), repeats=given.pop("repeats", 1)
    )
    times = {"target_at": NOW + timedelta(hours=1), "hard_at": NOW + timedelta(hours=2)}
    return Batch(id=BatchId(given.pop("id", "b1")), shape=shape, started_at=NOW, **times, **given)


def row_of(
    batch: Batch, model: int = 0, prompt: int = 0, domain: int = 0, repeat: int = 0, **given
) -> CellRow:
    asked = batch.shape.prompts[prompt]
    values = {
        "cell": number_of(batch.shape, CellPlace(model, prompt, repeat, domain)),
        "domain_id": str(domain + 1),
        "domain": f"d{domain}.example",
        "model": batch.shape.models[model],
        "prompt_type": asked.prompt_type,
        "prompt_version": asked.version,
        "prompt": asked.text,
        "repeat": repeat,
        "outcome": Outcome.OK,
        "at": NOW,
        "text": "An answer.",
        "quality_flag": "ok",
        "response_time_ms": 420,
        "scores": {"chars": 10, "words": 2, "mentions": 1, "citations": 0, "own_citations": 0},
    }
    return CellRow(**{**values, **given})


def store_at(place: str, table: str = "domain_responses", **given) -> PanelStore:
    return PanelStore(open_sql(place), prepare_panel(place, table), **given)


def filled(place: str, batch: Batch | None = None, **given):
    store = store_at(place, **given)
    batch = batch or batch_of()
    store.create(batch, [(str(n + 1), f"d{n}.example") for n in range(batch.shape.domains)])
    return store, batch


def test_a_batch_comes_back_as_it_was_made(place):
    store, batch = filled(place, batch_of(5, budget_usd=2.5))
    assert store.batch(batch.id) == batch
    assert store.last_batch() == batch.id
    assert store.domains(batch.id, 1, 3) == [("2", "d1.example"), ("3", "d2.example"), ("4", "d3.example")]
    with pytest.raises(InputError, match="no batch nope"):
        store.batch(BatchId("nope"))


def test_a_cell_has_one_row_whatever_happens(place):
    store, batch = filled(place)
    row = row_of(batch)
    store.write(PanelGroup(batch=batch.id, leases=(row.cell,)))
    store.write(PanelGroup(batch=batch.id, rows=(row,)))
    store.write(PanelGroup(batch=batch.id, rows=(row, row_of(batch, text="Another."))))
    db = open_sql(place)
    assert db.rows("SELECT cell, text FROM panel_answers") == [(row.cell, "An answer.")]
    assert db.rows("SELECT COUNT(*) FROM panel_leases") == [(0,)]
    assert store.settled(batch.id, 0, 12) == {row.cell}


def test_answers_append_by_batch_and_repeat_and_the_projection_keeps_the_last(place):
    first = batch_of(repeats=2)
    store, _ = filled(place, first)
    store.write(
        PanelGroup(batch=first.id, rows=(row_of(first, text="one"), row_of(first, text="two", repeat=1)))
    )
    second = batch_of(id="b2")
    store.create(second, [("1", "d0.example")])
    store.write(PanelGroup(batch=second.id, rows=(row_of(second, text="three"),)))
    db = open_sql(place)
    assert sorted(db.rows("SELECT batch_id, repeat, text FROM panel_answers")) == [
        ("b1", 0, "one"),
        ("b1", 1, "two"),
        ("b2", 0, "three"),
    ]
    held = db.rows("SELECT domain_id, model, prompt_type, response, batch_id FROM domain_responses")
    assert held == [("1", "a", "brand", "three", "b2")]


NASTY = ("tab\tand\nline", "\\N", "\\.", 'quote " and \\', "NUL\x00", "č \U0001f600", "", "half \ud83d")


def test_a_large_group_goes_in_bulk_with_repeats_and_rows_that_are_there_already(place):
    """On PostgreSQL by COPY: what its text format could trip over comes back as it was."""
    batch = batch_of(60, repeats=2)
    store, _ = filled(place, batch)
    texts = [NASTY[n % len(NASTY)] for n in range(60)]
    rows = tuple(row_of(batch, domain=n, text=texts[n], repeat=r) for r in (0, 1) for n in range(60))
    store.write(PanelGroup(batch=batch.id, leases=tuple(row.cell for row in rows)))
    store.write(PanelGroup(batch=batch.id, rows=rows[:1]))
    store.write(PanelGroup(batch=batch.id, rows=rows))
    store.write(PanelGroup(batch=batch.id, rows=rows))
    db = open_sql(place)
    kept = db.rows("SELECT domain, text FROM panel_answers WHERE repeat = 1 ORDER BY cell")
    want = [text.replace("\x00", "").replace("\ud83d", "?") for text in texts]
    assert [text for _, text in kept] == want
    assert db.rows("SELECT COUNT(*) FROM panel_answers") == [(120,)]
    held = dict(db.rows("SELECT domain_id, response FROM domain_responses"))
    assert held == {str(n + 1): text for n, text in enumerate(want)}
    assert db.rows("SELECT COUNT(*) FROM panel_leases") == [(0,)]
    bad = tuple(row_of(batch, model=1, domain=n) for n in range(60))
    store.write(PanelGroup(batch=batch.id, rows=(*bad, row_of(batch, model=1, prompt=1, domain_id=None))))
    store.write(PanelGroup(batch=batch.id, rows=bad))
    assert db.rows("SELECT COUNT(*) FROM panel_answers") == [(180,)]


def test_parked_rows_go_when_they_are_asked_again_and_what_was_spent_stays(place):
    store, batch = filled(place)
    bad = row_of(batch, outcome=Outcome.SERVER_ERROR, text=None, cost_usd=0.5, detail="status 500")
    store.write(PanelGroup(batch=batch.id, rows=(bad, row_of(batch, domain=1, cost_usd=0.25))))
    (parked,) = store.view(batch.id).parked
    assert (parked.model, parked.outcome, parked.cells, parked.detail) == (
        "a",
        "server_error",
        1,
        "status 500",
    )
    times = {"target_at": NOW, "hard_at": NOW}
    store.reopen(batch.id, Reopening(**times))
    assert store.view(batch.id).parked == (parked,), "only on the operator's word"
    again, _ = store.reopen(batch.id, Reopening(with_parked=True, **times))
    assert again.spent_usd == 0.75
    assert store.settled(batch.id, 0, 12) == {row_of(batch, domain=1).cell}
    assert store.reopen(batch.id, Reopening(**times))[0].spent_usd == 0.75, (
        "also when it is resumed once more"
    )


def test_only_answers_are_projected(place):
    store, batch = filled(place)
    bad = row_of(batch, outcome=Outcome.REFUSED_CONTENT, text=None, quality_flag=None, scores={})
    store.write(PanelGroup(batch=batch.id, rows=(bad, row_of(batch, domain=1))))
    db = open_sql(place)
    assert db.rows("SELECT domain_id FROM domain_responses") == [("2",)]
    assert db.rows("SELECT COUNT(*) FROM panel_answers") == [(2,)]


def test_a_projected_row_has_all_that_003_names(place):
    store, batch = filled(place)
    store.write(PanelGroup(batch=batch.id, rows=(row_of(batch, retry_count=2),)))
    row = open_sql(place).rows(
        "SELECT domain_id, model, prompt_type, prompt, response, batch_id, response_time_ms, quality_flag, "
        "retry_count, chars, mentions FROM domain_responses"
    )
    assert row == [("1", "a", "brand", "What is {domain}?", "An answer.", "b1", 420, "ok", 2, 10, 1)]


def test_what_no_text_column_takes_is_taken_out(place):
    store, batch = filled(place)
    store.write(
        PanelGroup(
            batch=batch.id, rows=(row_of(batch, text="a\x00b\ud800c", detail="\x00", meta={"x": "\x00"}),)
        )
    )
    assert open_sql(place).rows("SELECT text FROM panel_answers") == [("ab?c",)]


def test_a_row_that_the_database_refuses_costs_itself_and_not_its_group(place):
    store, batch = filled(place)
    broken = row_of(batch, domain=1, response_time_ms=None)
    group = PanelGroup(batch=batch.id, rows=(row_of(batch), broken), leases=(CellNumber(5),))
    store.write(group)
    db = open_sql(place)
    assert db.rows("SELECT domain FROM panel_answers") == [("d0.example",)]
    assert db.rows("SELECT domain_id FROM domain_responses") == [("1",)]
    assert db.rows("SELECT cell FROM panel_leases") == [(5,)]
    assert sum(store.refused.values()) == 1
    assert store.view(batch.id).settled == 1


def test_an_answer_that_their_table_refuses_is_kept_in_ours(place):
    rule = "CHECK (length(model) < 3)"
    db = open_sql(place)
    db.run(f"CREATE TABLE domain_responses (domain_id TEXT, model TEXT {rule}, response TEXT)")
    store, batch = filled(place)
    rows = tuple(row_of(batch, model=m, domain=n) for m in (0, 1) for n in range(3))
    store.write(PanelGroup(batch=batch.id, rows=rows))
    assert db.rows("SELECT COUNT(*) FROM panel_answers") == [(6,)], "all that was paid for"
    assert db.rows("SELECT DISTINCT model FROM domain_responses") == [("a",)]
    assert sum(store.refused.values()) == 3


def test_a_resume_counts_what_may_have_been_under_way_and_keeps_what_was_spent(place):
    store, batch = filled(place)
    cells = tuple(CellNumber(n) for n in range(4))
    store.write(PanelGroup(batch=batch.id, leases=cells))
    store.write(PanelGroup(batch=batch.id, rows=(row_of(batch, cost_usd=0.25),)))
    store.ask_stop(batch.id, now=NOW)
    later = NOW + timedelta(hours=3)
    again, leased = store.reopen(batch.id, Reopening(target_at=later, hard_at=later))
    assert leased == 3
    assert (again.spent_usd, again.hard_at) == (0.25, later)
    assert not store.is_stopped(batch.id)
    assert store.view(batch.id).leased == 0


def test_what_lost_workers_may_have_spent_counts_when_a_batch_is_taken_from_them(place):
    """One was killed with 0.5 dollars in hand, one is stopped with 0.125: the ceiling holds as the provider counts."""
    store, batch = filled(place)
    store.write(PanelGroup(batch=batch.id, rows=(row_of(batch, cost_usd=0.25),)))
    share = "INSERT INTO panel_shares (batch_id, provider, free_at, lost_usd, allotted_usd) VALUES (?, ?, 0, ?, ?)"
    for provider, lost, allotted in (("a", 0.5, 0.0), ("b", 0.0, 0.125)):
        open_sql(place).run(share, (batch.id, provider, lost, allotted))
    how = Reopening(target_at=NOW, hard_at=NOW)
    assert store.reopen(batch.id, how)[0].spent_usd == 0.875
    assert store.reopen(batch.id, how)[0].spent_usd == 0.875, "not once more"


def test_the_kill_switch_is_for_one_batch_or_for_all_that_run(place):
    store, _ = filled(place)
    other = batch_of(id="b2")
    store.create(other, [])
    assert store.ask_stop(BatchId("b2"), now=NOW) == 1
    assert (store.is_stopped(BatchId("b1")), store.is_stopped(BatchId("b2"))) == (False, True)
    store.end(other, by="killed", now=NOW)
    assert store.ask_stop(None, now=NOW) == 1
    assert store.ask_stop(BatchId("nope"), now=NOW) == 0


def test_progress_and_metrics_are_there_for_whoever_looks(place):
    store, batch = filled(place)
    tally = ProviderTally(model="a", calls=10, ok=7, throttled=2, errors=1, p95_ms=900, breaker="half-open")
    said = Progress(at=NOW, waiting=5, spent_usd=0.5, eta=NOW, providers=(tally,))
    store.write(PanelGroup(batch=batch.id, rows=(row_of(batch),), progress=said))
    store.write(PanelGroup(batch=batch.id, progress=said))
    view = store.view(batch.id)
    assert (view.settled, view.answered, view.waiting, view.eta) == (1, 1, 5, NOW)
    [row] = view.providers
    assert (row["success_rate"], row["throttle_rate"], row["error_rate"]) == (0.7, 0.2, 0.1)
    assert (row["calls"], row["p95_ms"], row["breaker"]) == (10, 900, "half-open")
    assert view.batch.spent_usd == 0.5


def test_runs_of_one_batch_add_their_counts_and_one_that_was_taken_over_adds_nothing_more(place):
    """One was killed, one went on, and a third takes over while the second still writes."""
    first, batch = filled(place)
    half = ProviderTally(model="a", calls=4, ok=3, errors=1, tokens_in=40, cost_usd=0.25)
    said = Progress(at=NOW, spent_usd=0.25, providers=(half,))
    first.write(PanelGroup(batch=batch.id, rows=(row_of(batch), row_of(batch, domain=1)), progress=said))
    times = Reopening(target_at=NOW, hard_at=NOW)
    second, third = store_at(place), store_at(place)
    again, _ = second.reopen(batch.id, times)
    assert again.spent_usd == 0.25
    more = ProviderTally(model="a", calls=2, ok=2, tokens_in=20, cost_usd=0.125)
    two, three = row_of(batch, domain=2), row_of(batch, model=1)
    told = Progress(at=NOW, spent_usd=0.375, providers=(more,))
    assert second.write(PanelGroup(batch=batch.id, rows=(two,), progress=told)) == 0.375
    third.reopen(batch.id, times)
    told = Progress(at=NOW, spent_usd=0.5, providers=(more,))
    assert third.write(PanelGroup(batch=batch.id, rows=(two, three), progress=told)) == 0.5, (
        "all runs together"
    )
    for group in (
        PanelGroup(batch=batch.id, rows=(three,), progress=told),
        PanelGroup(batch=batch.id, leases=(CellNumber(3),)),
    ):
        with pytest.raises(TakenOverError, match="took the batch"):
            second.write(group)
    view = second.view(batch.id)
    assert (view.settled, view.answered, view.batch.spent_usd, view.leased) == (4, 4, 0.5, 0)
    [row] = view.providers
    assert (row["calls"], row["ok"], row["errors"], row["tokens_in"], row["cost_usd"]) == (8, 7, 1, 80, 0.5)
    assert row["success_rate"] == 7 / 8
    assert open_sql(place).rows("SELECT COUNT(*) FROM panel_answers") == [(4,)]
    assert second.latencies(batch.id)["a"].total == 3


def test_what_was_dropped_is_counted_by_model_and_tier_with_its_reason(place):
    store, batch = filled(place)
    store.write(PanelGroup(batch=batch.id, rows=tuple(row_of(batch, domain=n) for n in range(3))))
    store.write(PanelGroup(batch=batch.id, progress=Progress(at=NOW, dropped_from=2)))
    store.end(batch, by="hard_stop", now=NOW)
    view = store.view(batch.id)
    assert {(d.model, d.tier, d.cells, d.reason) for d in view.dropped} == {
        ("a", 2, 3, "soft_cut"),
        ("b/c", 1, 3, "hard_stop"),
        ("b/c", 2, 3, "soft_cut"),
    }
    assert view.status == "hard_stop"


def test_the_cache_forgets_exactly_the_domains_that_were_answered(place):
    forgotten = []

    class Cache:
        def forget(self, domains):
            forgotten.extend(domains)

    store, batch = filled(place, cache=Cache())
    bad = row_of(batch, domain=2, outcome=Outcome.TIMEOUT, text=None)
    store.write(
        PanelGroup(batch=batch.id, rows=(row_of(batch), row_of(batch, model=1), row_of(batch, domain=1), bad))
    )
    assert forgotten == ["d0.example", "d1.example"]


def test_shadow_mode_writes_beside_and_never_to_the_table(place):
    store, batch = filled(place, table="domain_responses_shadow")
    prepare_panel(place)
    store.write(PanelGroup(batch=batch.id, rows=(row_of(batch),)))
    db = open_sql(place)
    assert db.rows("SELECT response FROM domain_responses_shadow") == [("An answer.",)]
    assert db.rows("SELECT COUNT(*) FROM domain_responses") == [(0,)]
    assert store.responses("domain_responses_shadow").keys() == {("1", "a", "brand")}


@pytest.mark.parametrize("name", ["panel_answers", "x; DROP TABLE y", "Ž"])
def test_a_shadow_table_has_a_name_of_its_own(place, name):
    with pytest.raises(StoreError, match="SHADOW_TABLE"):
        store_at(place, table=name)


def test_domains_of_a_list_get_ids_and_active_ones_are_read(place):
    store = store_at(place)
    ids = store.ids_of(["x.example", "y.example"])
    assert store.ids_of(["y.example", "z.example"])["y.example"] == ids["y.example"]
    open_sql(place).run("UPDATE domains SET active = ? WHERE domain = ?", (False, "y.example"))
    assert [name for _, name in store.active_domains()] == ["x.example", "z.example"]


OLD = {
    "domain_responses": (
        "CREATE TABLE domain_responses (id SERIAL PRIMARY KEY, domain_id INTEGER NOT NULL, model TEXT NOT NULL, "
        "response_text TEXT, sentiment REAL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP{rule})"
    ),
    "domains": "CREATE TABLE domains (id INTEGER PRIMARY KEY, domain TEXT NOT NULL, active BOOLEAN NOT NULL)",
}


def old_database(place: str, rule: str = "") -> None:
    """What a pipeline before us left, with rows."""
    db = open_sql(place)
    for statement in OLD.values():
        text = statement.format(rule=rule)
        db.run(text.replace("SERIAL", "INTEGER") if place.startswith("sqlite") else text)
    db.many("INSERT INTO domains VALUES (?, ?, ?)", [(7, "d0.example", True), (8, "d1.example", False)])
    db.run(
        "INSERT INTO domain_responses (domain_id, model, response_text, sentiment) VALUES (?, ?, ?, ?)",
        (7, "a", "old words", 0.5),
    )
    db.close()


def old_rows(place: str):
    return open_sql(place).rows(
        "SELECT id, domain_id, model, response_text, sentiment, created_at FROM domain_responses "
        "WHERE batch_id IS NULL"
    )


def test_an_older_database_is_only_added_to(place):
    old_database(place)
    before = open_sql(place).rows(
        "SELECT id, domain_id, model, response_text, sentiment, created_at FROM domain_responses"
    )
    store, batch = filled(place)
    assert old_rows(place) == before
    store.write(PanelGroup(batch=batch.id, rows=(row_of(batch, domain_id="7"),)))
    assert old_rows(place) == before, "a row without a prompt type is not ours to replace"
    held = open_sql(place).rows(
        "SELECT domain_id, model, prompt_type, response_text FROM domain_responses ORDER BY id"
    )
    assert held == [(7, "a", None, "old words"), (7, "a", "brand", "An answer.")]
    assert [name for _, name in store.active_domains()] == ["d0.example"]


def test_preparing_twice_changes_nothing(place):
    old_database(place)
    assert prepare_panel(place) == prepare_panel(place)


def test_an_existing_uniqueness_is_kept_and_the_prompt_type_is_in_the_payload(place):
    old_database(place, rule=", UNIQUE (domain_id, model)")
    store, batch = filled(place)
    rows = (row_of(batch, domain_id="7"), row_of(batch, domain_id="7", prompt=1, text="news"))
    store.write(PanelGroup(batch=batch.id, rows=rows))
    held = open_sql(place).rows(
        "SELECT domain_id, model, prompt_type, response_text, sentiment FROM domain_responses"
    )
    assert held == [(7, "a", "news", "news", 0.5)]


@pytest.mark.parametrize("rule", ["", ", UNIQUE (domain_id, model)"], ids=["no rule", "one prompt per model"])
def test_bulk_writes_fit_an_older_table_too(place, rule):
    old_database(place, rule=rule)
    batch = batch_of(60)
    store, _ = filled(place, batch)
    rows = tuple(
        row_of(batch, domain=n, prompt=p, domain_id=str(n + 1), text=f"answer {p}")
        for p in (0, 1)
        for n in range(60)
    )
    for _ in range(2):
        store.write(PanelGroup(batch=batch.id, rows=rows))
    held = open_sql(place).rows(
        "SELECT domain_id, response_text FROM domain_responses WHERE batch_id IS NOT NULL ORDER BY 1, 2"
    )
    kept = ("answer 1",) if rule else ("answer 0", "answer 1")
    assert held == [(n + 1, text) for n in range(60) for text in kept]


def test_the_indexes_of_003_are_there(place):
    old_database(place)
    prepare_panel(place)
    from sqlalchemy import create_engine, inspect

    engine = create_engine(place.replace("postgresql://", "postgresql+psycopg://"))
    led = {index["column_names"][0] for index in inspect(engine).get_indexes("domain_responses")}
    engine.dispose()
    assert {"model", "created_at", "batch_id"} <= led


def test_domains_of_another_program_are_not_added_to(place):
    old_database(place)
    store = store_at(place)
    assert store.ids_of(["d0.example"]) == {"d0.example": "7"}
    with pytest.raises(InputError, match=r"2 domains are not in the table `domains`: x.example, y.example"):
        store.ids_of(["x.example", "d0.example", "y.example"])


def test_a_column_that_must_be_filled_and_is_not_ours_is_named(place):
    old_database(place)
    open_sql(place).run("ALTER TABLE domain_responses ADD COLUMN tenant TEXT NOT NULL DEFAULT 'x'")
    store_at(place)  # a default is good enough
    store = open_sql(place)
    store.run("DROP TABLE domain_responses")
    store.run("CREATE TABLE domain_responses (domain_id TEXT, model TEXT, tenant TEXT NOT NULL)")
    with pytest.raises(StoreError, match=r"domain_responses wants values for tenant.*SHADOW_TABLE"):
        store_at(place)


@pytest.mark.parametrize(
    ("uniques", "may_add", "key", "is_new"),
    [
        ([["id"]], True, ("domain_id", "model", "prompt_type"), True),
        ([["id"], ["model", "domain_id", "prompt_type"]], True, ("domain_id", "model", "prompt_type"), False),
        ([["id"], ["domain_id", "model"]], True, ("domain_id", "model"), False),
        ([["id"], ["domain_id", "tenant"]], True, ("domain_id", "model", "prompt_type"), True),
        ([["id"]], False, (), False),
    ],
)
def test_the_key_of_an_upsert_is_the_preferred_one_or_the_one_that_is_there(uniques, may_add, key, is_new):
    assert choose_key(uniques, may_add=may_add) == (key, is_new)


def test_where_no_key_can_be_made_rows_are_looked_up(place):
    old_database(place)
    db = open_sql(place)
    db.run("ALTER TABLE domain_responses ADD COLUMN prompt_type TEXT")
    db.many(
        "INSERT INTO domain_responses (domain_id, model, prompt_type) VALUES (?, ?, ?)",
        [(9, "a", "brand")] * 2,
    )
    store, batch = filled(place)
    for text in ("one", "two"):
        rows = (row_of(batch, domain_id="7", text=text, cell=CellNumber(len(text) + hash(text) % 2)),)
        store.write(PanelGroup(batch=batch.id, rows=rows))
    held = db.rows(
        "SELECT response_text FROM domain_responses WHERE domain_id = ? AND prompt_type = ?", (7, "brand")
    )
    assert len(held) == 1


TAKEN = {
    "crawl_batches": "CREATE TABLE crawl_batches (id UUID PRIMARY KEY, started_at TIMESTAMPTZ, status TEXT)",
    "provider_metrics": "CREATE TABLE provider_metrics (batch_id UUID, model TEXT, calls TEXT)",
}


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)  # SQLite takes any value in any column
@pytest.mark.parametrize("name", TAKEN)
def test_tables_of_our_names_in_other_types_are_told_before_anything_is_altered(place, name):
    db = open_sql(place)
    db.run(TAKEN[name])
    before = db.columns(name)
    with pytest.raises(StoreError, match=rf"{name}\.\w+ is .*nothing was altered.*DATABASE_URL"):
        prepare_panel(place)
    assert db.columns(name) == before
    assert db.columns("panel_answers") == []


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)  # SQLite has no widths
def test_a_column_that_is_too_narrow_is_told_before_the_first_call(place):
    db = open_sql(place)
    db.run("CREATE TABLE domain_responses (domain_id TEXT, model VARCHAR(20), response TEXT)")
    with pytest.raises(StoreError, match=r"domain_responses\.model takes 20 characters, and 24 are needed"):
        prepare_panel(place, widths={"model": 24})
    assert db.columns("domain_responses") == ["domain_id", "model", "response"]
    prepare_panel(place, widths={"model": 20})
