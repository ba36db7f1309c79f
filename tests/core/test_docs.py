"""The pages say what the code is.  What they name exists, and what must be listed is listed."""

from __future__ import annotations

import ast
import re
import tokenize
import tomllib
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

from vedette.contracts.events import NAMES
from vedette.contracts.words import Outcome
from vedette.core.health.remedies import ALL_SETTINGS, READING, REMEDIES
from vedette.core.lanes.outcomes import MEANING

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "vedette"
SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if "livingweb" not in path.parts]
STAGES = (
    "contracts core discover engine evidence extract fetch frontier judge lanes notify providers report store telemetry"
).split()
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted(DOCS.rglob("*.md")),
    *sorted(PACKAGE.rglob("README.md")),
]
FILE = re.compile(r"(?<![\w/.*<])((?:[\w.-]+/)*[\w-]+\.(?:py|md|toml))\b")
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
TEST = re.compile(r"\btest_[a-z0-9_]+\b(?!\.py)")
ADR = re.compile(r"\bADR-(\d{4})\b")
OF_A_MACHINE = re.compile(r"(?<![\w.:/])/(?:home|work|root|tmp|usr|var|opt|mnt|Users)/")


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def rows_of(page: Path) -> list[list[str]]:
    """The cells of every table row, backticks removed."""
    lines = [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]
    rows = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if not set("".join(row)) <= set("-: ")]


@pytest.fixture(scope="module")
def known_tests() -> set[str]:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    names = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text("utf-8"))}
    return names | {file.stem for file in files}


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_file_that_a_page_names_exists(page):
    homes = (ROOT, PACKAGE, DOCS, ROOT / "tests", page.parent)
    below = {path.name for path in page.parent.rglob("*.py")} if PACKAGE in page.parents else set()
    text = page.read_text("utf-8")
    missing = [
        name
        for name in FILE.findall(text)
        if name not in below and not any((home / name).exists() for home in homes)
    ]
    missing += [
        name for name in LINK.findall(text) if "://" not in name and not (page.parent / name).exists()
    ]
    assert missing == []


ROOMS = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
TOP = {"src", "tests", "bench", "tools", "docs"}
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_folder_and_path_that_a_page_names_exists(page):
    named = [path for path in PATH.findall(page.read_text("utf-8")) if path.partition("/")[0] in ROOMS | TOP]
    homes = (ROOT, PACKAGE, page.parent)
    assert [path for path in named if not any((home / path).exists() for home in homes)] == []


WIDE = 120  # columns
# Pages that are not wrapped yet; the numbers only fall.
UNWRAPPED = {
    "src/vedette/core/schedule/learned/README.md": 4,
    "src/vedette/engine/README.md": 7,
    "src/vedette/evidence/README.md": 6,
    "src/vedette/extract/README.md": 6,
    "src/vedette/fetch/README.md": 4,
    "src/vedette/lanes/README.md": 6,
    "src/vedette/store/README.md": 3,
}
PROSE = [page for page in PAGES if page.parent != DOCS / "reference"]


