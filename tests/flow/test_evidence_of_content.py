"""What is evidence in the sense of 001: content, each state once.  Noise and errors are kept, and are not evidence."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from scripted import Life, life, page

URL = "https://ured.hr/obavijest"
STAGES = {"stages": {"in_process": False}}
BAD = {403: "client_error", 404: "gone", 500: "server_error", 503: "server_error"}


def token(seed: int, hours: float) -> str:
    return hashlib.sha256(f"{seed} {hours}".encode()).hexdigest()


def noisy(seed: int, hours: float, said: str) -> str:
    """A clock, a CSRF token and a counter of visitors that differ at every look."""
    minute = int(hours * 60) + seed
    clock = f"{minute // 60 % 24:02}:{minute % 60:02}:{int(hours * 3600) % 60:02}"
    head = f'<meta name="csrf-token" content="{token(seed, hours)}">'
    form = f'<form><input type="hidden" name="_token" value="{token(seed + 1, hours)}"></form>'
    return page(
        said, f"Stranica je izrađena u {clock}.", f"Posjeta: {1000 + int(hours * 3600)}", form, head=head
    )


async def watched(folder: Path, text_of, looks: int) -> Life:
    made = life(
        folder,
        lambda url, hours: (200, "") if url.endswith("robots.txt") else text_of(hours),
        {"url": URL, "lister": "page"},
        **STAGES,
    )
    await made.run(seconds=looks * 4 * 3600)
    return made


@pytest.mark.parametrize("seed", range(6))
async def test_looks_at_a_page_that_differs_by_noise_make_evidence_once_per_state(tmp_path: Path, seed: int):
    edited = 20 + seed * 4
    seen = await watched(
        tmp_path, lambda h: (200, noisy(seed, h, f"Stopa je {25 if h < edited else 24} %.")), looks=25
    )
    looks = seen.rows("SELECT COUNT(*) FROM visits WHERE outcome = 'ok'")[0][0]
    assert looks > 20
    assert [kind for _, _, _, kind in seen.reported()] == ["changed"]
    view = seen.rows('SELECT id, hasChanged, contentHash FROM "RegulatoryEvidence" ORDER BY fetchedAt')
    assert [changed for _, changed, _ in view] == [0, 1]
    jobs = seen.rows("SELECT queue, id FROM jobs ORDER BY number")
    assert jobs == [("scout", f"scout-{number}") for number, _, _ in view]
    (item,) = seen.rows('SELECT evidenceId, contentHash FROM "DiscoveredItem"')
    assert item == (view[1][0], view[1][2])
    kept = seen.rows("SELECT COUNT(DISTINCT digest), COUNT(DISTINCT evidence_id) FROM visits")[0]
    assert kept == (looks, looks), "the bytes of every look are kept"
    orphans = seen.rows("SELECT COUNT(*) FROM evidence WHERE standing = 'noise' AND same_as NOT IN "
                        "(SELECT id FROM evidence WHERE standing = 'content')")  # fmt: skip
    assert orphans == [(0,)]


@pytest.mark.parametrize("status", BAD)
async def test_an_error_body_is_kept_with_its_status_and_is_no_evidence(tmp_path: Path, status: int):
    seen = await watched(tmp_path, lambda h: (status, page(f"Greška {status}")), looks=2)
    assert seen.rows('SELECT COUNT(*) FROM "RegulatoryEvidence"') == [(0,)]
    assert seen.rows("SELECT COUNT(*) FROM jobs") == [(0,)]
    rows = seen.rows("SELECT DISTINCT e.standing, v.status FROM evidence e JOIN visits v ON v.id = e.id")
    assert rows == [("no_content", status)]


async def test_a_block_page_is_no_evidence_and_the_page_before_it_stays(tmp_path: Path):
    wall = page("Checking your browser before accessing", title="Just a moment...")
    seen = await watched(tmp_path, lambda h: (200, page("Stopa je 25 %.")) if h < 2 else (403, wall), looks=4)
    assert len(seen.rows('SELECT id FROM "RegulatoryEvidence"')) == 1
    assert seen.rows("SELECT COUNT(*) FROM jobs") == [(1,)]
    assert seen.rows('SELECT evidenceId FROM "DiscoveredItem"') == seen.rows(
        'SELECT id FROM "RegulatoryEvidence"'
    )


async def test_a_state_that_comes_back_is_no_new_evidence(tmp_path: Path):
    seen = await watched(
        tmp_path, lambda h: (200, page(f"Stopa je {24 if 8 <= h < 30 else 25} %.")), looks=15
    )
    assert len(seen.reported()) == 2
    assert len(seen.rows('SELECT id FROM "RegulatoryEvidence"')) == 2
    assert seen.rows("SELECT COUNT(*) FROM jobs") == [(2,)]
