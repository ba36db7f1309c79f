"""A digest of changes by hand: of some days, of all or of a tag, with the diffs in it; shown, or sent to a channel."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from vedette.app.channels import send_now
from vedette.contracts.alerts import ChannelName, Delivery, Notice
from vedette.contracts.errors import VedetteError
from vedette.operations.change_feeds import feed_filter, scope_words
from vedette.operations.changes import NumberedChange, list_changes
from vedette.operations.installation import Installation
from vedette.report.notices import change_notice, digest_notice
from vedette.report.plain import count
from vedette.store.access_rows import FeedScope
from vedette.store.queries import Queries

BY_HAND = ChannelName("by-hand")


def change_digest(installation: Installation, scope: FeedScope, since: datetime) -> Notice:
    """What people were told of since then, the gravest first.  VedetteError: nothing changed."""
    found = list_changes(installation, replace(feed_filter(installation, scope), since=since), 0)
    if not found:
        raise VedetteError(f"no changes since {since:%Y-%m-%d %H:%M} UTC")
    with installation.queries() as queries:
        notices = [_notice(queries, one) for one in found]
    now = installation.now()
    name = f"digest-by-hand-{now:%Y%m%dT%H%M%SZ}"
    made = digest_notice(name, BY_HAND, notices, now=now, with_diffs=True)
    title = f"{count(len(found), 'change')} since {since:%Y-%m-%d %H:%M} UTC"
    return replace(made, title=title, summary=f"{scope_words(scope)}, the gravest first")


def send_digest(installation: Installation, channel: str, digest: Notice) -> Delivery:
    """To a channel of `notify`, now."""
    return send_now(installation.loaded.config, channel, digest, clock=installation.clock)


def _notice(queries: Queries, one: NumberedChange) -> Notice:
    change = one.view.change
    watch = queries.watch(change.watch)
    assert watch is not None  # noqa: S101  a change belongs to a watch
    made = change_notice(change, watch, at=change.observed_at)
    return replace(made, facts={**made.facts, "number": one.number})
