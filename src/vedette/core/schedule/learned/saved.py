"""The policy as bytes: columns of targets, hosts and hubs, and the few numbers beside them.  No pickle."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vedette.contracts.errors import InputError
from vedette.core.schedule.columns import pack, unpack
from vedette.core.schedule.learned import hosts, table
from vedette.core.schedule.learned.listing import HUB_KINDS
from vedette.core.schedule.learned.memory import Memory
from vedette.core.schedule.learned.settings import Published

_KINDS = (table.KINDS, hosts.KINDS, {"id": np.int64, **HUB_KINDS})


@dataclass(slots=True)
class Running:
    """What a decision leaves behind for the next one."""

    started_at: float = math.inf
    decided_at: float = -math.inf
    owed: int = 0  # rows to plan anew
    swept: int = 0  # the row from which on rows are planned anew
    tier: float = 0.0  # looks that objectives may take now
    reviewed_at: float = -math.inf
    asked: int = 0  # looks asked for since then
    per_day: float = 0.0  # looks asked for per day before that


def dump(about: Mapping[str, Any], memory: Memory, run: Running) -> bytes:
    hub_ids = np.fromiter(memory.hubs.ids, np.int64, len(memory.hubs.ids))
    head = {
        **about, "run": asdict(run), "published": asdict(memory.published),
        "bursts": memory.bursts.tolist(),
        "calibration": memory.calibration.counts.tolist(), "shared_clock": memory.hosts.clocks.shared.tolist(),
    }  # fmt: skip
    parts = [
        pack(head, memory.table.columns()),
        pack({}, memory.hosts.columns()),
        pack({}, {"id": hub_ids, **memory.hubs.columns}),
    ]
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def load(data: bytes, about: Mapping[str, Any]) -> tuple[Memory, Running]:
    """Memory as it was; a dump of another policy, seed or objective is an InputError."""
    (head, targets), (_, of_hosts), (_, of_hubs) = (
        unpack(part, kinds) for part, kinds in zip(_parts(data), _KINDS, strict=True)
    )
    fields: dict[str, Any] = dict(head)
    names = ("run", "published", "bursts", "shared_clock", "calibration")
    run, published, bursts, shared, calibration = (fields.pop(key, None) for key in names)
    if fields != json.loads(json.dumps(dict(about))):
        raise InputError(f"this dump is of {fields}, not of {dict(about)}")
    memory = Memory()
    memory.table.restore(targets)
    memory.order.add(targets["id"], np.arange(len(targets["id"])), targets["id"])
    failing = np.flatnonzero(targets["failures"])
    memory.hosts.restore(of_hosts, (failing, targets["host"][failing]))
    memory.hosts.clocks.shared = np.array(shared)
    memory.hubs.restore(of_hubs.pop("id").tolist(), of_hubs)
    memory.bursts = np.array(bursts)
    memory.calibration.counts = np.array(calibration)
    memory.published = Published.of(published)
    return memory, Running(**run)


def _parts(data: bytes) -> list[bytes]:
    parts, start = [], 0
    for _ in _KINDS:
        size = int.from_bytes(data[start : start + 8], "big")
        parts.append(data[start + 8 : start + 8 + size])
        start += 8 + size
    if start != len(data) or not data:
        raise InputError("this is not a dump of the learned policy, or it is cut short")
    return parts
