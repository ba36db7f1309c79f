"""A document that a CRITICAL page links to is CRITICAL itself, whoever found it first (spec 000/2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from vedette.contracts.source import ListerKind
from vedette.contracts.watch import Decision, LedgerNote, Raised, Watch
from vedette.contracts.words import DOCUMENTS, ContentClass, NodeType, Reason, Risk, SourceId, WatchId
from vedette.core.urls.canonical import watch_id
from vedette.engine.settle.ids import Ids

MOST = 1_000_000  # ids remembered; beyond it the pages name them again


@dataclass(slots=True, kw_only=True)
class RiskHeirs:
    """What CRITICAL pages link to, as far as this run has read them."""

    peer: Callable[[WatchId], Watch | None]
    has_own_risk: Callable[[SourceId], bool]  # the operator set one for the source: nothing is inherited
    ids: Ids
    linked: set[WatchId] = field(default_factory=set)

    def raised(self, page: Watch, links: Iterable[WatchId], now: datetime) -> tuple[Raised, ...]:
        """The documents among these links whose risk goes up.  Each link is asked about once."""
        if page.risk is not Risk.CRITICAL:
            return ()
        if len(self.linked) > MOST:
            self.linked.clear()
        fresh = [i for i in dict.fromkeys(links) if i not in self.linked]
        self.linked.update(fresh)
        found = (self.peer(i) for i in fresh)
        return tuple(self._raise(one, page, now) for one in found if one is not None and self._may_rise(one))

    def after(self, watch: Watch, content_class: ContentClass) -> tuple[NodeType, Risk]:
        """What a target is once its content is known: a document without an extension is one all the same."""
        is_new = watch.node_type is NodeType.LEAF and content_class in DOCUMENTS and watch.lister in _PLAIN
        if not is_new and watch.node_type is not NodeType.ASSET:
            return watch.node_type, watch.risk
        parent = self.peer(watch.parent) if is_new and watch.parent is not None else None
        is_heir = watch.id in self.linked or (parent is not None and parent.risk is Risk.CRITICAL)
        rises = is_heir and not self.has_own_risk(watch.source)
        return NodeType.ASSET, Risk.CRITICAL if rises else watch.risk

    def _may_rise(self, one: Watch) -> bool:
        is_lower = one.node_type is NodeType.ASSET and one.risk is not Risk.CRITICAL
        return is_lower and not self.has_own_risk(one.source)

    def _raise(self, one: Watch, page: Watch, now: datetime) -> Raised:
        reason = Reason("linked_from_critical", note=page.url)
        inputs: dict[str, object] = {"before": one.risk.name, "parent": page.url}
        decision = Decision(action="raise", reasons=(reason,), inputs=inputs, output=Risk.CRITICAL.name)
        note = LedgerNote(id=self.ids.next(now), at=now, kind="risk", decision=decision, watch=one.id)
        return Raised(watch=one.id, lane=one.lane, due_at=now, note=note)


_PLAIN = (None, ListerKind.CRAWL, ListerKind.PAGE)


def targets_of(urls: Iterable[str]) -> list[WatchId]:
    return [watch_id(url) for url in urls]
