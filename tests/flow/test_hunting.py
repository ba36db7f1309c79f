"""A hunt through the whole stream: what is found waits until it is chosen, and looks go where they find most."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import timedelta
from random import Random

from scripted import Life, life

from vedette.config.model import parse
from vedette.engine.crawl.loop import Mode

SEED = "https://start.example/"
HOSTS = [f"h{n}.example" for n in range(12)]
RICH, FAILING, TRAP = "h3.example", "h5.example", "h7.example"
PAGES = 80
SOURCE = {
    "id": "hunt", "url": SEED, "lister": "crawl", "follow_hosts": ["*"], "hunt": True, "max_urls": 5000, "risk": "LOW",
}  # fmt: skip
QUICK = {
    "lanes": {"default": {"gap_min": "1s", "gap_max": "1s", "per_minute": 0}},
    "schedule": {"policy": "fixed", "interval": "30d"},
}
WORDS = (
    "rent garden price school week report council street water number office family market building".split()
)
ODD = "crow static tooth hymn lantern marrow seventh drowned whisper orchard hollow ash mirror tide bone".split()


def script(url: str, hours: float) -> tuple[int, str]:
    host, _, path = url.removeprefix("https://").partition("/")
    if path == "robots.txt":
        return 200, ""
    if url == SEED:
        return 200, _page("Links", "".join(f'<a href="https://{name}/">{name}</a> ' for name in HOSTS))
    if not path:
        names = [f"/part{n % 2}/p{n}" for n in range(PAGES)]
        if host == TRAP:
            names = ["/part0/" + "x/y/" * (n % 6) + f"p{n}" for n in range(PAGES)]
        return 200, _page(host, "".join(f'<a href="{name}">{name}</a> ' for name in names))
    if host == FAILING:
        return 503, ""
    return 200, _odd(url) if host == RICH else _plain(url)


def _odd(url: str) -> str:
    """Made by hand, long ago, drawn with signs, and it says what nobody else says."""
    draw = Random(url)
    art = "\n".join("".join(draw.choice("*+~/\\^<>|#") for _ in range(24)) for _ in range(8))
    lines = "<BR>".join(" ".join(draw.sample(ODD, 5)).upper() for _ in range(9))
    tale = " ".join(
        f"and never {draw.choice(ODD)} the {draw.choice(ODD)} of no {draw.choice(ODD)}" for _ in range(12)
    )
    return (
        f"<HTML><TITLE>{draw.choice(ODD)}</TITLE><BODY BGCOLOR=black><CENTER><FONT FACE=x>{lines}<HR>{tale}"
        f"<PRE>{art}</PRE>guestbook, webring, last updated 199{draw.randrange(10)}</FONT></CENTER></BODY></HTML>"
    )


def _plain(url: str) -> str:
    draw = Random(url)
    one = draw.choice
    said = " ".join(f"The {one(WORDS)} of the {one(WORDS)} is about the {one(WORDS)}." for _ in range(12))
    return (
        '<!doctype html><html><head><meta name="viewport"><link rel="stylesheet" href="/s.css"><title>News</title>'
        '</head><body class="p"><nav class="n"><a class="l" href="/">Home</a></nav><main class="m">'
        f'<p class="t">{said}</p></main><footer class="f">Office</footer><script src="/a.js"></script></body></html>'
    )


def _page(title: str, body: str) -> str:
    return f"<html><head><title>{title}</title></head><body><main><h1>{title}</h1>{body}</main></body></html>"


def hunting(tmp_path, **hunt: object) -> Life:
    """Half of what is looked at in this small web is odd in one way, so what is kept is set by hand."""
    return life(tmp_path, script, SOURCE, hunt={"persist_at": 24.0, **hunt}, **QUICK)


def seen(watched: Life) -> Counter[str]:
    """First looks by host."""
    urls = {url for _, url in watched.fetcher.asked if not url.endswith("robots.txt")}
    return Counter(url.split("/")[2] for url in urls)


async def test_looks_go_where_they_find_most_and_every_host_is_tried(tmp_path):
    watched = hunting(tmp_path / "hunt", looks_per_day=120)
    ended = await watched.run(seconds=26 * 3600.0)
    assert ended.error is None
    found = seen(watched)
    assert set(found) == {"start.example", *HOSTS}
    assert found[RICH] > 60
    assert max(found[name] for name in HOSTS if name != RICH) < 12
    assert watched.rows("SELECT looks FROM yields WHERE place = ''")[0][0] >= 100
    rich, failing = (
        watched.rows("SELECT * FROM yields WHERE place = ?", name)[0] for name in (RICH, FAILING)
    )
    assert rich[2] / rich[1] > 0.05  # all of it was looked at: the last of many alike are usual there
    assert failing[3] > 0
    as_they_come = life(tmp_path / "crawl", script, {**SOURCE, "hunt": False, "follow_hosts": HOSTS}, **QUICK)
    await as_they_come.run(max_visits=sum(found.values()))
    assert found[RICH] > 4 * seen(as_they_come)[RICH]


async def test_what_was_not_chosen_is_open_and_not_due(tmp_path):
    watched = hunting(tmp_path, looks_per_day=48)
    await watched.run(seconds=3600.0)
    opened = watched.rows(
        "SELECT COUNT(*) FROM prospects p JOIN watches w ON w.id = p.watch_id WHERE w.due_at IS NULL"
    )[0][0]
    assert opened > 10
    assert sum(seen(watched).values()) <= 1 + 2 + 2 + 1  # the seed, a burst, what an hour fills, and rounding


async def test_no_host_is_asked_while_its_lane_sleeps(tmp_path):
    lanes = {
        "default": {**QUICK["lanes"]["default"], "sleep": "04:00-06:00"},
        f"host:{RICH}": {"sleep": ["08:00-20:00"]},
    }
    watched = life(tmp_path, script, SOURCE, hunt={"looks_per_day": 480}, **{**QUICK, "lanes": lanes})
    began = watched.clock.now()
    ended = await watched.run(seconds=24 * 3600.0)
    assert ended.error is None
    asked = [(began + timedelta(hours=hours), url.split("/")[2]) for hours, url in watched.fetcher.asked]
    assert len(asked) > 100
    assert {at.hour for at, host in asked if host != RICH}.isdisjoint({4, 5})
    assert {at.hour for at, host in asked if host == RICH}.isdisjoint(range(8, 20))
    assert {at.hour for at, host in asked if host == RICH}  # it was asked at other times


async def test_looks_per_day_bound_the_hunt_over_restarts(tmp_path):
    watched = hunting(tmp_path, looks_per_day=48)
    for _ in range(8):
        await watched.run(seconds=6 * 3600.0)
    first = {}
    for hours, url in watched.fetcher.asked:
        if not url.endswith("robots.txt"):
            first.setdefault(url, hours)
    times = sorted(first.values())[1:]  # without the seed
    assert 80 <= len(times) <= 100  # two days
    assert all(sum(t <= x < t + 24 for x in times) <= 48 for t in times)


async def test_a_restart_goes_on_as_if_there_had_been_none(tmp_path):
    whole, parts = (hunting(tmp_path / name, looks_per_day=120) for name in ("whole", "parts"))
    await whole.run(seconds=12 * 3600.0)
    for _ in range(3):
        await parts.run(seconds=4 * 3600.0)
    assert seen(whole) == seen(parts)
    for watched in (whole, parts):
        chosen = watched.rows("SELECT number FROM hunts")[0][0]
        looked = watched.rows("SELECT looks FROM yields WHERE place = ''")[0][0]
        waiting = watched.rows("SELECT COUNT(*) FROM prospects WHERE chosen_at IS NOT NULL")[0][0]
        assert chosen == looked + waiting  # none is lost, none is chosen twice


async def test_runs_that_look_once_go_on_with_what_the_one_before_chose(tmp_path):
    watched = hunting(tmp_path)
    for _ in range(6):
        await watched.run(mode=Mode.ONCE)
        watched.clock.advance(timedelta(hours=1))
    found = seen(watched)
    assert sum(found.values()) > 50
    assert set(found) == {"start.example", *HOSTS}


async def test_every_choice_is_on_record_with_reasons_that_add_up(tmp_path):
    from vedette.core.evidence.ledger import adds_up, difference
    from vedette.store.queries import Queries
    from vedette.store.views import LedgerFilter

    watched = hunting(tmp_path)
    await watched.run(max_visits=60)
    with Queries(watched.data / "vedette.db") as queries:
        choices = [
            one for row in queries.decisions(LedgerFilter()) for one in row.decisions if one.action == "hunt"
        ]
    assert len(choices) >= 59
    assert {one.inputs["is_new"] for one in choices} == {True, False}
    for one in choices:
        assert adds_up(one.reasons, one.output["value"])
        assert difference(one) is None


async def test_a_bug_in_the_hunt_costs_a_choice_and_no_look(tmp_path, monkeypatch):
    from vedette.engine.settle import hunter

    def broken(*given, **more):
        raise ZeroDivisionError("oops")

    watched = hunting(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(hunter, "choose", broken)
        ended = await watched.run(seconds=60.0)
    assert ended.error is None
    assert any("oops" in str(event.fields) for event in watched.events if event.name == "problem")
    assert watched.rows("SELECT COUNT(*) FROM prospects WHERE chosen_at IS NULL") == [(len(HOSTS),)]
    await watched.run(max_visits=40)
    assert sum(seen(watched).values()) >= 35


async def test_when_a_source_stops_hunting_what_it_left_open_is_due(tmp_path):
    watched = hunting(tmp_path, looks_per_day=24)
    await watched.run(seconds=3600.0)
    assert watched.rows("SELECT COUNT(*) FROM watches WHERE due_at IS NULL")[0][0] > 0
    plain = {**SOURCE, "hunt": False, "follow_hosts": HOSTS}
    watched.config = parse({"sources": [plain], **QUICK})
    await watched.run(seconds=60.0)
    assert watched.rows("SELECT COUNT(*) FROM prospects") == [(0,)]
    unseen = "SELECT COUNT(*) FROM watches WHERE due_at IS NULL AND last_visit_at IS NULL"
    assert watched.rows(unseen) == [(0,)]


async def test_a_page_that_was_skipped_is_not_looked_at_again_and_a_finding_not_for_a_month(tmp_path):
    watched = hunting(tmp_path, looks_per_day=120)
    await watched.run(seconds=20 * 86_400.0)
    asked = Counter(url for _, url in watched.fetcher.asked if not url.endswith("robots.txt"))
    assert max(count for url, count in asked.items() if FAILING not in url) == 1
    looks, requests = sum(asked.values()), len(watched.fetcher.asked)
    assert looks > 300
    assert (
        requests <= 1.25 * looks
    )  # robots.txt is valid for a day, and a dozen hosts are looked at every day
    found = watched.rows("SELECT COUNT(*), MIN(w.due_at - w.last_visit_at) FROM findings f JOIN watches w "
                         "ON w.id = f.watch_id")[0]  # fmt: skip
    assert found[0] > 20
    assert found[1] >= 30 * 86_400_000


async def test_a_404_is_asked_for_once_in_the_time_of_the_failure_cache(tmp_path):
    def missing(url: str, hours: float):
        if url.endswith("robots.txt"):
            return 200, ""
        return (200, _page("Links", '<a href="/gone">gone</a>')) if url == SEED else (404, "")

    watched = life(tmp_path, missing, SOURCE, hunt={"failure_cache_seconds": 2 * 86_400}, **QUICK)
    await watched.run(seconds=5 * 86_400.0)
    times = watched.fetcher.looks("https://start.example/gone")
    assert len(times) == 3
    assert all(later - earlier >= 48.0 for earlier, later in itertools.pairwise(times))


async def test_stops_change_no_finding_and_every_score_is_decided_again_alike(tmp_path):
    from vedette.core.evidence.ledger import difference
    from vedette.core.oddness import odd_score
    from vedette.store.queries import Queries
    from vedette.store.views import LedgerFilter

    whole, parts = (
        hunting(tmp_path / name, looks_per_day=240, persist_at=None) for name in ("whole", "parts")
    )
    await whole.run(seconds=12 * 3600.0)
    for _ in range(4):
        await parts.run(seconds=3 * 3600.0)
    query = "SELECT number, watch_id, score, action, contributions FROM findings ORDER BY number"
    assert len(whole.rows(query)) > 5
    assert parts.rows(query) == whole.rows(query)
    with Queries(whole.data / "vedette.db") as queries:
        scores = [
            one
            for row in queries.decisions(LedgerFilter())
            for one in row.decisions
            if one.action == "oddness"
        ]
    assert len(scores) > 60
    assert all(difference(one) is None for one in scores)
    found = max(scores, key=lambda one: one.output["value"])
    odd_score.DEFAULT.weights[found.inputs["features"][0][0]] += 0.05  # one bent weight
    try:
        assert difference(found) is not None
    finally:
        odd_score.DEFAULT.weights[found.inputs["features"][0][0]] -= 0.05


async def test_pages_judged_again_from_the_archive_keep_their_scores_also_where_personal_data_is_left_out(
    tmp_path,
):
    from vedette.config.model import Loaded
    from vedette.operations.hunt import findings, findings_digest, rescore
    from vedette.operations.installation import Installation

    def with_addresses(url: str, hours: float) -> tuple[int, str]:
        status, body = script(url, hours)
        names = " ".join(f"{word}.{len(url)}@{word}.example" for word in Random(url).sample(ODD, 9))
        return status, body.replace("</BODY>", f"<P>{names}</P></BODY>").replace("</main>", f"{names}</main>")

    watched = life(
        tmp_path / "hunt", with_addresses, SOURCE, hunt={"looks_per_day": 240, "persist_at": 24.0}, **QUICK
    )
    await watched.run(seconds=8 * 3600.0)
    loaded = Loaded(config=watched.config, path=None, data=watched.data, digest="flow")
    installation = Installation(loaded, watched.clock)
    before = findings_digest(findings(installation))
    for workers in (1, 2):
        again = rescore(installation, workers=workers)
        assert again.from_archive > 50
        assert (again.changed, again.digest) == (0, before)
