"""What sealing costs: CPU of settling a look with and without it, in one run.  `python bench/sealing.py`

New pages: a visit, evidence, a ledger row of 1.5 KB.  Repeated looks: a visit and a ledger row.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "stages"))

from settlements import a_group, a_look, a_watch

from vedette.contracts.watch import Decision, Group
from vedette.store.group import rows_of
from vedette.store.migrate import prepare
from vedette.store.seal_rows import seal
from vedette.store.sqlite import Writer

GROUP = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--groups", type=int, default=50)
    options = parser.parse_args()
    for name, body in (("new page", b"page"), ("nothing new", None)):
        plain, sealed = (_measure(options.groups, body, is_sealed) for is_sealed in (False, True))
        print(f"{name:<12} settled in {plain:.0f} us, sealed {sealed - plain:+.0f} us per look")


def _measure(groups: int, body: bytes | None, is_sealed: bool) -> float:
    """Microseconds of CPU per look, in the thread that writes."""
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(prepare(Path(folder)), worker="one")
        writer.connection.execute("PRAGMA synchronous = OFF")  # the same for both, and not CPU
        spent = 0.0
        for number in range(groups):
            group = _group(number, body)
            begin = time.thread_time()
            rows = rows_of(group)
            with writer.transaction() as db:
                writer._write(rows)
                if is_sealed:
                    seal(db, rows.touched())
            spent += time.thread_time() - begin
        writer.close()
    return spent / groups / GROUP * 1e6


def _group(number: int, body: bytes | None) -> Group:
    looks = []
    for n in range(number * GROUP + 1, (number + 1) * GROUP + 1):
        said = None if body is None else body + str(n).encode()
        look = a_look(a_watch(f"https://a.example/{n}"), n, said)
        decision = Decision(action="schedule", inputs={"why": "x" * 1500}, output=n)
        looks.append(replace(look, decisions=(decision,)))
    return a_group(*looks)


if __name__ == "__main__":
    main()
