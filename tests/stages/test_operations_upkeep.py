"""Evidence, health, alerts, the doctor, the database, settings and the panel as operations."""

from __future__ import annotations

from pathlib import Path

import pytest
from stocked import RULES, FixedClock, stocked
from test_store_panel import batch_of, filled

from vedette.config.model import Loaded, load, parse
from vedette.contracts.errors import ConfigError, InputError, RefusedError, VedetteError
from vedette.contracts.words import Risk
from vedette.operations.backup import back_up, restore
from vedette.operations.database import database_status, status_json, upgrade_database
from vedette.operations.doctor import examine
from vedette.operations.evidence_list import archive_heads, evidence_json, list_evidence
from vedette.operations.health import (
    heal_clock,
    health_report_json,
    list_alerts,
    list_outbox,
    resend_parked,
    show_alert,
    source_health,
)
from vedette.operations.installation import Installation
from vedette.operations.maintenance import collect, report_json, verify_evidence
from vedette.operations.panel_batches import batch_status, domain_answers, panel_drift, stop_batches
from vedette.operations.panel_runs import read_list, read_registry
from vedette.operations.run import queue_run
from vedette.operations.shown_config import secrets_of, settings
from vedette.store.migrate import DATABASE, HEAD


def quiet(done: int, whole: int) -> None:
    """Nobody watches."""


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    return Installation(load(None, stocked(tmp_path / "data").data), FixedClock())


@pytest.fixture(autouse=True)
def silence(capfd: pytest.CaptureFixture[str]):
    """An operation prints nothing."""
    yield
    assert capfd.readouterr() == ("", "")


def test_evidence_is_listed_by_url_number_and_digest(here: Installation):
    listed = list_evidence(here, RULES, most=0)
    first = listed[0].view
    assert list_evidence(here, str(first.id), most=0)[0].view == first
    assert first in [one.view for one in list_evidence(here, first.digest.hex()[:12], most=0)]
    assert evidence_json(listed[0])["segment"] in {one.name for one in archive_heads(here)}
    with pytest.raises(InputError, match="neither a URL, a number nor a sha256"):
        list_evidence(here, "what", most=0)


def test_a_verified_store_says_what_it_read(here: Installation):
    report = verify_evidence(here, quick=True)
    assert report_json(report)["whole"] == report.is_whole
    assert report.segments == len(archive_heads(here))


def test_a_trial_of_gc_drops_nothing(here: Installation):
    before = archive_heads(here)
    collect(here, is_trial=True)
    assert archive_heads(here) == before


def test_health_is_read_and_opens_alerts_when_asked(here: Installation):
    read = source_health(here)
    assert health_report_json(read)["healthy"] == read.is_healthy
    assert list_alerts(here, every=True, most=0) == []
    raised = source_health(here, raises_alerts=True)
    assert raised.sources == read.sources
    assert bool(list_alerts(here, every=False, most=0)) == (not read.is_healthy)
    assert not heal_clock(here).is_any
    with pytest.raises(InputError, match="no alert 99"):
        show_alert(here, 99)
    assert resend_parked(here) == 0
    assert len(list_outbox(here, every=False, most=0)) == len(list_alerts(here, every=False, most=0))


def test_the_doctor_examines_what_can_be_opened(here: Installation):
    found = {one.check: one.state for one in examine(lambda: here)}
    assert (found["config"], found["store"], found["engine"]) == ("ok", "ok", "ok")

    def broken() -> Installation:
        raise ConfigError("line 3: no")

    only = {one.check: one for one in examine(broken)}
    assert list(only) == ["python", "packages", "config"]
    assert (only["config"].state, only["config"].found) == ("bad", "line 3: no")


def test_a_backup_comes_back_as_it_was(here: Installation, tmp_path: Path):
    made = back_up(here, tmp_path / "copy", progress=quiet)
    with pytest.raises(RefusedError, match="holds a store"):
        restore(here, tmp_path / "copy", replace=False, progress=quiet)
    elsewhere = Installation(load(None, tmp_path / "new"), FixedClock())
    assert restore(elsewhere, tmp_path / "copy", replace=False, progress=quiet).visits == made.visits
    assert database_status(elsewhere).rows == database_status(here).rows


def test_the_database_says_how_it_is(here: Installation):
    found = database_status(here)
    assert (found.version, found.engine) == (HEAD, None)
    assert status_json(found)["path"] == str(here.loaded.data / DATABASE)
    assert upgrade_database(here).before == HEAD


def test_settings_say_where_they_come_from_and_hide_what_is_secret(tmp_path: Path):
    config = parse({"fetch": {"proxy": "http://me:word@127.0.0.1:3128"}, "serve": {"token": "env:NOT_SET"}})
    place = Installation(Loaded(config=config, path=None, data=tmp_path, digest=""), FixedClock())
    found = {one.key: one.value for one in settings(place)}
    assert found["fetch.proxy"] == "***"
    assert dict(secrets_of(place)) == {"NOT_SET": "`serve.token`"}


def test_a_run_is_left_to_the_service(here: Installation):
    queued = queue_run(here, source=None, tier=Risk.HIGH)
    assert not queued.has_engine
    assert (queued.order.tier, queued.as_json()["job"]) == (Risk.HIGH, queued.job)


def test_a_batch_on_record_is_read_without_a_run(here: Installation):
    with pytest.raises(VedetteError, match="no batch yet"):
        batch_status(here)
    filled(f"sqlite:///{here.loaded.data / DATABASE}", batch_of(2))[0].close()
    view = batch_status(here)
    assert panel_drift(here).batch == view.batch.id
    assert domain_answers(here, "D0.example").domain == "d0.example"
    assert domain_answers(here, "d0.example", models=["nobody"]).rows == ()
    assert stop_batches(here, view.batch.id) in (0, 1)
    with pytest.raises(InputError):
        domain_answers(here, "no domain")


def test_lists_of_domains_are_read_from_lines_csv_and_json():
    assert read_list(b"a.example\nb.example\n", "x.txt") == ["a.example", "b.example"]
    assert read_list(b"id;domain\n1;a.example\n", "x.txt") == ["#", "a.example"]
    assert read_registry(b'{"domains": [{"host": "a.example"}, "b.example"]}') == ["a.example", "b.example"]
