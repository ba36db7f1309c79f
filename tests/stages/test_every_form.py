"""Bad input in every field of every form that changes something: no answer is a fault, and each refusal says why."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
from stocked import RULES, stocked
from web_kit import an_installation, serving

from vedette.surface.http.page_frame import NAV

SAME = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
BAD = (
    "",
    " ",
    "x" * 20_000,
    "no url",
    "\x00\ud7ff\u202e",
    "-1",
    "1e999",
    "<script>alert(1)</script>",
    "2026-99-99",
)


class Forms(HTMLParser):
    """Every form of a page: where it goes, how, and the fields with what stands in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form":
            self.found.append((given.get("action") or "", (given.get("method") or "get").lower(), {}))
        elif tag in ("input", "select", "textarea", "button") and given.get("name") and self.found:
            self.found[-1][2].setdefault(given["name"], given.get("value") or "")
        if given.get("formaction"):
            _, method, fields = self.found[-1]
            self.found.append((given["formaction"], method, dict(fields)))


PAGES = [path for path, _ in NAV] + [
    f"/watch?url={quote(RULES, safe='')}", f"/filters?url={quote(RULES, safe='')}", "/changes/1", "/login", "/add",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_bad_input_in_every_field_of_every_form_is_answered_in_words(tmp_path: Path):
    stocked(tmp_path)
    seen: set[tuple[str, str]] = set()
    told = 0
    faults: list[str] = []
    silent: list[str] = []
    async with serving(an_installation(tmp_path, fetch={"nameservers": ["127.0.0.1:9"]})) as client:
        forms = []
        for path in PAGES:
            answer = await client.ask(path, headers=SAME)
            forms += Forms(answer.text).found if answer.status == 200 else []
        for action, method, fields in forms:
            for name in fields:
                key = (action.partition("?")[0], name)
                if key in seen or method != "post":
                    continue
                seen.add(key)
                for bad in BAD:
                    answer = await client.post(action, data={**fields, name: bad}, headers=SAME)
                    said = f"{action} {name}={bad[:20]!r}: {answer.status}"
                    if answer.status >= 500:
                        faults.append(said)
                    told += answer.status in (400, 404, 422)
                    if (
                        400 <= answer.status < 500
                        and "problem" not in answer.text
                        and "<h1" not in answer.text
                    ):
                        silent.append(said)
    assert len(seen) >= 12, sorted(seen)
    assert told >= 40, "bad input was refused"
    assert faults == []
    assert silent == []
