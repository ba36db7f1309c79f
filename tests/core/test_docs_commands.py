"""Every command and option that a page names is one that the program has.

docs/reference/cli.md is made from the program, and another test compares the two.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in DOCS.rglob("*.md") if page.parent.name not in ("reference", "adr")),
]
# Described before they are there, and not held against the program: (page, words of the verb).
PLANNED = {("docs/how-to/scale-out.md", "worker"), ("docs/how-to/scale-out.md", "workers"),
           ("docs/how-to/add-a-verb.md", "panel cost")}  # fmt: skip
CODE = re.compile(r"`(vedette [^`]+)`", re.DOTALL)
LINE = re.compile(r"^(?:    |\t|\$ )*(?:[A-Z_]+=\S+ |\$ )*(?:.*&& )?(vedette .*)$")


def known() -> dict[str, set[str]]:
    """The options of every verb, by its words: `panel run`."""
    text = (REFERENCE / "cli.md").read_text("utf-8")
    parts = re.split(r"(?m)^#{2,4} vedette ", text)
    shared = set(re.findall(r"--[a-z][a-z0-9-]*", parts[0])) | {"--help", "-h", "-q"}
    found = {}
    for part in parts[1:]:
        head, _, rest = part.partition("\n")
        options = set(re.findall(r"--[a-z][a-z0-9-]*|(?<=\W)-[a-z]\b", rest))
        found[head.strip()] = options | {"--no-" + option[2:] for option in options} | shared
    return found


def commands(page: Path) -> list[str]:
    """What a reader could type: lines of code, and code in a sentence."""
    text = page.read_text("utf-8")
    found = [
        match[1].replace("\n", " ")
        for match in CODE.finditer(re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    ]
    fenced = "\n".join(re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL))
    lines = [line for line in text.splitlines() if line.startswith("    ")] + fenced.splitlines()
    found += [match[1] for line in lines if (match := LINE.match(line.replace("\\\n", " ")))]
    return [re.split(r"\s+#\s|\s{3,}|[|;>&]|\s\(", command)[0] for command in found]


def words(command: str) -> list[str]:
    try:
        return shlex.split(command.replace("'{", "{"))[1:]
    except ValueError:
        return command.split()[1:]


def problem(command: str, verbs: dict[str, set[str]], page: str) -> str:
    given = words(command)
    while given and given[0].startswith("-"):  # options of every verb, before the verb
        given = given[2 if given[0] in ("--data", "--config") else 1 :]
    if not given or not re.fullmatch(r"[a-z][a-z-]*", given[0]):
        return ""
    verb = next((v for v in (" ".join(given[:2]), given[0]) if v in verbs), None)
    if (page, given[0]) in PLANNED or (page, " ".join(given[:2])) in PLANNED:
        return ""
    if verb is None:
        group = any(name.startswith(given[0] + " ") for name in verbs)
        return "" if group and len(given) == 1 else f"no such verb: {command}"
    options = {word.partition("=")[0] for word in given if re.match(r"--?[a-z]", word)}
    missing = options - verbs[verb]
    return f"{sorted(missing)} in: {command}" if missing else ""


def test_the_reference_is_read_as_it_is_meant():
    verbs = known()
    assert {"add", "panel run", "evidence verify", "db copy"} <= set(verbs)
    assert "--risk" in verbs["add"]
    assert "--risk" not in verbs["evidence verify"]
    assert problem("vedette add URL --rusk high", verbs, "x")
    assert problem("vedette ad URL", verbs, "x")
    assert not problem("vedette --data new add URL --risk high", verbs, "x")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_and_option_that_a_page_names_exists(page: Path):
    verbs, name = known(), str(page.relative_to(ROOT))
    assert [one for command in commands(page) if (one := problem(command, verbs, name))] == []


def test_the_pages_do_name_commands():
    assert sum(len(commands(page)) for page in PAGES) > 250
