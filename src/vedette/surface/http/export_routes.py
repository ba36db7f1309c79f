"""Downloads: lists for other programs, and evidence as WARC or WACZ.  Each is the operation of a verb."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from vedette.operations.evidence import RecordChoice, export_records
from vedette.operations.installation import Installation
from vedette.operations.source_lists import export_sources
from vedette.surface.http.api_answers import PROBLEMS
from vedette.surface.http.list_queries import Word
from vedette.surface.http.server import STREAM
from vedette.surface.http.web_context import WebDep

router = APIRouter(responses=PROBLEMS, tags=["export"])
What = Literal["sources", "watches", "changes", "signals"]
Form = Literal["csv", "jsonl", "opml", "yaml", "urls"]
TYPES = {
    "csv": "text/csv",
    "jsonl": "application/x-ndjson",
    "opml": "text/x-opml",
    "yaml": "text/plain",
    "urls": "text/plain",
}
ARCHIVES = {"warc.gz": "application/gzip", "wacz": "application/wacz"}


def _content(*kinds: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {kind: {"schema": {"type": "string"}} for kind in kinds}}}


@router.get("/export/{what}.{form}", response_class=Response, responses=_content(*TYPES.values()))
async def get_export(request: Request, web: WebDep, what: What, form: Form) -> Response:
    """Sources, watches, changes or signals as a file for other tools."""
    request.scope[STREAM]()
    done = await web.ask(export_sources, what, form)
    headers = {"Content-Disposition": f'attachment; filename="{what}.{form}"'}
    kind = f"{TYPES[form]}; charset=utf-8"
    return Response(done.text.encode("utf-8", "replace"), media_type=kind, headers=headers)


@router.get("/archive.{form}", response_class=Response, responses=_content(*ARCHIVES.values()))
async def get_archive(
    request: Request,
    web: WebDep,
    form: Literal["warc.gz", "wacz"],
    what: Annotated[Word, Query(description="A URL, or the number or sha256 of a piece of evidence.")] = None,
    change: Annotated[int | None, Query(ge=1, lt=2**63, description="The two states of this change.")] = None,
) -> Response:
    """Records of the archive in a file that stands by itself."""
    request.scope[STREAM]()
    choice = RecordChoice(what=what, change=None if change is None else str(change))
    path = await web.ask(_written, choice, form)
    gone = BackgroundTask(shutil.rmtree, path.parent, ignore_errors=True)
    return FileResponse(path, media_type=ARCHIVES[form], filename=path.name, background=gone)


def _written(installation: Installation, choice: RecordChoice, form: str) -> Path:
    """In a folder of its own, that goes with the answer."""
    folder = Path(tempfile.mkdtemp(prefix="vedette-"))
    with ExitStack() as unless_written:
        unless_written.callback(shutil.rmtree, folder, ignore_errors=True)
        path = export_records(installation, choice, folder / f"evidence.{form}").path
        unless_written.pop_all()
    return path
