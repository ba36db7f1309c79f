"""How long do answers take?  Quantiles of any number of calls in a few hundred counters, within 5 %."""

from __future__ import annotations

import math

_PER_DOUBLING = 16  # a bucket is 4.4 % wide


class Latencies:
    """Counts of calls by the logarithm of their time."""

    __slots__ = ("_counts", "total")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.total = 0

    def add(self, milliseconds: float, calls: int = 1) -> None:
        bucket = round(math.log2(max(1.0, milliseconds)) * _PER_DOUBLING)
        self._counts[bucket] = self._counts.get(bucket, 0) + calls
        self.total += calls

    def quantile(self, share: float) -> int:
        """The time that this share of the calls did not exceed, in milliseconds; 0 before the first call."""
        left = math.ceil(share * self.total)
        for bucket in sorted(self._counts):
            left -= self._counts[bucket]
            if left <= 0:
                return round(2 ** (bucket / _PER_DOUBLING))
        return 0
