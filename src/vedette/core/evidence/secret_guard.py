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
        etag=None if fetched.etag is None or _holds(fetched.etag, secrets) else fetched.etag,
    )


def _repeats(fetched: Fetched, secrets: Iterable[str]) -> bool:
    """In its body, or in an address that would be kept."""
    bodies = (fetched.body,) if fetched.wire is fetched.body else (fetched.body, fetched.wire)
    return any(
        secret.encode() in body or secret in (fetched.redirect_to or "") or secret in fetched.url
        for secret in secrets
        for body in bodies
    )


def _value(name: str, value: str, secrets: Iterable[str]) -> str:
    if name.lower() in _COOKIES:
        return _COOKIE.sub(f"={HIDDEN}", value, count=1)
    return _hidden(value, secrets)


def _hidden(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _holds(text: str, secrets: Iterable[str]) -> bool:
    return any(secret in text for secret in secrets)
