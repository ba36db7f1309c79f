"""Where the archive is, as the configuration says it and the environment lets us in."""

from __future__ import annotations

from collections.abc import Mapping

from vedette.contracts.archive_place import Bucket, ObjectPlace
from vedette.contracts.errors import ConfigError
from vedette.contracts.words import Secret

BUCKET = r"^(s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._/-]*)?)?$"  # of `evidence.storage`
_KEY_ID, _KEY, _SESSION = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
REGION = "us-east-1"  # of Amazon, where none is said; S3-compatible stores mostly take any
AMAZON = (_KEY_ID, _KEY, _SESSION, *_ENDPOINTS, *_REGIONS)  # variables as all such programs know them


def object_place(storage: str, endpoint: str, region: str, words: Mapping[str, str]) -> ObjectPlace | None:
    """The place of `evidence.storage`, with keys of the environment alone.  None: the archive is a folder."""
    if not storage:
        return None
    missing = [name for name in (_KEY_ID, _KEY) if not words.get(name)]
    if missing:
        raise ConfigError(
            f"evidence.storage is {storage}: set {' and '.join(missing)} in the environment; "
            "keys are never written into the file"
        )
    name, _, key = storage.removeprefix("s3://").partition("/")
    bucket = Bucket(
        name=name,
        endpoint=endpoint or _first(words, _ENDPOINTS),
        region=region or _first(words, _REGIONS) or REGION,
        key_id=Secret(words[_KEY_ID]),
        key=Secret(words[_KEY]),
        session=Secret(words.get(_SESSION, "")),
    )
    return ObjectPlace(bucket, key.strip("/"))


def _first(words: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((words[name] for name in names if words.get(name)), "")
