"""What one look of each kind is made of: calls of Python and C functions by stage, statements, and the longest way.

    python bench/look_calls.py --seed http://127.0.1.1:18092/p/0.html --max 4000
    python bench/look_calls.py --trace

The first runs the passes of `bench/crawl_column.py --again` against a web that is being served (see the judge's README)
and counts.  Counts hardly depend on the machine, so two versions are told apart on a busy one.  A call into C belongs
to the stage that makes it.  `--trace` tells how many files and functions of ours one page passes, from `vedette add` to
the message about its change.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import pstats
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import crawl_column
import vedette
from vedette.app.run import RunRequest, run_engine
from vedette.config.model import load
from vedette.engine.crawl.loop import Mode
from vedette.engine.settle.settler import Settler
from vedette.store.connection import operating
from vedette.surface.cli import main as cli

HOME = f"{Path(vedette.__file__).parent}/"
STAGES = {  # by the beginning of a file's name; the first that fits
    "start lanes and jobs": ("lanes/", "frontier/", "core/lanes", "core/limits", "engine/crawl/loop.py"),
    "robots, permits, hops": ("engine/crawl/look.py", "engine/crawl/robots", "fetch/robots.py", "protego"),
    "fetch": ("fetch/", "aiohttp", "aiohappyeyeballs"),
    "read": ("extract/", "core/text", "engine/crawl/content_reader.py", "selectolax"),
    "find links": ("discover/", "core/urls", "engine/crawl/find_urls.py", "ada_url"),
    "compare, decide": ("engine/crawl/", "core/change", "core/settled_watch.py", "core/judging"),
    "schedule": ("core/schedule", "engine/settle/scheduler", "engine/settle/fallback.py"),
    "settle": ("engine/settle/",),
    "archive, chain, seals": ("evidence/", "core/evidence"),
    "store": ("store/",),
    "events, clock, copies": ("telemetry/", "contracts/"),
}
REST = "libraries, rest"
Place = tuple[str, int, str]  # of a function, as `pstats` has it


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trace", action="store_true", help="files and functions from `add` to the message")
    options, rest = parser.parse_known_args()
    if options.trace:
        print(trace())
    else:
        count(rest)


def count(words: list[str]) -> None:
    profiles = [_profile()]
    with _settlers_profiled(profiles), tempfile.TemporaryDirectory() as folder:
        columns: dict[str, dict[str, tuple[float, float]]] = {}

        def passed(name: str, looks: int, cpu: float) -> None:
            columns[name] = _by_stage(profiles, max(looks, 1))
            profiles[:] = [_profile()]

        crawl_column.crawl(crawl_column.options_of([*words, "--again", "--workdir", folder]), passed)
    print("| calls per look: Python; C |" + "".join(f" {name} |" for name in columns))
    print("|---|" + "---:|" * len(columns))
    for stage in (*STAGES, REST, "all", "statements of SQL"):
        cells = [column.get(stage, (0.0, 0.0)) for column in columns.values()]
        print(f"| {stage} |" + "".join(f" {one:.0f}; {other:.1f} |" for one, other in cells))


def _profile() -> cProfile.Profile:
    profile = cProfile.Profile()
    profile.enable()
    return profile


@contextlib.contextmanager
def _settlers_profiled(profiles: list[cProfile.Profile]) -> Iterator[None]:
    """A profile hears one thread; the other one that matters is the settler's."""
    run = Settler.run

    def heard(self: Settler) -> None:
        profile = _profile()
        profiles.append(profile)
        try:
            run(self)
        finally:
            profile.disable()

    Settler.run = heard  # type: ignore[method-assign]
    try:
        yield
    finally:
        Settler.run = run  # type: ignore[method-assign]


def _by_stage(profiles: list[cProfile.Profile], looks: int) -> dict[str, tuple[float, float]]:
    python, native = Counter[str](), Counter[str]()
    statements = 0
    for profile in profiles:
        profile.disable()
        stats: dict[Place, tuple[int, int, float, float, dict[Place, tuple[int, ...]]]]
        stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
        for place, (_, calls, _, _, callers) in stats.items():
            if place[0] != "~":
                python[_stage(place)] += calls
                continue
            statements += calls if "sqlite3.Connection" in place[2] and "execute" in place[2] else 0
            for caller, counted in callers.items():
                native[_stage(caller)] += counted[0]
    found = {stage: (python[stage] / looks, native[stage] / looks) for stage in python.keys() | native.keys()}
    found["all"] = (python.total() / looks, native.total() / looks)
    return found | {"statements of SQL": (0.0, statements / looks)}


def _stage(place: Place) -> str:
    name = place[0].removeprefix(HOME).rpartition("site-packages/")[2]
    return next((stage for stage, starts in STAGES.items() if name.startswith(starts)), REST)


class _Page(BaseHTTPRequestHandler):
    looks = 0

    def do_GET(self) -> None:
        _Page.looks += self.path == "/page"
        rate = 24 if _Page.looks <= 2 else 25
        text = f"<main><h1>Rates</h1><p>The rate is {rate} per cent for everyone from today on.</p></main>"
        body = (
            b"User-agent: *\n" if self.path == "/robots.txt" else f"<html><body>{text}</body></html>".encode()
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Says nothing."""


def trace() -> str:
    """`vedette add` of a page, a run that sees it, and one that finds it changed and tells so."""
    heard: set[tuple[str, str]] = set()

    def hear(frame: object, event: str, arg: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and code.co_filename.startswith(HOME) and not code.co_name.startswith("<"):
            heard.add((code.co_filename, code.co_qualname))

    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_port
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "vedette.yaml"
        config.write_text(
            f"data: data\nfetch: {{allow_networks: [127.0.0.0/8], allow_ports: [{port}]}}\n"
            "lanes: {default: {gap_min: 0s, gap_max: 0s, per_minute: 0}}\nrun: {confirm_after: 1s}\n"
            "notify: {channels: {out: {kind: stdout}}, rules: [{channel: out}]}\n"
        )
        said = io.StringIO()
        threading.setprofile(hear)
        sys.setprofile(hear)
        try:
            with contextlib.redirect_stdout(said):
                cli(["--config", str(config), "add", f"http://127.0.0.1:{port}/page"])
                loaded = load(config)
                for _ in range(3):
                    run_engine(loaded, RunRequest(mode=Mode.UNTIL_IDLE), on_event=lambda event: None)
                    with operating(loaded.data / "vedette.db") as db:
                        db.execute("UPDATE watches SET due_at = 0 WHERE due_at IS NOT NULL")
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            server.shutdown()
    told = "changed: http" in said.getvalue()
    files = {name for name, _ in heard}
    return f"{len(files)} files, {len(heard)} functions; the message was told: {told}"


if __name__ == "__main__":
    main()
