"""Spec 003's keys in Redis: what runs that use the same providers share.

    rl:{provider}:{key}                      token bucket of a key: `next_us` (when it has a token again), `taken`
    cb:{provider}                            circuit: closed, open or half-open; lapses when it holds no longer
    lock:crawl:{batch}:{domain}:{provider}   whose cell it is while it is asked
    cache:consensus:{domain}                 forgotten when a domain has a new answer; computed elsewhere

One thread talks to Redis, so nothing else ever waits for it longer than `WAIT_S`.  When it does not answer it is away:
everything passes, it is tried again once a second, and what has to be forgotten is kept for then.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, TypeVar

from vedette.contracts.errors import ConfigError
from vedette.contracts.panel_run import BatchId, Circuit, Told
from vedette.contracts.ports import Clock
from vedette.contracts.words import LaneKey

WAIT_S = 0.5
LOCK = timedelta(
    minutes=3
)  # renewed while the cell waits; a run that died locks others out no longer than this
RENEW = timedelta(minutes=1)
CLOSED = timedelta(hours=1)  # how long a word that all is well is kept
PROBE = timedelta(seconds=20)  # a probe has ended by then
GROUP = 500  # keys in one word to Redis
MOST_PENDING = 200_000  # domains that wait to be forgotten
# Redis 5 and later: the server's clock is the one that all runs share.
TAKE = """
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local next = tonumber(redis.call('HGET', KEYS[1], 'next_us') or '0')
if next < now then next = now end
local after = next + ARGV[1] * ARGV[2]
redis.call('HSET', KEYS[1], 'next_us', string.format('%.0f', after))
redis.call('HINCRBY', KEYS[1], 'taken', ARGV[2])
redis.call('PEXPIRE', KEYS[1], math.ceil((after - now) / 1000) + 120000)
return string.format('%.0f', next - now)
"""
CLAIM = """
local ours = {}
for n, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if not owner or owner == ARGV[1] then
    redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
    ours[n] = 1
  else
    ours[n] = 0
  end
