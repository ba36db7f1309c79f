"""Stdout, webhook and chat.  Each takes a notice and says how handing it over ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TextIO

from vedette.contracts.alerts import Delivery, Notice
from vedette.contracts.fetch import FetchSettings, Headers, PostRequest
from vedette.contracts.ports import Poster
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.urls.canonical import host_of
from vedette.notify import signing, templates

LOCAL = LaneKey("notify:stdout")


@dataclass(frozen=True, slots=True)
class StdoutChannel:
    """For a terminal, or whatever collects what a service prints."""

    stream: TextIO
    template: str | None = None

    @property
    def lane(self) -> LaneKey:
        return LOCAL

    async def send(self, notice: Notice, *, at: datetime) -> Delivery:
        words = (
            templates.text(notice) if self.template is None else templates.of_operator(self.template, notice)
        )
        try:
            self.stream.write(words + "\n\n")
            self.stream.flush()
        except (OSError, ValueError) as error:  # a closed pipe; a closed file
            return Delivery(outcome=Outcome.CONNECT_ERROR, detail=str(error))
        return Delivery(outcome=Outcome.OK)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookChannel:
    """A signed JSON document (Standard Webhooks).  The id is the notice's: a receiver drops what it has seen."""

    url: str = field(repr=False)
    key: bytes = field(repr=False)
    poster: Poster
    settings: FetchSettings
    headers: Headers = field(default=(), repr=False)

    @property
    def lane(self) -> LaneKey:
        return host_lane(self.url)

    async def send(self, notice: Notice, *, at: datetime) -> Delivery:
        body = templates.document(notice)
        signed = signing.headers(self.key, notice.id, body, at=at)
        return await self.poster.post(
            PostRequest(
                url=self.url, body=body, settings=self.settings, headers=(*self.headers, *signed.items())
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackChannel:
    """Slack, Mattermost, Rocket.Chat and others that take `{"text": ...}`.  The address is the secret."""

    url: str = field(repr=False)
    poster: Poster
    settings: FetchSettings
    headers: Headers = field(default=(), repr=False)
    template: str | None = None

    @property
    def lane(self) -> LaneKey:
        return host_lane(self.url)

    async def send(self, notice: Notice, *, at: datetime) -> Delivery:
        body = templates.chat_document(notice, self.template)
        return await self.poster.post(
            PostRequest(url=self.url, body=body, settings=self.settings, headers=self.headers)
        )


def host_lane(url: str) -> LaneKey:
    """Not the lane of the host's pages: what we tell a host must not wait behind what we ask it."""
    return LaneKey(f"notify:{host_of(url)}")
