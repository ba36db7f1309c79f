"""The program with its archive in a bucket: it looks, pauses while the bucket is away, and everything can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from bucket_kit import bucket_server
from surroundings_kit import a_program

pytestmark = pytest.mark.slow
KEYS = {"AWS_ACCESS_KEY_ID": "who", "AWS_SECRET_ACCESS_KEY": "let us in"}


async def test_a_bucket_that_goes_away_pauses_the_run_and_when_it_is_back_the_run_goes_on(tmp_path: Path):
    with bucket_server() as server:
        server.ask("PUT", "kept")
        evidence = {"storage": "s3://kept/of/us", "endpoint": server.endpoint}
        async with a_program(tmp_path, hosts=3, pages=6, settings={"evidence": evidence}) as program:
            code, _, err = await program("run", "--seconds", "1")
            assert (code, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment" in err) == (
                4,
                True,
            )
            program.environment |= KEYS
            running = await program.start("run", "--json")
            await running.until("visited", 30)
            server.pause()
            await running.until("paused", within=90)
            (paused,) = (line for line in running.lines if line["event"] == "paused")
            assert "the bucket kept at http://127.0.0.1" in paused["what"]
            server.resume()
            await running.until("visited", 30)
            assert await running.stop() == 0
            assert running.count("resumed") == 1
            await program.check_whole()
            visits = {line["visit"] for line in running.lines if line["event"] == "visited"}
            code, (shown,), _ = await program("evidence", "verify", "--quick", "--json")
            assert shown["visits"] >= len(visits)
            code, (done,), err = await program("gc", "--json")
            assert (code, done["segments"]) == (0, [])
            await program.check_whole()
            assert not list((program.data / "archive").glob("*.warc.gz"))
            server.ask("DELETE", "kept")  # refused while there is something in it
            code, _, err = await program("run", "--seconds", "1")
            assert code == 0
        server.process.kill()
        server.process.wait()
        code, _, err = await program("evidence", "verify")
        assert (code, "does not answer" in err) == (5, True)
