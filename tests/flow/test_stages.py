"""The stages after the look, over a living web: every piece of evidence is judged once, and nothing is read twice."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from cli_call import Cli
from killing import drill
from watching import Watched, clock_of, living, living_web

from vedette.contracts.jobs import QueuedJob
from vedette.engine.stages.queue_worker import QueueWorker
from vedette.engine.stages.stage_queue import Served
from vedette.livingweb import HostSpec, World
from vedette.livingweb.process import Never

ALONE = {"stages": {"in_process": False}}


def a_world() -> World:
    specs = [
        HostSpec(name="news.example", listing="sitemap", pages=5, changes=Never()),
        HostSpec(
            name="files.example", listing="html_list", pages=6, documents=3, document_kinds=("pdf", "docx", "xlsx"),
            changes=Never(),
        ),
    ]  # fmt: skip
    return World(specs, seed=5)


async def watched(data: Path, config: dict | None = None) -> Watched:
    world = a_world()
    clock = clock_of(world)
    async with living_web(world, clock) as web:
        seen = living(world, web, data, clock=clock, config=config)
        await seen.run(seconds=3600)
    return seen


def states(seen: Watched) -> dict[tuple[str, str], int]:
    return {
        (queue, state): n
        for queue, state, n in seen.rows("SELECT queue, state, COUNT(*) FROM jobs GROUP BY 1, 2")
    }


def test_a_run_judges_every_piece_of_evidence_once_and_passes_on_what_is_worth_it(tmp_path: Path):
    seen = asyncio.run(watched(tmp_path / "data"))
    evidence = seen.rows("SELECT COUNT(*) FROM evidence")[0][0]
    words = dict(seen.rows("SELECT word, COUNT(*) FROM verdicts GROUP BY 1"))
    going_on = words.get("persist", 0) + words.get("escalate", 0)
    assert sum(words.values()) == evidence
    assert words["skip"] == 2  # the two listings
    assert going_on == 11
    assert states(seen) == {
        ("scout", "done"): evidence, ("router", "done"): 11, ("extract", "done"): 11, ("embed", "done"): 11,
    }  # fmt: skip


def test_the_last_word_of_a_run_is_how_it_ended_whatever_a_stage_says_at_the_end(tmp_path: Path, monkeypatch):
    async def late(worker: QueueWorker, *, within: timedelta) -> None:
        job = QueuedJob(
            queue="scout",
            id="scout-1",
            name="scout",
            data={},
            attempt=1,
            added_at=worker.queue.clock.now(),
            worker="w",
        )
        worker.queue.on_served([Served(job=job, is_done=False, error="late")], within)

    monkeypatch.setattr(QueueWorker, "settle_down", late)
    seen = asyncio.run(watched(tmp_path / "data"))
    names = [event.name for event in seen.events]
    assert names[-3:] == ["job_failed", "run_result", "run_ended"]


def test_verdicts_are_in_the_ledger_and_replay_decides_them_alike(tmp_path: Path):
    seen = asyncio.run(watched(tmp_path / "data"))
    evidence = seen.rows("SELECT COUNT(*) FROM evidence")[0][0]
    cli = Cli(seen.data)
    assert json.loads(cli("replay", "--json").out)["agreed"]["verdict"] == evidence
    with sqlite3.connect(seen.data / "vedette.db") as db:
        db.execute('UPDATE ledger SET payload = replace(payload, \'"word":"skip"\', \'"word":"persist"\')')
    again = cli("replay", "--json")
    assert again.code == 6
    assert json.loads(again.out)["differing"] == {"verdict": 2}


def test_documents_are_linked_to_the_text_that_the_look_made(tmp_path: Path):
    seen = asyncio.run(watched(tmp_path / "data"))
    made = dict(seen.rows("SELECT evidence_id, path FROM artifacts WHERE kind = 'text'"))
    at = dict(seen.rows("SELECT a.evidence_id, a.at - v.at FROM artifacts a JOIN visits v ON v.id = a.evidence_id "
                        "WHERE a.kind = 'text'"))  # fmt: skip
    results = [json.loads(text) for (text,) in seen.rows("SELECT result FROM jobs WHERE queue = 'extract'")]
    linked = {int(said["evidenceId"]): said["text"] for said in results if said["text"] != "evidence"}
    assert len(made) == 3
    assert linked == made
    assert set(at.values()) == {0}  # written by the look, not by the job


def test_vectors_are_kept_beside_the_evidence(tmp_path: Path):
    seen = asyncio.run(watched(tmp_path / "data"))
    sizes = seen.rows("SELECT LENGTH(vector), COUNT(*) FROM verdicts WHERE word <> 'skip' GROUP BY 1")
    assert sizes == [(512, 11)]


def test_a_run_that_makes_no_vectors_leaves_none_and_queues_none(tmp_path: Path):
    seen = asyncio.run(watched(tmp_path / "data", {"stages": {"embed": False}}))
    assert seen.rows("SELECT COUNT(vector) FROM verdicts") == [(0,)]
    assert ("embed", "done") not in states(seen)


def test_jobs_wait_for_a_worker_where_the_run_does_not_serve_them(tmp_path: Path):
    seen = asyncio.run(watched(tmp_path / "data", ALONE))
    waiting = states(seen)
    assert set(waiting) == {("scout", "waiting")}
    cli = Cli(seen.data)
    assert cli("worker", "--queues", "scuot", "--until-idle").code == 2
    assert cli("worker", "--queues", "scout,router", "--until-idle").code == 0
    assert states(seen)[("extract", "waiting")] == 11
    assert json.loads(cli("worker", "--until-idle", "--json").out.splitlines()[-1])["completed"] == 22
    assert {state for _, state in states(seen)} == {"done"}


def test_explain_tells_the_verdict_with_points_that_add_up(tmp_path: Path):
    seen = asyncio.run(watched(tmp_path / "data"))
    url = seen.rows("SELECT url FROM watches WHERE url LIKE '%news.example%' AND lister IS NULL")[0][0]
    said = Cli(seen.data)("explain", url, "--json").json["verdict"]
    assert said["verdict"] in ("persist", "escalate")
    assert sum(reason["points"] for reason in said["reasons"]) == pytest.approx(said["score"])
    assert f"verdict   {said['verdict']}" in Cli(seen.data)("explain", url).out


def test_a_second_page_with_the_same_text_is_a_duplicate(tmp_path: Path):
    seen = asyncio.run(watched(tmp_path / "data", ALONE))
    ids = [
        n
        for (n,) in seen.rows("SELECT id FROM evidence WHERE content_class = 'HTML' ORDER BY id DESC LIMIT 2")
    ]
    with sqlite3.connect(seen.data / "vedette.db") as db:
        key = db.execute("SELECT text_key FROM verdicts WHERE evidence_id = ?", ids[1:]).fetchone()[0]
        db.execute("UPDATE verdicts SET text_key = ? WHERE evidence_id = ?", (key, ids[0]))
    Cli(seen.data)("worker", "--until-idle")
    assert seen.rows("SELECT word, reasons FROM verdicts WHERE evidence_id = ?", ids[0]) == [
        (
            "skip",
            json.dumps([["duplicate", 0.0, f"evidence {ids[1]} has the same text"]], separators=(",", ":")),
        )
    ]


def test_a_vector_that_cannot_be_made_is_told_and_stops_nothing(tmp_path: Path):
    seen = asyncio.run(watched(tmp_path / "data", ALONE))
    with sqlite3.connect(seen.data / "vedette.db") as db:
        db.execute("UPDATE verdicts SET vector = NULL")  # as if the look had not been able to
    for file in (seen.data / "archive").glob("*.warc.gz"):
        file.rename(file.with_suffix(".away"))
    done = Cli(seen.data)("worker", "--until-idle", "--json")
    failed = [json.loads(line) for line in done.out.splitlines()[:-1]]
    assert done.code == 0
    assert {line["queue"] for line in failed} == {"embed"}
    found = states(seen)
    assert found[("extract", "done")] == 11
    assert found[("embed", "waiting")] > 0  # tried again later


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kills_leave_no_evidence_without_its_scout_job_and_none_with_two(tmp_path: Path):
    with drill(tmp_path, seed=11) as one:
        summary = one.run(6)
    # Hosts that must be closed are the claim of the long drill of `test_kill.py`.
    found = {name: told for name, told in summary.problems.by_name.items() if told and name != "impolite"}
    assert found == {}
    assert summary.violations == 0
    with sqlite3.connect(tmp_path / "data" / "vedette.db") as db:
        assert db.execute("SELECT COUNT(*) FROM verdicts WHERE word IS NOT NULL").fetchone()[0] > 0
