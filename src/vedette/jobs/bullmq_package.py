"""What is used of the packages `bullmq`, `redis` and `msgpack`, which the embedded form does without.

The version of `bullmq` is held within 3.4: its scripts and the names of its arguments are used, not only its classes.
"""

from __future__ import annotations

from typing import Any

import msgpack
import redis
from bullmq.job import Job
from bullmq.redis_connection import SCRIPT_DEFINITIONS, loadScript
from bullmq.scripts import Scripts
from redis import RedisError
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError
from redis.retry import Retry

__all__ = [
    "REFUSALS",
    "SCRIPT_DEFINITIONS",
    "Job",
    "RedisError",
    "Scripts",
    "client",
    "loadScript",
    "pack",
    "place_of",
]
REFUSALS = (AuthenticationError, NoPermissionError)
TRIES_AGAIN = 1  # a connection that the server has cut since


def client(url: str, *, connect_s: float, answer_s: float) -> Any:
    """ValueError: it is no URL of Redis."""
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        socket_connect_timeout=connect_s,
        socket_timeout=answer_s,
        retry=Retry(NoBackoff(), TRIES_AGAIN),
    )


def place_of(client: Any) -> str:
    """Host and port, or the path of its socket; never the password."""
    kept = client.connection_pool.connection_kwargs
    return (
        str(kept["path"]) if "path" in kept else f"{kept.get('host', 'localhost')}:{kept.get('port', 6379)}"
    )


def pack(value: object) -> bytes:
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed
