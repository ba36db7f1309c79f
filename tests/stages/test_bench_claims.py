"""The benchmark of claims drives the real frontier and settler: it must not fall behind them unseen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_benchmark_of_claims_claims_500_jobs_each_time():
    command = [sys.executable, str(ROOT / "bench" / "claims.py"), "--large", "12000", "--rounds", "2"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["small"]["jobs"] == told["large"]["jobs"] == 500
