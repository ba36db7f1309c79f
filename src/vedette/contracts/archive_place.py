"""A place in a bucket of an S3-compatible store, where the archive may be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from vedette.contracts.words import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A bucket and how we are let in."""

    name: str
    endpoint: str = ""  # empty: that of Amazon for the region
    region: str = "us-east-1"
    key_id: Secret = field(default=Secret(""), repr=False)
    key: Secret = field(default=Secret(""), repr=False)
    session: Secret = field(default=Secret(""), repr=False)


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """A folder or a file of a bucket, spelled as a path is."""

    bucket: Bucket
    key: str = ""  # without a slash at either end

    def __truediv__(self, name: str) -> ObjectPlace:
        return replace(self, key=f"{self.key}/{name}" if self.key else name)

    def __str__(self) -> str:
        return f"s3://{self.bucket.name}/{self.key}"

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    def with_name(self, name: str) -> ObjectPlace:
        return replace(self, key=self.key[: len(self.key) - len(self.name)] + name)
