"""A stored diff as people read it: unified lines, or the words that differ in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from vedette.contracts.change import DiffOp
from vedette.core.change.diff import diff_words, is_rewritten, runs
from vedette.core.change.fields import by_path, moved_fields
from vedette.core.change.kinds import units
from vedette.report.plain import Line, Span, line, plain

HEAD = 30  # characters of a heading beside a value
CELLS = " | "
CUT = "…"  # ends a line of which a diff keeps a part
Words = tuple[tuple[str, str], ...]
_CELL = re.compile(r"\s\|(?=\s|$)")
CONTEXT = 3  # equal lines kept around a difference, as in `diff -u`
_MARKS = {"delete": ("-", "gone"), "insert": ("+", "new"), "move": ("~", "moved")}


def unified(diff: Sequence[DiffOp], *, before: str, after: str) -> list[Line]:
    """Like `diff -u`; a moved block is marked `~` and shown once."""
    lines = [line(("gone", f"--- {plain(before)}")), line(("new", f"+++ {plain(after)}"))]
    told = ""  # headings of the table that the lines are in
    for op in diff:
        headings = CELLS.join(op.headings)
        shown = line(("dim", f"  {plain(headings)}"))
        if headings and headings != told and shown not in lines[-CONTEXT:]:
            lines.append(shown)
        told = headings or told
        lines += _unified_op(op)
    return lines


def by_words(diff: Sequence[DiffOp]) -> list[Line]:
    """Replaced lines once, with `[-gone-]` and `{+new+}` in their place."""
    lines: list[Line] = []
    for op in diff:
        lines += _shown(op)
    return lines


def excerpt(diff: Sequence[DiffOp], most: int = 6) -> list[Line]:
    """The first differences, without context.  Of fields, those that moved by themselves come first."""
    has_fields = all(text.startswith("/") for op in diff for text in (*op.before, *op.after))
    told = _field_ops(diff) if has_fields else diff
    lines = [shown for op in told if op.op != "equal" for shown in _shown(op)]
    if len(lines) <= most:
        return lines
    return [*lines[:most], line(("dim", f"  … {len(lines) - most} more; `vedette diff` shows all"))]


def _field_ops(diff: Sequence[DiffOp]) -> list[DiffOp]:
    """The same differences; fields that moved alike are shown once."""
    moved = moved_fields(diff)
    ops = []
    for one in moved:
        times = f" ({one.times} times)" if one.times > 1 else ""
        before, after = f"{one.path}: {one.before}", f"{one.path}: {one.after}{times}"
        ops.append(DiffOp("replace", (before,), (after,), ((one.before, one.after + times),)))
    return ops + [op for op in by_path(diff) if op.op not in ("replace", "equal")]


def diff_json(diff: Sequence[DiffOp]) -> list[dict[str, object]]:
    return [
        {
            "op": op.op,
            "before": list(op.before),
            "after": list(op.after),
            "words": [list(w) for w in op.words],
            "headings": list(op.headings),
        }
        for op in diff
    ]


def _shown(op: DiffOp) -> list[Line]:
    """A line that was rewritten is read more easily as two."""
    op = headed(op)
    return _words_of(op) if op.op == "replace" and not is_rewritten(op) else _unified_op(op)


def headed(op: DiffOp) -> DiffOp:
    """A row of a table with the headings of the cells that matter: those that differ, or all but the label."""
    if not op.headings or len(op.before) > 1 or len(op.after) > 1 or op.op == "move":
        return op
    old, new = _cells(op.before), _cells(op.after)
    wanted = [
        head if at and old[at : at + 1] != new[at : at + 1] else ""
        for at, head in enumerate(op.headings[: max(len(old), len(new))])
    ]
    before, after = _one_named(old, wanted), _one_named(new, wanted)
    words = diff_words(before[0], after[0]) if op.words and before and after else op.words
    return replace(op, before=before, after=after, words=words)


def _one_named(cells: list[str], wanted: list[str]) -> tuple[str, ...]:
    return (_named(cells, wanted),) if cells else ()


def _cells(texts: Sequence[str]) -> list[str]:
    return [cell.strip() for text in texts for cell in _CELL.split(text)]


def _named(cells: list[str], headings: list[str]) -> str:
    names = [*headings, *[""] * len(cells)]
    named = [
        f"{_short(name)}: {cell}" if name and cell else cell for name, cell in zip(names, cells, strict=False)
    ]
    return " ".join(CELLS.join(named).split())


def _short(head: str) -> str:
    """A heading of many words by its first ones."""
    if len(head) <= HEAD:
        return head.rstrip(" :")
    return head[:HEAD].rpartition(" ")[0] + "…" if " " in head[:HEAD] else head[:HEAD] + "…"


def _unified_op(op: DiffOp) -> list[Line]:
    if op.op == "equal":
        return [line(("dim", f"  {text}")) for text in _context(op.before or op.after)]
    if op.op == "replace":
        return [*_marked("delete", op.before), *_marked("insert", op.after)]
    return _marked(op.op, op.after or op.before if op.op == "move" else (*op.before, *op.after))


def _marked(op: str, texts: Sequence[str]) -> list[Line]:
    mark, style = _MARKS.get(op, ("?", ""))
    return [line((style, f"{mark} {plain(text)}")) for text in texts]


def _context(texts: Sequence[str]) -> Iterator[str]:
    if len(texts) <= 2 * CONTEXT:
        yield from map(plain, texts)
        return
    yield from map(plain, texts[:CONTEXT])
    yield f"… {len(texts) - 2 * CONTEXT} equal lines"
    yield from map(plain, texts[-CONTEXT:])


def _words_of(op: DiffOp) -> list[Line]:
    spans = None
    if op.words:
        before, after, words, left = in_sight(op)
        spans = _in_place(before, after, words) or _aligned(before.split(), after.split(), words)
        if spans is not None:
            spans = (
                *spans,
                *(one for pair in left for one in (("", " … "), *_framed(*pair, is_apart=False))),
            )
    if spans is not None:
        return [(("", "! "), *spans)]
    return [*_marked("delete", op.before), *_marked("insert", op.after)]


def in_sight(op: DiffOp) -> tuple[str, str, Words, Words]:
    """The two lines as far as both are kept, the differences in them, and those beyond."""
    before, after = " ".join(op.before), " ".join(op.after)
    if not (before.endswith(CUT) or after.endswith(CUT)):
        return before, after, op.words, ()
    a, b, many = units(before), units(after), 0
    for i1, i2, j1, j2 in runs(a, b):
        pair = ("".join(a[i1:i2]).strip(), "".join(b[j1:j2]).strip())
        is_told = many < len(op.words) and pair == op.words[many]
        if any(pair) and not is_told:  # where one of them was cut
            return "".join(a[:i1]) + CUT, "".join(b[:j1]) + CUT, op.words[:many], op.words[many:]
        many += any(pair)
    return before, after, op.words[:many], op.words[many:]


def _in_place(before: str, after: str, words: Sequence[tuple[str, str]]) -> Line | None:
    """The words where the diff found them, whatever touches them; None when these are not all that differ."""
    a, b = units(before), units(after)
    spans: list[Span] = []
    found: list[tuple[str, str]] = []
    end = 0
    for i1, i2, j1, j2 in runs(a, b):
        gone, new = "".join(a[i1:i2]), "".join(b[j1:j2])
        found.append((gone.strip(), new.strip()))
        spans += _equal("".join(a[end:i1]) + _indent(gone or new))
        spans += _framed(gone.strip(), new.strip(), is_apart=(gone or new) != (gone or new).rstrip())
        end = i2
    if tuple(pair for pair in found if any(pair)) != tuple(words):
        return None
    spans += _equal("".join(a[end:]))
    if not spans:
        return None
    style, text = spans.pop()
    return (*spans, (style, text.rstrip()))


def _equal(text: str) -> list[Span]:
    """With a blank at its ends where it has one: the words beside it must not touch it then."""
    if not text:
        return []
    bare = plain(text).strip()
    before, behind = " " if text[:1].isspace() else "", " " if text[-1:].isspace() else ""
    return [("", f"{before}{bare}{behind}" if bare else " ")]


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _framed(gone: str, new: str, *, is_apart: bool) -> list[Span]:
    """What went and what came, apart by a blank; the blank behind stays where the text had one."""
    parts = [("gone", f"[-{plain(gone)}-]")] if gone else []
    parts += [("new", f"{{+{plain(new)}+}}")] if new else []
    texts = [f"{text} " for _, text in parts[:-1]] + [
        text + (" " if is_apart else "") for _, text in parts[-1:]
    ]
    return [(style, text) for (style, _), text in zip(parts, texts, strict=True)]


def _aligned(before: list[str], after: list[str], words: Sequence[tuple[str, str]]) -> Line | None:
    """The words in their place, or None when they are not where they should be."""
    spans: list[Span] = []
    left = right = 0
    for gone, new in ((pair[0].split(), pair[1].split()) for pair in words):
        at_left, at_right = _find(before, gone, left), _find(after, new, right)
        if at_left is None or at_right is None or not (gone or new):
            return None
        equal = at_left - left if gone else at_right - right
        spans += _spans(("", before[left : left + equal]), ("gone", gone), ("new", new))
        left += equal + len(gone)
        right = at_right + len(new) if new else right + equal
    spans += _spans(("", before[left:]))
    style, text = spans.pop()
    return (*spans, (style, text.rstrip()))


def _find(words: list[str], wanted: list[str], start: int) -> int | None:
    """Where `wanted` begins, from `start` on; nothing is everywhere."""
    last = len(words) - len(wanted) + 1
    return next((n for n in range(start, last) if words[n : n + len(wanted)] == wanted), None)


def _spans(*parts: tuple[str, list[str]]) -> list[Span]:
    frames = {"": "{} ", "gone": "[-{}-] ", "new": "{{+{}+}} "}
    return [(style, frames[style].format(plain(" ".join(words)))) for style, words in parts if words]
