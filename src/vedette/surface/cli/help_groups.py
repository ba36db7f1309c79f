"""All verbs in groups, and how to begin."""

from __future__ import annotations

from typing import Any

from vedette.contracts.errors import InputError
from vedette.surface.cli.verb import Sentences

# All verbs, in the order in which a user meets them.
GROUPS = (
    ("Watch", "demo init add import export pause resume remove mute unmute note sources"),
    ("Look", "run look serve worker"),
    ("See what changed and why", "changes diff history list due explain why-not"),
    ("Try before you watch", "test robots classify rank"),
    ("Look ahead and back", "freshness simulate hunt replay"),
    ("Prove", "evidence"),
    ("Keep it well", "health alerts lanes parked doctor config backup restore gc db"),
    ("Ask models about domains", "panel"),
    ("About the program", "help version completion"),
)
# The first sentence of each, so that the list of verbs loads none of their files.  A test holds them to the verbs.
SENTENCES = {
    "demo": "Watch a living web on this machine.",
    "init": "Write a commented vedette.yaml and make the store.",
    "add": "Watch a page, a feed, a sitemap, a list or a site.",
    "import": "Take sources over from other tools.",
    "export": "Give the sources to other tools.",
    "pause": "Look at it no more until it is resumed.",
    "resume": "Schedule it again.",
    "remove": "Stop watching it; its history stays.",
    "mute": "Tell nobody of its changes for a while.",
    "unmute": "Tell of its changes again.",
    "note": "A note of your own on a source or a page.",
    "sources": "What was configured: list, check, pause, resume, reset, remove.",
    "run": "Look at what is due and report every change.",
    "look": "Look now at what is watched, and tell what was seen.",
    "serve": "Watch for ever, tell people, keep the cron.",
    "worker": "Serve the queues after the look.",
    "changes": "What changed, newest first, each with its summary.",
    "diff": "What differs between two looks.",
    "history": "Every look at a URL, newest first.",
    "list": "Watches, with risk, last outcome and due time.",
    "due": "What is due now, most overdue first.",
    "explain": "The recorded decision about a URL, with its reasons.",
    "why-not": "Why a URL was not looked at.",
    "test": "Look at a URL once; nothing is saved.",
    "robots": "What robots.txt says about a URL.",
    "classify": "Node type, role and risk of a URL by its words.",
    "rank": "Rank URLs by what a look at them is worth, 0 to 100.",
    "freshness": "How fresh we will be, and how fresh we were.",
    "simulate": "What another policy, budget or objective would have done.",
    "hunt": "Where the hunt has been, what that gave, and what comes next.",
    "replay": "Decide again from the record, and compare.",
    "evidence": "What was seen, kept so that any change to it is found.",
    "health": "How every source fares: last success, errors in a row, breaker.",
    "alerts": "Hosts and sources that were in trouble.",
    "lanes": "The queues in front of hosts: show, reset, block.",
    "parked": "Looks and jobs that used up their attempts.",
    "doctor": "Check everything that a run needs.",
    "config": "The settings in force, and where each comes from.",
    "backup": "Copy the whole store, also while an engine runs: one moment of the database, and the evidence "
    "that it covers.",
    "restore": "Bring a store back from a backup.",
    "gc": "Drop archive files and decisions that have had their time.",
    "db": "The database of the store.",
    "panel": "Ask many models about many domains: plan, run, compare.",
    "help": "What a verb does, with an example and its options.",
    "version": "The version of the program.",
    "completion": "A script that completes verbs and options in your shell.",
}
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
        for title, names in GROUPS:
            with formatter.section(title):
                formatter.write_dl([(name, SENTENCES[name]) for name in names.split()], col_max=12)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in OTHER_WORDS:
            raise InputError(f"No such command {args[0]!r}. Did you mean {OTHER_WORDS[args[0]]!r}?")
        return super().resolve_command(ctx, args)
