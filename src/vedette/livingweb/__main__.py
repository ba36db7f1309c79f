"""Run a living web as its own process.

    python -m vedette.livingweb --hosts 200 --pages 100 --seed 7 --speed 3600

prints one line of JSON when it is ready (port, control_port, dns_port, epoch, hosts, pages) and serves until
SIGTERM or Ctrl-C.  `--world demo|grid|croatia|traps|faults|odd` chooses the preset.  World
time starts at `--start` (real
time by default) and runs `--speed` times as fast; `--speed 0` stands still until `/_/time?to=` moves it.
Pages have changed since `--epoch` (default: 30 days before the start).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys

from vedette.livingweb.croatia import croatia_world
from vedette.livingweb.odd import OddPlan, OddWorld, decoys_for
from vedette.livingweb.presets import GridMix, demo_world, fault_world, grid_world, trap_world
from vedette.livingweb.process import DAY, ChangeMix
from vedette.livingweb.web import LivingWeb, Ports
from vedette.livingweb.world import Limits, World, WorldClock, real_time


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    start = options.start if options.start is not None else real_time()
    epoch = options.epoch if options.epoch is not None else start - 30 * DAY
    world = _world(options, epoch)
    if options.warm:
        world.prepare(start)
    clock = WorldClock(start, speed=options.speed)
    try:
        import uvloop
    except ImportError:
        asyncio.run(_serve(world, clock, options))
    else:
        uvloop.run(_serve(world, clock, options))
    return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m vedette.livingweb", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--world", choices=("grid", "demo", "croatia", "traps", "faults", "odd"), default="grid"
    )
    parser.add_argument("--hosts", type=int, help="grid, odd: how many hosts")
    parser.add_argument("--pages", type=int, help="grid: pages per host; odd: pages in all")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--port", type=int, default=0, help="of all hosts; 0: a free one")
    parser.add_argument("--control-port", type=int, default=0)
    parser.add_argument("--dns-port", type=int, default=0)
    parser.add_argument("--speed", type=float, default=1.0, help="world seconds per real second")
    parser.add_argument("--start", type=float, help="world time at the start, unix seconds")
    parser.add_argument("--epoch", type=float, help="when the pages began to change, unix seconds")
    parser.add_argument("--tempo", type=float, default=1.0, help="how much more often pages change")
    parser.add_argument("--min-gap", type=float, default=0.0, help="grid: seconds between requests to a host")
    parser.add_argument("--at-once", type=int, default=0, help="grid: requests to a host at the same time")
    parser.add_argument("--per-minute", type=int, default=0, help="grid: requests to a host in any minute")
    parser.add_argument("--slack", type=float, default=0.05, help="grid: how much shorter a gap may look")
    parser.add_argument("--latency", type=float, default=0.0, help="grid: seconds before every answer")
    parser.add_argument("--odd", type=int, default=200, help="odd: how many pages are odd")
    parser.add_argument("--farm", type=int, default=0, help="odd: strange subdomains of one domain")
    parser.add_argument(
        "--swapped", action="store_true", help="odd: ordinary pages at the addresses of odd ones"
    )
    parser.add_argument("--folders", action="store_true", help="odd: odd pages have paths like any other")
    parser.add_argument("--warm", action="store_true", help="make all pages before the first request")
    return parser.parse_args(argv)


def _world(options: argparse.Namespace, epoch: float) -> World:
    if options.world == "demo":
        return demo_world(seed=options.seed, epoch=epoch, tempo=options.tempo)
    if options.world == "croatia":
        return croatia_world(seed=options.seed, epoch=epoch)
    if options.world == "traps":
        return trap_world(seed=options.seed, epoch=epoch)
    if options.world == "faults":
        return fault_world(seed=options.seed, epoch=epoch)
    if options.world == "odd":
        return OddWorld(_odd_plan(options), epoch=epoch)
    limits = Limits(options.min_gap, options.at_once, options.per_minute, options.slack)
    mix = GridMix(changes=ChangeMix(tempo=options.tempo), limits=limits, latency=options.latency)
    return grid_world(options.hosts or 200, options.pages or 100, options.seed, epoch=epoch, mix=mix)


def _odd_plan(options: argparse.Namespace) -> OddPlan:
    pages = options.pages or 20_000
    return OddPlan(
        hosts=options.hosts or 400,
        pages=pages,
        odd=options.odd,
        decoys=decoys_for(pages),
        farm=options.farm,
        is_swapped=options.swapped,
        folders=options.folders,
        seed=options.seed,
    )


async def _serve(world: World, clock: WorldClock, options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    ports = Ports(web=options.port, control=options.control_port, names=options.dns_port)
    async with LivingWeb(world, now=clock, pace=real_time, ports=ports) as web:
        ready = {
            "port": web.port,
            "control_port": web.control_port,
            "dns_port": int(web.nameserver.rpartition(":")[2]),
            "epoch": world.epoch,
            "hosts": len(world.hosts),
            "pages": sum(host.spec.pages for host in world.hosts),
        }
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    sys.exit(main())
