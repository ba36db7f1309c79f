"""The verbs of the panel: domains from everywhere, shadow against legacy, drift; and what cannot be used is said."""

from __future__ import annotations

import http.server
import json
import secrets
import sqlite3
import threading
from pathlib import Path
from typing import ClassVar

import pytest
from cli_call import Cli
from stocked import FixedClock
from test_store_panel import batch_of, filled, row_of, store_at

from vedette.contracts.panel_run import PanelGroup
from vedette.contracts.words import Outcome
from vedette.store.dialect import SqliteSql
from vedette.store.migrate import prepare
from vedette.telemetry.clock import SystemClock

CANARY = [
    {"type": "brand", "text": "What is {domain} known for?"},
    {"type": "news", "text": "What is two and two?", "tier": 2, "canary": True},
]


class Place:
    """A data folder with a configuration, and the panel's own tables."""

    def __init__(self, folder: Path, **section) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.config = folder / "vedette.yaml"
        self.configure(**section)
        self.url = f"sqlite:///{prepare(self.data)}"

    def configure(self, **section) -> None:
        self.config.write_text(json.dumps({"fetch": {"allow_networks": ["127.0.0.0/8"]}, **section}))

    def __call__(self, *words: str, stdin: bytes = b""):
        return Cli(self.data, clock=FixedClock())("--config", str(self.config), "panel", *words, stdin=stdin)

    def run(self, *statements: str) -> None:
        db = SqliteSql(self.data / "vedette.db")
        for statement in statements:
            db.run(statement)
        db.close()

    def rows(self, statement: str) -> list[tuple]:
        db = SqliteSql(self.data / "vedette.db")
        try:
            return db.rows(statement)
        finally:
            db.close()

    def file(self, name: str, data: str | bytes) -> str:
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def cells(told) -> int:
    """Of a plan of one prompt and twelve providers."""
    assert told.code in (0, 6), told.err
    return told.json["cells"] // 12


# ---- where domains come from ----


@pytest.mark.parametrize(
    ("name", "data", "count"),
    [
        ("d.txt", "a.example\nhttps://B.example/x\n\n# no\n", 2),
        ("d.csv", "domain,active\na.example,1\nb.example,0\nc.example,yes\n", 2),
        ("d.csv", "id;website;note\n1;https://a.example/;x\n2;b.example;y\n", 2),
        ("d.csv", "a.example\nb.example\n", 2),
        ("d.tsv", "host\tactive\na.example\tfalse\nb.example\ttrue\n", 1),
        ("d.csv", b"\xef\xbb\xbfdomain,x\n\xc4\x8dakovec.example,1\n", 1),
        ("d.csv", 'domain,note\n"a.example","one, two"\n', 1),
    ],
)
def test_a_list_is_read_as_lines_or_as_csv_of_any_kind(place, name, data, count):
    assert cells(place("plan", "--domains", place.file(name, data), "--json")) == count


def test_standard_input_is_a_list_too(place):
    assert cells(place("plan", "--domains", "-", "--json", stdin=b"a.example\nb.example\n")) == 2


def test_bad_rows_are_told_and_lose_nothing_else(place):
    rows = [
        "good.example",
        "not a domain",
        "http://u:p@x.example",
        "GOOD.example",
        "10.0.0.1",
        "other.example",
    ]
    path = place.file("d.txt", "\n".join(rows))
    told = place("plan", "--domains", path, "--json")
    assert cells(told) == 2
    assert [one["row"] for one in told.json["problems"]] == [2, 3, 4, 5]
    said = place("plan", "--domains", path).err
    assert [f"row {n}:" in said for n in (1, 2, 3, 4, 5, 6)] == [False, True, True, True, True, False]


def test_many_bad_rows_are_counted(place):
    path = place.file("d.txt", "ok.example\n" + "bad domain\n" * 40)
    assert len(place("plan", "--domains", path, "--json").json["problems"]) == 40
    assert "and 30 more rows" in place("plan", "--domains", path).err


