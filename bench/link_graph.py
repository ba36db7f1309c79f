"""How long the figures of a large link graph take:  python bench/link_graph.py --nodes 200000 --links 2000000"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from vedette.core.findings.link_graph import link_graph, metrics_of, pack_graph, unpack_graph


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--links", type=int, default=2_000_000)
    options = parser.parse_args()
    draw = np.random.default_rng(7)
    ids = draw.integers(-(2**62), 2**62, options.nodes)
    # Different links only, half of them to a few popular nodes.
    keys: np.ndarray = np.zeros(0, np.int64)
    while len(keys) < options.links:
        one, other = draw.integers(0, options.nodes, (2, options.links))
        other = np.where(draw.random(options.links) < 0.5, other // 50, other)
        keys = np.sort(np.concatenate((keys, (one * options.nodes + other)[one != other])))
        keys = keys[np.diff(keys, prepend=-1) != 0]
    keys = draw.permutation(keys)[: options.links]
    links = ids[np.stack((keys // options.nodes, keys % options.nodes), axis=1)]
    began, cpu = time.perf_counter(), time.process_time()
    graph = link_graph(ids, links)
    built = time.perf_counter()
    metrics = metrics_of(graph)
    measured = time.perf_counter()
    packed = pack_graph(graph, metrics, {"pages": len(graph)})
    again = pack_graph(*unpack_graph(packed))
    ended = time.perf_counter()
    result = {
        "nodes": len(graph), "links": len(graph.targets), "build_s": round(built - began, 2),
        "metrics_s": round(measured - built, 2), "pack_and_restore_s": round(ended - measured, 2),
        "total_s": round(ended - began, 2), "cpu_s": round(time.process_time() - cpu, 2),
        "is_byte_equal": again == packed, "bytes": len(packed),
    }  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main()
