"""Differences of fields for people: what moved by itself first, then what moved everywhere alike.

A new rate list moves its number and its date in every row; said thirteen times, nobody sees the rate that jumped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from vedette.contracts.change import DiffOp

SUMMARY = 200  # spec 001/4.1
SHOWN = 40
EVERYWHERE = 3  # so many rows that move alike are told as one
_JOINT = ": "


@dataclass(frozen=True, slots=True)
class MovedField:
    """One field, or several of one name, that went from one value to another."""

    path: str  # "/*/name" where it stands for several
    before: str
    after: str
    times: int = 1


def moved_fields(diff: Sequence[DiffOp]) -> list[MovedField]:
    """Fields that went from one value to another, those that moved alike as one and last."""
    alike: dict[tuple[str, str, str], list[MovedField]] = {}
    for one in _moved(diff):
        alike.setdefault((_name(one.path), one.before, one.after), []).append(one)
    alone = [one for group in alike.values() if len(group) < EVERYWHERE for one in group]
    joint = [
        replace(group[0], path=f"/*/{name}", times=len(group))
        for (name, _, _), group in alike.items()
        if len(group) >= EVERYWHERE
    ]
    return alone + joint


def field_summary(diff: Sequence[DiffOp]) -> str:
    """One line: "2 fields changed: /valuta=USD/srednji_tecaj '1,08' -> '1,09', ..."."""
    moved = moved_fields(diff)
    diff = by_path(diff)
    counts = (
        (sum(one.times for one in moved), "changed"),
        (sum(len(op.after) for op in diff if op.op == "insert"), "added"),
        (sum(len(op.before) for op in diff if op.op == "delete"), "removed"),
        (sum(len(op.before) for op in diff if op.op == "move"), "moved"),
    )
    parts = [f"{count} {word}" for count, word in counts if count]
    if not parts:
        return ""
    first, _, rest = parts[0].partition(" ")
    head = f"{first} field{'s' if first != '1' else ''} {rest}" + "".join(f", {part}" for part in parts[1:])
    examples = [_told(one) for one in moved] or [_line(op) for op in diff if op.op in ("insert", "delete")]
    return _fitted(head, examples)


def by_path(diff: Sequence[DiffOp]) -> list[DiffOp]:
    """The same diff; a pair of fields with different paths, as older diffs have, is one that went and one that came."""
    ops: list[DiffOp] = []
    for op in diff:
        if op.op != "replace" or all(_parted(*pair) for pair in zip(op.before, op.after, strict=False)):
            ops.append(op)
        else:
            ops += [DiffOp("delete", op.before), DiffOp("insert", (), op.after)]
    return ops


def _moved(diff: Sequence[DiffOp]) -> Iterable[MovedField]:
    for op in by_path(diff):
        if op.op == "replace":
            parted = (_parted(*pair) for pair in zip(op.before, op.after, strict=False))
            yield from (one for one in parted if one is not None)


def _parted(before: str, after: str) -> MovedField | None:
    """The path that both have, and both values; None where the paths differ.  A name in a path may have a colon."""
    path, joint, old = before.partition(_JOINT)
    other, _, new = after.partition(_JOINT)
    if not joint or path != other:
        return None
    whole, _, last = before.rpartition(_JOINT)
    if "/" in whole[len(path) :] and whole == after.rpartition(_JOINT)[0]:
        return MovedField(whole, last, after[len(whole) + len(_JOINT) :])
    return MovedField(path, old, new)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _told(one: MovedField) -> str:
    times = f" ({one.times} times)" if one.times > 1 else ""
    return f"{one.path} '{one.before[:SHOWN]}' -> '{one.after[:SHOWN]}'{times}"


def _line(op: DiffOp) -> str:
    return f"'{(op.after or op.before)[0][: SHOWN * 2]}'"


def _fitted(head: str, examples: Sequence[str]) -> str:
    """As many examples as the summary has room for; one at least."""
    said = f"{head}: {examples[0]}" if examples else head
    for example in examples[1:]:
        if len(said) + len(example) + 2 > SUMMARY:
            break
        said += f", {example}"
    return said if len(said) <= SUMMARY else said[: SUMMARY - 1] + "…"
