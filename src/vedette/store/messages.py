"""A notice on its way to one channel, as a row of the outbox and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from vedette.contracts.alerts import ChannelName, Message, Notice, NoticeKind
from vedette.contracts.words import Risk
from vedette.store.rows import dump_json, from_ms, to_ms


def message_row(message: Message) -> tuple[Any, ...]:
    """In the order of statements.MESSAGE_COLUMNS."""
    notice = message.notice
    at = (to_ms(notice.at), to_ms(message.due_at))
    return (notice.id, message.channel, notice.kind.value, int(notice.risk), _dump_notice(notice), *at)


def read_message(row: Sequence[Any]) -> Message:
    """From body, channel, due_at, attempts."""
    raw = json.loads(row[0])
    notice = Notice(
        id=raw["id"],
        kind=NoticeKind(raw["kind"]),
        at=datetime.fromisoformat(raw["at"]),
        risk=Risk(raw["risk"]),
        title=raw["title"],
        summary=raw["summary"],
        url=raw["url"],
        sources=tuple(raw["sources"]),
        excerpt=tuple(raw["excerpt"]),
        why=tuple(raw["why"]),
        facts=raw["facts"],
    )
    return Message(notice=notice, channel=ChannelName(row[1]), due_at=from_ms(row[2]), attempts=row[3])


def _dump_notice(notice: Notice) -> str:
    return dump_json({field.name: getattr(notice, field.name) for field in fields(notice)})
