"""Queues of BullMQ in Redis: the scripts and the encoding are those of the `bullmq` package, the time is the caller's.

The package's own worker holds one job per coroutine and reads the clock of the machine.  We take jobs in groups, by a
clock that tests and drills move, so its scripts are called here directly.  Its limiter is never used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from vedette.contracts.errors import ConfigError, StoreWaitError
from vedette.contracts.jobs import Delivered, EndElsewhere, HandOver, QueueRule
from vedette.core.queue_rules import (
    Carried,
    bullmq_options,
    foreign_id,
    ordered_rule,
    row_id,
    whole_seconds,
)

PREFIX = "bull"  # BullMQ's default: programs of Node find the queues without being told
OURS = "vedette-"  # begins the tokens of our locks
LEAST = (6, 2)  # version of Redis; BullMQ recommends it, and needs streams and LPOS
CONNECT_S, ANSWER_S = 2.0, 5.0
SOON_S = 1.0  # for those who have something else to do when Redis hangs
STALLED_MS = 30_000  # how often locks that have lapsed are looked for
MOST_STALLED = 100  # attempts are counted by the rows
_WAITING = ("wait", "paused", "prioritized", "delayed")
_FIELDS = ("finishedOn", "failedReason", "returnvalue", "atm", "stacktrace", "timestamp")
_STAMP = _FIELDS.index("timestamp")
_ENDS = ("completed", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldJob:
    """A delivery, and by what we hold it."""

    delivered: Delivered
    token: str
    raw: Any = None  # the package's Job


@dataclass(frozen=True, slots=True)
class NewCall:
    """A job that is queued once for its subject, until it has ended."""

    id: str
    name: str
    data: Mapping[str, object]
    once: str  # deduplication id
    priority: int = 0  # 0: before all others; then 1, 2, ...


class BullmqQueues:
    """One connection to Redis.  What Redis cannot do just now is a StoreWaitError; one thread at a time."""

    def __init__(self, url: str, *, answer_s: float = ANSWER_S, prefix: str = PREFIX) -> None:
        self._client, self._package = _connect(url, answer_s)
        self._place: str = self._package.place_of(self._client)
        self._prefix = prefix
        self._commands = {
            name: self._client.register_script(self._package.loadScript(file))
            for name, file in self._package.SCRIPT_DEFINITIONS.items()
        }
        self._queues: dict[str, Any] = {}
        self._tokens = 0

    @property
    def place(self) -> str:
        """Host and port, without the password."""
        return self._place

    def check(self) -> str:
        """Version and kind of the server; ConfigError: it cannot be used as it is, StoreWaitError: it is away."""
        with self._telling():
            found = self._client.info()
        version = str(found.get("redis_version", "0"))
        if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < LEAST:
            least = ".".join(map(str, LEAST))
            raise ConfigError(
                f"REDIS_URL: Redis at {self._place} is version {version}, and BullMQ needs {least} or newer: "
                "upgrade it, or name another server; without REDIS_URL the queues stay in PostgreSQL"
            )
        policy = str(found.get("maxmemory_policy", "noeviction"))
        evicts = "" if policy == "noeviction" else f", evicts keys ({policy})"
        return f"{found.get('server_name', 'redis')} {version} at {self._place}{evicts}"

    def put(self, queue: str, orders: Sequence[HandOver], rule: QueueRule, *, now: datetime) -> None:
        """Adds them in one step.  An id that the queue has stays as it is."""
        scripts = self._scripts(queue)
        with self._telling(), self._client.pipeline(transaction=False) as pipe:
            for one in orders:
                options = bullmq_options(rule, one.due_at - now)
                job = self._job(queue, one.name, one.data, {**options, "jobId": one.id}, now)
                self._add(scripts, job, pipe)
            pipe.execute()

    def call(self, queue: str, calls: Sequence[NewCall], *, now: datetime) -> None:
        """Adds jobs that are queued at most once for their subject."""
        scripts = self._scripts(queue)
        with self._telling(), self._client.pipeline(transaction=False) as pipe:
            for one in calls:
                options: dict[str, object] = {
                    "jobId": one.id,
                    "attempts": 1,
                    "removeOnComplete": True,
                    "removeOnFail": True,
                    "deduplication": {"id": one.once},
                }
                if one.priority:
                    options["priority"] = one.priority
                self._add(scripts, self._job(queue, one.name, one.data, options, now), pipe)
            pipe.execute()

    def carried(self, queue: str, rows: Sequence[str]) -> list[Carried]:
        """What the queue knows of the job of each row."""
        return [_carried(fields) for fields in self._fields(queue, rows)]

    def ends(self, queue: str, rows: Sequence[str]) -> list[EndElsewhere]:
        """How the jobs of those of these rows ended that have."""
        found = zip(rows, self._fields(queue, rows), strict=True)
        return [_end(row, fields) for row, fields in found if fields[0] is not None]

    def remove(self, queue: str, rows: Sequence[str]) -> None:
        """Wherever they are.  A lock of ours does not keep them: the rows have decided; another's does."""
        scripts = self._scripts(queue)
        ids = [one for row in rows for one in _ids(row)]
        with self._telling():
            locks = self._client.mget([f"{scripts.toKey(one)}:lock" for one in ids]) if ids else []
            with self._client.pipeline(transaction=False) as pipe:
                for one, lock in zip(ids, locks, strict=True):
                    if lock is not None and lock.startswith(OURS):
                        pipe.delete(f"{scripts.toKey(one)}:lock")
                    self._commands["removeJob"](
                        keys=[scripts.toKey(one), scripts.keys["repeat"]],
                        args=[one, 0, scripts.keys[""]],
                        client=pipe,
                    )
                pipe.execute()

    def take(self, queue: str, *, worker: str, now: datetime, most: int, rule: QueueRule) -> list[HeldJob]:
        """The next ones, locked for the lease of the rule."""
        taken: list[HeldJob] = []
        with self._telling():
            while len(taken) < most:
                self._tokens += 1
                token = f"{OURS}{worker}-{_ms(now)}-{self._tokens}"
                found = self._next(queue, token, now, rule)
                if found is None:
                    break
                taken.append(found)
        return taken

    def complete(self, queue: str, taken: HeldJob, *, now: datetime, result: object = None) -> bool:
        """False: it was not ours any more."""
        return self._finish(queue, taken, ("returnvalue", json_value(result), "completed"), now)

    def fail(self, queue: str, taken: HeldJob, *, now: datetime, why: tuple[str, str]) -> bool:
        """For good.  False: it was not ours any more."""
        return self._finish(queue, taken, ("failedReason", why[0], "failed"), now, why)

    def delay(
        self,
        queue: str,
        taken: HeldJob,
        *,
        now: datetime,
        until: datetime,
        why: tuple[str, str] | None = None,
    ) -> bool:
        """To be taken again then.  With an error it counts as an attempt.  False: it was not ours any more."""
        scripts, wait = self._scripts(queue), max(1, whole_seconds(until - now)) * 1000
        options: dict[str, object] = {"skipAttempt": why is None}
        if why is not None:
            options["fieldsToUpdate"] = _failure(why)
        keys, args = scripts.moveToDelayedArgs(
            taken.delivered.foreign_id, _ms(now), taken.token, wait, options
        )
        with self._telling():
            return _is_done(self._commands["moveToDelayed"](keys=keys, args=args))

    def extend(self, queue: str, taken: HeldJob, lease: timedelta) -> bool:
        scripts = self._scripts(queue)
        with self._telling():
            found = scripts.extendLock(
                taken.delivered.foreign_id, taken.token, int(lease.total_seconds() * 1000)
            )
        return bool(found)

    def free_stalled(self, queue: str) -> None:
        """Jobs whose worker is gone wait again.  Costs nothing where somebody did so lately."""
        with self._telling():
            self._scripts(queue).moveStalledJobsToWait(MOST_STALLED, STALLED_MS)

    def counts(self, queue: str) -> tuple[int, int]:
        """Jobs that wait, and jobs that workers have."""
        scripts = self._scripts(queue)
        with self._telling():
            found = scripts.getCounts([*_WAITING, "active"])
        return sum(found[:-1]), found[-1]

    def ended_since(self, queue: str, mark: str) -> tuple[list[EndElsewhere], str]:
        """Jobs that ended since this mark of the queue's events, and the next mark.  Empty mark: from now on."""
        key = self._scripts(queue).keys["events"]
        with self._telling():
            if not mark:
                last = self._client.xrevrange(key, count=1)
                return [], (last[0][0] if last else "0-0")
            found = self._client.xrange(key, min=f"({mark}", count=EVENTS)
        ends = {row["jobId"]: _told_end(row) for _, row in found if row.get("event") in _ENDS}
        return list(ends.values()), (found[-1][0] if found else mark)

    def close(self) -> None:
        self._client.close()

    def _fields(self, queue: str, rows: Sequence[str]) -> list[list[str | None]]:
        """Of the job of each row, with its lock at the end."""
        key, ids = self._scripts(queue).toKey, [_ids(row) for row in rows]
        with self._telling(), self._client.pipeline(transaction=False) as pipe:
            for one in (one for some in ids for one in some):
                pipe.hmget(key(one), *_FIELDS)
                pipe.get(f"{key(one)}:lock")
            found = iter(pipe.execute())
        of_row: list[list[str | None]] = []
        for row, some in zip(rows, ids, strict=True):
            foreign = foreign_id(row)
            known = [[*next(found), next(found)] for _ in some]
            if foreign is not None and known[1][_STAMP] != foreign[1]:
                known = known[:1]  # another job of the same number
            of_row.append(next((one for one in known if one[_STAMP] is not None), known[0]))
        return of_row

    def _next(self, queue: str, token: str, now: datetime, rule: QueueRule) -> HeldJob | None:
        scripts = self._scripts(queue)
        lock = int(rule.lease.total_seconds() * 1000)
        packed = self._package.pack({"token": token, "lockDuration": lock, "limiter": None})
        keys = scripts.getKeys(_ACTIVE_KEYS)
        raw = self._commands["moveToActive"](keys=keys, args=[scripts.keys[""], _ms(now), packed])
        if not raw or not raw[0]:
            return None
        fields = dict(zip(raw[0][::2], raw[0][1::2], strict=True))
        job = self._package.Job.fromJSON(scripts.queue, fields, raw[1])
        return HeldJob(delivered=_delivered(job, rule), token=token, raw=job)

    def _finish(
        self,
        queue: str,
        taken: HeldJob,
        end: tuple[str, object, str],
        now: datetime,
        why: tuple[str, str] | None = None,
    ) -> bool:
        field, value, target = end
        keep = "removeOnComplete" if target == "completed" else "removeOnFail"
        keys, args = self._scripts(queue).moveToFinishedArgs(
            taken.raw,
            value,
            field,
            taken.raw.opts.get(keep, False),
            target,
            taken.token,
            False,
            _failure(why) if why is not None else None,
        )
        args[1] = _ms(now)  # the package writes the time of the machine there
        with self._telling():
            return _is_done(self._commands["moveToFinished"](keys=keys, args=args))

    def _add(self, scripts: Any, job: Any, pipe: Any) -> None:
        if job.opts.get("delay"):
            scripts.addDelayedJob(job, job.opts["delay"], pipe)
        elif job.opts.get("priority"):
            scripts.addPrioritizedJob(job, job.opts["priority"], pipe)
        else:
            scripts.addStandardJob(job, job.timestamp, pipe)

    def _job(
        self, queue: str, name: str, data: Mapping[str, object], options: dict[str, object], now: datetime
    ) -> Any:
        job = self._package.Job(self._scripts(queue).queue, name, dict(data), options)
        job.timestamp = _ms(now)
        return job

    def _scripts(self, queue: str) -> Any:
        """The package's scripts for this queue."""
        found = self._queues.get(queue)
        if found is None:
            connection = SimpleNamespace(conn=self._client, commands=self._commands)
            found = self._package.Scripts(self._prefix, queue, connection)
            found.queue = SimpleNamespace(backend=None, qualifiedName=f"{self._prefix}:{queue}", opts={})
            self._queues[queue] = found
        return found

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except self._package.REFUSALS as error:
            raise ConfigError(
                f"REDIS_URL: Redis at {self._place} refuses us: {error}; check the user and the password in it"
            ) from None
        except (self._package.RedisError, OSError) as error:
            raise StoreWaitError(
                f"Redis at {self._place} (REDIS_URL) cannot be used just now: {error}; jobs wait in the database, "
                "nothing is lost"
            ) from None


