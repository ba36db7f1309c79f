"""Writes docs/reference/cli.md, vedette.1, config.md, the JSON Schemas and the help of every verb.  A test compares."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import pathlib
import sys
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import Any, Literal, get_args, get_origin

import typer

from vedette import __version__
from vedette.config import model as config
from vedette.contracts.alerts import NoticeKind
from vedette.contracts.fetch import FetchSettings
from vedette.contracts.lane import LanePolicy
from vedette.contracts.source import ListerKind
from vedette.contracts.words import NodeRole, Risk
from vedette.core.priority.score import scored_url_schema, url_signals_schema
from vedette.store.migrate import NEWEST, newest_text
from vedette.surface.cli.entry import HELP_TEXTS, HELP_WIDTH, NEXT_PAGE
from vedette.surface.cli.exit_codes import MEANING
from vedette.surface.cli.program import WORDS as WORDS_OF_PROGRAM
from vedette.surface.cli.program import program
from vedette.surface.cli.verb import SHARED

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLI, CONFIG = ROOT / "docs/reference/cli.md", ROOT / "docs/reference/config.md"
MAN = ROOT / "docs/reference/vedette.1"
SCHEMAS = {
    ROOT / "docs/reference/url-signals.schema.json": url_signals_schema,
    ROOT / "docs/reference/scored-url.schema.json": scored_url_schema,
}

# What a user may set; the rest is in config.md.
VARIABLES = {
    "VEDETTE_CONFIG": "The configuration, where --config names none.",
    "VEDETTE_DATA": "The data folder, where --data names none.",
    "NO_COLOR": "Set: no colours.",
}
KINDS = {
    timedelta: "duration", Risk: "risk", datetime: "date", bool: "true or false", int: "number", float: "number",
    str: "text", ListerKind: "lister", NodeRole: "role", time: "time of day", NoticeKind: "notice",
}  # fmt: skip

# What every key means.  A key without words fails the test.
WORDS = {
    "profile": "Defaults of a country: `croatia` (languages, zone, a run at 06:00).  Your keys win.",
    "data": "Folder of the store and the archive, relative to this file.",
    "sources": "What to watch.  Also filled by `vedette add` and `vedette import`.",
    "lanes": "What a far end may see from us at most, by lane: `default`, `all`, `host:example.org`.",
    "fetch": "How to ask.  A source may override every key under its own `fetch`.",
    "classify": "How URLs are classified.",
    "schedule": "When to look again.",
    "objectives": "How soon a change must be seen, by risk.",
    "objectives.*.within": "A change is to be seen within this time,",
    "objectives.*.share": "in this share of all cases.",
    "discover": "What listers may bring in.",
    "extract": "How text is taken from a body.",
    "evidence": "How evidence is kept.",
    "screen": "What is never kept: rows that are checked before any byte reaches the disk.",
    "run": "Limits of a run.",
    "report": "How people read what the command line prints.",
    "report.timezone": "Zone of printed times: `UTC`, `local`, or a name as `Europe/Zagreb`; `--local-time` wins.  "
    "JSON and the log stay in UTC.",
    "sources[].url": "http or https.",
    "sources[].name": "What people call it; the id is made of it.",
    "sources[].id": "The id, where it should not be made of the name.",
    "sources[].lister": "`page`, `feed`, `sitemap`, `html_list`, `pagination`, `crawl`; for single sites `hnb`, `nn`, "
    "`eurlex`, `mrms`, `hok`; `auto` looks once and chooses.",
    "sources[].risk": "`CRITICAL`, `HIGH`, `MEDIUM` (or `NORMAL`), `LOW`.  Not set: by the URL.",
    "sources[].tier": "Order of runs, and what `vedette run --tier` takes.",
    "sources[].active": "`false`: keep it, do not look.",
    "sources[].every": "Interval of its own address, whatever the policy: `10m`.  At least 1 min; lane, robots.txt "
    "and budgets stay stronger.",
    "sources[].scrape_frequency": "Ceiling of the interval of its own address and its listings: `6h`, or a word such "
    "as `DAILY` or `WEEKLY`.  The policy may look sooner.",
    "sources[].retention": "Retention class of its evidence.",
    "sources[].url_pattern": "Only pages whose URL matches (RE2); lists of the source are read all the same.",
    "sources[].include": "Only pages whose URL matches one of these (RE2); lists of the source are read all the same.",
    "sources[].exclude": "No URL that matches one of these (RE2), page or list.",
    "sources[].start_date": "Only what was published on or after this day.",
    "sources[].end_date": "Only what was published on or before this day.",
    "sources[].types": "Sitemap types to take.",
    "sources[].max_depth": "Levels of a crawl.",
    "sources[].max_urls": (
        "At most so many URLs over the life of the source.  Not set: 2,000 for a crawl; other listers take any number, "
        "50,000 per reading.  A limit that leaves something out is an alert (`DISCOVERY_CAPPED`)."
    ),
    "sources[].max_pages": "At most so many pages of a paginated list.",
    "sources[].max_sitemap_depth": "How deep sitemap indexes are followed.",
    "sources[].pagination_pattern": "How the next page is spelled, where it is not linked.",
    "sources[].selectors": "CSS selectors of a list page.",
    "sources[].selectors.item": "One entry of the list.",
    "sources[].selectors.link": "The link inside an entry.",
    "sources[].selectors.title": "The title inside an entry.",
    "sources[].selectors.date": "The date inside an entry.",
    "sources[].requires_headless": "Its pages are shown in a browser; without one they are parked.",
    "sources[].screenshot": "A picture of each new state is kept; needs `requires_headless`, excludes `redact`.",
    "sources[].follow_hosts": 'Other hosts that a crawl of this source may enter; `"*"`: any host, with `hunt` only.',
    "sources[].hunt": "`true`: what its crawl finds is looked at only if the hunt chooses it; docs/hunting.md.",
    "sources[].redact": "Personal data is taken out of all that is read; not set: where the source hunts.  "
    "docs/how-to/redact.md",
    "sources[].structured": "What the listers of single sites take.",
    "sources[].structured.currencies": "`hnb`: also watch the document of each of these.  `[USD, CHF]`",
    "sources[].structured.formats": "`nn`: the forms in which acts are watched: `html`, `json-ld`, `pdf`.",
    "sources[].structured.celex": "`eurlex`: only numbers that begin so.  `[02006L0112]`",
    "sources[].structured.languages": "`eurlex`: in these languages.",
    "sources[].category": "What a registry files it under.",
    "sources[].hierarchy": "Legal rank, 1 (constitution) to 7 (practice).",
    "sources[].domains": "Fields of law that it speaks about.",
    "sources[].provenance": "Of its address in a registry: `stated` in the documents, `checked` or "
    "`listed` in the public list behind them, or `inferred` and to be checked.",
    "sources[].note": "For whoever reads of it later; also by `vedette note`.",
    "sources[].tags": "Words of your own, by which `list`, `changes` and `sources list` pick (`--tag`).",
    "sources[].fetch": "Any key of `fetch`, for this source alone.",
    "lanes.*.gap_min": "Least time between two starts.",
    "lanes.*.gap_max": "The gap is drawn between `gap_min` and this.",
    "lanes.*.per_minute": "At most so many starts a minute; 0: no such limit.",
    "lanes.*.burst": "So many starts may come early.",
    "lanes.*.at_once": "So many requests under way.",
    "lanes.*.trips_after": "Failures in a row that close the lane.",
    "lanes.*.trip_share": "Or this share of failures among the last calls; 0: off.",
    "lanes.*.closed_for": "How long it stays closed; doubles with every failed probe, up to a day.",
    "lanes.*.sleep": "Hours and days of the week in which nothing starts, UTC.  `[22:00-06:00, Sat-Sun]`",
    "sources[].honour_nofollow": "`false`: a crawl also follows links marked nofollow.  Only for sites of your own.",
    "sources[].filters": "What of its pages is compared, and which differences are told: steps in order "
    "(docs/how-to/filters.md).",
    "sources[].traps": "Budgets of a crawl against sites without end; a refusal names the one that it met.",
    "sources[].traps.path_depth": "Parts of a path.",
    "sources[].traps.session": "Addresses with a token in the middle of the path or in the query, per place.",
    "sources[].traps.token_names": "Addresses whose page is named by a token, per shape.",
    "sources[].traps.calendar": "Pages that end in a day or month, per shape.",
    "sources[].traps.calendar_ahead": "How far ahead the day in an address may be.",
    "sources[].traps.calendar_back": "How far back the day of a calendar's page may be.",
    "sources[].traps.facets": "Query strings per path, unless one parameter tells most of them apart.",
    "sources[].traps.shape": "Addresses of one shape.",
    "sources[].traps.content_repeat": "Pages of one shape in a row with the same text that close the shape.",
    "fetch.connect_timeout": "For the connection.",
    "fetch.read_timeout": "Between two pieces of the answer.",
    "fetch.total_timeout": "For the whole request.",
    "fetch.wire_limit": "Largest body as it comes.",
    "fetch.body_limit": "Largest body once decoded.",
    "fetch.redirects": "Hops that are followed.",
    "fetch.allow_networks": "Private, loopback and other special networks (CIDR) that may be connected to.",
    "fetch.allow_ports": "Ports that may be connected to, beside 80, 443, 8080 and 8443.",
    "fetch.nameservers": "Name servers, `address:port`; not set: the system's.",
    "fetch.ca_file": "Certificates to trust, instead of the system's.",
    "fetch.user_agent": "Who we say we are: name the bot and a way to reach you.",
    "fetch.robots_agent": "Our name in robots.txt.",
    "fetch.accept_language": "Languages we ask for.",
    "fetch.headers": "Further headers; `env:NAME` reads a secret from the environment.",
    "fetch.cookies": "Cookies by name; the value is always `env:NAME` (docs/how-to/behind-a-login.md).",
    "fetch.basic_auth": "A name with its password: `{user: me, password: env:NAME}`.",
    "fetch.post": "Asks by POST, with `{form: {...}}`, `{json: ...}` or `{body: text, type: text/xml}`; `env:NAME` "
    "in it is a secret.",
    "fetch.keep_cookies": "`true`: what the site sets is sent to it again, until the run ends.  In no file.",
    "fetch.proxy": "An HTTP proxy, or a SOCKS5 one such as Tor: `socks5h://127.0.0.1:9050` (docs/how-to/tor.md).",
    "fetch.types": "Content types that are taken, by header and by bytes: `[text/html, image/*]`.  Not set: all; "
    "a hunt takes pages, text and feeds.",
    "fetch.respect_robots": "`false`: robots.txt is not asked.  Only for hosts of your own.",
    "classify.packs": "Language packs, in order.",
    "classify.patterns": "Rows of your own; they win over the packs.",
    "classify.patterns[].pattern": "RE2, matched against the decoded URL.",
    "classify.patterns[].role": "`ARCHIVE`, `INDEX`, `NEWS_FEED`, `REGULATION`, `FORM` or `GUIDANCE`.",
    "classify.patterns[].risk": "Its risk.",
    "classify.patterns[].is_hub": "Such a page lists others.",
    "schedule.policy": "`learned`, `seed-ewma`, `fixed` or `per-risk`; docs/scheduling.md.",
    "schedule.interval": "Interval of the `fixed` policy.",
    "schedule.velocity": "How `seed-ewma` follows what looks find.",
    "schedule.velocity.warmup": "Looks that leave a new target at 0.5.",
    "schedule.velocity.alpha_change": "Weight of a look that found a change.",
    "schedule.velocity.alpha_stable": "Weight of a look that found none.",
    "schedule.velocity.floor": "No velocity is lower,",
    "schedule.velocity.ceiling": "and none is higher.",
    "schedule.ewma": "The interval of `seed-ewma`: base / (velocity * factor of the risk).",
    "schedule.ewma.base": "The interval of a target that changes with every look, and the shortest.",
    "schedule.ewma.longest": "No interval is longer.",
    "schedule.ewma.jitter": "Share by which an interval is drawn longer or shorter.",
    "schedule.ewma.factors": "How many times as often each risk is looked at.",
    "schedule.budget_per_day": "Looks in any 24 hours, at most; every look counts.  Not set: no limit.",
    "schedule.host_budget_per_day": "The same for every host, beside what its lane allows.",
    "schedule.audit_share": "Share of looks at a random moment, so that `freshness` measures without bias; 0: none.",
    "hunt": "Where sources with `hunt: true` look first (`vedette hunt`).",
    "hunt.looks_per_day": "First looks that may be chosen in any 24 hours.  Not set: what lanes and budget allow.",
    "hunt.share": "Of these, for hosts and neighbourhoods that nobody looked at yet.",
    "hunt.host_budget": "Units that one host may cost; a page costs one,",
    "hunt.error_cost": "and an error so many.",
    "hunt.at_host": "Looks that were chosen at one host and have not ended.",
    "hunt.daring": "Standard deviations that a place which is not known well is given for free.",
    "hunt.persist_at": "Oddness from which on a page is a finding, 0 to 100.  Not set: 37, or as the crawl says (31).",
    "hunt.llm_at": "Oddness from which on it is worth asking a model about.  Not set: as the weights say (53).",
    "hunt.without": "Families of features that do not count: markup, age, form, words, phrases, place, links.",
    "hunt.vectors": "Index that `vedette hunt similar` asks: `numpy` in memory, or `qdrant` in the data folder.",
    "hunt.isolation_forest": "`true`: the isolation forest that `vedette hunt forest` grew counts as one more feature.",
    "hunt.revisit": "Findings and seeds are looked at again after so long.",
    "hunt.analyst": "Provider that `vedette hunt analyse` asks: `openai/gpt-4o-mini`.  Not set: the first with a key.",
    "hunt.analyst_usd": "US dollars that one `vedette hunt analyse` may cost at most.",
    "hunt.failure_cache_seconds": "What answered 404 is not asked for again within it (spec 004).",
    "discover.auto_sources": "`true`: a page that a listing names on a host without a source gets a source of its own.",
    "discover.blocked_words": "Hosts with one of these as a whole label or between hyphens are not watched.",
    "extract.scope": "`main`: the main part of a page is compared; `all`: everything.",
    "extract.render": "`auto`: a page that only scripts fill is shown in a browser; `asked`: only `requires_headless`.",
    "extract.ocr_languages": "Languages of scanned pages, as tesseract names them, joined by `+`.",
    "extract.worker_above": "Larger bodies are parsed in a worker process.",
    "evidence.storage": "`s3://bucket/prefix` of an S3-compatible store (docs/how-to/evidence-in-a-bucket.md); "
    "not set: the data folder.",
    "evidence.endpoint": "Address of that store; not set: Amazon.",
    "evidence.region": "Region of the bucket, where its store asks for one.",
    "evidence.retention": "How long each class is kept; empty: for ever.  `vedette gc` drops what is over.",
    "evidence.ledger": "How long decisions are kept; not set: for ever.  The newest about each URL stays.",
    "evidence.time_stamps": "Address of a time stamping authority (RFC 3161) that stamps HEADS "
    "(docs/how-to/verify-evidence.md); not set: none.",
    "evidence.time_stamps_every": "How often it is asked.",
    "evidence.time_stamps_ca": "File with the CA of the authority in PEM, for `evidence verify`.",
    "evidence.segment_limit": "Size at which an archive file is closed.",
    "screen[].category": "What it is about; all that a screened look leaves behind.",
    "screen[].name": "What the row is called in an explanation.",
    "screen[].pattern": "RE2, in all that an answer holds (docs/how-to/screen.md).",
    "screen[].digest": "sha256 of a body, or of what is in it.",
    "screen[].digests": "A file with one sha256 a line.",
    "screen[].classifier": "An entry point of the group `vedette.screen` of an installed package.",
    "run.at_once": "Looks under way, over all hosts.",
    "run.per_cycle": "Jobs that are claimed at once.",
    "run.memory": "For all bodies and parses under way, over what the program takes at its start.",
    "run.max_sightings": "New URLs that one run takes in.",
    "run.confirm_after": "When the second look at a difference comes; later where a cache keeps the page.",
    "stages": "The queues after a look: scout, router, ocr, extract, embed.",
    "stages.in_process": "A run serves them itself, after its looks; `false`: only `vedette worker` does.",
    "stages.queues": "Which of them are served.",
    "stages.similar": "From this likeness on, evidence of another target is named as similar; both are kept.",
    "stages.embed": "Make a vector of every text that is worth it.",
    "panel": "What a batch asks of the providers, and what it must keep to.  003's environment variables win over it.",
    "panel.models": "Which providers are asked.  Not set: every one that has a key.",
    "panel.prompts": "The questions.",
    "panel.prompts[].type": "Its name in the rows (`prompt_type`).",
    "panel.prompts[].text": "What is asked; `{domain}` stands for the domain.",
    "panel.prompts[].tier": "1 is asked first and never dropped; the highest is dropped first.",
    "panel.prompts[].version": "Kept with every answer; change it with the text.",
    "panel.prompts[].system": "The system message.",
    "panel.prompts[].most_tokens": "An answer has at most so many tokens.",
    "panel.prompts[].canary": "The world cannot change its answer: a difference means that the model changed.",
    "panel.repeats": "How often each question is asked, for agreement and confidence.",
    "panel.at_once": "Calls at once, of all providers (`GLOBAL_CONCURRENCY`).",
    "panel.chunk_size": "Domains held in memory per provider (`CHUNK_SIZE`).",
    "panel.target": "Soft cut: from here on low tiers are dropped (`CRAWL_SLA_TARGET_SECS`).",
    "panel.hard": "Hard stop: from here on nothing starts (`CRAWL_SLA_MAX_SECS`).",
    "panel.timeout": "Of one call (`PROVIDER_TIMEOUT_MS`).",
    "panel.budget_usd": "No call starts that could pass it (`COST_BUDGET_USD`).",
    "panel.database": "`sqlite:///path` or `postgresql://...` (`DATABASE_URL`).  Not set: our own store.",
    "panel.shadow_table": "Answers go to this table instead of `domain_responses` (`SHADOW_TABLE`).",
    "panel.redis": "Redis: `rl:`, `cb:`, `lock:crawl:` of panel runs; carries the queues of PostgreSQL (`REDIS_URL`).",
    "panel.registry": "Where the list of domains is, when no other is named.",
    "panel.listen": "Address of the admin pages, with `panel run --listen`.",
    "panel.hosts": "Names by which the admin pages may be asked for, besides loopback and addresses.",
    "panel.token": "Asked for by the admin pages; `env:NAME`.  Without it: loopback only, no kill switch.",
    "providers": "Providers of the panel: what differs from the table, by name, or one of your own.",
    "providers.*.active": "`false`: not asked.",
    "providers.*.format": "Wire format of a provider of your own.",
    "providers.*.base_url": "Where it is: a proxy, a server of your own, a test.",
    "providers.*.path": "Behind the base URL; `{model}` stands for the model.",
    "providers.*.model": "As the provider spells it.",
    "providers.*.models_path": "Where it lists its models.",
    "providers.*.keys": "Each `env:NAME`; one lane each.  Not set: the variable of the table, and NAME_2 to NAME_9.",
    "providers.*.search": "It answers from a search.",
    "providers.*.per_minute": "Requests a minute of one key, until its answers say otherwise.",
    "providers.*.at_once": "Requests under way by one key, at most.",
    "providers.*.price": "Instead of the list price; a cost ceiling needs one.",
    "providers.*.price.tokens_in": "US dollars per million tokens of questions.",
    "providers.*.price.tokens_out": "US dollars per million tokens of answers.",
    "providers.*.price.request": "US dollars per request.",
    "retry": "How a look that failed is tried again.",
    "retry.attempts": "In all, the first included; then the look is parked.",
    "retry.shortest": "The most that the second attempt waits; it doubles with each.",
    "retry.longest": "No attempt waits longer, unless a Retry-After says so.",
    "health": "When a source is in trouble (`vedette health`), and when it is out of it.",
    "health.sla": "No success for so long is a breach; longer where the schedule looks less often.",
    "health.errors": "Errors in a row that are trouble.",
    "health.recover_after": "Good for so long, and two looks, is a recovery; every relapse doubles it.",
    "health.every": "How often `vedette serve` checks.",
    "notify": "Who is told of changes and alerts.  Without channels `vedette serve` prints them.",
    "notify.channels": "Ways to reach people, by name.",
    "notify.channels.*.kind": "`stdout`, `smtp`, `webhook` (Standard Webhooks), `slack` or `apprise`.",
    "notify.channels.*.url": "webhook, slack: where to post; `env:NAME` where the address is a secret.",
    "notify.channels.*.urls": "apprise: its service URLs, or `env:NAME`.",
    "notify.channels.*.secret": "webhook: the signing secret (`whsec_...`), as `env:NAME`.",
    "notify.channels.*.headers": "webhook, slack: further headers; `env:NAME` reads a secret.",
    "notify.channels.*.allow_networks": "webhook, slack: private networks (CIDR) that may be posted to.",
    "notify.channels.*.allow_ports": "webhook, slack: ports beside 80, 443, 8080 and 8443.",
    "notify.channels.*.host": "smtp: the mail server.",
    "notify.channels.*.port": "smtp: its port; not set: 587, 465 with `tls: tls`, 25 with `tls: none`.",
    "notify.channels.*.tls": "smtp: `starttls`, `tls` or `none`.",
    "notify.channels.*.username": "smtp: for a server that asks.",
    "notify.channels.*.password": "smtp: as `env:NAME`.",
    "notify.channels.*.sender": "smtp: the address that mails come from.",
    "notify.channels.*.to": "smtp: who gets them.",
    "notify.channels.*.timeout": "For one attempt.",
    "notify.channels.*.digest": "`none`: at once; `hourly`, `daily` or `weekly`: gathered, with the diffs.",
    "notify.channels.*.digest_at": "When a daily or weekly digest goes out.",
    "notify.channels.*.digest_on": "The day of a weekly digest.",
    "notify.channels.*.timezone": "Zone of digest and day; not set: that of cron.",
    "notify.channels.*.per_day": "At most so many at once in a day; the rest goes into the digest.",
    "notify.channels.*.bypass": "This risk and graver never waits and is never counted out.",
    "notify.channels.*.template": "Text of your own: `$title $summary $url $risk $kind $excerpt $why $sources $at`.",
    "notify.rules": "Which channel hears what; without rules every channel hears everything.",
    "notify.rules[].channel": "The name of a channel.",
    "notify.rules[].risk": "This risk and graver.",
    "notify.rules[].sources": "Only these sources, by id.",
    "notify.rules[].tags": "Only changes of sources with one of these tags.",
    "notify.rules[].kinds": "Only these: `change`, `alert`, `recovery`.",
    "notify.attempts": "In all, the first included; then the message is parked (`vedette alerts outbox`).",
    "notify.shortest": "The most that the second attempt waits; it doubles with each.",
    "notify.longest": "No attempt waits longer, unless a Retry-After says so.",
    "cron": "When `vedette serve` starts runs and checks.",
    "cron.timezone": "Zone of the entries; not set: `$WATCHDOG_TIMEZONE`, else UTC.",
    "cron.runs": "When the four tiers are queued, CRITICAL first; empty: never.",
    "cron.health": "When the health check reports; empty: only every `health.every`.",
    "cron.models": "When the providers of the panel are asked which models they have; empty: never.",
    "cron.stagger": "Time between two tiers.",
    "serve": "What `vedette serve` offers over HTTP: `/metrics`, `/healthz`, `/readyz`.",
    "serve.listen": "Address and port; beyond loopback only with a token.",
    "serve.hosts": "Names by which it may be asked for, besides loopback and addresses.",
    "serve.token": "Bearer token of `/metrics`, as `env:NAME`; not set: loopback only.",
    "log": "The log of `vedette serve`, on stderr.",
    "log.format": "`json`, `human`; `auto`: json where `$VEDETTE_ENV` or `$NODE_ENV` is production.",
    "log.traces": "An OTLP receiver of runs and looks as traces: `http://127.0.0.1:4318/v1/traces`.  A key that it "
    "needs goes into `OTEL_EXPORTER_OTLP_HEADERS`.",
    "tor": "The control port of Tor, where lanes through it ask for new circuits when they back off.",
    "tor.control": "Its address, never a name: `127.0.0.1:9051`.  Not set: Tor is never asked.",
    "tor.password": "Of the control port: `env:NAME`.  Not set: by cookie, or none is needed.",
    "log.level": "`debug`, `info`, `warn` or `error`; `$DEBUG` means debug.",
}


def main() -> int:
    CLI.parent.mkdir(parents=True, exist_ok=True)
    CLI.write_text(cli_page(), encoding="utf-8")
    CONFIG.write_text(config_page(), encoding="utf-8")
    MAN.write_text(man_page(), encoding="utf-8")
    NEWEST.write_text(newest_text(), encoding="utf-8")
    HELP_TEXTS.write_text(help_texts(), encoding="utf-8")
    for place, schema in SCHEMAS.items():
        place.write_text(schema_text(schema()), encoding="utf-8")
    return 0


def cli_page() -> str:
    top: Any = typer.main.get_command(program())
    parts = [
        "# Command line\n",
        "Made by `tools/reference.py`; do not edit.  Results go to stdout, everything else to stderr.\n",
        "## Exit codes\n",
        "| code | meaning |\n|---|---|\n"
        + "".join(f"| {code.value} | {words} |\n" for code, words in MEANING.items()),
        'An error is one line on stderr, `vedette: ...`; with `--json` it is `{"error", "code", "kind"}`.\n',
        "## Options of every verb\n",
        "Before or after the verb; after it wins.\n",
        _options([option for option in top.params if option.name in _shared() | {"show_version"}]),
    ]
    for name, command in top.commands.items():
        parts.append(_verb(name, command))
        for inner, one in getattr(command, "commands", {}).items():
            parts.append(_verb(f"{name} {inner}", one, level=3))
    return "\n".join(parts)


def help_texts() -> str:
    """What `vedette VERB --help` prints on 80 columns or more, by verb."""
    os.environ["COLUMNS"] = str(HELP_WIDTH)
    top: Any = typer.main.get_command(program())
    pages = []
    for name, command in top.commands.items():
        for words in ([name], *([name, inner] for inner in getattr(command, "commands", {}))):
            with contextlib.redirect_stdout(io.StringIO()) as told:
                top([*words, "--help"], prog_name="vedette", standalone_mode=False)
            pages.append(f"{' '.join(words)}\n{told.getvalue()}")
    return NEXT_PAGE.join(pages)


def man_page() -> str:
    """`man vedette`: the same words in roff."""
    top: Any = typer.main.get_command(program())
    lines = [
        f'.TH VEDETTE 1 "" "vedette {__version__}" "User Commands"',
        '.\\" Made by tools/reference.py; do not edit.',
        ".SH NAME",
        f"vedette \\- {_roff(WORDS_OF_PROGRAM[0].lower() + WORDS_OF_PROGRAM[1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        "\\fBvedette\\fR [\\fIOPTIONS\\fR] \\fIVERB\\fR [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION",
        "Results go to stdout, everything else to stderr.",
        ".PP",
        "\\fBvedette help\\fR lists all verbs, \\fBvedette help\\fR \\fIVERB\\fR explains one.",
        ".SH OPTIONS OF EVERY VERB",
        *_man_options([option for option in top.params if option.name in _shared() | {"show_version"}]),
        ".SH VERBS",
    ]
    for name, command in top.commands.items():
        lines += _man_verb(name, command)
        for inner, one in getattr(command, "commands", {}).items():
            lines += _man_verb(f"{name} {inner}", one)
    lines.append(".SH EXIT STATUS")
    for code, words in MEANING.items():
        lines += [".TP", f"\\fB{code.value}\\fR", _roff(words)]
    lines.append(".SH ENVIRONMENT")
    for name, words in VARIABLES.items():
        lines += [".TP", f"\\fB{name}\\fR", _roff(words)]
    return "\n".join(lines) + "\n"


def _man_verb(name: str, command: Any) -> Iterator[str]:
    words, example, own = _parts(command)
    usage = " ".join(_argument(one) for one in own if one.param_type_name == "argument")
    yield f'.SS "vedette {name}{" " + _roff(usage) if usage else ""}"'
    for part in words.split("\n\n"):
        yield _roff(" ".join(part.split()))
        yield ".PP"
    yield from _man_options([one for one in own if one.param_type_name == "option"])
    yield from (".PP", "Example:", ".PP", ".nf", ".RS 4")
    yield from map(_roff, example.splitlines())
    yield from (".RE", ".fi")


def _man_options(options: list[Any]) -> Iterator[str]:
    for one in options:
        yield ".TP"
        yield ", ".join(f"\\fB{_roff(name)}\\fR" for name in one.opts)
        yield _roff(one.help or "")


def _roff(text: str) -> str:
    """Text that roff takes for text."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe[:1] in (".", "'") else safe


