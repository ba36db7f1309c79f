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
        grouped = {name for _, names in GROUPS for name in names.split()}
        more = ("More", " ".join(name for name in self.commands if name not in grouped))
        for title, names in (*GROUPS, more):
            if names:
                with formatter.section(title):
                    self.write_verbs(formatter, names.split())

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in OTHER_WORDS:
            raise InputError(f"No such command {args[0]!r}. Did you mean {OTHER_WORDS[args[0]]!r}?")
        return super().resolve_command(ctx, args)
