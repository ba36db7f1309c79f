"""The signature of Standard Webhooks (standardwebhooks.com, version 1): symmetric, HMAC-SHA256."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from datetime import datetime

from vedette.contracts.errors import ConfigError

PREFIX = "whsec_"
LEAST_BYTES, MOST_BYTES = 24, 64  # as the specification asks


def read_secret(text: str, where: str) -> bytes:
    """The key in `whsec_<base64>`; the message of a refusal never holds it."""
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(
            f"`{where}`: not base64; write whsec_ and 24 to 64 random bytes in base64"
        ) from None
    if not LEAST_BYTES <= len(key) <= MOST_BYTES:
        raise ConfigError(f"`{where}`: {len(key)} bytes; a signing secret has {LEAST_BYTES} to {MOST_BYTES}")
    return key


def headers(key: bytes, message_id: str, body: bytes, *, at: datetime) -> dict[str, str]:
    """webhook-id is the same on every attempt; timestamp and signature are of this one."""
    stamp = str(int(at.timestamp()))
    signed = b".".join((message_id.encode(), stamp.encode(), body))
    mark = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": message_id, "webhook-timestamp": stamp, "webhook-signature": f"v1,{mark}"}
