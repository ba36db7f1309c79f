"""What an HTTP status means."""

from __future__ import annotations

from vedette.contracts.words import Outcome

_STATUSES = {
    404: Outcome.GONE,
    410: Outcome.GONE,
    408: Outcome.TIMEOUT,
    429: Outcome.THROTTLED,
}


def outcome_of_status(status: int, has_retry_after: bool) -> Outcome:
    """The outcome that a status alone decides."""
    if status in _STATUSES:
        return _STATUSES[status]
    if status == 503 and has_retry_after:
        return Outcome.THROTTLED
    if 200 <= status < 300:
        return Outcome.OK
    if 300 <= status < 400:
        return Outcome.REDIRECT_ERROR
    if 400 <= status < 500:
        return Outcome.CLIENT_ERROR
    # RFC 9110 section 15: a status outside 100..599 is to be taken as a server error.
    return Outcome.SERVER_ERROR if status >= 500 else Outcome.PROTOCOL_ERROR