def test_the_table_gives_its_active_domains_under_their_ids(place):
    store_at(place.url).close()
    values = "('a.example', 1), ('b.example', 0), ('C.example', 1), ('not a domain', 1)"
    place.run(f"INSERT INTO domains (domain, active) VALUES {values}")
    told = place("plan", "--from-table", "--json")
    assert cells(told) == 2
    assert [one["text"] for one in told.json["problems"]] == ["not a domain"]
    assert cells(place("plan", "--json")) == 2, "it is also what is taken when nothing is named"


class Registry(http.server.BaseHTTPRequestHandler):
    answers: ClassVar = {
        "/list": (200, '["a.example", "b.example"]'),
        "/rows": (
            200,
            '{"domains": [{"domain": "a.example"}, {"name": "b.example", "active": false}, {"x": 1}, 7, null]}',
        ),
        "/data": (200, '{"data": [{"url": "https://a.example/"}], "next": null}'),
        "/lines": (200, "a.example\nb.example\nc.example\n"),
        "/object": (200, '{"total": 3}'),
        "/error": (500, "no"),
        "/empty": (200, "[]"),
        "/html": (200, "<html><body>Sign in</body></html>"),
    }

    def do_GET(self) -> None:
        status, body = self.answers.get(self.path, (404, ""))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *given) -> None:
        pass


@pytest.fixture
def registry():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(("path", "count"), [("/list", 2), ("/rows", 1), ("/data", 1), ("/lines", 3)])
def test_a_registry_is_asked_over_http(place, registry, path, count):
    place.configure(fetch={"allow_networks": ["127.0.0.0/8"], "allow_ports": [registry[1]]})
    assert cells(place("plan", "--registry", registry[0] + path, "--json")) == count


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("/object", 2, "no list of domains"),
        ("/error", 1, "server_error"),
        ("/nothing", 1, "gave no list"),
        ("/empty", 2, "no domains to plan for"),
        ("/html", 2, "no domains to plan for"),
    ],
)
def test_a_registry_that_gives_no_list_is_told(place, registry, path, code, said):
    place.configure(fetch={"allow_networks": ["127.0.0.0/8"], "allow_ports": [registry[1]]})
    told = place("plan", "--registry", registry[0] + path)
    assert (told.code, said in told.err) == (code, True), told


