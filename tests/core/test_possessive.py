"""Before 3.11.5 Python does not step back when the body of a possessive group fails half-way; Debian 12 has 3.11.2."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "vedette"
GROUP = re.compile(r"(?<!\\\\)\)(?:[?*+]|\{[\d,]+\})\+")
# Their last alternative is one run of characters, which fails where it begins or not at all.
SAFE = {
    ("core/text/charset.py", ")*+)|<[!/?][^>]*+"),
    ("core/text/parse_cost.py", ")*+)"),
    ("evidence/warc.py", "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~"),  # characters, no pattern
    ("extract/scope.py", r"<noscript\b[^>]*>(?:<(?!/?(?:noscript|script)\b)|[^<]++)*+</noscript[^>]*>"),
}


def test_a_possessive_group_whose_body_can_fail_half_way_is_in_no_pattern():
    assert {found for path in SOURCE.rglob("*.py") for found in possessive_groups(path)} == SAFE


def possessive_groups(path: Path) -> set[tuple[str, str]]:
    name = path.relative_to(SOURCE).as_posix()
    return {(name, text) for text in constants(ast.parse(path.read_text())) if GROUP.search(text)}


def constants(tree: ast.AST) -> list[str]:
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = [value.decode("latin-1") if isinstance(value, bytes) else value for value in values]
    return [text for text in texts if isinstance(text, str)]


@pytest.mark.parametrize("pattern", ["(?:a|b(?!c))*+b", "(?: a=b)++", "(?:a=)?+", "(?:ab){2,3}+"])
def test_the_check_sees_a_possessive_group(pattern):
    assert GROUP.search(pattern)
