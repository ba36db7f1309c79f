"""What this machine is: how slow, and how old its Python.

Limits of tests stand against hanging, not against slow machines: they grow with it.
"""

from __future__ import annotations

import hashlib
import tarfile
import time
from functools import cache
from pathlib import Path

REFERENCE_S = 0.02  # what the work below takes on a quiet machine of 2026
LEAST = 2.0  # however fast it is now, it may be busy later
MOST = 20.0


def patient(seconds: float) -> float:
    """A limit for this machine, from one that is generous on a quiet one."""
    return seconds * slowness()


@cache
def slowness() -> float:
    """How many times as long as there a fixed piece of work takes here."""
    return min(MOST, max(LEAST, 2 * min(_work_s() for _ in range(3)) / REFERENCE_S))


def _work_s() -> float:
    begun = time.perf_counter()
    digest = b""
    for n in range(20_000):
        digest = hashlib.sha256(digest + n.to_bytes(4, "big")).digest()
    return time.perf_counter() - begun


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Python 3.11.2 of Debian 12 knows no filters; without one, 3.12 and 3.13 warn."""
    archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