def test_the_registry_goes_through_the_guard(place, registry):
    place.configure(fetch={"allow_networks": []})
    told = place("plan", "--registry", registry[0] + "/list")
    assert (told.code, "address_refused" in told.err) == (1, True), told


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("plan", "--domains", "nowhere.txt"), 2, "cannot read nowhere.txt"),
        (("plan", "--domains", "."), 2, "cannot read"),
        (("plan", "--from-table", "--registry", "http://x"), 2, "exclude each other"),
        (("plan", "--registry", "gopher://x/"), 2, "not an http or https URL"),
        (("plan", "--count", "0"), 2, "--count"),
        (("plan", "--count", "5", "--model", "nobody"), 4, "there is no provider 'nobody'"),
        (("run", "--from-table"), 2, "no domain to ask about"),
        (("run", "--domains", "LIST"), 4, "no provider has a key"),
        (("run", "--domains", "LIST", "--model", "cohere"), 4, "COHERE_API_KEY"),
        (("run", "--domains", "LIST", "--budget", "-1"), 2, "--budget"),
        (("status",), 1, "no batch yet"),
        (("resume", "nobody"), 2, "no batch nobody"),
        (("compare",), 2, "SHADOW"),
        (("compare", "nowhere"), 2, "there is no table 'nowhere'"),
        (("compare", 'x" UNION SELECT 1'), 2, "there is no table"),
        (("compare", "watches"), 2, "not a table of provider answers"),
        (("compare", "domain_responses", "nowhere"), 2, "there is no table 'nowhere'"),
        (("compare", "domain_responses", "--tolerated", "2"), 2, "--tolerated"),
        (("drift",), 1, "no batch yet"),
        (("drift", "nobody"), 2, "no batch nobody"),
    ],
)
def test_what_cannot_be_used_is_said_and_nothing_is_begun(place, monkeypatch, words, code, said):
    monkeypatch.chdir(place.folder)
    for name in ("OPENAI_API_KEY", "COHERE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    words = tuple(place.file("list.txt", "a.example\n") if word == "LIST" else word for word in words)
    told = place(*words)
    assert (told.code, said in told.err) == (code, True), told
    assert "Traceback" not in told.err
    store_at(place.url).close()
    assert place.rows("SELECT COUNT(*) FROM crawl_batches") == [(0,)]


# ---- shadow against legacy ----

WORDS = "is known for registers forms news guidance fees deadlines opening hours and contact details"


def shadowed(place: Place, pairs: int, *, planted: int) -> None:
    """Legacy rows of twice as many domains, and a shadow batch of the first half."""
    batch = batch_of(pairs, id="s1")
    ids = [(str(n + 1), f"d{n}.example") for n in range(pairs)]
    store = store_at(place.url, "domain_responses_shadow")
    store.create(batch, ids)
    texts = [
        f"d{n}.example {WORDS}" if n >= planted else "Bananas ripen in a paper bag." for n in range(pairs)
    ]
    rows = tuple(row_of(batch, domain=n, text=texts[n]) for n in range(pairs))
    store.write(PanelGroup(batch=batch.id, rows=rows))
    store.close()
    legacy = store_at(place.url)
    old = batch_of(2 * pairs, id="old")
    legacy.create(old, [(str(n + 1), f"d{n}.example") for n in range(2 * pairs)])
    kept = tuple(row_of(old, domain=n, text=f"d{n}.example {WORDS}") for n in range(2 * pairs))
    legacy.write(PanelGroup(batch=old.id, rows=kept))
    legacy.close()


@pytest.mark.parametrize(
    ("planted", "code", "match"), [(0, 0, "agree"), (20, 6, "differ")], ids=["none", "two percent"]
)
def test_planted_divergence_of_two_percent_is_found_and_none_is_not(place, planted, code, match):
    shadowed(place, 1000, planted=planted)
    told = place("compare", "domain_responses_shadow", "--json")
    assert (told.code, told.json["match"]) == (code, match), told.json
    assert (told.json["pairs"], told.json["diverging"]) == (1000, planted), (
        "legacy rows beyond the cohort do not count"
    )
    words = place("compare", "domain_responses_shadow")
    assert words.code == code
    assert f"{planted} of 1000 pairs diverge" in words.out


def test_a_small_cohort_says_how_many_pairs_it_needs(place):
    shadowed(place, 20, planted=0)
    told = place("compare", "domain_responses_shadow")
    assert told.code == 0
    assert "needs" in told.out


def test_a_shadow_row_that_is_missing_is_a_divergence(place):
    shadowed(place, 300, planted=0)
    place.run("DELETE FROM domain_responses_shadow WHERE CAST(domain_id AS INTEGER) <= 10")
    told = place("compare", "domain_responses_shadow", "--json")
    assert (told.code, told.json["diverging"], told.json["examples"][0]["why"]) == (6, 10, "only_legacy")


def test_an_older_table_with_its_own_words_is_compared_too(place):
    shadowed(place, 300, planted=0)
    place.run(
        "CREATE TABLE answers_2024 (domain_id INTEGER, model TEXT, response_text TEXT)",
        "INSERT INTO answers_2024 SELECT domain_id, model, response FROM domain_responses",
    )
    told = place("compare", "domain_responses_shadow", "answers_2024", "--json")
    assert (told.json["pairs"], told.json["diverging"]) == (300, 0), told.err


# ---- drift ----


def two_batches(place: Place, *, canary: str, brand: str) -> None:
    """Forty domains of one model, asked twice; the second time with these answers."""
    texts = {"one": ("Four.", WORDS), "two": (canary, brand)}
    for n, (name, (news, about)) in enumerate(texts.items()):
        batch = batch_of(40, id=name)
        store, _ = filled(place.url, batch)
        rows = [row_of(batch, domain=d, text=f"d{d}.example {about}") for d in range(40)]
        rows += [row_of(batch, domain=d, prompt=1, text=news) for d in range(40)]
        store.write(PanelGroup(batch=batch.id, rows=tuple(rows)))
        store.close()
        place.run(f"UPDATE crawl_batches SET started_at = {n + 1} WHERE id = '{name}'")


@pytest.mark.parametrize(
    ("canary", "brand", "code", "verdict"),
    [
        ("Four.", WORDS, 0, "steady"),
        ("Four.", "belongs to somebody else since yesterday", 0, "world_changed"),
        ("As a large model I would rather say five", WORDS, 6, "model_changed"),
    ],
)
def test_drift_tells_a_changed_model_from_a_changed_world(tmp_path, canary, brand, code, verdict):
    place = Place(tmp_path, panel={"prompts": CANARY})
    two_batches(place, canary=canary, brand=brand)
    told = place("drift", "--json")
    found = {row["model"]: row["verdict"] for row in told.json["models"]}
    assert (told.code, told.json["before"]) == (code, "one")
    assert found["a"] == verdict, told.json["models"][0]
    assert place("drift").code == code
    assert place("drift", "--before", "nobody").code == 2


# ---- a plan is what a run will do, and writes nothing ----


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "-shm" not in path.name
    }


