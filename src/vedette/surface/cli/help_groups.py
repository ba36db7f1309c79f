"""All verbs in groups, and how to begin."""

from __future__ import annotations

from typing import Any

from vedette.contracts.errors import InputError
from vedette.surface.cli.verb import Sentences

Row = tuple[str, str, str]  # a verb, its file, and its first sentence
# All verbs, in the order in which a user meets them.  Only the file of the verb that was typed is loaded, and none for
# the list of them: a test holds the sentences to the verbs.
VERBS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    (
        "Watch",
        (
            ("demo", "demo", "Watch a living web on this machine."),
            ("init", "add", "Write a commented vedette.yaml and make the store."),
            ("add", "add", "Watch a page, a feed, a sitemap, a list or a site."),
            ("import", "source_lists", "Take sources over from other tools."),
            ("export", "source_lists", "Give the sources to other tools."),
            ("pause", "sources", "Look at it no more until it is resumed."),
            ("resume", "sources", "Schedule it again."),
            ("remove", "sources", "Stop watching it; its history stays."),
            ("mute", "sources", "Tell nobody of its changes for a while."),
            ("unmute", "sources", "Tell of its changes again."),
            ("note", "sources", "A note of your own on a source or a page."),
            ("sources", "sources", "What was configured: list, check, pause, resume, reset, remove."),
        ),
    ),
    (
        "Look",
        (
            ("run", "run", "Look at what is due and report every change."),
            ("look", "look_now", "Look now at what is watched, and tell what was seen."),
            ("serve", "serve", "Watch for ever, tell people, keep the cron."),
            ("worker", "serve", "Serve the queues after the look."),
        ),
    ),
    (
        "See what changed and why",
        (
            ("changes", "changes", "What changed, newest first, each with its summary."),
            ("diff", "changes", "What differs between two looks."),
            ("history", "watches", "Every look at a URL, newest first."),
            ("list", "watches", "Watches, with risk, last outcome and due time."),
            ("due", "watches", "What is due now, most overdue first."),
            ("explain", "explain", "The recorded decision about a URL, with its reasons."),
            ("why-not", "why_not", "Why a URL was not looked at."),
        ),
    ),
    (
        "Try before you watch",
        (
            ("test", "probe", "Look at a URL once; nothing is saved."),
            ("robots", "probe", "What robots.txt says about a URL."),
            ("classify", "classify", "Node type, role and risk of a URL by its words."),
            ("rank", "rank", "Rank URLs by what a look at them is worth, 0 to 100."),
        ),
    ),
    (
        "Look ahead and back",
        (
            ("freshness", "freshness", "How fresh we will be, and how fresh we were."),
            ("simulate", "simulate", "What another policy, budget or objective would have done."),
            ("hunt", "hunt", "Where the hunt has been, what that gave, and what comes next."),
            ("replay", "replay", "Decide again from the record, and compare."),
        ),
    ),
    (
        "Prove",
        (("evidence", "evidence", "What was seen, kept so that any change to it is found."),),
    ),
    (
        "Keep it well",
        (
            ("health", "health", "How every source fares: last success, errors in a row, breaker."),
            ("alerts", "alerts", "Hosts and sources that were in trouble."),
            ("lanes", "lanes", "The queues in front of hosts: show, reset, block."),
            ("parked", "parked", "Looks and jobs that used up their attempts."),
            ("doctor", "doctor", "Check everything that a run needs."),
            ("config", "config_show", "The settings in force, and where each comes from."),
            (
                "backup",
                "backup",
                "Copy the whole store, also while an engine runs: one moment of the database, and the evidence "
                "that it covers.",
            ),
            ("restore", "backup", "Bring a store back from a backup."),
            ("gc", "gc", "Drop archive files and decisions that have had their time."),
            ("db", "db", "The database of the store."),
        ),
    ),
    (
        "Ask models about domains",
        (("panel", "panel", "Ask many models about many domains: plan, run, compare."),),
    ),
    (
        "About the program",
        (
            ("help", "help", "What a verb does, with an example and its options."),
            ("version", "help", "The version of the program."),
            ("completion", "help", "A script that completes verbs and options in your shell."),
        ),
    ),
)
SENTENCES = {name: sentence for _, rows in VERBS for name, _, sentence in rows}
FILES = {name: file for _, rows in VERBS for name, file, _ in rows}
# What other tools call it.
OTHER_WORDS = {
    "rm": "remove", "delete": "remove", "ls": "list", "watch": "add", "check": "look", "recheck": "look",
    "fetch": "look", "status": "health", "start": "serve", "daemon": "serve", "show": "explain", "log": "history",
    "snooze": "mute", "settings": "config", "validate": "doctor", "verify": "evidence verify", "robots.txt": "robots",
}  # fmt: skip
START = """\
Vedette watches the web you answer for: looks politely, proves what changed,
says why it looked.

  vedette demo                       a living web on this machine, no set-up
  vedette init                       a configuration and a store in this folder
  vedette add https://example.org/   watch a page
  vedette run --until-idle           look at what is due
  vedette changes                    what changed

vedette help lists all verbs, vedette help add explains one.
"""


class Verbs(Sentences):
    """The program: its verbs in groups, and the words of other tools led to ours."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, rows in VERBS:
            with formatter.section(title):
                formatter.write_dl([(name, sentence) for name, _, sentence in rows], col_max=12)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in OTHER_WORDS:
            raise InputError(f"No such command {args[0]!r}. Did you mean {OTHER_WORDS[args[0]]!r}?")
        return super().resolve_command(ctx, args)