EVENTS = 10_000  # as many as BullMQ keeps
_ACTIVE_KEYS = "wait active prioritized events stalled limiter delayed paused meta pc marker".split()


def json_value(result: object) -> object:
    return {} if result is None else result


def _connect(url: str, answer_s: float) -> tuple[Any, Any]:
    """A client, and what is used of the packages."""
    try:
        from vedette.jobs import bullmq_package
    except ImportError:
        raise ConfigError(
            "REDIS_URL is set, and its packages are not installed: pip install 'vedette[redis]'"
        ) from None
    try:
        return bullmq_package.client(url, connect_s=CONNECT_S, answer_s=answer_s), bullmq_package
    except ValueError:
        raise ConfigError("REDIS_URL: write redis://host:6379/0") from None


def _delivered(job: Any, rule: QueueRule) -> Delivered:
    return Delivered(
        id=row_id(str(job.id), job.timestamp),
        foreign_id=str(job.id),
        name=str(job.name),
        data=job.data if isinstance(job.data, dict) else {"value": job.data},
        added_at=datetime.fromtimestamp(job.timestamp / 1000, UTC),
        attempts=job.attemptsMade,
        rule=ordered_rule(job.opts, rule),
    )


def _ids(row: str) -> list[str]:
    """Under which ids the job of a row may be there."""
    foreign = foreign_id(row)
    return [row] if foreign is None else [row, foreign[0]]


