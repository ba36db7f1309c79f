"""How a verb is made: its own options, the options that every verb takes, and an example."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from vedette.contracts.errors import InputError
from vedette.surface.cli.load_guard import loaded
from vedette.surface.cli.session import CommonOptions, Session

ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Configuration.  [default: ./vedette.yaml]")
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Data folder.  [default: ./vedette-data]")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Give the result as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Only results and errors.")]
LocalOption = Annotated[bool, typer.Option("--local-time", help="Times of this machine, not UTC.")]
SourceOption = Annotated[str | None, typer.Option("--source", metavar="ID", help="Only of this source.")]
TagOption = Annotated[str | None, typer.Option("--tag", help="Only of sources with this tag.")]
UrlArgument = Annotated[str, typer.Argument(metavar="URL", help="http or https.")]
HeaderOption = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="'NAME: VALUE'", help="Also sent; env:NAME reads a secret; repeatable."),
]
CookieOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cookie", metavar="'NAME: env:VARIABLE'", help="A cookie from the environment; repeatable."
    ),
]
BasicAuthOption = Annotated[
    str | None, typer.Option("--basic-auth", metavar="USER:env:VARIABLE", help="A name with its password.")
]
PostOption = Annotated[
    str | None, typer.Option("--post", metavar="JSON", help='Ask by POST: {"form": {...}}, {"json": ...}.')
]
ProxyOption = Annotated[
    str | None,
    typer.Option("--proxy", metavar="URL", help="http://, https://, socks5h:// or env:VARIABLE; off: none."),
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="'KIND: VALUE'",
        help="css, xpath, regex, ignore, below ...; repeatable, in order; off.",
    ),
]
LISTERS = (
    "page, feed, sitemap, html_list, pagination, crawl, hnb, nn, eurlex, mrms, hok or auto"  # ListerKind
)
LimitOption = Annotated[int, typer.Option("--limit", min=0, metavar="N", help="At most so many; 0: all.")]
CursorOption = Annotated[
    str | None,
    typer.Option("--cursor", metavar="NEXT", help="Go on from `next`, which --json of the page before has."),
]

SHARED: tuple[tuple[str, Any, Any], ...] = (
    ("config", ConfigOption, None),
    ("data", DataOption, None),
    ("as_json", JsonOption, False),
    ("quiet", QuietOption, False),
    ("local_time", LocalOption, False),
)
Work = Callable[..., None]
LONG = 200  # characters: no sentence is cut, it goes on in the next line


class Verb(TyperCommand):
    """A command whose usage has words as everyone writes them."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [_once_in_brackets(piece.strip("{}")) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments without the Python type that is written behind their names."""
        rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is not None:
                rows[one.param_type_name].append(record)
        rows["argument"] = [(name.partition(" <")[0], words) for name, words in rows["argument"]]
        for title, found in (("Arguments", rows["argument"]), ("Options", rows["option"])):
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


def _once_in_brackets(piece: str) -> str:
    """Of an argument whose name has brackets of its own: `[[ID]...]...` is `[ID...]`."""
    if not piece.startswith("[["):
        return piece
    return f"[{piece.strip('[].')}{'...' if '...' in piece else ''}]"


