"""Writes the Alembic revision that brings the newest revision to `store/schema.py`:  tools/revision.py 0002 "why" """

from __future__ import annotations

import pathlib
import sys
import tempfile

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main(revision: str, message: str) -> None:
    settings = Config()
    settings.set_main_option("script_location", str(ROOT / "src/vedette/store/migrations"))
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{folder}/new.db")
        with engine.begin() as connection:
            settings.attributes["connection"] = connection
            command.upgrade(settings, "head")
        with engine.begin() as connection:
            settings.attributes["connection"] = connection
            command.revision(settings, message=message, rev_id=revision, autogenerate=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
