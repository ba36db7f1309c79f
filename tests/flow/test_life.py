"""The life of one page through the whole stream: changes, returns, removals, refusals, variants."""

from __future__ import annotations

from random import Random

import fastwarc
import pytest
import warcio
from scripted import life, page

URL = "https://ured.hr/obavijest"
A, B = page("Stopa je 25 %."), page("Stopa je 24 %.")


def only(text_of):
    """A script for one page; robots.txt is missing."""
    return lambda url, hours: (200, "") if url.endswith("robots.txt") else text_of(url, hours)


async def test_a_to_b_to_a_is_two_changes_with_two_pieces_of_evidence(tmp_path):
    watched = life(
        tmp_path, only(lambda url, h: (200, B if 6 <= h < 14 else A)), {"url": URL, "lister": "page"}
    )
    await watched.run(seconds=30 * 3600)
    reported = watched.reported()
    assert [kind for _, _, _, kind in reported] == ["changed", "changed"]
    assert watched.rows("SELECT COUNT(*) FROM evidence") == [(2,)]
    assert "25" in watched.rows("SELECT summary FROM changes ORDER BY observed_at")[0][0]


def behind_a_cache(hours: float) -> str:
    """A page that is made anew every five minutes, with a quote, a token and visitors; edited after 150 hours."""
    chance = Random(int(hours * 12))
    quote = " ".join(chance.choice("rijeka more otok luka grad polje šuma".split()) for _ in range(6))
    said = f"<p>{quote}.</p><p>Oznaka {chance.randrange(10**9)}</p><p>Posjeta: {chance.randrange(9000)}</p>"
    return page("Stopa je 24 %." if hours >= 150 else "Stopa je 25 %.").replace("</body>", said + "</body>")


async def test_what_a_cache_keeps_for_minutes_is_learned_and_an_edit_beside_it_is_reported(tmp_path):
    assert "Oznaka" in behind_a_cache(1)
    script = only(lambda url, h: (200, behind_a_cache(h)))
    watched = life(tmp_path, script, {"url": URL, "lister": "page", "risk": "CRITICAL"})
    await watched.run(seconds=240 * 3600)
    began = watched.rows("SELECT MIN(at) FROM visits")[0][0]
    told = [
        ((at - began) / 3_600_000, summary)
        for at, summary in watched.rows("SELECT observed_at, summary FROM changes WHERE state = 'reported'")
    ]
    assert len([at for at, _ in told if at < 72]) <= 16
    assert ["24" in summary for at, summary in told if at >= 72] == [True]


async def test_a_page_that_stays_the_same_is_kept_once_and_seen_often(tmp_path):
    watched = life(tmp_path, only(lambda url, h: (200, A)), {"url": URL, "lister": "page"})
    await watched.run(seconds=48 * 3600)
    visits = watched.rows("SELECT COUNT(*), SUM(kind = 'identical') FROM visits")[0]
    assert visits[0] > 8
    assert visits[1] == visits[0] - 1
    assert watched.reported() == []


