"""Run the providers as a process of their own: `python -m vedette.livingweb.providers --latency 0.05`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import replace

from vedette.livingweb.providers.fake_providers import LivingProviders
from vedette.livingweb.providers.specs import TWELVE, ProviderSpec


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of all providers; 0: a free one")
    parser.add_argument("--control-port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--latency", type=float, help="seconds, for all; default: each its own")
    parser.add_argument("--per-minute", type=float, help="limit of every key; 0: none; default: each its own")
    given = parser.parse_args()
    with suppress(ImportError):
        import uvloop

        uvloop.install()
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(given))


async def _serve(given: argparse.Namespace) -> None:
    specs = [_limited(spec, given.per_minute) for spec in TWELVE]
    ports = (given.port, given.control_port)
    async with LivingProviders(specs, seed=given.seed, ports=ports, latency=given.latency) as town:
        origins = {name: town.origin(name) for name in town.hosts}
        sys.stdout.write(json.dumps({"control": town.control_port, "origins": origins}) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def _limited(spec: ProviderSpec, per_minute: float | None) -> ProviderSpec:
    if per_minute is None:
        return spec
    return replace(spec, limit=replace(spec.limit, per_minute=per_minute, tokens_per_minute=0))


if __name__ == "__main__":
    main()
