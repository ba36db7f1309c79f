"""Writes a commented vedette.yaml, and beside it the schema for editors that complete and check."""

from __future__ import annotations

import os
from pathlib import Path

from vedette.config.model import schema
from vedette.config.template import CONFIG
from vedette.contracts.errors import InputError, RefusedError
from vedette.report.plain import dump

SCHEMA = "vedette.schema.json"


def write_config(path: Path, *, force: bool = False) -> Path:
    """Gives the file of the schema.  A configuration that is there is overwritten only by force."""
    beside = path.with_name(SCHEMA)
    if path.exists() and not force:
        raise RefusedError(f"{path} exists; edit it, or overwrite it with --force")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))  # it may come to hold secrets
        path.write_text(CONFIG, encoding="utf-8")
        beside.write_text(dump(schema(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    return beside
