"""Writes a commented vedette.yaml for `vedette init`, and the schema for editors beside it.  A test reads it back."""

from __future__ import annotations

import os
from pathlib import Path

from vedette.config.model import schema
from vedette.contracts.errors import InputError, RefusedError
from vedette.report.plain import dump

CONFIG = """\
# yaml-language-server: $schema=./vedette.schema.json
#
# Vedette.  Everything here has a default: an empty file works.  docs/reference/config.md lists every key.
# Durations: 500ms, 2s, 5m, 4h, 30d.  Sizes: 512k, 10 MiB.  Secrets: env:NAME, read from the environment.

# Defaults of a country: croatia asks for Croatian pages, reads Croatian scans, and `serve` runs at 06:00 in Zagreb.
# profile: croatia

# Where the store and the archive live, relative to this file.
data: vedette-data

fetch:
  # Say who you are and how to reach you: it is what keeps you from being blocked.
  # user_agent: "Vedette/0.1 (+https://your.example/bot; you@your.example)"
  total_timeout: 30s
  body_limit: 10 MiB
  # Private and loopback addresses are refused unless they are listed here.
  # allow_networks: ["10.1.2.0/24"]

lanes:
  # What every host may see from us at most.  Crawl-delay and Retry-After win over it.
  default:
    gap_min: 2s
    gap_max: 5s
    per_minute: 20
    at_once: 1
  # "host:example.org": {per_minute: 6}

schedule:
  # learned, seed-ewma, fixed or per-risk.
  policy: learned
  # Looks per day, at most; left out: as many as politeness allows.
  # budget_per_day: 5000

# How soon a change must be seen, and how often that must hold.
objectives:
  CRITICAL: {within: 4h, share: 0.95}

discover:
  # Hosts with one of these words as a whole label or between hyphens are not watched.
  blocked_words: [heartbeat, test, synthetic, debug]

# Who is told of changes and of trouble; docs/how-to/alerts.md.  Without channels `vedette serve` prints.
# notify:
#   channels:
#     ops: {kind: slack, url: "env:OPS_WEBHOOK", per_day: 20}
#   rules:
#     - {channel: ops, risk: HIGH}

# What to watch.  `vedette add URL` and `vedette import FILE` do the same without editing this file.
sources: []
#  - url: https://example.org/feed.xml
#    name: Example news
#    lister: feed            # page, feed, sitemap, html_list, pagination, crawl, auto
#    risk: HIGH              # CRITICAL, HIGH, MEDIUM, LOW; left out: by the URL
#    tier: HIGH              # order of runs
#    every: 10m              # interval of this address, whatever the policy
#    scrape_frequency: 6h    # or: at least that often
"""


SCHEMA = "vedette.schema.json"


def write_config(path: Path, *, force: bool = False) -> Path:
    """Gives the file of the schema.  A configuration that is there is overwritten only by force."""
    beside = path.with_name(SCHEMA)
    if path.exists() and not force:
        raise RefusedError(f"{path} exists; edit it, or overwrite it with --force")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))  # it may come to hold secrets
        path.write_text(CONFIG, encoding="utf-8")
        beside.write_text(dump(schema(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    return beside
