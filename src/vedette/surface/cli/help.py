"""How the program explains itself: help, version, completion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from vedette import __version__
from vedette.contracts.change import ChangeState
from vedette.contracts.errors import InputError
from vedette.contracts.source import ListerKind
from vedette.contracts.words import Outcome, Risk
from vedette.core.text.nearest import unknown
from vedette.surface.cli.exit_codes import MEANING
from vedette.surface.cli.program import program, run
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
    if words == [EXIT_CODES]:
        for code, meaning in MEANING.items():
            session.out.text(f"{code.value:<4}{meaning}\n")
        return
    raise typer.Exit(run([*(words or ()), "--help"]))


def version(session: Session) -> None:
    """The version of the program."""
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
    if shell not in SHELLS:
        raise InputError(unknown("shell", shell, SHELLS))
    session.out.text(SHELLS[shell](typer.main.get_command(program())))


# Completion scripts: every verb, its options and the words that they take, as a table inside a shell function.
#
# Nothing of the program is started when a key is pressed.

_RISKS = tuple(risk.name.lower() for risk in Risk)
# What an option takes, where that is one of few words.
WORDS = {
    "--lister": tuple(kind.value for kind in ListerKind),
    "--risk": _RISKS,
    "--tier": _RISKS,
    "--outcome": tuple(outcome.value for outcome in Outcome),
    "--state": (*(state.value for state in ChangeState), "all"),
    "--what": ("sources", "watches", "signals"),
}


@dataclass(frozen=True, slots=True)
class _Row:
    path: str  # the verbs so far, separated by blanks; empty: the program
    verbs: tuple[str, ...]
    options: tuple[str, ...]


def bash(top: Any) -> str:
    rows = "\n".join(
        f'    "{row.path}") verbs="{" ".join(row.verbs)}"; options="{" ".join(row.options)}" ;;'
        for row in _rows(top)
    )
    words = "\n".join(
        f'    {option}) COMPREPLY=($(compgen -W "{" ".join(known)}" -- "$word")); return ;;'
        for option, known in WORDS.items()
    )
    return _BASH.format(rows=rows, words=words)


def zsh(top: Any) -> str:
    return f"#compdef vedette\nautoload -U +X bashcompinit && bashcompinit\n{bash(top)}"


def fish(top: Any) -> str:
    lines = ["complete -c vedette -f"]
    for row in _rows(top):
        seen = row.path.split()
        asked = (
            "; and ".join(f"__fish_seen_subcommand_from {word}" for word in seen) or "__fish_use_subcommand"
        )
        if row.verbs:
            lines.append(f"complete -c vedette -n '{asked}' -a '{' '.join(row.verbs)}'")
        for option in row.options:
            known = f" -x -a '{' '.join(WORDS[option])}'" if option in WORDS else ""
            lines.append(f"complete -c vedette -n '{asked}' -l {option.removeprefix('--')}{known}")
    return "\n".join(lines) + "\n"


SHELLS: dict[str, Callable[[Any], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _rows(command: Any, path: str = "") -> Iterator[_Row]:
    inner = getattr(command, "commands", {})
    options = sorted(
        opt
        for one in command.params
        if one.param_type_name == "option"
        for opt in one.opts
        if opt.startswith("--")
    )
    yield _Row(path, tuple(inner), tuple(dict.fromkeys((*options, "--help"))))
    for name, one in inner.items():
        yield from _rows(one, f"{path} {name}".strip())


_BASH = """\
_vedette() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" path="" verbs options one
  _vedette_row ""
  for one in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case " $verbs " in *" $one "*) path="${{path:+$path }}$one"; _vedette_row "$path" ;; esac
  done
  case "$before" in
{words}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$verbs" -- "$word")) ;;
  esac
}}

_vedette_row() {{
  case "$1" in
{rows}
  esac
}}

complete -o default -F _vedette vedette
"""
