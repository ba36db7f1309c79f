"""What people say of a change, on pages and by the API: useful or noise, and a rule against the noise."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from vedette.contracts.errors import InputError, RefusedError
from vedette.operations.back_test import (
    applied_json,
    apply_rule,
    back_test,
    back_test_json,
    mark_change,
)
from vedette.operations.changes import numbered_json, stored_diff
from vedette.surface.http.access_check import WHO, Visitor
from vedette.surface.http.api_answers import PROBLEMS, answer, field_of
from vedette.surface.http.long_work import LongWork
from vedette.surface.http.page_frame import page
from vedette.surface.http.sign_in import form_of, own_path
from vedette.surface.http.web_context import Web, WebDep

router = APIRouter()
api = APIRouter(responses=PROBLEMS, tags=["changes"])
Entry = dict[str, Any]
Number = Annotated[int, Path(ge=1, lt=2**63)]
RuleLine = Annotated[str, Field(min_length=1, max_length=2100)]
RuleSteps = Annotated[list[RuleLine], Field(min_length=1, max_length=20)]


class ChangeWord(BaseModel):
    model_config = ConfigDict(extra="forbid")

    mark: str = Field(pattern="^(useful|noise|none)$", description="none: nothing is said of it any more.")


class NoiseTrial(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rule: RuleSteps | None = Field(default=None, description="Filter steps; not set: what is proposed.")


class NewNoiseRule(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rule: RuleSteps


@api.post("/changes/{number}/mark", response_model=Entry)
async def post_mark_call(request: Request, web: WebDep, number: Number, given: ChangeWord) -> Response:
    """Say that a change was useful, or noise."""
    done = await web.ask(mark_change, str(number), given.mark, who(request))
    return answer(request, numbered_json(done, with_diff=False))


@api.post("/changes/{number}/noise/try", response_model=Entry)
async def post_try_call(request: Request, web: WebDep, number: Number, given: NoiseTrial) -> Response:
    """Rules that would keep it from being told, tried on the evidence of its source.  Nothing is changed."""
    return answer(request, back_test_json(await web.ask(back_test, str(number), given.rule)))


@api.post("/changes/{number}/noise", response_model=Entry)
async def post_noise_call(request: Request, web: WebDep, number: Number, given: NewNoiseRule) -> Response:
    """Puts a rule to the filters of its source, from the next look on, and marks the change as noise."""
    return answer(request, applied_json(await web.ask(apply_rule, str(number), given.rule, who(request))))


@router.post("/changes/{number}/mark")
async def post_mark(request: Request, web: WebDep, number: Number) -> Response:
    given = await form_of(request)
    await web.ask(mark_change, str(number), given.get("mark", ""), who(request))
    there = own_path(given.get("next", f"/changes/{number}"))
    return RedirectResponse(f"{there}{'&' if '?' in there else '?'}done=said", status_code=303)


@router.get("/changes/{number}/noise")
async def get_noise(request: Request, web: WebDep, number: Number, rule: str = "") -> Response:
    """Rules against a change, each with what it would have hidden.  The evidence is read for it."""
    change = (await web.ask(stored_diff, str(number))).change
    steps = [line.strip() for line in rule.splitlines() if line.strip()] or None
    call = partial(_tried, web, str(number), steps)
    asked = LongWork(_key(number, rule), "Reading the changes of its source again")
    work = await web.work.begun(asked, call, request)
    return _shown(request, change, work, rule)


@router.post("/changes/{number}/noise")
async def post_noise(request: Request, web: WebDep, number: Number) -> Response:
    """Apply one of them, or only mark the change."""
    given = await form_of(request)
    rule = given.get("rule", "")
    try:
        await web.ask(apply_rule, str(number), rule.splitlines(), who(request))
    except (InputError, RefusedError) as error:
        change = (await web.ask(stored_diff, str(number))).change
        return _shown(request, change, web.work.of(_key(number, "")), rule, field_of(error, "rule").message)
    web.work.forget(_key(number, ""))
    return RedirectResponse(f"/changes/{number}?done=silenced", status_code=303)


def who(request: Request) -> str:
    """By the name of a token; who comes without one sits at this machine."""
    visitor = request.scope.get(WHO)
    return visitor.name if isinstance(visitor, Visitor) else "this machine"


def _tried(web: Web, number: str, steps: list[str] | None, progress: Any) -> Any:
    return back_test(web.installation, number, steps, progress=progress)


def _key(number: int, rule: str) -> str:
    return f"noise {number} {rule}"


def _shown(request: Request, change: Any, work: LongWork | None, rule: str, problem: str = "") -> Response:
    """`work`: of which the result is shown, or how far it is."""
    if work is not None and work.error is not None:
        problem = (
            field_of(work.error, "rule").message if isinstance(work.error, InputError) else str(work.error)
        )
    values: dict[str, Any] = {
        "one": change,
        "work": work if work is not None and work.is_running else None,
        "is_cancelled": work is not None and work.is_cancelled,
        "found": None if work is None or work.is_running else work.result,
        "rule": rule,
        "problem": {"rule": problem} if problem else {},
    }
    return page(request, "noise.html", **values, status=422 if problem else 200)
