"""Is a source still what its row says?  One look, judged: moved, gone, another kind of listing, nothing listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from vedette.contracts.source import ListerKind, Listing, Source
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING
from vedette.core.urls.canonical import watch_id


class SourceFinding(StrEnum):
    FINE = "fine"
    MOVED = "moved"  # it answers at another address
    GONE = "gone"
    KIND_CHANGED = "kind_changed"  # the listing is no longer of the kind that the lister reads
    NOTHING_LISTED = "nothing_listed"
    REFUSED = "refused"  # by robots.txt, by us, or by the far end
    UNREACHABLE = "unreachable"
    NOT_LOOKED = "not_looked"  # it needs a browser, or its lane is closed


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLook:
    """One look at a source's own address."""

    source: Source
    outcome: Outcome
    answered: str  # the address that answered last
    is_permanent: bool = False  # every hop on the way there said so
    status: int | None = None
    detail: str = ""
    listing: Listing = Listing()
    looks_like: ListerKind | None = None  # what `auto` would make of it

    @property
    def items(self) -> int:
        return len(self.listing.sightings) + len(self.listing.follow)

    @property
    def has_moved(self) -> bool:
        return watch_id(self.answered) != watch_id(self.source.url)


@dataclass(frozen=True, slots=True)
class Checked:
    """What is to be said about a source, and what to do."""

    look: SourceLook
    finding: SourceFinding
    words: str


@dataclass(frozen=True, slots=True)
class _Row:
    finding: SourceFinding
    applies: Callable[[SourceLook], bool]
    words: Callable[[SourceLook], str]


LOST = frozenset({Outcome.GONE, Outcome.SOFT_404, Outcome.REDIRECT_ERROR})
NETWORK = frozenset({Outcome.DNS_ERROR, Outcome.CONNECT_ERROR, Outcome.TIMEOUT})
# Listings that are content themselves: an act without amendments and a list of rates name nothing, and are fine.
CONTENT = frozenset({ListerKind.PAGE, ListerKind.HNB, ListerKind.NN, ListerKind.EURLEX})


def judge_source(look: SourceLook) -> Checked:
    """The first row that applies."""
    row = next(row for row in _ROWS if row.applies(look))
    return Checked(look, row.finding, row.words(look))


def is_offline(checked: Iterable[Checked]) -> bool:
    """Was there no network?  So it seems when several hosts were asked and none could be reached."""
    asked = [one.look for one in checked if one.finding is not SourceFinding.NOT_LOOKED]
    hosts = {look.source.url.partition("//")[2].partition("/")[0] for look in asked}
    return len(hosts) > 1 and all(look.outcome in NETWORK for look in asked)


def _moved(look: SourceLook) -> str:
    way = "for good" if look.is_permanent else "for now"
    listed = "" if look.source.lister in CONTENT else f"; {look.items} listed there"
    return f"redirects {way} to {look.answered}{listed}"


def _kind_changed(look: SourceLook) -> bool:
    is_other = look.looks_like not in (None, look.source.lister, ListerKind.PAGE)
    return bool(look.listing.problem) and is_other


def _ended(look: SourceLook) -> str:
    words = MEANING[look.outcome].words
    return f"{words}: {look.detail}" if look.detail else words


_ROWS: tuple[_Row, ...] = (
    _Row(SourceFinding.GONE, lambda look: look.outcome in LOST, _ended),
    _Row(
        SourceFinding.NOT_LOOKED,
        lambda look: look.outcome is Outcome.NO_BROWSER or not MEANING[look.outcome].is_look,
        _ended,
    ),
    _Row(SourceFinding.UNREACHABLE, lambda look: MEANING[look.outcome].counts_against_lane, _ended),
    _Row(SourceFinding.REFUSED, lambda look: not MEANING[look.outcome].has_content, _ended),
    _Row(
        SourceFinding.KIND_CHANGED,
        _kind_changed,
        lambda look: f"looks like {look.looks_like}, is read as {look.source.lister}: {look.listing.problem}",
    ),
    _Row(
        SourceFinding.NOTHING_LISTED,
        lambda look: bool(look.listing.problem) or not (look.items or look.source.lister in CONTENT),
        lambda look: look.listing.problem or "the listing is empty",
    ),
    _Row(SourceFinding.MOVED, lambda look: look.has_moved, _moved),
    _Row(
        SourceFinding.FINE, lambda look: True, lambda look: f"{look.items} listed" if look.items else "there"
    ),
)
