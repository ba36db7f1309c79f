"""robots.txt of a host, and whether it forbids a request.  The judgement is the server's own (RFC 9309)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

HIDDEN = "/interno/"  # pages below it are linked and forbidden
RULES = (
    (HIDDEN, False),
    ("/*?print=", False),
    ("/*&print=", False),
    (HIDDEN + "javno/", True),
)  # path, allowed


@dataclass(frozen=True, slots=True)
class Robots:
    """What /robots.txt says.  `kind`: rules | allow | missing | error."""

    kind: str = "allow"
    crawl_delay: float = 0.0
    rules: tuple[tuple[str, bool], ...] = RULES

    @property
    def status(self) -> int:
        return {"missing": 404, "error": 500}.get(self.kind, 200)

    def text(self, sitemap: str = "") -> str:
        lines = ["# robots.txt", "User-agent: GreedyBot", "Disallow: /", "", "User-agent: *"]
        if self.kind == "rules":
            lines += [f"{'Allow' if allowed else 'Disallow'}: {path}" for path, allowed in self.rules]
        else:
            lines.append("Disallow:")
        if self.crawl_delay:
            lines.append(f"Crawl-delay: {self.crawl_delay:g}")
        if sitemap:
            lines += ["", f"Sitemap: {sitemap}"]
        return "\n".join(lines) + "\n"

    def forbids(self, target: str) -> bool:
        """True where robots.txt forbids this request to a crawler.  A broken robots.txt forbids everything."""
        if target == "/robots.txt" or self.kind in ("allow", "missing"):
            return False
        if self.kind == "error":
            return True
        longest, allowed = -1, True
        for path, allows in self.rules:
            if len(path) > longest and _pattern(path).match(target):
                longest, allowed = len(path), allows
        return not allowed


@cache
def _pattern(path: str) -> re.Pattern[str]:
    end = "$" if path.endswith("$") else ""
    return re.compile(".*".join(re.escape(part) for part in path.removesuffix("$").split("*")) + end)
