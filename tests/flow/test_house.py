"""The law of imports and the gauge: what is planted against them is found."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAW = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports(no_cache=True))"
PLANTED = {
    "core of config": ("core/urls/admission.py", "vedette.config.yaml_text"),
    "contracts of config": ("contracts/words.py", "vedette.config.values"),
    "operations of surface": ("operations/probe.py", "vedette.surface.cli.plots"),
    "app of operations": ("app/channels.py", "vedette.operations.probe"),
    "a stage of another": ("fetch/robots.py", "vedette.extract.page"),
    "config of the living web": ("config/values.py", "vedette.livingweb.web"),
    "core of the network": ("core/lanes/lane.py", "socket"),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program and its rules, to be broken."""
    root = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    around = os.environ | {"PYTHONPATH": str(root / "src")}
    return subprocess.run(
        [sys.executable, *words], cwd=root, env=around, capture_output=True, text=True, check=False
    )


def test_the_untouched_program_keeps_the_law(copy):
    told = run(copy, "-c", LAW)
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.parametrize("planted", PLANTED)
def test_an_import_that_points_the_wrong_way_fails_the_gate(copy, planted):
    file, module = PLANTED[planted]
    path = copy / "src/vedette" / file
    whole = path.read_text("utf-8")
    path.write_text(whole + f"\nimport {module}\n", "utf-8")
    try:
        told = run(copy, "-c", LAW)
    finally:
        path.write_text(whole, "utf-8")
    assert told.returncode == 1, told.stdout
    assert module in told.stdout


@pytest.mark.parametrize("stray", ["vedette/stray.py", "vedette/cellar/__init__.py"])
def test_nothing_stands_outside_the_law(copy, stray):
    path = copy / "src" / stray
    path.parent.mkdir(exist_ok=True)
    path.write_text('"""Stray."""\n', "utf-8")
    try:
        law, size = run(copy, "-c", LAW), run(copy, "tools/gauge.py")
    finally:
        path.unlink()
        if path.parent.name != "vedette":
            path.parent.rmdir()
    assert law.returncode == 1, law.stdout
    assert (size.returncode == 1) is (path.parent.name == "vedette"), size.stdout


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("core/hunt.py", "\n\nclass LaneKeeper:\n    pass\n", "class LaneKeeper stands in"),
        ("core/hunt.py", "\n\ndef late() -> None:\n" + "    import json\n" * 200, "imports inside functions"),
    ],
    ids=["a name that is taken", "imports that hide"],
)
def test_the_gauge_finds_what_was_planted(copy, file, text, words):
    path = copy / "src/vedette" / file
    whole = path.read_text("utf-8")
    path.write_text(whole + text, "utf-8")
    try:
        told = run(copy, "tools/gauge.py")
    finally:
        path.write_text(whole, "utf-8")
    assert told.returncode == 1
    assert words in told.stdout


@pytest.mark.parametrize(
    ("names", "text", "words"),
    [
        (["core/walking.py"], "X = 1\n" * 60, "walking.py: name the thing"),
        ([f"core/crumb_{n}.py" for n in range(40)], "X = 1\n", "files under 40 lines"),
        ([f"{room}/thing_{n}.py" for n in range(60) for room in ("core", "fetch")], "X = 1\n" * 60, "stand twice"),
    ],
    ids=["a name that is an activity", "crumbs", "names that stand twice"],
)  # fmt: skip
def test_the_gauge_finds_files_without_a_subject(copy, names, text, words):
    paths = [copy / "src/vedette" / name for name in names]
    for path in paths:
        path.write_text(text, "utf-8")
    try:
        told = run(copy, "tools/gauge.py")
    finally:
        for path in paths:
            path.unlink()
    assert told.returncode == 1
    assert words in told.stdout


# Who may catch everything.  A fault of ours ends at the edge of a loop, which parks one job with its stack; beside
# that, bytes of others may make a reader raise anything, and a hand-over may hand on whatever it was.
PARKS = {  # the edges of the loops: one job is parked, or one provider left alone, the others go on
    "app/panel_worker.py _visit",
    "engine/crawl/assess.py serve",
    "engine/panel/loop.py _ask",
    "engine/stages/queue_worker.py _turn",
    "engine/stages/stage_queue.py _given",
}
FALLS_BACK = {  # a fault of the scheduler or the hunt costs one plan, and is told
    "engine/settle/fallback.py _try",
    "engine/settle/fallback.py hunt",
}
READS_OTHERS = {  # parsers and classifiers raise what they like, none of it is ours
    "core/evidence/screen.py classified",
    "engine/workers/pool.py read_answer",
    "engine/workers/process.py _done",
    "extract/documents/__init__.py read_document",
    "extract/documents/images.py _opened",
    "surface/cli/program.py run",
}
HANDS_ON = {  # tidies up and raises again, or tells the engine, which ends
    "engine/crawl/lane_visitor.py run",
    "engine/crawl/look.py look",
    "engine/panel/cells.py _write",
    "engine/settle/settler.py _commit",
    "engine/settle/settler.py _write",
    "engine/settle/settler.py run",
    "fetch/connections.py send",
    "fetch/socks.py _wrap_create_connection",
    "store/connection.py _opened",
}


def test_who_catches_everything_is_listed_by_name():
    found = {
        f"{path.relative_to(ROOT / 'src/vedette')} {function.name}"
        for path in sorted((ROOT / "src/vedette").rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for handler in ast.walk(function)
        if isinstance(handler, ast.ExceptHandler) and _is_broad(handler)
    }
    assert found == PARKS | FALLS_BACK | READS_OTHERS | HANDS_ON


def _is_broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))
        for kind in kinds
    )
