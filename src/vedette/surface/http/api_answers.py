"""How the API answers: JSON with an ETag, problem+json with a message beside the field, writes that are done once."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from weakref import WeakValueDictionary

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vedette.contracts.errors import ConfigError, InputError, RefusedError, StoreError, VedetteError
from vedette.operations.access_tokens import answered_request, keep_answer
from vedette.report.plain import dump, exact_numbers
from vedette.store.access_rows import AnsweredRequest
from vedette.surface.http.access_check import SAFE, WHO, Visitor
from vedette.surface.http.web_context import Web

API = "/api/v1"
PROBLEM = "application/problem+json"
_OPTION = re.compile(r"^`?--([a-z-]+)`?: ?|^`?((?:filters|fetch)(?:\.[A-Za-z0-9_-]+)*)`?: ")
# By kind of error, the most special first.
STATUS: tuple[tuple[type[VedetteError], int], ...] = (
    (InputError, 422),
    (RefusedError, 409),
    (StoreError, 503),
    (ConfigError, 422),
    (VedetteError, 404),
)


class FieldProblem(BaseModel):
    """What is wrong with one field, and what to write there."""

    field: str
    message: str


class ApiProblem(BaseModel):
    """RFC 9457."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    errors: list[FieldProblem] = Field(default_factory=list)


class ListPage(BaseModel):
    """Part of a list.  `next`: the `cursor` of the page that follows; null: this is the last one."""

    items: list[dict[str, Any]]
    next: str | None = None
    total: int | None = None


def _documented(*codes: int) -> dict[int | str, dict[str, Any]]:
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/ApiProblem"}}}
    words = {"text/plain": {"schema": {"type": "string"}}}
    return {
        code: {
            "description": HTTPStatus(code).phrase,
            "content": words if code in (401, 403, 421) else content,
        }
        for code in codes
    }


PROBLEMS = _documented(400, 401, 403, 404, 405, 409, 413, 422, 503)


def answer(request: Request, value: object, *, status: int = 200, is_schema: bool = False) -> Response:
    """The same bytes have the same ETag; who has them already is told so.  Ids are strings: no reader rounds them.

    A description of the API keeps its numbers.
    """
    body = (dump(value if is_schema else exact_numbers(value)) + "\n").encode("utf-8", "surrogatepass")
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"} if request.method in SAFE else {}
    if headers and tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, status_code=status, media_type="application/json", headers=headers)


def document(request: Request, text: str, media_type: str, changed_at: datetime) -> Response:
    """A document with both validators; who has it already is told so (RFC 9110 section 13)."""
    body = text.encode("utf-8", "replace")
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {
        "ETag": tag,
        "Last-Modified": format_datetime(changed_at, usegmt=True),
        "Cache-Control": "private, no-cache",
    }
    if _has_it(request, tag, changed_at):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=f"{media_type}; charset=utf-8", headers=headers)


def _has_it(request: Request, tag: str, changed_at: datetime) -> bool:
    """By the ETag where one is sent; a date counts only without."""
    if (tags := request.headers.get("if-none-match")) is not None:
        return tags.strip() == "*" or tag in tags
    try:
        since = parsedate_to_datetime(request.headers.get("if-modified-since", ""))
    except ValueError:
        return False
    return since.tzinfo is not None and changed_at.replace(microsecond=0) <= since


def problem(
    status: int, detail: str, *errors: FieldProblem, headers: Mapping[str, str] | None = None
) -> Response:
    said = ApiProblem(title=HTTPStatus(status).phrase, status=status, detail=detail, errors=list(errors))
    return Response(said.model_dump_json(), status_code=status, media_type=PROBLEM, headers=headers)


def status_of(error: VedetteError) -> int:
    return next(status for kind, status in STATUS if isinstance(error, kind))


def field_of(error: VedetteError, fallback: str) -> FieldProblem:
    """Beside which field a message stands: operations name it as the command line does, `--risk: ...`."""
    words = str(error)
    named = _OPTION.match(words)
    if named is None:
        return FieldProblem(field=fallback, message=words)
    name = named[2] or named[1].replace("-", "_")
    return FieldProblem(field=name, message=words[named.end() :])


