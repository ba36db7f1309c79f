"""What a run needs, checked one by one.  Each check gives a finding, whatever it meets."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata

from vedette.app.channels import channels
from vedette.app.job_buses import carrier_of
from vedette.app.run import check_run
from vedette.config.credentials import variables
from vedette.config.model import Config, database_notices, is_set_in_environment
from vedette.config.policies import sources_of
from vedette.contracts.errors import RESTORE, StoreError, VedetteError
from vedette.contracts.fetch import FetchSettings
from vedette.contracts.sql_connection import PostgresAddress
from vedette.evidence.files import files_of
from vedette.extract.ocr import REMEDY, Tesseract, find_tesseract
from vedette.fetch.browser import find_browser
from vedette.fetch.post import HttpPoster
from vedette.operations.health import ahead_words, clock_ahead
from vedette.operations.installation import Installation
from vedette.operations.shown_config import secrets_of
from vedette.report.plain import count
from vedette.store.connection import damage_of
from vedette.store.migrate import HEAD
from vedette.store.operator import lock_holder

LEAST_PYTHON = (3, 11)
PACKAGES = (
    "ada-url",
    "aiohttp",
    "google-re2",
    "isal",
    "lxml",
    "pypdfium2",
    "python-calamine",
    "selectolax",
    "sqlalchemy",
    "uvloop",
    "xxhash",
)
ROOM_BAD, ROOM_WARN = 200 * 2**20, 2 * 2**30  # bytes free under the data folder
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)  # no clock was right before this program existed


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    check: str
    state: str  # ok | warn | bad
    found: str
    remedy: str = ""


Check = Callable[[Installation], DoctorFinding | None]


def examine(opened: Callable[[], Installation]) -> list[DoctorFinding]:
    """Every check in order; later ones are left out when the configuration cannot be read."""
    config, installation = _config(opened)
    findings = [_python(), _packages(), config]
    if installation is None:
        return findings
    return findings + [finding for check in CHECKS if (finding := _found(check, installation)) is not None]


def finding_json(one: DoctorFinding) -> dict[str, object]:
    return {"check": one.check, "state": one.state, "found": one.found, "remedy": one.remedy}


def _found(check: Check, installation: Installation) -> DoctorFinding | None:
    """What the check finds.  Rows of a damaged database may be anything and make a check raise."""
    try:
        return check(installation)
    except (sqlite3.Error, ValueError, TypeError, LookupError, OverflowError, AttributeError) as error:
        words = f"cannot be checked: {type(error).__name__}: {error}"
        return DoctorFinding(check.__name__.strip("_"), "bad", words, f"if the store is damaged, {RESTORE}")


def _python() -> DoctorFinding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < LEAST_PYTHON:
        return DoctorFinding("python", "bad", found, "install Python 3.11 or newer")
    return DoctorFinding("python", "ok", found)


def _packages() -> DoctorFinding:
    missing = [name for name in PACKAGES if not _has(name)]
    if missing:
        return DoctorFinding("packages", "bad", f"missing: {', '.join(missing)}", "pip install vedette again")
    return DoctorFinding("packages", "ok", f"{len(PACKAGES)} found")


def _has(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _config(opened: Callable[[], Installation]) -> tuple[DoctorFinding, Installation | None]:
    try:
        installation = opened()
        loaded = installation.loaded
        sources = len(list(sources_of(loaded.config)))
        if _has_secrets(loaded.config):
            check_run(loaded.config)
    except VedetteError as error:
        remedy = "mend the file; `vedette init` writes a fresh one"
        return DoctorFinding("config", "bad", str(error), remedy), None
    where = str(loaded.path) if loaded.path else "no file, defaults"
    return DoctorFinding("config", "ok", f"{where}, {count(sources, 'source')}"), installation


def _has_secrets(config: Config) -> bool:
    """False where the environment lacks a secret of `fetch`, which `_secrets` says by its name."""
    sections = (config.fetch, *(row.fetch for row in config.sources))
    names = [name for one in sections for name in variables(one.model_dump(exclude_none=True))]
    return all(map(is_set_in_environment, names))


def _contact(installation: Installation) -> DoctorFinding:
    agent = installation.loaded.config.fetch.user_agent or FetchSettings().user_agent
    if agent == FetchSettings().user_agent or not ("@" in agent or "http" in agent):
        remedy = "set fetch.user_agent to name you and a way to reach you: it keeps you from being blocked"
        return DoctorFinding("user agent", "warn", agent, remedy)
    return DoctorFinding("user agent", "ok", agent)


def _browser(installation: Installation) -> DoctorFinding:
    """Pages that scripts make need a program that pip cannot install."""
    program, missing = find_browser()
    if not missing:
        is_root = os.geteuid() == 0
        words = f"{program}, as root without its sandbox" if is_root else program
        return DoctorFinding("browser", "warn" if is_root else "ok", words, "run vedette as another user")
    asking = {
        source.id for source in sources_of(installation.loaded.config) if source.options.requires_headless
    }
    with suppress(VedetteError), installation.queries() as queries:
        asking |= {one.source.id for one in queries.sources() if one.source.options.requires_headless}
    what, _, remedy = missing.partition(": ")
    parked = f"parked until it is: {', '.join(sorted(asking))}"
    words = parked if asking else "pages that only scripts fill are taken as they come"
    return DoctorFinding("browser", "warn", f"{what}; {words}", remedy)


def _databases(installation: Installation) -> DoctorFinding:
    """The variables of spec 001/11.1."""
    told = database_notices(installation.loaded.data)
    if told:
        return DoctorFinding(
            "databases", "warn", "; ".join(told), "unset them here, or write sqlite:///folder/vedette.db"
        )
    server = installation.loaded.server
    said = (
        f"the store is in {server} (DATABASE_URL)"
        if server
        else "one store, no other named in the environment"
    )
    return DoctorFinding("databases", "ok", said)


def _queues(installation: Installation) -> DoctorFinding:
    """Who brings jobs to workers: the store itself, or BullMQ in the Redis of REDIS_URL."""
    found = carrier_of(installation.loaded, installation.now())
    if found.name != "bullmq":
        return DoctorFinding("queues", "ok", "in the store")
    if found.problem:
        remedy = "start it or mend REDIS_URL; unset it to keep the queues in PostgreSQL"
        return DoctorFinding("queues", "bad", found.problem, remedy)
    said = f"BullMQ, {found.found}, {count(sum(found.depths.values()), 'job')} waiting"
    remedy = "set maxmemory-policy to noeviction: else a full Redis forgets jobs, which are then made again"
    return DoctorFinding("queues", "warn" if found.evicts else "ok", said, remedy if found.evicts else "")


def _writable(installation: Installation) -> DoctorFinding:
    data = installation.loaded.data
    if not data.exists():
        return DoctorFinding(
            "data", "warn", f"{data} does not exist", "run `vedette init`, or name another with --data"
        )
    try:
        with tempfile.TemporaryFile(dir=data):
            pass
    except OSError as error:
        return DoctorFinding(
            "data", "bad", f"{data}: {error.strerror}", "make the folder writable, or use another"
        )
    return DoctorFinding("data", "ok", str(data))


def _room(installation: Installation) -> DoctorFinding | None:
    data = installation.loaded.data
    if not data.exists():
        return None
    free = shutil.disk_usage(data).free
    state = "bad" if free < ROOM_BAD else "warn" if free < ROOM_WARN else "ok"
    return DoctorFinding("disk", state, f"{free / 2**30:.1f} GiB free", "free room, or move the data folder")


def _store(installation: Installation) -> DoctorFinding:
    try:
        path = installation.store()
        _quick_check(installation)
    except VedetteError as error:
        missing = not installation.loaded.data.exists() or "no store" in str(error)
        remedy = "run `vedette init`" if missing else ""  # what else is wrong says itself what to do
        return DoctorFinding("store", "warn" if missing else "bad", str(error), remedy)
    name = path if isinstance(path, PostgresAddress) else path.name
    return DoctorFinding("store", "ok", f"{name}, version {HEAD}")


def _quick_check(installation: Installation) -> None:
    """Every page of the database can be read, and says what it should."""
    place = installation.store()
    found = "" if isinstance(place, PostgresAddress) else damage_of(place)
    if found:
        raise StoreError(f"{installation.loaded.data} holds a damaged database: {found}; {RESTORE}")
    with installation.queries() as queries:
        queries.runs(most=1)


def _lock(installation: Installation) -> DoctorFinding:
    holder = lock_holder(installation.loaded.data)
    return DoctorFinding("engine", "ok", f"running: {holder}" if holder else "not running")


def _clock(installation: Installation) -> DoctorFinding:
    """A clock that went back would make every due time wrong."""
    now = installation.now()
    if now < EARLIEST:
        return DoctorFinding("clock", "bad", f"{now:%Y-%m-%d %H:%M} is in the past", "set the clock (NTP)")
    try:
        left = clock_ahead(installation)
    except VedetteError:
        left = None
    if left is not None and left.is_any:
        found = f"{now:%Y-%m-%d %H:%M}; {ahead_words(left)}"
        return DoctorFinding(
            "clock", "bad", found, "set the clock (NTP), then `vedette doctor --heal`; a run heals too"
        )
    return DoctorFinding("clock", "ok", f"{now:%Y-%m-%d %H:%M:%S} UTC")


def _archive(installation: Installation) -> DoctorFinding | None:
    place = installation.loaded.archive
    try:
        with installation.queries() as queries:
            segments = [s for s in queries.segments() if s.state != "expired"]
    except VedetteError:
        return None
    try:
        sizes = files_of(place).sizes(place)
    except OSError as error:
        return DoctorFinding("archive", "bad", str(error), "looks wait until it is back; nothing is lost")
    lost = [s.name for s in segments if f"{s.name}.warc.gz" not in sizes]
    short = [s.name for s in segments if sizes.get(f"{s.name}.warc.gz", s.size) < s.size]
    if lost or short:
        found = f"{count(len(lost), 'file')} missing, {len(short)} shorter than committed"
        return DoctorFinding(
            "archive",
            "bad",
            found,
            "`vedette evidence verify` names them; `vedette restore BACKUP` brings them back",
        )
    return DoctorFinding("archive", "ok", count(len(segments), "file"))


def _ocr(installation: Installation) -> DoctorFinding:
    """Scanned pages need a program that pip cannot install."""
    found = asyncio.run(find_tesseract(installation.loaded.config.extract.ocr_languages))
    if isinstance(found, Tesseract):
        return DoctorFinding("ocr", "ok", f"tesseract {found.version}, {found.languages}")
    return DoctorFinding(
        "ocr", "warn", f"{found.partition(':')[0]}; scanned documents and images are kept and parked", REMEDY
    )


def _documents(installation: Installation) -> DoctorFinding:
    if _has("kreuzberg"):
        return DoctorFinding("documents", "ok", "PDF, DOC(X), XLS(X), PPT(X), ODT, ODS, RTF, images")
    found = "PDF, DOCX, XLS(X), PPTX, ODT, ODS, images; DOC, PPT and RTF are kept and parked"
    return DoctorFinding("documents", "warn", found, "pip install 'vedette[docs]'")


def _secrets(installation: Installation) -> DoctorFinding:
    """Every `env:NAME` of the configuration and of what was added, before it is needed."""
    asked = dict(secrets_of(installation))
    missing = [
        f"{name} (asked for by {where})" for name, where in asked.items() if not is_set_in_environment(name)
    ]
    if missing:
        names = ", ".join(missing)
        return DoctorFinding(
            "secrets", "bad", f"not set: {names}", "set these environment variables before you run"
        )
    return DoctorFinding(
        "secrets", "ok", f"{len(asked)} found in the environment" if asked else "none are asked for"
    )


def _channels(installation: Installation) -> DoctorFinding | None:
    """Built as a run builds them; nothing is sent."""
    rows = installation.loaded.config.notify.channels
    if not rows:
        return DoctorFinding("channels", "ok", "none; changes and alerts are printed by `vedette serve`")
    try:
        channels(installation.loaded.config, HttpPoster(installation.clock))
    except VedetteError as error:
        return DoctorFinding(
            "channels", "bad", str(error), "mend `notify`, then `vedette alerts test CHANNEL`"
        )
    kinds = ", ".join(f"{name} ({row.kind})" for name, row in rows.items())
    return DoctorFinding("channels", "ok", f"{kinds}; `vedette alerts test CHANNEL` sends a message")


CHECKS: tuple[Check, ...] = (
    _contact,
    _secrets,
    _channels,
    _browser,
    _databases,
    _queues,
    _writable,
    _room,
    _store,
    _lock,
    _clock,
    _archive,
    _documents,
    _ocr,
)
