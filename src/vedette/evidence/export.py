"""Hands evidence out: chosen records as a WARC file that stands by itself.

The members are copied byte for byte, so their digests are still the ones in the chain.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.evidence import Located
from vedette.evidence.read_records import check_digests, read_member, read_record
from vedette.evidence.warc import warcinfo_record


@dataclass(frozen=True, slots=True)
class Export:
    """What was written where."""

    path: Path
    records: int
    size: int


def export(
    directory: Path, places: Iterable[Located], target: Path, *, software: str, now: datetime
) -> Export:
    """Writes the records at `places`, in that order, to `target`, which must not exist yet.

    Every record is read and checked on the way.  `target` appears whole or not at all.
    """
    if not target.name.endswith(".warc.gz"):
        raise InputError(f"{target}: the name must end with .warc.gz")
    if target.exists():
        raise InputError(f"{target} exists; name another file")
    about = {"software": software, "description": "records copied unchanged from an archive of vedette"}
    half_done = target.with_name(f".{target.name}.part")
    records = 0
    try:
        handle = os.open(half_done, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(warcinfo_record(target.name.removesuffix(".warc.gz"), about, now))
            for place in places:
                member = read_member(directory, place)
                check_digests(read_record(member))
                file.write(member)
                records += 1
            size = file.tell()
        half_done.replace(target)
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error}") from error
    finally:
        half_done.unlink(missing_ok=True)
    return Export(target, records, size)
