"""`cache:consensus:{domain}` in Redis: forgotten when a domain has a new answer.  Computed elsewhere (003)."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.contracts.errors import ConfigError

KEY = "cache:consensus:{domain}"  # 003's name
WAIT_S = 2.0


class RedisConsensus:
    """Redis that is away costs nothing but the forgetting: `failed` counts it, and the answers are kept."""

    def __init__(self, url: str) -> None:
        try:
            import redis
        except ImportError:
            raise ConfigError("REDIS_URL is set; install the extra `redis`") from None
        self._weather = redis.RedisError
        try:
            self._redis = redis.Redis.from_url(url, socket_timeout=WAIT_S, socket_connect_timeout=WAIT_S)
        except ValueError:
            raise ConfigError("REDIS_URL: write redis://host:6379/0") from None
        self.done = self.failed = 0

    def forget(self, domains: Sequence[str]) -> None:
        try:
            self._redis.delete(*(KEY.format(domain=domain) for domain in domains))
            self.done += len(domains)
        except self._weather:
            self.failed += len(domains)

    def close(self) -> None:
        self._redis.close()
