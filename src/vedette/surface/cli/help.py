"""How the program explains itself: help, version, completion."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.core.text.nearest import unknown
from vedette.surface.cli.exit_codes import MEANING
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

EXIT_CODES = "exit-codes"
WordsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[VERB...]", help=f"A verb, or {EXIT_CODES}.")
]


def register(app: typer.Typer) -> None:
    verb(app, "help", example=f"vedette help add\nvedette help sources pause\nvedette help {EXIT_CODES}")(
        help_
    )
    verb(app, "version", example="vedette version")(version)
    verb(
        app,
        "completion",
        example="vedette completion bash > ~/.local/share/bash-completion/completions/vedette",
    )(completion)


def help_(session: Session, words: WordsArgument = None) -> None:
    """What a verb does, with an example and its options."""
    from vedette.surface.cli.program import run

    if words == [EXIT_CODES]:
        for code, meaning in MEANING.items():
            session.out.text(f"{code.value:<4}{meaning}\n")
        return
    raise typer.Exit(run([*(words or ()), "--help"]))


def version(session: Session) -> None:
    """The version of the program."""
    from vedette import __version__

    if session.given.as_json:
        session.out.document({"version": __version__})
    session.out.say(f"vedette {__version__}")


def completion(
    session: Session, shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]
) -> None:
    """A script that completes verbs and options in your shell.

    For zsh: `vedette completion zsh > ~/.zfunc/_vedette`, with ~/.zfunc in fpath; for fish:
    `vedette completion fish > ~/.config/fish/completions/vedette.fish`.
    """
    from vedette.surface.cli.completion import SHELLS
    from vedette.surface.cli.program import program

    if shell not in SHELLS:
        raise InputError(unknown("shell", shell, SHELLS))
    session.out.text(SHELLS[shell](typer.main.get_command(program())))