def test_a_plan_writes_nothing_to_a_database_that_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    other = tmp_path / "shop.db"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE domains (id INTEGER PRIMARY KEY, domain TEXT, active BOOLEAN)")
    db.execute("INSERT INTO domains VALUES (1, 'a.example', 1)")
    db.commit()
    db.close()
    data, config = tmp_path / "data", tmp_path / "vedette.yaml"
    config.write_text(json.dumps({"panel": {"database": f"sqlite:///{other}"}}))
    (tmp_path / "list.txt").write_text("a.example\n")
    before = everything(tmp_path)
    for words in (
        ("plan", "--from-table"),
        ("plan", "--domains", str(tmp_path / "list.txt")),
        ("status",),
        ("kill",),
    ):
        told = Cli(data, clock=FixedClock())("--config", str(config), "panel", *words)
        assert told.code in (0, 1), told
    assert {k: v for k, v in everything(tmp_path).items() if "shop.db" in k or "list" in k} == {
        k: v for k, v in before.items() if "shop.db" in k or "list" in k
    }
    (tmp_path / "more.txt").write_text("a.example\nb.example\n")
    told = Cli(data, clock=FixedClock())(
        "--config", str(config), "panel", "plan", "--domains", str(tmp_path / "more.txt")
    )
    assert (told.code, "not in the table `domains`: b.example" in told.err) == (2, True), (
        "as the run would say"
    )


def test_a_plan_adds_no_domain_that_a_later_run_would_ask_about(place):
    place("plan", "--domains", place.file("d.txt", "x.example\ny.example\n"))
    store_at(place.url).close()
    assert place.rows("SELECT COUNT(*) FROM domains") == [(0,)]


def test_a_plan_is_for_the_providers_that_have_a_key(place, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    told = place("plan", "--count", "1000", "--json")
    assert (told.json["cells"], [row["keys"] for row in told.json["providers"]]) == (1000, [1])
    assert "cohere (COHERE_API_KEY)" in told.json["notes"][0]
    said = place("plan", "--count", "1000")
    assert "without a key, and not asked" in said.err
    monkeypatch.delenv("OPENAI_API_KEY")
    told = place("plan", "--count", "10", "--json")
    assert {row["keys"] for row in told.json["providers"]} == {0}
    assert "would refuse, for want of a key" in told.json["notes"][0]


# ---- lists of anyone ----


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"domain,note\ra.example,x\rb.example,y\r", 2),
        ("domain,note\r\na.example,x\r\n".encode("utf-16"), 1),
        (b'domain;note\na.example;"two\nlines"\nb.example;x\n', 2),
    ],
    ids=["CR", "UTF-16", "quoted line ends"],
)
def test_csv_of_any_line_end_and_coding_is_read(place, data, count):
    assert cells(place("plan", "--domains", place.file("d.csv", data), "--json")) == count


