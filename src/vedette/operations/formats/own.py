"""Our own forms: one JSON object in a line, and the `sources` section of vedette.yaml."""

from __future__ import annotations

import json
import re

import yaml

from vedette.config.yaml_text import LOADER, NotYaml
from vedette.config.yaml_text import read_yaml as values_of
from vedette.contracts.source import Source
from vedette.operations.formats.list_entry import Entry, Parsed
from vedette.operations.formats.tables import decoded
from vedette.operations.source_keys import keys_of

_SOURCES = re.compile(rb"(?m)^sources\s*:")


def read_jsonl(data: bytes) -> Parsed:
    parsed = Parsed()
    for number, line in enumerate(decoded(data).split("\n"), 1):
        if not line.strip():
            continue
        try:
            keys = json.loads(line)
        except (ValueError, RecursionError) as error:
            parsed.bad(number, line, f"not JSON: {error}")
            continue
        if isinstance(keys, dict):
            parsed.entries.append(Entry(number, keys))
        else:
            parsed.bad(number, line, "expected an object with `url`")
    return parsed


def write_jsonl(sources: list[Source]) -> str:
    return "".join(json.dumps(keys_of(source), ensure_ascii=True) + "\n" for source in sources)


def read_yaml(data: bytes) -> Parsed:
    """The `sources` of a configuration file; its other sections are not touched."""
    parsed = Parsed()
    text = decoded(data)
    try:
        whole = values_of(text)
    except NotYaml as error:
        parsed.bad(1, "", f"not valid YAML: {error}")
        return parsed
    listed = whole.get("sources") if isinstance(whole, dict) else None
    if not isinstance(listed, list):
        parsed.bad(1, "", "expected `sources:` with a list")
        return parsed
    for number, keys in zip(_lines(yaml.compose(text, LOADER)), listed, strict=True):
        if isinstance(keys, dict):
            parsed.entries.append(Entry(number, {str(key): value for key, value in keys.items()}))
        else:
            parsed.bad(number, keys, "a source is a mapping with `url`")
    return parsed


def write_yaml(sources: list[Source]) -> str:
    listed = {"sources": [keys_of(source) for source in sources]}
    text: str = yaml.safe_dump(listed, allow_unicode=True, sort_keys=False, width=110)
    return text


def looks_like(data: bytes) -> bool:
    return _SOURCES.search(data) is not None


def _lines(top: yaml.Node | None) -> list[int]:
    """The line of each entry of `sources`."""
    pairs = top.value if isinstance(top, yaml.MappingNode) else []
    listed = next((value for key, value in pairs if key.value == "sources"), None)
    return [one.start_mark.line + 1 for one in listed.value] if listed is not None else []