class Sentences(TyperGroup):
    """A group whose verbs are listed with a whole sentence each."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found = [(name, one.get_short_help_str(LONG)) for name, one in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(found, col_max=12)


def group(
    name: str, *, example: str, default: Work | None = None, homes: Mapping[str, str] | None = None
) -> Callable[[Work], typer.Typer]:
    """A verb with verbs of its own.  The decorated function is its help; without a verb `default` runs.

    `homes`: the file of each verb, in their order, loaded when the verb is typed; empty: registered with the group.
    """

    class Group(Sentences):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            if homes is not None:
                self.commands: Any = LazyVerbs(homes, self.commands)

    def made(words: Work) -> typer.Typer:
        app = typer.Typer(rich_markup_mode=None, help=_help(words, example), cls=Group)

        def begin(ctx: typer.Context, **given: Any) -> None:
            ctx.obj = _session(ctx, given)
            if ctx.invoked_subcommand is None and default is None:
                known = homes or [command.name or "" for command in app.registered_commands]
                raise InputError(f"say which one: {name} {'|'.join(known)}")
            if ctx.invoked_subcommand is None and default is not None:
                loaded()
                default(ctx.obj)

        app.callback(invoke_without_command=True)(_signed(begin, (), is_root=False))
        app.info.name = name
        return app

    return made


def verb(app: typer.Typer, name: str, *, example: str) -> Callable[[Work], Work]:
    """Make a command of `work(session, ...)`: its keyword parameters are its options."""

    def register(work: Work) -> Work:
        def call(ctx: typer.Context, **given: Any) -> None:
            session = _session(ctx, given)
            loaded()
            work(session, **given)

        own = tuple(inspect.signature(work, eval_str=True).parameters.values())[1:]
        for one in own:
            _name_value(one.annotation)
        app.command(name, help=_help(work, example), cls=Verb)(_signed(call, own))
        return work

    return register


class LazyVerbs(Mapping[str, Any]):
    """The commands by name.  The file that registers one, `homes[name]`, is imported when it is asked for."""

    def __init__(self, homes: Mapping[str, str], made: Mapping[str, Any] | None = None) -> None:
        self._homes = homes
        self._made: dict[str, Any] = dict(made or {})

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            app = typer.Typer(rich_markup_mode=None)
            import_module(f"vedette.surface.cli.{self._homes[name]}").register(app)
            self._made |= typer.main.get_group(app).commands
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


def root(app: typer.Typer, make: Callable[[], Session], *, version: str, start: str) -> None:
    """The options before the verb."""

    def begin(ctx: typer.Context, **given: Any) -> None:
        if given.pop("show_version"):
            typer.echo(f"vedette {version}")
            raise typer.Exit
        if ctx.obj is None:
            ctx.obj = make()
        ctx.obj = _session(ctx, given)
        if ctx.invoked_subcommand is None:
            typer.echo(start, nl=False)
            raise typer.Exit(2)

    app.callback(invoke_without_command=True)(_signed(begin, (), is_root=True))


def _session(ctx: typer.Context, given: dict[str, Any]) -> Session:
    options = CommonOptions(**{name: given.pop(name) for name, _, _ in SHARED})
    session: Session = ctx.obj
    return session.with_options(options)


def _signed(call: Work, own: tuple[inspect.Parameter, ...], is_root: bool = False) -> Work:
    """Gives `call` the parameters that typer should read."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
    parameters += [p.replace(kind=kind) for p in own]
    parameters += [inspect.Parameter(n, kind, annotation=a, default=d) for n, a, d in SHARED]
    if is_root:
        shown = Annotated[bool, typer.Option("--version", help="Print the version and exit.")]
        parameters.append(inspect.Parameter("show_version", kind, annotation=shown, default=False))
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    return call


def _name_value(annotation: Any) -> None:
    """What an option takes, in a word that everyone knows, where it has none of its own."""
    kind, info = get_args(annotation)[:2]
    kinds = {part for part in (kind, *get_args(kind)) if part is not type(None)}
    if info.metavar is None and bool not in kinds:
        info.metavar = "N" if kinds & {int, float} else "FILE" if Path in kinds else "TEXT"


def _help(work: Work, example: str) -> str:
    """The docstring, then the example; \\b keeps its lines as they are."""
    lines = "\n".join(f"  $ {one}" for one in example.strip().splitlines())
    return f"{inspect.getdoc(work) or ''}\n\n\b\nExample:\n{lines}"


# Options of the verbs that look ahead and back.

ObjectiveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--objective", metavar="RISK=TIME[:SHARE]", help="For example CRITICAL=2h:0.95; repeatable."
    ),
]
PolicyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy", metavar="NAME", help="seed-ewma, fixed, ...; repeatable.  [default: as configured]"
    ),
]
SinceOption = Annotated[
    str | None, typer.Option("--since", help="Only looks since: 24h, 7d, 2026-11-15, ...")
]
