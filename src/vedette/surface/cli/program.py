"""The program: all verbs, and the edge where an error becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from vedette.contracts.errors import VedetteError
from vedette.report.plain import dump, plain
from vedette.surface.cli import verbs
from vedette.surface.cli.exits import Exit, exit_of
from vedette.surface.cli.grouped import START, Verbs
from vedette.surface.cli.output import print_line
from vedette.surface.cli.session import Session

if TYPE_CHECKING:
    from vedette.contracts.ports import Clock

# In the order in which a user meets their verbs.
MODULES = (
    "watching exporting pausing running looking_now serving asking diffing explaining foreseeing hunting simulating "
    "replaying looking ranking proving keeping parking alerting panel tending settings helping"
).split()
HELP = {"help_option_names": ["-h", "--help"]}
WORDS = "Watch the web you answer for: looks politely, proves what changed, says why it looked."


def run(argv: Sequence[str] | None = None, *, clock: Clock | None = None, app: Any = None) -> int:
    """One command from its words to its exit code.  Expected errors never show a traceback."""
    words = list(sys.argv[1:] if argv is None else argv)
    is_json = "--json" in words
    try:
        result = program()(words, prog_name="vedette", standalone_mode=False, obj=_session(clock, app))
        code = int(result) if isinstance(result, int) else Exit.OK
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()  # the reader had enough: nothing to say to anyone
        code = Exit.FAILED
    except SystemExit as error:  # typer and rich met the broken pipe first
        code = Exit.FAILED if error.code else Exit.OK
    except (KeyboardInterrupt, typer.Abort):
        code = _ended("interrupted", Exit.INTERRUPTED, is_json)
    except VedetteError as error:
        code = _ended(str(error), exit_of(error), is_json)
    except typer.TyperException as error:
        code = _ended(_usage(error), Exit.BAD_INPUT, is_json)
    except UnicodeEncodeError:
        code = _ended("a word holds bytes that are not text (UTF-8)", Exit.BAD_INPUT, is_json)
    except _database_error() as error:
        code = _ended(f"the store cannot be used: {error}; `vedette doctor` says more", Exit.STORE, is_json)
    except OSError as error:
        code = _ended(f"{error.filename or 'input or output'}: {error.strerror}", Exit.FAILED, is_json)
    return int(code)


def program() -> typer.Typer:
    """All verbs."""
    from vedette import __version__

    app = typer.Typer(
        add_completion=False, rich_markup_mode=None, help=WORDS, cls=Verbs, context_settings=HELP
    )
    verbs.root(app, lambda: _session(None, None), version=__version__, start=START)
    for name in MODULES:
        import_module(f"vedette.surface.cli.{name}").register(app)
    return app


def _session(clock: Clock | None, app: Any) -> Session:
    if clock is None:
        from vedette.telemetry.clock import SystemClock

        clock = SystemClock()
    return Session(clock=clock, app=app)


def _ended(message: str, code: Exit, is_json: bool) -> Exit:
    """One line on stderr, for a person or for a program."""
    error = {"error": message, "code": code.value, "kind": code.name.lower()}
    lines = [plain(line) for line in message.splitlines()] or [""]
    words = "\n  ".join([f"vedette: {lines[0]}", *lines[1:]])
    print_line(dump(error) if is_json else words, to_stderr=True)
    return code


def _usage(error: typer.TyperException) -> str:
    """What is wrong with the words, and where to read how they go."""
    context: Any = getattr(error, "ctx", None)
    where = context.command_path if context else "vedette"
    return f"{error.format_message()}  Try `{where} --help`."


def _database_error() -> type[Exception]:
    """Looked up when something was raised: light verbs do not load the driver."""
    import sqlite3

    return sqlite3.Error


def _drop_stdout() -> None:
    """Nobody reads any more; the interpreter must not complain about it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