def schema_text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2) + "\n"


def config_page() -> str:
    rows = [f"| `{key}` | {kind} | {default} | {WORDS.get(key, '')} |" for key, kind, default in every_key()]
    return "\n".join(
        [
            "# vedette.yaml",
            "",
            "Made by `tools/reference.py`; do not edit.  An unknown key is an error that names the nearest one.",
            "Durations: `500ms`, `2s`, `5m`, `4h`, `30d`.  Sizes: `512k`, `10 MiB`.  Secrets: `env:NAME`.",
            "`vedette init` writes a commented file and `vedette.schema.json` beside it.  The file is named by",
            "`--config`, else `$VEDETTE_CONFIG`, else it is `./vedette.yaml`; the data folder by `--data`, else",
            "`$VEDETTE_DATA`, else `$DATABASE_URL` where it is `sqlite:///folder/vedette.db`, else `data`, else",
            "`vedette-data` beside the file.",
            "",
            "| key | kind | default | meaning |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def every_key() -> Iterator[tuple[str, str, str]]:
    """Every key of the configuration: its place, its kind, its default."""
    yield from _keys(config.Config, "")


def _keys(model: Any, place: str) -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        key = f"{place}{name}"
        inner, mark = _section(field.annotation)
        alias = f" (also `{field.alias}`)" if field.alias and field.alias != name else ""
        yield (
            key,
            ("section" if inner else _kind(field.annotation, tuple(field.metadata))) + alias,
            "" if inner else _default(key, field),
        )
        if inner is not None and not key.endswith("[].fetch"):
            yield from _keys(inner, f"{key}{mark}.")


def _section(annotation: Any) -> tuple[Any, str]:
    """The section inside an annotation, and how its place is spelled."""
    if isinstance(annotation, type) and issubclass(annotation, config.Section):
        return annotation, ""
    name = getattr(annotation, "__origin__", None)
    mark = {tuple: "[]", dict: ".*"}.get(name, "") if name is not None else ""
    for part in getattr(annotation, "__args__", ()):
        found, inside = _section(part)
        if found is not None:
            return found, mark + inside
    return None, ""


def _kind(annotation: Any, marks: tuple[Any, ...] = ()) -> str:
    """What is written there, in a word or two."""
    if any(getattr(mark, "func", None) is config.parse_size for mark in marks):
        return "size"
    if annotation in KINDS:
        return KINDS[annotation]
    inner = [part for part in get_args(annotation) if part is not type(None)]
    origin = get_origin(annotation)
    if origin is tuple:
        return f"list of {_kind(inner[0])}"
    if origin is dict:
        return f"{_kind(inner[1])} by name"
    if origin is Literal:
        return "word"
    return _kind(inner[0], tuple(inner[1:]))


def _default(key: str, field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None:
        value = _built_in(key)
    if value is None or value in ("", ()):
        return ""
    return f"`{_shown(value, _kind(field.annotation, tuple(field.metadata)))}`"


def _built_in(key: str) -> object:
    """What a key that is not set means: the default of the policy value it fills."""
    place, _, name = key.rpartition(".")
    policy = {"fetch": FetchSettings(), "lanes.*": LanePolicy()}.get(place)
    return getattr(policy, name, None)


def _shown(value: Any, kind: str = "") -> str:
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        unit, size = next(
            (u, n) for u, n in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)) if seconds % n == 0
        )
        return f"{seconds / size:g}{unit}"
    if kind == "size":
        unit, size = next(
            (u, n) for u, n in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)) if value % n == 0
        )
        return f"{value // size} {unit}"
    if isinstance(value, dict):
        return ", ".join(
            f"{_shown(name)}: {_shown(one) if one else 'for ever'}" for name, one in value.items()
        )
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, time):
        return f"{value:%H:%M}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Risk):
        return value.name
    return f"{value:g}" if isinstance(value, float) else str(value)


