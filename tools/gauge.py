"""The gauge of sizes, names, and the homes of clock, chance and environment.  Prints what breaks a rule."""

from __future__ import annotations

import ast
import pathlib
import sys
from functools import cache

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUNCTION_P95, FUNCTION_HARD, FILE_HARD = 35, 60, 500
CLOCK_HOMES = {"telemetry/clock.py", "telemetry/wall_clock.py"}
ENV_HOME = "config/"
TOP = {"__init__.py", "__main__.py"}  # everything else is in a package
IMPURE_CALLS = {
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.monotonic",
    "time.time_ns", "time.perf_counter", "random.random", "random.randint", "random.choice", "random.uniform",
    "random.Random", "uuid.uuid4", "secrets.token_hex",
}  # fmt: skip
ENV_CALLS = {"os.environ", "os.getenv"}
HIDDEN = 72  # imports inside functions, each for a cost that was measured; the number only falls
# Public class names that mean two things: none.  The set stays empty.
TWICE: set[str] = set()
SMALL, SMALL_FILES = 40, 12  # a file with fewer lines needs a reason; how many there are only falls
SAME_NAME = 33  # file names that stand in two packages; the number only falls
# Modules named by an activity: none.  The set stays empty; nouns that end in -ing are no activity.
ACTIVITIES: set[str] = set()
NOUNS = {"embedding", "listing", "setting"}
QUESTIONS = 95  # docstrings that begin with a question instead of a statement; the number only falls
FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "manager"}


def main() -> int:
    problems: list[str] = []
    lengths: list[int] = []
    problems += _hidden() + _twice() + _files() + _questions()
    for path in sorted((ROOT / "src").rglob("*.py")):
        if "migrations/versions" in str(path):  # written by Alembic
            continue
        problems += _check(path, lengths)
    lengths.sort()
    p95 = lengths[int(len(lengths) * 0.95)] if lengths else 0
    if p95 > FUNCTION_P95:
        problems.append(f"functions: p95 is {p95} lines, the limit is {FUNCTION_P95}")
    problems += _cycles()
    print("\n".join(problems) or f"gauge: {len(lengths)} functions, p95 {p95} lines, longest {lengths[-1]}")
    return 1 if problems else 0


def _check(path: pathlib.Path, lengths: list[int]) -> list[str]:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    place = path.relative_to(ROOT)
    inside = str(path.relative_to(ROOT / "src" / "vedette"))
    problems = []
    if path.stem in FORBIDDEN_NAMES:
        problems.append(f"{place}: name the idea, not {path.stem!r}")
    if "/" not in inside and inside not in TOP:
        problems.append(f"{place}: nothing stands directly under vedette/ but packages")
    if source.count("\n") > FILE_HARD:
        problems.append(f"{place}: {source.count(chr(10))} lines, the limit is {FILE_HARD}")
    is_living = inside.startswith("livingweb/")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            lengths.append(length)
            if length > FUNCTION_HARD:
                problems.append(
                    f"{place}:{node.lineno} {node.name}: {length} lines, the limit is {FUNCTION_HARD}"
                )
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and not is_living:
            name = f"{node.value.id}.{node.attr}"
            if name in IMPURE_CALLS and inside not in CLOCK_HOMES:
                problems.append(f"{place}:{node.lineno} {name}: time and chance come from telemetry/clock.py")
            if name in ENV_CALLS and not inside.startswith(ENV_HOME):
                problems.append(f"{place}:{node.lineno} {name}: the environment is read in config/")
    return problems


@cache
def _sources() -> list[tuple[pathlib.Path, ast.Module]]:
    paths = sorted((ROOT / "src").rglob("*.py"))
    return [
        (path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths if "versions" not in path.parts
    ]


def _files() -> list[str]:
    """A file is a subject: not too small, named by a noun, and its name means one thing."""
    paths = [path for path, _ in _sources() if path.name not in TOP]
    small = sum(path.read_text(encoding="utf-8").count("\n") < SMALL for path in paths)
    problems = (
        [f"{small} files under {SMALL} lines, the limit is {SMALL_FILES}"] if small > SMALL_FILES else []
    )
    ours = [path.stem for path in paths if "livingweb" not in path.parts]
    twice = {name for name in ours if ours.count(name) > 1}
    if len(twice) > SAME_NAME:
        problems.append(f"{len(twice)} file names stand twice, the limit is {SAME_NAME}: {sorted(twice)}")
    activities = {name for name in ours if name.endswith("ing") and name.rpartition("_")[2] not in NOUNS}
    return problems + [
        f"{name}.py: name the thing, not the activity" for name in sorted(activities - ACTIVITIES)
    ]


def _hidden() -> list[str]:
    """Imports belong to the top of a file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = {
        (path, inner.lineno)
        for path, tree in _sources()
        for node in ast.walk(tree)
        if isinstance(node, kinds)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    }
    return [f"{len(found)} imports inside functions, the limit is {HIDDEN}"] if len(found) > HIDDEN else []


def _questions() -> list[str]:
    """The first line of a docstring is a statement."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for _, tree in _sources() for node in ast.walk(tree) if isinstance(node, kinds))
    asked = sum("?" in (ast.get_docstring(node) or "").partition("\n")[0] for node in nodes)
    return (
        [f"{asked} docstrings begin with a question, the limit is {QUESTIONS}"] if asked > QUESTIONS else []
    )


def _twice() -> list[str]:
    """A public class name means one thing; the living web is a world of its own."""
    places: dict[str, list[str]] = {}
    for path, tree in _sources():
        if "livingweb" in path.parts:
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    return [
        f"class {name} stands in {' and '.join(where)}"
        for name, where in sorted(places.items())
        if len(where) > 1 and name not in TWICE
    ]


def _cycles() -> list[str]:
    """Import cycles between modules, found on the static import graph."""
    import grimp

    graph = grimp.build_graph("vedette", cache_dir=None)
    return [f"import cycle: {' -> '.join(loop)}" for loop in _loops(graph)]


def _loops(graph: object) -> list[list[str]]:
    modules = sorted(graph.modules)  # type: ignore[attr-defined]
    state: dict[str, int] = {}
    loops: list[list[str]] = []

    def visit(module: str, trail: list[str]) -> None:
        state[module] = 1
        for after in sorted(graph.find_modules_directly_imported_by(module)):  # type: ignore[attr-defined]
            if state.get(after) == 1:
                loops.append([*trail[trail.index(after) :], after] if after in trail else [module, after])
            elif after not in state:
                visit(after, [*trail, after])
        state[module] = 2

    for module in modules:
        if module not in state:
            visit(module, [module])
    return loops


if __name__ == "__main__":
    sys.exit(main())
