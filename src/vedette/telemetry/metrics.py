"""Counters, gauges and histograms, and their text for Prometheus (exposition format 0.0.4).

Small on purpose: an increment is one dict write, so a crawl does not feel it.  Each metric has one writing thread; a
scrape copies what it reads.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

Labels = tuple[str, ...]
Sample = tuple[Labels, float]
SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


@dataclass(slots=True)
class Counter:
    """Only ever grows."""

    name: str
    words: str
    labels: Labels = ()
    values: dict[Labels, float] = field(default_factory=dict)

    kind = "counter"

    def add(self, key: Labels = (), by: float = 1.0) -> None:
        self.values[key] = self.values.get(key, 0.0) + by

    def lines(self) -> Iterator[str]:
        for key, value in list(self.values.items()):
            yield f"{self.name}{_marks(self.labels, key)} {_number(value)}"


@dataclass(slots=True)
class Gauge:
    """A value of now: set, or asked for when it is read."""

    name: str
    words: str
    labels: Labels = ()
    values: dict[Labels, float] = field(default_factory=dict)

    kind = "gauge"

    def set(self, value: float, key: Labels = ()) -> None:
        self.values[key] = value

    def replace(self, samples: Iterable[Sample]) -> None:
        """All of them at once: what is not named any more is gone."""
        self.values = dict(samples)

    def lines(self) -> Iterator[str]:
        for key, value in list(self.values.items()):
            yield f"{self.name}{_marks(self.labels, key)} {_number(value)}"


@dataclass(slots=True)
class Histogram:
    name: str
    words: str
    labels: Labels = ()
    buckets: tuple[float, ...] = SECONDS
    counts: dict[Labels, list[int]] = field(default_factory=dict)
    sums: dict[Labels, float] = field(default_factory=dict)

    kind = "histogram"

    def observe(self, value: float, key: Labels = ()) -> None:
        counts = self.counts.get(key)
        if counts is None:
            self.sums[key] = 0.0
            counts = self.counts[key] = [0] * (len(self.buckets) + 1)
        counts[bisect_left(self.buckets, value)] += 1
        self.sums[key] += value

    def lines(self) -> Iterator[str]:
        for key, found in list(self.counts.items()):
            counts, below = list(found), 0
            for bound, count in zip((*map(_number, self.buckets), "+Inf"), counts, strict=True):
                below += count
                yield f"{self.name}_bucket{_marks((*self.labels, 'le'), (*key, bound))} {below}"
            yield f"{self.name}_sum{_marks(self.labels, key)} {_number(self.sums[key])}"
            yield f"{self.name}_count{_marks(self.labels, key)} {below}"


Metric = Counter | Gauge | Histogram


@dataclass(slots=True)
class Registry:
    metrics: tuple[Metric, ...]
    before: list[Callable[[], None]] = field(default_factory=list)  # asked before every reading

    def text(self) -> str:
        """What a scrape reads."""
        for refresh in self.before:
            refresh()
        return "".join(_block(metric) for metric in self.metrics)


def _block(metric: Metric) -> str:
    head = f"# HELP {metric.name} {metric.words}\n# TYPE {metric.name} {metric.kind}\n"
    return head + "".join(f"{line}\n" for line in metric.lines())


def _marks(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return "{" + inner + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
