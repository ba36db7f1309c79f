"""What a run of the panel has open: its stores, the ledger, lanes, and the board that runs share."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime

from vedette.app.configured_providers import panellists
from vedette.config.model import Loaded
from vedette.config.sections import PanelConfig
from vedette.contracts.panel_run import Batch, PanelNote, ParkedCell, Prompt, ProviderResp, QualityFlag
from vedette.contracts.ports import Clock
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import Reason
from vedette.core.panel.domains import MOST_NAME
from vedette.core.panel.quality import Repeats, scores_of
from vedette.engine.panel.loop import BatchEnd
from vedette.engine.panel.provider_lanes import Judged
from vedette.engine.settle.ids import PANEL, Ids
from vedette.store.connection import StorePlace
from vedette.store.dialect import open_sql
from vedette.store.migrate import prepare, prepare_place, version_of
from vedette.store.panel.batches import PanelStore
from vedette.store.panel.existing_tables import prepare_panel
from vedette.store.panel.lane_ledger import PanelLedger
from vedette.store.panel.panel_rows import RESPONSES, Projection
from vedette.store.panel.redis_board import RedisBoard
from vedette.store.panel.store_thread import ThreadedPanelLog
from vedette.store.sqlite import Reader
from vedette.telemetry.clock import SteadyClock

BATCH_ID = len("panel-20261116T060000-4194304")
CHARS_PER_TOKEN = 4  # of an answer that is as long as it may be


@dataclass(frozen=True, slots=True)
class PanelResources:
    """What a run has open."""

    store: PanelStore
    reader: PanelStore
    shown: PanelStore  # for whoever looks over HTTP
    ledger: PanelLedger
    lanes: Reader
    clock: SteadyClock  # deadlines and lanes go by it: no correction of the wall clock moves it
    board: RedisBoard | None = None


@contextmanager
def open_resources(loaded: Loaded, config: PanelConfig, clock: Clock) -> Iterator[PanelResources]:
    steady = SteadyClock(clock)
    path = own_store(loaded)
    lanes = Reader(path)
    ledger = PanelLedger(open_sql(_url(path)), Ids(PANEL, after=lanes.last_id()).next)
    board = board_of(config, steady, f"{socket.gethostname()} {loaded.data.resolve()}")
    resources = PanelResources(
        store=open_store(loaded, config, ledger, board),
        reader=open_store(loaded, config),
        shown=open_store(loaded, config),
        ledger=ledger,
        lanes=lanes,
        clock=steady,
        board=board,
    )
    try:
        yield resources
    finally:
        for one in (
            resources.store,
            resources.reader,
            resources.shown,
            ledger,
            lanes,
            *((board,) if board else ()),
        ):
            one.close()


def open_store(
    loaded: Loaded, config: PanelConfig, ledger: PanelLedger | None = None, cache: RedisBoard | None = None
) -> PanelStore:
    url = config.database
    if url is None:
        url = _url(own_store(loaded))
    projection = projection_of(loaded, config, url)
    db = ledger.db if ledger is not None and config.database is None else open_sql(url)
    return PanelStore(db, projection, ledger=ledger, cache=cache)


def projection_of(loaded: Loaded, config: PanelConfig, url: str) -> Projection:
    """How answers are written there; every table of the panel is there after this."""
    return prepare_panel(url, config.shadow_table or RESPONSES, _widths(loaded, config))


def own_store(loaded: Loaded) -> StorePlace:
    """Our own store.  The panel makes none in a database that holds tables of others: it makes one in the folder."""
    place = loaded.store
    is_there = isinstance(place, PostgresAddress) and version_of(place) is not None
    return prepare_place(loaded.data, place) if is_there else prepare(loaded.data)


def _url(place: StorePlace) -> str:
    return place.url if isinstance(place, PostgresAddress) else f"sqlite:///{place}"


def _widths(loaded: Loaded, config: PanelConfig) -> dict[str, int]:
    """The longest values that a run writes, as far as they are known before its first call."""
    return {
        "model": max(len(one.row.name) for one in panellists(loaded.config)),
        "prompt_type": max(len(prompt.type) for prompt in config.prompts),
        "prompt": max(
            len(prompt.text) + MOST_NAME * prompt.text.count("{domain}") for prompt in config.prompts
        ),
        "batch_id": BATCH_ID,
        "quality_flag": max(map(len, QualityFlag)),
        "response": max(CHARS_PER_TOKEN * prompt.most_tokens for prompt in config.prompts),
    }


@dataclass(frozen=True, slots=True)
class ShownBatch:
    """What a run has to show while it goes."""

    store: PanelStore
    log: ThreadedPanelLog
    board: RedisBoard | None = None


Door = Callable[[ShownBatch], AbstractAsyncContextManager[str]]


class Judging:
    """The provider's flag, duplicates among this run's answers, and what can be counted."""

    def __init__(self) -> None:
        self._repeats = Repeats()

    def __call__(self, model: str, domain: str, prompt: Prompt, resp: ProviderResp) -> Judged:
        flag = resp.quality_flag
        if flag is QualityFlag.OK and self._repeats.is_repeated(model, prompt.prompt_type, domain, resp.text):
            flag = QualityFlag.DUPLICATE
        cited = tuple(str(url) for url in resp.meta.get("citations", ()))
        scores = scores_of(resp.text, domain, cited)
        counted = {
            "chars": scores.chars,
            "words": scores.words,
            "mentions": scores.mentions,
            "citations": scores.citations,
            "own_citations": scores.own_citations,
        }
        return (flag.value if flag else None), counted


def spent_words(batch: Batch, end: BatchEnd) -> tuple[str, ...]:
    """How a batch that has nothing left to spend goes on."""
    if end.by != "budget_spent":
        return ()
    spent = f"{end.progress.spent_usd:.4f} of {batch.budget_usd:g} USD are spent"
    return (f"{spent}; `vedette panel resume {batch.id} --budget USD` goes on",)


def refused_words(counted: Mapping[str, int]) -> Iterator[str]:
    for words, rows in counted.items():
        yield f"the database refused {rows} rows: {words}; the answers are in `panel_answers` where they fit"


def unparked(parked: Sequence[ParkedCell], now: datetime) -> tuple[PanelNote, ...]:
    """What the rows that go said, so that nothing is forgotten."""
    return tuple(
        PanelNote(
            at=now,
            action="asked_again",
            subject=one.model,
            reason=Reason(one.outcome, one.cells, f"{one.cells} cells; {one.detail}"),
        )
        for one in parked
    )


def redis_warnings(board: RedisBoard | None) -> tuple[str, ...]:
    """What is worth a line about Redis, once, at the end."""
    if board is None:
        return ()
    board.close()
    if not board.outages:
        return ()
    left = (
        f"; the consensus of {board.unforgotten} answered domains is still cached"
        if board.unforgotten
        else ""
    )
    return (f"Redis did not answer ({board.outages} times); the batch went on without it{left}",)


def board_of(config: PanelConfig, clock: Clock, place: str) -> RedisBoard | None:
    """The owner of locks is a data folder: whoever holds its lock may go on where a killed run left off.

    Or a database, for workers: whoever visits a provider may go on.
    """
    if not config.redis:
        return None
    owner = hashlib.sha256(place.encode()).hexdigest()[:16]
    return RedisBoard(config.redis, owner=owner, clock=clock)
