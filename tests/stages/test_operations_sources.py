"""Sources as operations: values in, values out, no words of the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from stocked import NEWS, NOW, RULES, FixedClock, blank, stocked

from vedette.config.model import load
from vedette.contracts.errors import InputError, RefusedError
from vedette.contracts.source import ListerKind
from vedette.contracts.words import Risk
from vedette.operations.installation import Installation
from vedette.operations.page_trials import PageTrial, try_page
from vedette.operations.source_lists import ImportRequest, export_sources, import_sources
from vedette.operations.sources import (
    add_source,
    list_sources,
    mute_source,
    pause_source,
    remove_source,
    resume_source,
    save_configured,
    source_added_json,
)
from vedette.operations.watches import not_taken_in

PAGE = "https://example.org/zakon"
LIST = b"https://example.org/a\nnot a url\nhttps://example.org/b\n"


def installation(folder: Path, config: str = "") -> Installation:
    path = folder / "vedette.yaml"
    path.write_text(config or "{}\n", encoding="utf-8")
    return Installation(load(path, folder / "data"), FixedClock())


@pytest.fixture
def empty(tmp_path: Path) -> Installation:
    blank(tmp_path / "data")
    return installation(tmp_path)


@pytest.fixture
def full(tmp_path: Path) -> Installation:
    stocked(tmp_path / "data")
    return installation(tmp_path)


def test_what_is_added_is_told_once_as_new_and_then_as_known(empty: Installation):
    first = add_source(empty, PAGE, {"risk": "high", "every": "1s"}, {})
    again = add_source(empty, PAGE, {"name": "Rules"}, {"X-Key": "1"})
    assert (first.is_new, first.source.risk, first.source.lister) == (True, Risk.HIGH, ListerKind.PAGE)
    assert (again.is_new, again.source.id, again.source.name) == (False, first.source.id, "Rules")
    assert again.source.risk is Risk.HIGH
    assert first.interval is not None
    assert first.interval.stronger is not None, "a lane is never asked every second"
    assert source_added_json(again)["added"] is False


def test_an_address_that_the_guard_refuses_is_told_with_the_addition(empty: Installation):
    done = add_source(empty, "http://user:word@127.0.0.1/", {}, {})
    assert [words.partition(" ")[0] for words in done.warnings] == ["the", "it"]
    assert "will not be looked at" in done.warnings[1]


def test_a_blocked_word_refuses_an_addition_before_anything_is_saved(tmp_path: Path):
    here = installation(tmp_path, "discover: {blocked_words: [casino]}\n")
    with pytest.raises(RefusedError, match="blocked by the word 'casino'"):
        add_source(here, "https://casino.example.org/", {}, {})
    assert not here.has_store


@pytest.mark.parametrize(
    ("strict", "dry_run", "saved"), [(False, False, 2), (True, False, 0), (False, True, 0)]
)
def test_a_list_is_taken_line_by_line_and_a_trial_saves_nothing(
    empty: Installation, strict: bool, dry_run: bool, saved: int
):
    done = import_sources(empty, ImportRequest(data=LIST, name="a.txt", strict=strict, dry_run=dry_run))
    assert (done.form, len(done.lines), len(done.saved)) == ("urls", 2, saved)
    assert [problem.line for problem in done.problems] == [2]
    assert len(list_sources(empty)) == saved


def test_a_list_that_reads_our_environment_is_taken_without_that(empty: Installation):
    line = b'{"url": "https://example.org/a", "fetch": {"headers": {"X": "env:SECRET"}}}\n'
    asked = ImportRequest(data=line, name="a.jsonl", allowed=frozenset(["env:OTHER"]))
    shut = import_sources(empty, asked)
    assert [one.source.fetch for one in shut.lines] == [()]
    assert (len(shut.left_out), shut.unused) == (1, ("env:OTHER",))
    opened = import_sources(empty, replace(asked, allowed=frozenset(["env:SECRET"])))
    assert (opened.left_out, opened.unused) == ([], ())


def test_what_is_exported_is_imported_again_as_it_was(full: Installation, tmp_path: Path):
    text = export_sources(full, "sources", "yaml").text
    other = Installation(load(None, tmp_path / "other"), FixedClock())
    done = import_sources(other, ImportRequest(data=text.encode(), name="sources.yaml"))
    assert (done.problems, all(done.saved)) == ((), True)
    assert {one.view.source.url for one in list_sources(other)} == {
        one.view.source.url for one in list_sources(full)
    }
    with pytest.raises(InputError, match="sourcez"):
        export_sources(full, "sourcez", "csv")


def test_orders_are_about_a_source_or_a_page_and_say_how_many_watches_they_moved(full: Installation):
    paused = pause_source(full, RULES)
    assert paused.watches == 1
    assert not _view(full, paused.source).source.is_active
    assert resume_source(full, paused.source).watches == 1
    assert mute_source(full, NEWS, NOW.replace(year=2027)).watches is None
    with pytest.raises(InputError, match="is not watched"):
        pause_source(full, "https://example.org/unknown")


def test_a_source_of_the_configuration_is_known_before_the_first_run_and_comes_back(tmp_path: Path):
    here = installation(tmp_path, f"sources: [{{url: {PAGE!r}, id: rules}}]\n")
    assert [source.id for source in not_taken_in(here)] == ["rules"]
    assert [one.view.source.id for one in list_sources(here)] == ["rules"]
    save_configured(here)
    assert not_taken_in(here) == []
    assert remove_source(here, "rules").comes_back is True


def test_a_page_is_tried_without_a_store(tmp_path: Path):
    here = installation(tmp_path)
    with pytest.raises(InputError, match="--include needs --lister"):
        try_page(here, PageTrial(url=PAGE, include=("x",)), _never)
    with pytest.raises(InputError, match="--scope"):
        try_page(here, PageTrial(url=PAGE, scope="mian"), _never)
    assert not here.has_store


def _never(loaded: object, url: str) -> object:
    raise AssertionError("bad words are told before anything is asked for")


def _view(here: Installation, source: str):
    return next(one.view for one in list_sources(here) if one.view.source.id == source)