WRONG = "The address has a value that cannot be used, or lacks one: {names}.  Choose a page above."


def explain_errors(app: FastAPI, shows_page: Callable[[Request, int, str], Response]) -> None:
    """Errors of the API as problem+json, those of pages as a page."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, VedetteError)  # noqa: S101  registered for it alone
        status = status_of(error)
        if not request.url.path.startswith(API):
            return shows_page(request, status, str(error))
        errors = [field_of(error, "url")] if status == 422 else []
        return problem(status, str(error), *errors)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        if not request.url.path.startswith(API):
            is_place = any(one["loc"][0] == "path" for one in error.errors())
            names = ", ".join(sorted({str(one["loc"][-1]) for one in error.errors()}))
            return shows_page(
                request, 404 if is_place else 422, "" if is_place else WRONG.format(names=names)
            )
        errors = [
            FieldProblem(field=".".join(map(str, one["loc"][1:])) or "body", message=str(one["msg"]))
            for one in error.errors()
        ]
        return problem(422, "some fields cannot be used as they are", *errors)

    async def plain(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        if not request.url.path.startswith(API):
            return shows_page(request, error.status_code, error.detail)
        made = problem(error.status_code, error.detail)
        made.headers.update(error.headers or {})
        return made

    app.add_exception_handler(VedetteError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, plain)


# A write with an Idempotency-Key is done once: asked again within a day, it is answered as it was.

MOST_KEY = 200  # characters
TOLD_ONCE = (f"{API}/tokens", f"{API}/feeds")  # their answers hold a secret: they are on no disk
MOST_SECRET = 64  # of those, in memory


class DoneOnce:
    """In front of the application; writes without a key pass."""

    def __init__(self, app: ASGIApp, web: Web) -> None:
        self._app, self._web = app, web
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._secret: OrderedDict[str, AnsweredRequest] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        given = request.headers.get("idempotency-key")
        if given is None or request.method in SAFE or not request.url.path.startswith(API):
            await self._app(scope, receive, send)
            return
        if not given.strip() or len(given) > MOST_KEY:
            words = FieldProblem(field="Idempotency-Key", message=f"1 to {MOST_KEY} characters")
            await problem(422, "the key cannot be used", words)(scope, receive, send)
            return
        visitor = scope.get(WHO)
        key = f"{visitor.name if isinstance(visitor, Visitor) else ''} {given}"
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            await self._once(key, request, send)

    async def _once(self, key: str, request: Request, send: Send) -> None:
        body = await request.body()
        what = f"{request.method} {request.url.path}?{request.url.query}\n".encode() + body
        mark = hashlib.sha256(what).digest()
        known = self._secret.get(key)
        if known is None and self._web.installation.has_store:
            known = await self._web.ask(answered_request, key)
        if known is not None:
            await self._again(known, mark, request, send)
            return
        caught = _Caught(send)
        await self._app(request.scope, _once_more(body), caught.send)
        done = AnsweredRequest(mark, caught.status, caught.body.decode("utf-8", "replace"))
        if request.url.path.startswith(TOLD_ONCE):
            self._secret[key] = done
            if len(self._secret) > MOST_SECRET:
                self._secret.popitem(last=False)
        elif caught.status < 500 and self._web.installation.has_store:
            await self._web.ask(keep_answer, key, done)

    async def _again(self, known: AnsweredRequest, mark: bytes, request: Request, send: Send) -> None:
        if known.request != mark:
            words = FieldProblem(
                field="Idempotency-Key", message="it was used for another request; take a new one"
            )
            said = problem(422, "this key belongs to another request", words)
        else:
            kind = PROBLEM if known.status >= 400 else "application/json"
            headers = {"Idempotency-Replayed": "true"}
            said = Response(known.answer, status_code=known.status, media_type=kind, headers=headers)
        await said(request.scope, request.receive, send)


class _Caught:
    def __init__(self, send: Send) -> None:
        self._send, self.status, self.body = send, 500, b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.body += message.get("body", b"")
        await self._send(message)


def _once_more(body: bytes) -> Receive:
    is_read = False

    async def receive() -> Message:
        nonlocal is_read
        if is_read:
            await asyncio.Event().wait()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