def _verb(name: str, command: Any, level: int = 2) -> str:
    words, shown, own = _parts(command)
    usage = " ".join(_argument(one) for one in own if one.param_type_name == "argument")
    head = f"{'#' * level} vedette {name}"
    text = f"{head}\n\n{words}\n\n```\n{shown}\n```\n"
    if usage:
        text += f"\nArguments: `{usage}`\n"
    options = [one for one in own if one.param_type_name == "option"]
    return f"{text}\n{_options(options)}" if options else text


def _parts(command: Any) -> tuple[str, str, list[Any]]:
    """What a verb says of itself, its example, and what it takes beside the options of every verb."""
    words, _, example = inspect.cleandoc(command.help or "").partition("\b\nExample:\n")
    own = [option for option in command.params if option.name not in _shared() | {"help"}]
    shown = "\n".join(line.strip().removeprefix("$ ") for line in example.splitlines())
    return words.strip(), shown, own


def _argument(one: Any) -> str:
    return str(one.metavar or one.name.upper())


def _options(options: list[Any]) -> str:
    rows = "".join(
        f"| `{', '.join(one.opts)}` | {(one.help or '').replace('|', chr(92) + '|')} |\n" for one in options
    )
    return f"| option | meaning |\n|---|---|\n{rows}"


def _shared() -> set[str]:
    return {name for name, _, _ in SHARED}


if __name__ == "__main__":
    sys.exit(main())
