"""What may be kept of an answer to a request that carried secrets: nothing that repeats one of them.

Evidence is never altered, so an answer whose body repeats a secret is not kept at all.  Of the head only the values of
cookies and the secrets themselves are put out of sight.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from vedette.contracts.copies import replace
from vedette.contracts.fetch import Fetched, FetchSettings
from vedette.contracts.words import Outcome

HIDDEN = "***"
_USUAL = ("utf-8",)
_WIDE = ("utf-8", "utf-16-le", "utf-16-be")  # where zeros say that letters take two bytes
_HEAD = 256
_COOKIES = frozenset({"set-cookie", "set-cookie2"})
_COOKIE = re.compile(r"=[^;]*")
REPEATED = "the answer repeats a secret of its source (fetch), so nothing of it is kept"


def without_secrets(fetched: Fetched, settings: FetchSettings) -> Fetched:
    """The answer as it may be kept and told."""
    secrets = settings.secrets
    if not secrets and not settings.keep_cookies:
        return fetched
    if _repeats(fetched, secrets):
        return Fetched(
            url=_hidden(fetched.url, secrets),
            outcome=Outcome.SCREENED,
            at=fetched.at,
            took=fetched.took,
            sent_after=fetched.sent_after,
            detail=REPEATED,
        )
    headers = tuple((name, _value(name, value, secrets)) for name, value in fetched.headers)
    return replace(
        fetched,
        headers=headers,
        phrase=_hidden(fetched.phrase, secrets),
        detail=_hidden(fetched.detail, secrets),
        etag=_unless_secret(fetched.etag, secrets),
        last_modified=_unless_secret(fetched.last_modified, secrets),
        content_type=_hidden(fetched.content_type, secrets),
    )


def _repeats(fetched: Fetched, secrets: Iterable[str]) -> bool:
    """In its body, or in an address that would be kept."""
    bodies = (fetched.body,) if fetched.wire is fetched.body else (fetched.body, fetched.wire)
    codings = _WIDE if b"\0" in fetched.body[:_HEAD] else _USUAL
    return any(
        secret in (fetched.redirect_to or "")
        or secret in fetched.url
        or any(secret.encode(coding) in body for coding in codings for body in bodies)
        for secret in secrets
    )


def _value(name: str, value: str, secrets: Iterable[str]) -> str:
    if name.lower() in _COOKIES:
        return _COOKIE.sub(f"={HIDDEN}", value, count=1)
    return _hidden(value, secrets)


def _hidden(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _unless_secret(text: str | None, secrets: Iterable[str]) -> str | None:
    """What is sent back to the site must be whole, or not be there."""
    return None if text is None or any(secret in text for secret in secrets) else text
