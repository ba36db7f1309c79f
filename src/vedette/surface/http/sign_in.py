"""The login page: a token is shown once and becomes a session of this browser."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from vedette.operations.access_tokens import SESSION, end_session, open_session
from vedette.surface.http.access_check import COOKIE, LOGIN, LOGOUT, WHO
from vedette.surface.http.page_frame import page
from vedette.surface.http.web_context import KeptCredentials, WebDep

router = APIRouter()
Fields = dict[str, str]


async def form_of(request: Request) -> Fields:
    """Fields of a form, the last of each name."""
    body = (await request.body()).decode("utf-8", "replace")
    return {name: values[-1] for name, values in parse_qs(body, keep_blank_values=True).items()}


@router.get(LOGIN)
async def get_login(request: Request) -> Response:
    return page(request, "login.html", next=own_path(request.query_params.get("next", "/")), problem="")


@router.post(LOGIN)
async def post_login(request: Request, web: WebDep) -> Response:
    """A wrong token is answered late, as everywhere."""
    given = await form_of(request)
    there = own_path(given.get("next", "/"))
    token = given.get("token", "").strip()
    visitor = await web.gate.token_visitor(request, token) if web.gate and token else None
    if visitor is None:
        words = (
            "This token lets nobody in. `vedette token add NAME` makes one."
            if token
            else "Paste your token here."
        )
        return page(request, "login.html", status=401 if token else 422, next=there, problem=words)
    request.scope[WHO] = visitor
    cookie = await web.ask(open_session, token)
    answer = RedirectResponse(there, status_code=303)
    is_tls = request.url.scheme == "https"
    lasts = int(SESSION.total_seconds())
    answer.set_cookie(COOKIE, cookie, max_age=lasts, httponly=True, samesite="strict", secure=is_tls)
    return answer


@router.post(LOGOUT)
async def post_logout(request: Request, web: WebDep) -> Response:
    cookie = request.cookies.get(COOKIE, "")
    if cookie:
        await web.ask(end_session, cookie)
        if web.gate is not None and isinstance(web.gate.kept, KeptCredentials):
            web.gate.kept.forget()
    answer = RedirectResponse(LOGIN, status_code=303)
    answer.delete_cookie(COOKIE)
    return answer


def own_path(there: str) -> str:
    """A path on this server; anything else is the overview (an open redirect helps who fishes for tokens)."""
    is_own = there.startswith("/") and not there.startswith(("//", "/\\")) and there.isprintable()
    return there if is_own else "/"
