"""The program: all verbs, and the edge where an error becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import typer

from vedette.contracts.errors import RESTORE, VedetteError
from vedette.report.plain import dump, plain
from vedette.surface.cli import verb as verbs
from vedette.surface.cli.exit_codes import Exit, exit_of
from vedette.surface.cli.help_groups import FILES, START, Verbs
from vedette.surface.cli.output import print_line
from vedette.surface.cli.session import Session
from vedette.telemetry.wall_clock import SystemClock

if TYPE_CHECKING:
    from pathlib import Path

    from vedette.contracts.ports import Clock

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
    """What the store has to do with an error that nobody expected; empty: nothing, and the fault is ours."""
    import sqlite3

    found = _damage(used)
    if found:
        return f"{found} ({type(error).__name__})"
    return (
        f"the store cannot be used: {error}; `vedette doctor` says more"
        if isinstance(error, sqlite3.Error)
        else ""
    )


def _damage(paths: Sequence[Path]) -> str:
    """What is wrong with a database that was used; empty: nothing, and the fault is ours."""
    from vedette.store.connection import damage_of

    for path in dict.fromkeys(paths):
        found = damage_of(path) if path.is_file() else ""
        if found:
            return f"{path} is damaged: {found}; {RESTORE}"
    return ""


def program() -> typer.Typer:
    """All verbs."""
    from vedette import __version__

    app = typer.Typer(
        add_completion=False, rich_markup_mode=None, help=WORDS, cls=Program, context_settings=HELP
    )
    verbs.root(app, lambda: _session(None, None), version=__version__, start=START)
    return app


def _session(clock: Clock | None, app: Any) -> Session:
    clock = clock or SystemClock()
    return Session(clock=clock, app=app, begun=clock.stopwatch())


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


def _drop_stdout() -> None:
    """Nobody reads any more; the interpreter must not complain about it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