async def test_every_revisit_refers_to_the_response_with_its_payload_and_not_to_another_revisit(tmp_path):
    """Over many looks, over a day's end, and for a page whose bytes were first seen elsewhere."""
    other = "https://ured.hr/preslika"
    watched = life(
        tmp_path, only(lambda url, h: (200, A)), *({"url": url, "lister": "page"} for url in (URL, other))
    )
    await watched.run(seconds=48 * 3600)
    responses, revisits = {}, []
    for path in sorted((tmp_path / "archive").glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in warcio.ArchiveIterator(file):
                head = dict(record.rec_headers.headers)
                if record.rec_type == "response":
                    responses[head["WARC-Record-ID"]] = (head["WARC-Target-URI"], head["WARC-Date"])
                elif record.rec_type == "revisit":
                    revisits.append(head)
    assert len(list((tmp_path / "archive").glob("*.warc.gz"))) > 1
    assert len(responses) == 1
    assert {head["WARC-Target-URI"] for head in revisits} == {URL, other}
    for head in revisits:
        named = (head["WARC-Refers-To-Target-URI"], head["WARC-Refers-To-Date"])
        assert responses[head["WARC-Refers-To"]] == named
    path = next((tmp_path / "archive").glob("*.warc.gz"))
    kinds = fastwarc.WarcRecordType.revisit
    fast = list(fastwarc.ArchiveIterator(path.open("rb"), record_types=kinds))
    assert {record.headers["WARC-Refers-To"] for record in fast} == set(responses)


async def test_a_page_that_is_gone_twice_is_reported_as_removed_once_and_as_restored_once(tmp_path):
    script = only(lambda url, h: (404, "nema") if 6 <= h < 200 else (200, A))
    watched = life(tmp_path, script, {"url": URL, "lister": "page"})
    await watched.run(seconds=500 * 3600)
    assert [kind for *_, kind in watched.reported()] == ["removed", "restored"]


async def test_a_page_that_fails_is_neither_changed_nor_removed_and_is_parked_after_three_attempts(tmp_path):
    watched = life(
        tmp_path, only(lambda url, h: (500, "x") if h >= 6 else (200, A)), {"url": URL, "lister": "page"}
    )
    await watched.run(seconds=20 * 3600)
    assert watched.reported() == []
    assert watched.rows("SELECT attempts, outcome FROM parked") == [(3, "server_error")]
    assert watched.outcomes()["server_error"] == 3


async def test_a_change_that_goes_away_before_the_second_look_is_not_reported(tmp_path):
    looks = []

    def once(url, hours):
        looks.append(hours)
        return (200, B if len(looks) == 3 else A)

    watched = life(tmp_path, only(once), {"url": URL, "lister": "page"})
    await watched.run(seconds=24 * 3600)
    assert watched.reported() == []
    assert watched.rows("SELECT state FROM changes") == [("rejected",)]


async def test_noise_of_a_kind_made_up_here_is_masked_after_two_looks_and_a_real_edit_still_shows(tmp_path):
    count = [0]

    def noisy(url, hours):
        count[0] += 1
        flag = "⚑" * (count[0] % 7) + format(count[0] * 7919, "x")
        return (
            200,
            page("Stopa je 24 %." if hours > 60 else "Stopa je 25 %.", f"Zastavica dana: {flag} kraj."),
        )

    watched = life(tmp_path, only(noisy), {"url": URL, "lister": "page"})
    await watched.run(seconds=50 * 3600)
    assert watched.reported() == []
    await watched.run(seconds=50 * 3600)
    assert len(watched.reported()) == 1
    assert "25" in watched.rows("SELECT summary FROM changes WHERE state = 'reported'")[0][0]


async def test_retry_after_holds_the_whole_lane_and_survives_a_restart(tmp_path):
    def busy(url, hours):
        return (429, "polako", {"retry-after": "7200"}) if 3 < hours < 5 else (200, A)

    watched = life(
        tmp_path,
        only(busy),
        {"url": URL, "lister": "page"},
        {"url": "https://ured.hr/drugo", "lister": "page"},
    )
    await watched.run(seconds=4.5 * 3600)
    throttled = [h for h, _ in watched.fetcher.asked if 3 < h < 5]
    assert throttled
    await watched.run(seconds=4 * 3600)
    later = [h for h, _ in watched.fetcher.asked if h > throttled[0]]
    assert later
    assert min(later) >= throttled[0] + 2


async def test_five_failures_close_the_lane_and_a_restart_does_not_open_it(tmp_path):
    urls = [f"https://ured.hr/{n}" for n in range(8)]
    sources = [{"url": url, "lister": "page"} for url in urls]
    watched = life(tmp_path, only(lambda url, h: (502, "x")), *sources)
    await watched.run(seconds=1200)
    asked = len(watched.fetcher.asked)
    await watched.run(seconds=1200)
    assert len(watched.fetcher.asked) == asked
    assert watched.rows("SELECT failures >= 5, closed_until IS NOT NULL FROM lanes") == [(1, 1)]


async def test_another_spelling_with_the_same_text_becomes_one_target(tmp_path):
    head = '<link rel="canonical" href="https://ured.hr/obavijest">'
    site = only(lambda url, h: (200, page("Stopa je 25 %.", head=head)))
    watched = life(tmp_path, site, {"url": "https://ured.hr/obavijest?view=print", "lister": "page"})
    await watched.run(seconds=24 * 3600)
    rows = watched.rows("SELECT url, merged_into IS NOT NULL, due_at IS NULL FROM watches ORDER BY url")
    assert rows == [(URL, 0, 0), (f"{URL}?view=print", 1, 1)]


BAD_ANSWERS = {
    "client_error": (403, "who are you?"),
    "login_wall": (401, "log in"),
    "redirect_error": (302, "", {"location": URL}),
    "soft_404": (200, page("Page not found", title="404 Not Found")),
}


@pytest.mark.parametrize("policy", ["learned", "seed-ewma"])
@pytest.mark.parametrize("outcome", BAD_ANSWERS)
async def test_one_bad_answer_does_not_put_a_critical_page_off_for_a_day(tmp_path, outcome: str, policy: str):
    given: list[float] = []

    def site(url, hours):
        if url.endswith("robots.txt"):
            return (404, "")
        if hours >= 3 and not given:
            given.append(hours)
            return BAD_ANSWERS[outcome]
        return (200, B if given and hours >= given[0] + 1 else A)

    source = {"url": URL, "lister": "page", "risk": "CRITICAL"}
    watched = life(tmp_path, site, source, schedule={"policy": policy})
    await watched.run(seconds=12 * 3600)
    began = watched.rows("SELECT MIN(at) FROM visits")[0][0]
    assert outcome in watched.outcomes()
    ((seen_at,),) = watched.rows("SELECT observed_at FROM changes WHERE state = 'reported'")
    assert (seen_at - began) / 3_600_000 < given[0] + 1 + 4


@pytest.mark.parametrize("policy", ["learned", "seed-ewma"])
async def test_a_restart_and_then_a_refusal_do_not_put_a_critical_page_off_for_a_day(tmp_path, policy: str):
    """503, and for the few minutes in which it is tried again 403: as sites are deployed."""
    given: list[float] = []

    def site(url, hours):
        if url.endswith("robots.txt"):
            return (404, "")
        if hours >= 3 and (not given or hours < given[0] + 0.1):
            given.append(hours)
            return (503, "restarting") if len(given) == 1 else (403, "maintenance")
        return (200, B if given and hours >= given[0] + 1 else A)

    source = {"url": URL, "lister": "page", "risk": "CRITICAL"}
    watched = life(tmp_path, site, source, schedule={"policy": policy})
    await watched.run(seconds=12 * 3600)
    began = watched.rows("SELECT MIN(at) FROM visits")[0][0]
    ((seen_at,),) = watched.rows("SELECT observed_at FROM changes WHERE state = 'reported'")
    assert (seen_at - began) / 3_600_000 < given[0] + 1 + 4


async def test_a_page_that_stays_refused_is_left_alone(tmp_path):
    site = only(lambda url, h: (200, A) if h < 3 else (403, "who are you?"))
    watched = life(tmp_path, site, {"url": URL, "lister": "page", "risk": "CRITICAL"})
    await watched.run(seconds=60 * 3600)
    assert watched.outcomes()["client_error"] <= 4


async def test_a_robots_txt_that_fails_for_minutes_holds_no_page_up_for_a_day(tmp_path):
    def site(url, hours):
        if url.endswith("robots.txt"):
            return (503, "down") if hours < 0.5 else (404, "")
        return (200, A)

    pages = [
        {"url": f"{URL}/{n}", "lister": "page", "risk": risk} for n, risk in enumerate(("LOW", "CRITICAL"))
    ]
    watched = life(tmp_path, site, *pages)
    await watched.run(seconds=4 * 3600)
    assert watched.rows("SELECT COUNT(*) FROM watches WHERE last_outcome = 'ok'") == [(2,)]
    asked = [round(hours, 2) for hours, url in watched.fetcher.asked if url.endswith("robots.txt")]
    assert len(asked) <= 4, "it is asked after 10, 20, ... minutes, whoever waits for it"


async def test_a_redirect_to_another_host_takes_that_hosts_robots_and_lane(tmp_path):
    def moved(url, hours):
        if url == "https://drugi.hr/robots.txt":
            return (200, "User-agent: *\nDisallow: /tajno/")
        if url.endswith("robots.txt"):
            return (200, "")
        return (302, "", {"location": "https://drugi.hr/tajno/1"}) if "ured" in url else (200, A)

    watched = life(tmp_path, moved, {"url": URL, "lister": "page"})
    await watched.run(seconds=600)
    assert watched.outcomes() == {"robots_refused": 1}
    assert [url for _, url in watched.fetcher.asked if "tajno" in url] == []


async def test_a_bug_of_ours_parks_the_job_and_the_others_go_on(tmp_path):
    def broken(url, hours):
        if "lose" in url and not url.endswith("robots.txt"):
            raise ValueError("a fault of ours")
        return (200, "") if url.endswith("robots.txt") else (200, A)

    watched = life(
        tmp_path, broken, {"url": "https://lose.hr/x", "lister": "page"}, {"url": URL, "lister": "page"}
    )
    await watched.run(seconds=600)
    assert watched.outcomes() == {"bug": 1, "ok": 1}
    assert watched.rows("SELECT detail FROM parked") == [("ValueError: a fault of ours",)]


async def test_a_second_look_that_comes_late_does_not_take_another_edit_for_noise(tmp_path):
    """Between the two looks the page is edited again: both edits are real, and the place stays visible."""
    texts = {0: "Stopa je 25 %.", 1: "Stopa je 24 %.", 2: "Stopa je 23 %.", 3: "Stopa je 22 %."}

    def edited(url, hours):
        return (200, page(texts[0 if hours < 4 else 1 if hours < 4.9 else 2 if hours < 30 else 3]))

    late = {"run": {"confirm_after": "1h"}}
    watched = life(tmp_path, only(edited), {"url": URL, "lister": "page"}, **late)
    await watched.run(seconds=60 * 3600)
    summaries = watched.rows("SELECT summary FROM changes WHERE state = 'reported' ORDER BY observed_at")
    assert ["25 %" in summaries[0][0], "22 %" in summaries[-1][0]] == [True, True]


async def test_an_edit_between_two_looks_is_a_change_of_its_own_with_its_own_evidence(tmp_path):
    looks = [0]

    def edited(url, hours):
        looks[0] += hours >= 4
        return (
            200,
            page("Stopa je 25 %." if hours < 4 else "Stopa je 24 %." if looks[0] < 2 else "Stopa je 23 %."),
        )

    watched = life(tmp_path, only(edited), {"url": URL, "lister": "page"})
    await watched.run(seconds=20 * 3600)
    rows = watched.rows(
        "SELECT summary, before_evidence, after_evidence FROM changes WHERE state = 'reported' ORDER BY observed_at"
    )
    assert [row[0].split(": ")[1] for row in rows] == ["'25 %' -> '24 %'", "'24 %' -> '23 %'"]
    assert rows[0][2] == rows[1][1]
    assert len(watched.rows("SELECT id FROM evidence")) == 3
