"""Memory over start for large and inflating inputs, each alone and all at once, children counted.

    python bench/memory.py                 # each input, then all at once
    python bench/memory.py --only pages    # one of them

Each run is a process of its own that watches a server on loopback; its memory is the proportional set size of the
process and its children (/proc/PID/smaps_rollup), every 50 ms, above that of a run with one small page.  `first` and
`last` are seconds from the start of the engine to the first and the last look that was settled; `small` are the
seconds until all of the 20 small pages beside it were.  One line of JSON per input.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import io
import json
import multiprocessing
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB = 2**20
WORDS = "Odluka o visini naknade stupa na snagu osmog dana od objave. "


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--pages", type=int, default=64)
    options = parser.parse_args()
    inputs = {
        name: make for name, make in INPUTS.items() if not options.only or name in options.only.split(",")
    }
    start = measured({"small": 1}, options)["mib"]
    print(json.dumps({"input": "start", "mib": start}), flush=True)
    counts = {name: options.pages if name == "pages" else 1 for name in inputs}
    for name, count in counts.items():
        beside = {"small": 20} if name == "pages" else {}
        _tell(name, measured({name: count, **beside}, options), start)
    if len(counts) > 1:
        _tell("all at once", measured({**counts, "small": 20}, options), start)
    return 0


def _tell(name: str, found: dict[str, Any], start: float) -> None:
    over = round(found.pop("mib") - start, 1)
    print(json.dumps({"input": name, "mib_over_start": over, **found}), flush=True)


def measured(counts: dict[str, int], options: argparse.Namespace) -> dict[str, Any]:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    server = spawn.Process(target=serve, args=(counts, theirs), daemon=True)
    server.start()
    places: dict[str, Any] = ours.recv()
    mine, engine_end = spawn.Pipe()
    engine = spawn.Process(target=watch, args=(places, engine_end))
    engine.start()
    most, is_over = 0.0, threading.Event()

    def sample() -> None:
        nonlocal most
        while not is_over.wait(0.05):
            most = max(most, sum(map(_pss, _family(engine.pid or 0))))

    thread = threading.Thread(target=sample)
    thread.start()
    told: dict[str, Any] = mine.recv()
    is_over.set()
    thread.join()
    engine.join()
    server.terminate()
    return {"mib": round(most / MIB, 1), **told}


def watch(places: dict[str, Any], told: Any) -> None:
    """In a process of its own: one run until there is nothing left to do."""
    import uvloop

    from vedette.app.run import RunRequest, run_async
    from vedette.config.model import Loaded, parse
    from vedette.contracts.events import Event
    from vedette.engine.crawl.loop import Mode

    outcomes: dict[str, int] = {}
    times: list[float] = []
    small_times: list[float] = []
    began = time.monotonic()

    def hear(event: Event) -> None:
        if event.name == "visited":
            times.append(time.monotonic() - began)
            small_times.extend(times[-1:] if str(event.fields.get("url")).endswith("/small.x") else [])
            word = str(event.fields.get("outcome"))
            outcomes[word] = outcomes.get(word, 0) + 1

    config = {
        "sources": [
            {"url": url, "lister": lister, "risk": "HIGH", "max_urls": 60_000}
            for url, lister in places["sources"]
        ],
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": [places["port"]],
            "respect_robots": False,
        },
        "lanes": {"default": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0}},
        "run": {"max_sightings": 1_000_000},
        "stages": {"in_process": False},
    }
    count = len(places["sources"])
    with tempfile.TemporaryDirectory() as folder:
        loaded = Loaded(config=parse(config), path=None, data=Path(folder), digest="memory")
        request = RunRequest(mode=Mode.ONCE, takes_orders=False, seconds=1200)
        ended = uvloop.run(run_async(loaded, request, on_event=hear))
    error = str(ended.error) if ended.error else ""
    first = round(times[0], 2) if times else None
    found: dict[str, Any] = {"looks": len(times), "of": count, "outcomes": outcomes, "first": first}
    found["last"] = round(times[-1], 1) if times else None
    if small_times:
        found["small"] = round(small_times[-1], 2)
    told.send({**found, **({"error": error} if error else {})})


def serve(counts: dict[str, int], told: Any) -> None:
    asyncio.run(_serve(counts, told))


async def _serve(counts: dict[str, int], told: Any) -> None:
    made = {name: {**INPUTS, "small": small}[name]() for name in counts}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            name = head.split(b" ", 2)[1].decode().strip("/").partition(".")[0]
            kind, _, body = made.get(name, ("text/html", "page", b"<p>nothing</p>"))
            lines = (
                "HTTP/1.1 200 OK",
                f"Content-Type: {kind}",
                f"Content-Length: {len(body)}",
                "Connection: close",
            )
            writer.write("\r\n".join((*lines, "", "")).encode() + body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    server = await asyncio.start_server(answer, "0.0.0.0", 0, backlog=512)
    port = server.sockets[0].getsockname()[1]
    sources = []
    for name, count in counts.items():
        _, lister, _ = made[name]
        for _ in range(count):
            number = len(sources)
            sources.append((f"http://127.20.{number // 250}.{number % 250 + 1}:{port}/{name}.x", lister))
    told.send({"port": port, "sources": sources})
    await server.serve_forever()


Made = tuple[str, str, bytes]  # type, lister, body


def small() -> Made:
    return "text/html", "page", f"<html><body><main><p>{WORDS * 5}</p></main></body></html>".encode()


def pages() -> Made:
    rows = [f"<div class='c{n % 9}'><p>{n} {WORDS}</p><a href='/p{n}'>{n}</a></div>" for n in range(82_000)]
    body = f"<html><title>Big</title><body><main>{''.join(rows)}</main></body></html>".encode()
    return "text/html", "page", body[: 9 * MIB]


def feed() -> Made:
    rows = [f"<item><title>n{n}</title><link>http://127.0.0.1/n{n}</link></item>" for n in range(100_000)]
    return "application/rss+xml", "feed", f"<rss><channel>{''.join(rows)}</channel></rss>".encode()


def sitemap_text() -> bytes:
    day = "<lastmod>2026-11-15</lastmod>"
    rows = [
        f"<url><loc>http://127.20.0.1/some/longer/path/of/a/page-{n}</loc>{day}</url>" for n in range(60_000)
    ]
    return f"<?xml version='1.0'?><urlset>{''.join(rows)}</urlset>".encode()


def sitemap() -> Made:
    return "application/xml", "sitemap", sitemap_text()


def packed_sitemap() -> Made:
    """Inflates to nearly as much as a sitemap may have."""
    pad = b"<!-- " + b"nothing " * 64 + b" -->\n"
    body = sitemap_text()[:-9] + b"".join(pad for _ in range(38 * MIB // len(pad))) + b"</urlset>"
    return "application/gzip", "sitemap", gzip.compress(body, 6)


def pdf() -> Made:
    """One page whose content inflates to 900 MB."""
    packer = zlib.compressobj(9)
    line = b"0 0 m 1 1 l S\n" * 75_000
    packed = b"".join(packer.compress(line) for _ in range(900)) + packer.flush()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
    ]  # fmt: skip
    out, places = bytearray(b"%PDF-1.5\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%s\nendobj\n" % (number, body)
    at = len(out)
    out += b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % at
    return "application/pdf", "page", bytes(out)


def docx() -> Made:
    """A part of 60 MB in a package of 300 KB."""
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    paragraph = f"<w:p><w:r><w:t>{WORDS}</w:t></w:r></w:p>"
    text = f"<w:document xmlns:w='{space}'><w:body>{paragraph * (60 * MIB // len(paragraph))}</w:body></w:document>"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("word/document.xml", text)
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    return kind, "page", out.getvalue()


INPUTS: dict[str, Callable[[], Made]] = {
    "page": pages, "pages": pages, "feed": feed, "sitemap": sitemap, "packed_sitemap": packed_sitemap,
    "pdf": pdf, "docx": docx,
}  # fmt: skip


def _family(pid: int) -> list[int]:
    found, at = [pid], 0
    while at < len(found):
        try:
            text = Path(f"/proc/{found[at]}/task/{found[at]}/children").read_text(encoding="ascii")
            mine = _program(found[at])
            found += [child for child in map(int, text.split()) if _program(child) != mine]
        except OSError:
            pass
        at += 1
    return found


def _program(pid: int) -> bytes:
    """A child that has not become its own program yet lives in the memory of its parent: it is not counted twice."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _pss(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0.0)


if __name__ == "__main__":
    sys.exit(main())