def _carried(fields: Sequence[str | None]) -> Carried:
    finished, _, value, _, _, added, lock = fields
    if added is None:
        return Carried.NOT
    if finished is not None:
        return Carried.FAILED if value is None else Carried.COMPLETED
    return Carried.TAKEN if lock is not None and lock.startswith(OURS) else Carried.WAITS


def _end(row: str, fields: Sequence[str | None]) -> EndElsewhere:
    _, reason, value, made, stack, *_ = fields
    if value is not None:  # the reason of an attempt before it may be there too
        return EndElsewhere(id=row, attempts=int(made or 1), result=value)
    lines = "\n".join(json.loads(stack)) if stack else ""
    return EndElsewhere(id=row, attempts=int(made or 1), error=reason or "failed", stack=lines)


def _told_end(event: Mapping[str, str]) -> EndElsewhere:
    if event["event"] == "completed":
        return EndElsewhere(id=event["jobId"], result=event.get("returnvalue"))
    return EndElsewhere(id=event["jobId"], error=event.get("failedReason") or "failed")


def _failure(why: tuple[str, str]) -> dict[str, str]:
    error, stack = why
    return {"failedReason": error, "stacktrace": json.dumps([stack] if stack else [])}


def _is_done(result: object) -> bool:
    return not (isinstance(result, int) and result < 0)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
