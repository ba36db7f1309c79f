"""What a caller of the API may say of a login.  Secrets are named and never answered.

A caller may name only variables that the operator made for it: any other of this process could be sent to a site of
the caller's own.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from vedette.contracts.errors import InputError
from vedette.operations.source_access import OURS

ENV = "env:"
SecretName = Annotated[str, Field(pattern=r"^env:VEDETTE_LOGIN_[A-Za-z0-9_]{1,100}$")]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,100}$")]
CookieName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid")


class BasicLogin(_Fields):
    user: str = Field(min_length=1, max_length=200, pattern="^[^:]+$")
    password: SecretName


class PostedBody(_Fields):
    """One of `form`, `json` and `body`."""

    form: dict[str, str] | None = None
    json_: Any = Field(default=None, alias="json")
    body: str | None = Field(default=None, max_length=100_000)
    type: str | None = Field(default=None, max_length=200)


class SourceLogin(_Fields):
    """What is sent to be let in; secrets as env:VEDETTE_LOGIN_..."""

    headers: dict[HeaderName, Annotated[str, Field(max_length=2000)]] | None = None
    cookies: dict[CookieName, SecretName] | None = None
    basic_auth: BasicLogin | None = None
    post: PostedBody | None = None
    keep_cookies: bool | None = None
    proxy: str | None = Field(default=None, max_length=2000)

    def keys(self) -> dict[str, object]:
        """As a `fetch` section has them."""
        said = self.model_dump(exclude_none=True, by_alias=True)
        for name in _variables(said):
            if not name.startswith(OURS):
                raise InputError(f"fetch: env:{name} is not for callers to name; write env:{OURS}...")
        return said


def _variables(value: object) -> list[str]:
    if isinstance(value, dict):
        return [name for one in value.values() for name in _variables(one)]
    if isinstance(value, list):
        return [name for one in value for name in _variables(one)]
    return [value.removeprefix(ENV)] if isinstance(value, str) and value.startswith(ENV) else []
