"""Where is a source's own address looked at?"""

from __future__ import annotations

import sqlite3

from vedette.contracts.source import Source
from vedette.contracts.words import WatchId
from vedette.core.urls.canonical import watch_id


def own_watch(db: sqlite3.Connection, source: Source) -> WatchId:
    """Its own watch; where that was merged into another (001 section 12.4), the one that is looked at instead."""
    own = watch_id(source.url)
    row = db.execute("SELECT merged_into FROM watches WHERE id = ?", (own,)).fetchone()
    return own if row is None or row[0] is None else WatchId(row[0])
