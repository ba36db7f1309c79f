"""A copy is what `dataclasses.replace` gives, for every value that a look copies."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.copies import _compiled, maker, quick, replace
from vedette.contracts.fetch import Fetched
from vedette.contracts.watch import Watch
from vedette.contracts.words import LaneKey, Outcome, SourceId, WatchId

NOW = datetime(2026, 11, 17, tzinfo=UTC)
WATCH = Watch(
    id=WatchId(1), url="http://h.hr/", lane=LaneKey("host:h.hr"), source=SourceId("s"), created_at=NOW
)
FETCHED = Fetched(url="http://h.hr/", outcome=Outcome.OK, at=NOW, took=timedelta(0))


@dataclass(frozen=True)
class Loose:
    """Without slots."""

    a: int
    b: int = 2


@dataclass(frozen=True, slots=True)
class Checked:
    a: int

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError(self.a)


@dataclass(frozen=True, slots=True)
class Parent:
    a: int
    b: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Child(Parent):
    c: str = ""


@given(st.dictionaries(st.sampled_from([f.name for f in dataclasses.fields(Watch)]), st.integers()))
def test_a_copy_is_what_the_standard_library_gives(changes: dict[str, int]) -> None:
    assert replace(WATCH, **changes) == dataclasses.replace(WATCH, **changes)
    assert hash(replace(FETCHED)) == hash(FETCHED)


@pytest.mark.parametrize("value", [Loose(1), Checked(1), Parent(1), Child(1, [2], "x")])
def test_values_of_other_shapes_are_copied_too(value: object) -> None:
    assert replace(value, a=3) == dataclasses.replace(value, a=3)  # type: ignore[type-var]


def test_the_original_stays_and_the_copy_is_frozen() -> None:
    copy = replace(WATCH, depth=5)
    assert (WATCH.depth, copy.depth) == (0, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        copy.depth = 6  # type: ignore[misc]


def test_what_a_class_checks_is_checked_in_a_copy() -> None:
    with pytest.raises(ValueError, match="-1"):
        replace(Checked(1), a=-1)


def test_a_field_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(TypeError, match="nothing"):
        replace(WATCH, nothing=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kind", "is_quick"), [(Watch, True), (Child, True), (Loose, False), (Checked, False)]
)
def test_values_of_slots_are_copied_the_quick_way(kind: type, is_quick: bool) -> None:
    assert (
        _compiled(kind, {"a"} & {f.name for f in dataclasses.fields(kind)}).__name__ == "copied"
    ) is is_quick


@dataclass(frozen=True, slots=True)
class Plain:
    a: int
    b: int = 2
    c: list[int] = field(default_factory=list)
    d: int = field(default=4, kw_only=True)


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    a: int
    b: int = 2
    c: list[int] = field(default_factory=list)
    d: int = field(default=4, kw_only=True)


@given(st.lists(st.integers(), max_size=4), st.dictionaries(st.sampled_from("abcde"), st.integers()))
def test_a_quick_constructor_takes_and_sets_what_the_usual_one_does(
    given_: list[int], named: dict[str, int]
) -> None:
    made: list[object] = []
    for kind in (Plain, Quick):
        try:
            made.append(dataclasses.astuple(kind(*given_, **named)))  # type: ignore[arg-type]
        except TypeError:
            made.append(None)
    assert made[0] == made[1]


def test_a_quick_value_shares_nothing_with_another_and_stays_frozen() -> None:
    one, other = Quick(1), Quick(1)
    assert one == other
    assert one.c is not other.c
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.a = 2  # type: ignore[misc]


def test_a_value_that_checks_itself_cannot_be_quick() -> None:
    with pytest.raises(TypeError, match="Checked"):
        quick(Checked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Its fields are called as the words of the code that sets them."""

    kind: int
    twin: int
    made: list[int] = field(default_factory=list)
    missing: int = 4


def test_a_field_may_be_called_anything() -> None:
    plain = Named(kind=1, twin=2, made=[3])
    assert maker(Named)(kind=1, twin=2, made=[3]) == replace(plain) == plain
    assert quick(Named)(kind=1, twin=2) == maker(Named)(kind=1, twin=2) == replace(plain, made=[])


def test_what_a_maker_makes_is_frozen_and_what_is_no_dataclass_makes_itself() -> None:
    made = maker(Child)(1, c="x")
    assert type(made) is Child
    assert made == Child(1, [], "x")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.a = 2  # type: ignore[misc]
    assert maker(int) is int
    assert maker(Checked) is Checked
