"""What many browsers ask for at once is made once, and is never older than what they were told."""

from __future__ import annotations

import asyncio
from pathlib import Path

from web_kit import an_installation

from vedette.surface.http.web_context import SHARED_S, Web


async def test_ten_who_ask_at_once_wait_for_one_list_also_where_it_takes_long(tmp_path: Path):
    web, made = Web(an_installation(tmp_path), None), []

    async def make() -> str:
        made.append(1)
        await asyncio.sleep(SHARED_S + 0.1)
        return "list"

    assert await asyncio.gather(*(web.shared("latest", make) for _ in range(10))) == ["list"] * 10
    assert len(made) == 1


async def test_what_was_changed_here_is_made_anew_also_where_a_list_is_being_made(tmp_path: Path):
    web = Web(an_installation(tmp_path), None)
    holds, begun, may_end = ["old"], asyncio.Event(), asyncio.Event()

    async def make() -> str:
        found = holds[0]
        begun.set()
        await may_end.wait()
        return found

    first = asyncio.create_task(web.shared("latest", make))
    await begun.wait()
    holds[0] = "new"
    web.forget()  # as after a change is marked
    may_end.set()
    await first
    assert await web.shared("latest", make) == "new"