end
return ours
"""
FREE = """
local freed = 0
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then freed = freed + redis.call('DEL', key) end
end
return freed
"""
_Found = TypeVar("_Found")


class RedisBoard:
    """Implements `contracts.panel_run.Board` and `ConsensusCache`.  `owner`: the same after a restart."""

    def __init__(self, url: str, *, owner: str, clock: Clock) -> None:
        self._client, self._weather = _connect(url)
        self._take, self._claim, self._free = map(self._client.register_script, (TAKE, CLAIM, FREE))
        self._owner = owner
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="panel-redis")
        self._locks: Counter[str] = Counter()  # how many cells of a domain and model wait or are asked
        self._renewed_at: datetime = clock.now()
        self._circuits: dict[str, Circuit] = {}
        self._pending: set[str] = set()  # domains whose consensus has to be forgotten
        self.is_away = False
        self.outages = 0
        self.ops = 0  # keys read or written
        self.unforgotten = 0  # domains whose consensus is still cached although they were answered
        self._is_closed = False

    async def claim(self, batch: BatchId, places: Sequence[tuple[str, str]]) -> Sequence[bool]:
        keys = [_lock(batch, place) for place in places]
        ours = None if self.is_away else await self._ask(self._claim_all, keys)
        found = [True] * len(keys) if ours is None else ours
        self._locks.update(key for key, is_ours in zip(keys, found, strict=True) if is_ours)
        return found

    def release(self, batch: BatchId, places: Sequence[tuple[str, str]]) -> None:
        free = []
        for key in (_lock(batch, place) for place in places):
            self._locks[key] -= 1
            if self._locks[key] <= 0:
                del self._locks[key]
                free.append(key)
        if free and not self.is_away:
            self._thread.submit(self._do, self._free_all, free)

    async def slots(self, lane: LaneKey, per_minute: float, count: int) -> Sequence[timedelta]:
        if self.is_away:
            return ()
        each = 60_000_000 / per_minute
        key = "rl:" + lane.partition(":")[2].replace("/", ":")
        first = await self._ask(self._take_slots, (key, each, count))
        return () if first is None else [timedelta(microseconds=first + n * each) for n in range(count)]

    async def exchange(self, mine: Mapping[str, Told]) -> Mapping[str, Told]:
        """Also the moment to see whether Redis is back, to renew locks and to forget what is left."""
        return await self._ask(self._exchange, dict(mine)) or {}

    def forget(self, domains: Sequence[str]) -> None:
        """Soon, and never in the caller's time.  What Redis cannot hear now it hears later."""
        room = MOST_PENDING - len(self._pending)
        self.unforgotten += max(0, len(domains) - room)
        self._pending.update(domains[: max(0, room)])
        if not self.is_away:
            self._thread.submit(self._do, self._forget, None)

    def close(self) -> None:
        """Locks that are left are given back, what is left to forget is forgotten, if Redis is there."""
        if self._is_closed:
            return
        self._is_closed = True
        for work in (self._forget, lambda _: self._free_all(list(self._locks))):
            self._thread.submit(self._do, work, None, is_last=True)
        self._thread.shutdown()
        self.unforgotten += len(self._pending)
        self._client.close()

    async def _ask(self, work: Callable[[Any], _Found], given: object) -> _Found | None:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work, given)

    def _do(self, work: Callable[[Any], _Found], given: object, *, is_last: bool = False) -> _Found | None:
        """In the thread.  None: Redis is away, or has just gone."""
        is_trial = is_last or work == self._exchange
        if self.is_away and not is_trial:
            return None
        try:
            found = work(given)
        except self._weather:
            self.outages += not self.is_away
            self.is_away = True
            return None
        self.is_away = False
        return found

    def _claim_all(self, keys: Sequence[str]) -> list[bool]:
        ours: list[bool] = []
        for group in _groups(keys):
            self.ops += len(group)
            told = self._claim(keys=group, args=[self._owner, _ms(LOCK)])
            ours += [bool(one) for one in told]
        return ours

    def _free_all(self, keys: Sequence[str]) -> None:
        for group in _groups(keys):
            self.ops += len(group)
            self._free(keys=group, args=[self._owner])

    def _take_slots(self, given: tuple[str, float, int]) -> float:
        key, each, count = given
        self.ops += 1
        return float(self._take(keys=[key], args=[each, count]))

    def _forget(self, _: object) -> None:
        """A domain is taken out before Redis hears of it: one that is answered meanwhile is forgotten once more."""
        while self._pending:
            group = [self._pending.pop() for _ in range(min(GROUP, len(self._pending)))]
            try:
                self._client.delete(*(f"cache:consensus:{domain}" for domain in group))
            except self._weather:
                self._pending.update(group)
                raise
            self.ops += len(group)

    def _exchange(self, mine: dict[str, Told]) -> dict[str, Told]:
        if self.is_away:  # what it knew may be gone
            self._client.ping()
            self._circuits.clear()
        self._renew()
        self._forget(None)
        line = self._client.pipeline(transaction=False)
        for provider, told in mine.items():
            known = self._circuits.get(provider)  # None: just come, so not to talk over others
            if known is not told.circuit or told.circuit is Circuit.OPEN:  # open again, and for longer
                is_guess = known is None and told.circuit is Circuit.CLOSED
                line.set(f"cb:{provider}", told.circuit.value, px=_ms(_holds(told)), nx=is_guess)
        news = len(line)
        for provider in mine:
            line.get(f"cb:{provider}")
            line.pttl(f"cb:{provider}")
        found = line.execute()[news:]
        self.ops += news + len(found)
        self._circuits = {provider: told.circuit for provider, told in mine.items()}
        pairs = zip(mine, found[::2], found[1::2], strict=True)
        return {name: _told(word, left) for name, word, left in pairs if word in _WORDS}

    def _renew(self) -> None:
        now = self._clock.now()
        if now - self._renewed_at < RENEW and not self.is_away:
            return
        self._renewed_at = now
        self._claim_all(list(self._locks))


def _connect(url: str) -> tuple[Any, type[Exception]]:
    """No retries of its own: a wait here delays everything behind it."""
    try:
        import redis
    except ImportError:
        raise ConfigError("REDIS_URL is set; install the extra `redis`") from None
    waits = {
        "socket_timeout": WAIT_S,
        "socket_connect_timeout": WAIT_S,
        "retry": redis.retry.Retry(redis.backoff.NoBackoff(), 0),
    }
    try:
        return redis.Redis.from_url(url, **waits), redis.RedisError
    except ValueError:
        raise ConfigError("REDIS_URL: write redis://host:6379/0") from None


_WORDS = {circuit.value.encode(): circuit for circuit in Circuit}


def _told(word: bytes, left: int) -> Told:
    return Told(_WORDS[word], timedelta(milliseconds=max(0, left)))


def _holds(told: Told) -> timedelta:
    """How long a word stands; one that is over at once is still seen by who looks once a second."""
    if told.circuit is Circuit.CLOSED:
        return CLOSED
    return PROBE if told.circuit is Circuit.HALF_OPEN else max(told.left, timedelta(seconds=1))


def _lock(batch: BatchId, place: tuple[str, str]) -> str:
    domain, model = place
    return f"lock:crawl:{batch}:{domain}:{model}"


def _ms(time: timedelta) -> int:
    return round(time / timedelta(milliseconds=1))


def _groups(keys: Sequence[str]) -> Iterable[Sequence[str]]:
    return (keys[n : n + GROUP] for n in range(0, len(keys), GROUP))
