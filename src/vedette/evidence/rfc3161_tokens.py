"""RFC 3161 by the package `rfc3161-client`: questions to a time stamping authority, and its answers checked."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

from cryptography.x509 import load_pem_x509_certificates
from rfc3161_client import (
    HashAlgorithm,
    PKIStatus,
    TimestampRequestBuilder,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from vedette.contracts.errors import InputError


def question(message: bytes) -> bytes:
    """To be sent to the authority: the digest of the message, never the message."""
    asked = TimestampRequestBuilder().data(message).hash_algorithm(HashAlgorithm.SHA256).nonce(nonce=True)
    return asked.cert_request(cert_request=True).build().as_bytes()


def refusal(token: bytes, message: bytes) -> str:
    """Why this is no time stamp of the message; empty: it is, as far as no signature is looked at."""
    try:
        answer = decode_timestamp_response(token)
        if PKIStatus(answer.status) not in (PKIStatus.GRANTED, PKIStatus.GRANTED_WITH_MODS):
            return f"the authority refused: {', '.join(answer.status_string) or answer.status}"
        imprint = answer.tst_info.message_imprint.message
    except ValueError as error:
        return f"it is no RFC 3161 answer: {error}"
    return "" if imprint == _digest(message) else "it is the time stamp of something else"


def moment(token: bytes) -> datetime:
    """When the authority saw it, by its own clock."""
    found: datetime = decode_timestamp_response(token).tst_info.gen_time
    return found


def fault(token: bytes, message: bytes, roots: bytes) -> str:
    """Why the token cannot be believed; empty: a certificate below these roots signed it for the message."""
    wrong = refusal(token, message)
    if wrong:
        return wrong
    try:
        certificates = load_pem_x509_certificates(roots)
    except ValueError:
        raise InputError("the file of the authority's CA holds no certificate in PEM") from None
    builder = VerifierBuilder()
    for one in certificates:
        builder = builder.add_root_certificate(one)
    try:
        builder.build().verify(decode_timestamp_response(token), _digest(message))
    except (VerificationError, ValueError) as error:
        return f"its signature does not lead to the given CA: {error}"
    return ""


def _digest(message: bytes) -> bytes:
    return sha256(message).digest()
