"""A page changes, and whoever is to hear of it hears of it: through the whole stream, over a real webhook."""

from __future__ import annotations

from receivers import SECRET, receiver
from scripted import life, page

URL = "https://ured.hr/obavijest"
A, B = page("Stopa je 25 %."), page("Stopa je 24 %.")


def script(url: str, hours: float) -> tuple[int, str]:
    return (200, "") if url.endswith("robots.txt") else (200, B if 6 <= hours < 14 else A)


async def test_every_change_is_told_once_to_those_whom_the_rules_name(tmp_path):
    async with receiver(answers=[500]) as far:
        hook = {
            "kind": "webhook",
            "url": far.url,
            "secret": SECRET,
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": [far.port],
        }
        notify = {
            "channels": {"all": hook, "grave": {"kind": "stdout"}},
            "rules": [{"channel": "all"}, {"channel": "grave", "risk": "CRITICAL"}],
            "shortest": "50ms",
            "longest": "50ms",
        }
        watched = life(tmp_path, script, {"url": URL, "lister": "page", "risk": "HIGH"}, notify=notify)
        await watched.run(seconds=30 * 3600)
    changes = [f"change-{number}" for (number,) in watched.rows("SELECT id FROM changes ORDER BY id")]
    assert len(changes) == 2
    assert sorted({number for number, _ in far.told}) == sorted(changes)
    assert len(far.told) == 3  # the first attempt was refused
    assert far.forged == 0
    assert watched.rows("SELECT DISTINCT channel, state FROM outbox") == [("all", "sent")]