@pytest.mark.parametrize(
    "data",
    [
        b"domain,note\na.example," + b"x" * 200_000 + b"\n",
        secrets.token_bytes(5000) + b"\0",
        b"\x7fELF\x02\x01\0\0",
    ],
    ids=["a long field", "noise", "a program"],
)
def test_a_list_that_cannot_be_read_is_bad_input_and_no_traceback(place, data):
    told = place("plan", "--domains", place.file("d.csv", data))
    assert told.code == 2, told
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    "row",
    [
        "https://admin:S3cretPw@shop.example/",
        "admin:S3cretPw@shop.example",
        "https://admin:S3/cretPw@shop.example/",
        "https://u@x:S3cretPw@shop.example/",
        "https://exa mple.org/?token=S3cretPw",
        "ftp://S3cretPw@[::1]/",
    ],
)
def test_no_password_of_a_row_is_told(place, row):
    path = place.file("d.txt", f"ok.example\n{row}\n")
    for told in (place("plan", "--domains", path), place("plan", "--domains", path, "--json")):
        assert "S3" not in told.out + told.err
        assert "***" in told.out + told.err


# ---- what was answered ----


def test_answers_about_a_domain_are_shown_with_how_the_others_ended(place):
    batch = batch_of(2)
    store = store_at(place.url)
    store.create(batch, [("1", "d0.example"), ("2", "d1.example")])
    bad = row_of(
        batch, model=1, outcome=Outcome.TIMEOUT, text=None, quality_flag=None, detail="no answer in 15 s"
    )
    store.write(PanelGroup(batch=batch.id, rows=(row_of(batch), bad, row_of(batch, domain=1, text="Other."))))
    store.close()
    told = place("answers", "https://D0.example/")
    assert (told.code, "An answer." in told.out, "Other." in told.out) == (0, True, False), told
    assert "timeout" in told.out
    assert "420 ms" in told.out
    found = place("answers", "d0.example", "--json").json["answers"]
    assert [(one["model"], one["outcome"]) for one in found] == [("a", "ok"), ("b/c", "timeout")]
    assert [
        one["model"] for one in place("answers", "d0.example", "--model", "a", "--json").json["answers"]
    ] == ["a"]
    assert "no batch has asked about x.example" in place("answers", "x.example").err
    assert place("answers", "not a domain").code == 2


def test_drift_after_the_first_batch_says_that_there_is_nothing_to_compare_with(place):
    store, batch = filled(place.url, batch_of(2))
    store.write(PanelGroup(batch=batch.id, rows=(row_of(batch),)))
    store.close()
    told = place("drift")
    assert (told.code, "nothing to compare with yet" in told.out) == (0, True)
    assert "steady" not in told.out


@pytest.mark.slow
def test_the_panel_can_be_tried_without_keys_money_or_a_network(place, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    told = Cli(place.data, clock=SystemClock())("panel", "demo", "--domains", "2")
    assert told.code == 0, told
    assert "harbour.example" in told.out
    assert "openai/gpt-4o-mini" in told.out


def test_the_tables_of_the_panel_are_added_by_db_upgrade_when_it_is_asked_to(tmp_path):
    other, config = tmp_path / "other.db", tmp_path / "vedette.yaml"
    config.write_text(json.dumps({"panel": {"database": f"sqlite:///{other}"}}))
    prepare(tmp_path / "data")
    cli = Cli(tmp_path / "data", clock=FixedClock())
    assert cli("--config", str(config), "db", "upgrade").code == 0
    assert not other.exists()
    assert cli("--config", str(config), "db", "upgrade", "--panel").code == 0
    assert "crawl_batches" in {
        name for (name,) in sqlite3.connect(other).execute("SELECT name FROM sqlite_master")
    }
