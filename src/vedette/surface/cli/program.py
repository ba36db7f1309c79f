"""The program: all verbs, and the edge where an error becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import typer

from vedette import __version__
from vedette.contracts.errors import RESTORE, InputError, VedetteError
from vedette.report.plain import dump
from vedette.surface.cli import verb as verbs
from vedette.surface.cli.exit_codes import Exit, exit_of
from vedette.surface.cli.output import print_line, sentence
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import Sentences
from vedette.telemetry.wall_clock import SystemClock

if TYPE_CHECKING:
    from pathlib import Path

    from vedette.contracts.ports import Clock

# All verbs in groups, and how to begin.

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
            ("look", "run", "Look now at what is watched, and tell what was seen."),
            ("serve", "serve", "Watch for ever, tell people, keep the cron."),
            ("worker", "serve", "Serve the queues after the look."),
        ),
    ),
    (
        "See what changed and why",
        (
            ("changes", "changes", "What changed, newest first, each with its summary."),
            ("diff", "changes", "What differs between two looks."),
            ("mark", "marks", "Say that a change was useful, or noise."),
            ("noise", "marks", "Rules that would keep a change from being told, tried on the record."),
            ("search", "evidence_search", "Pages that say it, in all evidence that is kept."),
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
            ("hunt", "hunt", "Look for odd corners of the web: seed, run, findings, show, mark."),
            ("digest", "digest", "What hunts found, each with why it is odd: text, HTML or mail."),
            ("replay", "simulate", "Decide again from the record, and compare."),
        ),
    ),
    (
        "Prove",
        (("evidence", "evidence", "What was seen, kept so that any change to it is found."),),
    ),
    (
        "Keep it well",
        (
            ("health", "alerts", "How every source fares: last success, errors in a row, breaker."),
            ("alerts", "alerts", "Hosts and sources that were in trouble."),
            ("lanes", "lanes", "The queues in front of hosts: show, reset, block."),
            ("parked", "lanes", "Looks and jobs that used up their attempts."),
            ("doctor", "doctor", "Check everything that a run needs."),
            ("token", "token", "Tokens for the dashboard and the API."),
            ("mcp", "mcp", "Answer programs that talk to a language model (MCP)."),
            ("feed", "feed_addresses", "Changes for feed readers: Atom and JSON Feed."),
            ("config", "doctor", "The settings in force, and where each comes from."),
            (
                "backup",
                "maintenance",
                "Copy the whole store, also while an engine runs: one moment of the database, and the evidence "
                "that it covers.",
            ),
            ("restore", "maintenance", "Bring a store back from a backup."),
            ("gc", "maintenance", "Drop archive files and decisions that have had their time."),
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
    "snooze": "mute", "find": "search", "grep": "search",
    "settings": "config", "validate": "doctor", "verify": "evidence verify", "robots.txt": "robots",
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


# The program: all verbs, and the edge where an error becomes one line and an exit code.

HELP = {"help_option_names": ["-h", "--help"]}
WORDS = "Watch the web you answer for: looks politely, proves what changed, says why it looked."


class Program(Verbs):
    """All verbs, each loaded when it is asked for."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = verbs.LazyVerbs(FILES)


def run(
    argv: Sequence[str] | None = None,
    *,
    clock: Clock | None = None,
    app: Any = None,
    begun: Callable[[], timedelta] | None = None,
) -> int:
    """One command from its words to its exit code.  Expected errors never show a traceback."""
    words = list(sys.argv[1:] if argv is None else argv)
    is_json = "--json" in words
    session = _session(clock, app)
    try:
        session.begun = begun or session.begun
        result = program()(words, prog_name="vedette", standalone_mode=False, obj=session)
        code = int(result) if isinstance(result, int) else Exit.OK
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich says the second where it meets the first
        _drop_stdout()  # the reader had enough, and got what it asked for
        code = Exit.OK
    except (KeyboardInterrupt, typer.Abort):
        code = _ended("interrupted", Exit.INTERRUPTED, is_json)
    except VedetteError as error:
        code = _ended(str(error), exit_of(error), is_json)
    except typer.TyperException as error:
        code = _ended(_usage(error), Exit.BAD_INPUT, is_json)
    except UnicodeEncodeError:
        code = _ended("a word holds bytes that are not text (UTF-8)", Exit.BAD_INPUT, is_json)
    except OSError as error:
        code = _ended(f"{error.filename or 'input or output'}: {error.strerror}", Exit.FAILED, is_json)
    except Exception as error:  # a row of a damaged page may be anything
        said = _store_words(error, session.used)
        if not said:
            raise
        code = _ended(said, Exit.STORE, is_json)
    return int(code)


def _store_words(error: Exception, used: Sequence[Path]) -> str:
    """What the store has to do with an unexpected error; empty: nothing, it is a bug of ours."""
    found = _damage(used)
    if found:
        return f"{found} ({type(error).__name__})"
    return (
        f"the store cannot be used: {error}; `vedette doctor` says more"
        if type(error).__module__ == "sqlite3"
        else ""
    )


def _damage(paths: Sequence[Path]) -> str:
    """What is wrong with a database that was used; empty: nothing, and the fault is ours."""
    from vedette.store.connection import damage_of  # sqlite3, which light verbs do without

    for path in dict.fromkeys(paths):
        found = damage_of(path) if path.is_file() else ""
        if found:
            return f"{path} is damaged: {found}; {RESTORE}"
    return ""


def program() -> typer.Typer:
    """All verbs."""
    app = typer.Typer(
        add_completion=False, rich_markup_mode=None, help=WORDS, cls=Program, context_settings=HELP
    )
    verbs.root(app, lambda: _session(None, None), version=__version__, start=START)
    return app


def _session(clock: Clock | None, app: Any) -> Session:
    clock = clock or SystemClock()
    return Session(clock=clock, app=app, begun=clock.stopwatch())


def _ended(message: str, code: Exit, is_json: bool) -> Exit:
    """One line on stderr, for a person or for a program; folded on a screen that is narrower."""
    error = {"error": message, "code": code.value, "kind": code.name.lower()}
    lines = message.splitlines() or [""]
    words = "\n  ".join(sentence(line, sys.stderr) for line in (f"vedette: {lines[0]}", *lines[1:]))
    print_line(dump(error) if is_json else words, to_stderr=True)
    return code


def _usage(error: typer.TyperException) -> str:
    """What is wrong with the words, and where to read how they go."""
    context: Any = getattr(error, "ctx", None)
    where = context.command_path if context else "vedette"
    words = error.format_message().strip()
    for theirs, ours in _OUR_WORDS:
        words = words.replace(theirs, ours)
    stop = "" if words.endswith((".", "?", "!")) else "."
    return f"{words}{stop}  Try `{where} --help`."


_OUR_WORDS = (
    ("Input should be a valid number, unable to parse string as a number", "it is not a number"),
    ("Input should be a valid integer, unable to parse string as an integer", "it is not a whole number"),
    ("Input should be a finite number", "it is not a number"),
    ("Input should be greater than or equal to", "at least"),
    ("Input should be less than or equal to", "at most"),
    ("Input should be", "it must be"),
)


def _drop_stdout() -> None:
    """The reader of stdout is gone; the interpreter must not complain about it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
