"""A hunt judged again from its archive comes to the same bytes in any process and with any number of workers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from odd_kit import QUICK, hunted

from vedette.operations.hunt import findings, findings_digest

RESCORE = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from vedette.config.model import Loaded, parse
from vedette.operations.hunt import rescore
from vedette.operations.installation import Installation

class Clock:
    def now(self):
        return datetime(2026, 11, 18, tzinfo=UTC)

config = parse({"hunt": json.loads(sys.argv[3])})
loaded = Loaded(config=config, path=None, data=Path(sys.argv[1]), digest="flow")
found = rescore(Installation(loaded=loaded, clock=Clock()), workers=int(sys.argv[2]))
print(json.dumps([found.digest, found.pages, found.from_archive, found.changed]))
"""


@pytest.mark.slow
def test_rescore_is_the_same_for_every_hash_seed_and_number_of_workers(tmp_path: Path):
    hunt = hunted(tmp_path, looks=400)
    before = findings_digest(findings(hunt.installation))
    assert findings(hunt.installation)
    for hash_seed, workers in (("0", "1"), ("1", "2"), ("4242", "2")):
        data = tmp_path / hash_seed
        shutil.copytree(hunt.data, data)
        told = subprocess.run(
            [sys.executable, "-c", RESCORE, str(data), workers, json.dumps(QUICK["hunt"])],
            env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True, timeout=600,
        )  # fmt: skip
        digest, pages, from_archive, changed = json.loads(told.stdout)
        assert (digest, changed) == (before, 0)
        assert pages == from_archive > 200