@pytest.mark.parametrize("page", PROSE, ids=page_name)
def test_prose_is_wrapped(page):
    """Tables hold facts, and code is as it is."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    lines = [
        line
        for line in text.splitlines()
        if not line.lstrip().startswith("|") and not line.startswith("    ")
    ]
    long = [line for line in lines if len(line) > WIDE and " " in line.strip()]
    assert len(long) <= UNWRAPPED.get(page_name(page), 0)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_test_that_a_page_names_exists(page, known_tests):
    assert [name for name in TEST.findall(page.read_text("utf-8")) if name not in known_tests] == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_no_page_knows_a_machine(page):
    assert OF_A_MACHINE.findall(page.read_text("utf-8")) == []


def test_the_readme_is_one_screen():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 60


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_says_what_it_takes_gives_and_promises(stage):
    words = (PACKAGE / stage / "README.md").read_text("utf-8")
    assert len(words.splitlines()) <= 16
    for word in ("takes", "gives", "promises", "knobs", "not here"):
        assert re.search(rf"\b{word}\b", words, re.IGNORECASE), word


def test_every_page_of_docs_is_on_the_map():
    on_the_map = {(DOCS / name).resolve() for name in LINK.findall((DOCS / "index.md").read_text("utf-8"))}
    folders = {path for path in on_the_map if path.is_dir()}
    pages = {page for page in DOCS.rglob("*.md") if page.name != "index.md" and page.parent not in folders}
    assert pages - on_the_map == set()


def test_decisions_are_numbered_once_and_listed():
    pages = sorted((DOCS / "adr").glob("[0-9]*.md"))
    numbers = Counter(page.name[:4] for page in pages)
    assert max(numbers.values()) == 1
    assert sorted(numbers) == [f"{n:04d}" for n in range(1, len(pages) + 1)]
    listed = LINK.findall((DOCS / "adr" / "README.md").read_text("utf-8"))
    assert {page.name for page in pages} - set(listed) == set()


@pytest.mark.parametrize("page", sorted((DOCS / "adr").glob("[0-9]*.md")), ids=lambda page: page.stem)
def test_a_decision_has_its_parts_and_fits_a_page(page):
    text = page.read_text("utf-8")
    assert text.startswith(f"# ADR-{page.name[:4]} ")
    assert [part for part in ("## Context", "## Decision", "## Consequences") if part not in text] == []
    assert len(text.splitlines()) <= 60


def test_every_decision_that_code_or_a_page_names_exists():
    numbers = {page.name[:4] for page in (DOCS / "adr").glob("[0-9]*.md")}
    named = {n for path in (*SOURCES, *PAGES) for n in ADR.findall(path.read_text("utf-8"))}
    assert named - numbers == set()


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_is_listed_with_its_meaning(outcome):
    listed = {row[0]: row[1:] for row in rows_of(DOCS / "reference" / "outcomes.md") if len(row) == 6}
    meaning = MEANING[outcome]
    blamed = (("lane", meaning.counts_against_lane), ("source", meaning.counts_against_source))
    blame = [word for word, is_so in blamed if is_so]
    next_look = "not a look" if not meaning.is_look else "usual" if meaning.keeps_schedule else "long"
    assert listed[outcome.value][:4] == [
        meaning.words,
        "yes" if meaning.retry else "no",
        ", ".join(blame) or "nobody",
        next_look,
    ]


def test_the_page_for_people_says_what_to_do_about_every_outcome_and_about_no_other():
    page = DOCS / "how-to" / "outcomes.md"
    rows = [row for row in rows_of(page) if len(row) == 3 and row[0] != "outcome"]
    named = [name for row in rows for name in row[0].split(", ")]
    assert sorted(named) == sorted(outcome.value for outcome in Outcome)
    assert [row[0] for row in rows if not row[1] or not row[2]] == []


# Pages that a user reads: no names of tests, no sections of documents that the reader does not have.
FOR_PEOPLE = [
    *(DOCS / name for name in ("install.md", "tutorial.md", "faq.md")),
    *(
        DOCS / "how-to" / f"{name}.md"
        for name in "recipes filters behind-a-login come-over deploy back-up upgrade outcomes scale-out".split()
    ),
]


@pytest.mark.parametrize("page", FOR_PEOPLE, ids=page_name)
def test_a_page_for_people_names_no_test_and_no_section_of_a_document(page):
    text = page.read_text("utf-8")
    assert TEST.findall(text) == []
    assert re.findall(r"\b00[0-4]\b|\bADR-|\bsection \d|\bspec\b", text) == []


@pytest.mark.parametrize("outcome", REMEDIES)
def test_the_settings_that_heal_an_outcome_are_listed(outcome):
    listed = {row[0]: row[1] for row in rows_of(DOCS / "reference" / "outcomes.md") if len(row) == 2}
    names = REMEDIES[outcome].healed_by
    whole = "any setting" if names == ALL_SETTINGS else ""
    reading = ["the lister and every option of the source"] if names >= READING else []
    told = whole or ", ".join([*reading, *sorted(names - READING if reading else names)])
    assert listed.get(outcome.value, "") == told


def test_every_event_is_listed_with_its_fields():
    page = (DOCS / "reference" / "events.md").read_text("utf-8").partition("## The ledger")[0]
    listed = {
        name: set(re.findall(r"\w+", row))
        for row in page.splitlines()
        for name in re.findall(r"`(\w+)`", row.split("|")[1] if row.startswith("| `") else "")
    }
    assert set(NAMES.values()) - set(listed) == set()
    for kind, name in NAMES.items():
        keys = {one.metadata.get("key", one.name) for one in fields(kind)} - {"at"}
        assert keys - listed[name] == set(), name


def test_every_action_of_the_ledger_is_listed():
    actions = {_text(call, "action") for call in _calls("Decision")} - {""}
    actions |= _firsts("decide") | _firsts("_note")
    listed = (DOCS / "reference" / "events.md").read_text("utf-8")
    assert len(actions) > 6
    assert {action for action in actions if f"`{action}`" not in listed} == set()


def test_every_table_is_listed_with_every_column():
    from vedette.store.panel.panel_schema import metadata

    page = (DOCS / "reference" / "store.md").read_text("utf-8")
    parts = {part.partition("\n")[0].strip("` "): part for part in page.split("\n### ")[1:]}
    assert set(parts) == set(metadata.tables)
    missing = [
        f"{table.name}.{column.name}"
        for table in metadata.tables.values()
        for column in table.columns
        if f"`{column.name}`" not in parts[table.name]
    ]
    assert missing == []


def test_coverage_never_claims_without_a_test_and_never_defers_without_saying_what():
    rows = [row for row in rows_of(DOCS / "spec-coverage.md") if len(row) == 5 and row[1] != "status"]
    assert len(rows) > 100
    assert {row[1] for row in rows} <= {"built", "part", "later", "not ours"}
    untested = [row for row in rows if row[1] in ("built", "part") and not TEST.search(row[3])]
    assert [row[0] for row in untested if row[1] == "built" or "no test" not in row[4]] == []
    assert [row[0] for row in rows if row[1] != "built" and not row[4]] == []


# 000 has sections, 001 parts of them and three appendices; a row may cover several, and several rows one.
SECTIONS = {
    "000": "1 2 3 4 5 6 7 8",
    "001": (
        "1.1 1.2 1.3 2.1 2.2 2.3 2.4 3.1 3.2 3.3 3.4 4.1 4.2 4.3 4.4 5.1 5.2 5.3 5.4 5.5 6.1 6.2 6.3 6.4 7.1 7.2 7.3 "
        "7.4 8.1 8.2 8.3 8.4 8.5 9.1 9.2 9.3 9.4 9.5 9.6 10.1 10.2 10.3 10.4 10.5 11.1 11.2 11.3 11.4 12.1 12.2 12.3 "
        "12.4 12.5 12.6 12.7 13.1 13.2 13.3 A.1 A.2 B.1 B.2 B.3 B.4 B.5 C.1 C.2 C.3"
    ),
}


@pytest.mark.parametrize("document", SECTIONS)
def test_every_section_of_000_and_001_is_covered_and_only_the_large_form_is_left(document):
    text = (DOCS / "spec-coverage.md").read_text("utf-8")
    part = text.partition(f"\n## {document} ")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"
    ]
    rows = [row for row in rows if row[1] in ("built", "part", "later", "not ours")]
    covered = {section for row in rows for section in re.findall(r"(?<![\w.])[0-9A-C]+(?:\.\d+)?", row[0])}
    assert set(SECTIONS[document].split()) - covered == set()
    assert [row[0] for row in rows if row[1] == "part"] == []
    assert [row[0] for row in rows if row[1] == "later" and "large form" not in row[4]] == []


def test_the_architecture_names_every_layer():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    names = {name.strip().removeprefix("vedette.") for layer in layers for name in layer.split("|")}
    text = (DOCS / "architecture.md").read_text("utf-8")
    assert {name for name in names if f"`{name}`" not in text} == set()


def _calls(name: str) -> list[ast.Call]:
    """Every call of that function or method in our code."""
    nodes = (node for path in SOURCES for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    return [
        node
        for node in nodes
        if isinstance(node, ast.Call)
        and name == (node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", ""))
    ]


def _text(call: ast.Call, keyword: str) -> str:
    """The literal that a call is given by that keyword; nothing where it is no literal."""
    values = (given.value for given in call.keywords if given.arg == keyword)
    return next((v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)), "")


def _firsts(name: str) -> set[str]:
    """The literals that calls of that name have in the first place."""
    firsts = (call.args[0] for call in _calls(name) if call.args)
    return {
        first.value for first in firsts if isinstance(first, ast.Constant) and isinstance(first.value, str)
    }


def clauses() -> set[str]:
    """The clauses that docs/spec-coverage.md has rows of: `001/8.2`."""
    found, document = set(), ""
    for line in (DOCS / "spec-coverage.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            document = line[3:6]
        elif line.startswith("| "):
            head = re.match(r"\| ((?:[A-C]?[\d.]+|[A-C](?:\.\d)?)(?:, | and |(?= )))+", line)
            numbers = re.findall(r"[A-C]\.\d|[\d.]+", head[0]) if head else []
            found |= {f"{document}/{number}" for number in numbers}
    return found


def test_a_comment_names_our_pages_and_no_section_of_a_document_that_the_reader_lacks():
    known = clauses()
    assert {"000/4", "001/8.2", "001/C.2"} <= known
    for path in PACKAGE.rglob("*.py"):
        if "versions" in path.parts:
            continue
        text = _prose(path)
        assert not re.search(r"\b00[0-4] sections?\b|\bDESIGN\b(?!S)", text), path
        for cited in re.findall(r"\b00[0-4]/[A-C\d][\d.]*\b", text):
            assert any(one == cited or one.startswith(f"{cited}.") for one in known), (path, cited)


def _prose(path: Path) -> str:
    """Comments and docstrings."""
    with tokenize.open(path) as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    return "\n".join(
        one.string for one in tokens if one.type == tokenize.COMMENT or one.string.startswith('"""')
    )


@pytest.mark.parametrize("name", ["add-a-source-option", "add-a-verb"])
def test_a_worked_example_touches_three_files_and_they_are_there(name):
    steps = re.findall(r"(?m)^\d\. .*?`(src/[\w/.]+)`", (DOCS / "how-to" / f"{name}.md").read_text("utf-8"))
    assert len(set(steps)) == 3
    assert all((ROOT / file).is_file() for file in steps)
