"""The glossary is held to the code: its words are used, and the words that it rules out are not."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/vedette"
GLOSSARY = (ROOT / "docs/glossary.md").read_text("utf-8")
# Names at a boundary that other programs know: the panel's batches, items of an older sentinel.
BOUNDARY = {
    "Batch", "BatchShape", "BatchView", "BatchStanding", "BatchEnd", "ShownBatch", "OldItem",
    "batch_counts", "batches", "panel_batches",
}  # fmt: skip
STILL = {"Slot"}  # of discover/html_list.py; the set only shrinks
SOURCES = {
    path: path.read_text("utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
    if "versions" not in path.parts and "livingweb" not in path.parts
}
ALL = "\n".join(SOURCES.values()).lower().replace("_", " ")


def words() -> list[str]:
    table = GLOSSARY.partition("## Our words")[2].partition("Not said:")[0]
    cells = re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)
    return [word.strip() for cell in cells if cell not in ("word", "---") for word in cell.split(",")]


@pytest.mark.parametrize("word", words())
def test_a_word_of_the_glossary_is_used_in_the_code(word: str):
    assert re.search(rf"\b{word.lower()}s?\b", ALL)


def test_no_module_and_no_public_class_has_a_word_that_is_not_said():
    banned = re.findall(r"\w+", GLOSSARY.partition("Not said:")[2].partition(".")[0].lower())
    assert len(banned) == 7
    found = set()
    for path, text in SOURCES.items():
        names = [path.stem, *(node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef))]
        for name in names:
            parts = [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
            if any(part in (word, f"{word}s", f"{word}es") for part in parts for word in banned):
                found.add(name)
    assert {name for name in found if not name.startswith("_")} <= BOUNDARY | STILL
