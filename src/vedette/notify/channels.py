"""Channels: stdout, webhook, chat, any service of Apprise.  Each takes a notice and says how handing it over ended."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import importlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TextIO

from vedette.contracts.alerts import Delivery, Notice
from vedette.contracts.errors import ConfigError
from vedette.contracts.fetch import FetchSettings, Headers, PostRequest
from vedette.contracts.ports import Poster
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.urls.canonical import host_of
from vedette.notify import templates

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
        signed = headers(self.key, notice.id, body, at=at)
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


# The signature of Standard Webhooks (standardwebhooks.com, version 1): symmetric, HMAC-SHA256.

PREFIX = "whsec_"
LEAST_BYTES, MOST_BYTES = 24, 64  # as the specification asks


def read_secret(text: str, where: str) -> bytes:
    """The key in `whsec_<base64>`; the message of a refusal never holds it."""
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(
            f"`{where}`: not base64; write whsec_ and 24 to 64 random bytes in base64"
        ) from None
    if not LEAST_BYTES <= len(key) <= MOST_BYTES:
        raise ConfigError(f"`{where}`: {len(key)} bytes; a signing secret has {LEAST_BYTES} to {MOST_BYTES}")
    return key


def headers(key: bytes, message_id: str, body: bytes, *, at: datetime) -> dict[str, str]:
    """webhook-id is the same on every attempt; timestamp and signature are of this one."""
    stamp = str(int(at.timestamp()))
    signed = b".".join((message_id.encode(), stamp.encode(), body))
    mark = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": message_id, "webhook-timestamp": stamp, "webhook-signature": f"v1,{mark}"}


# Any service that Apprise knows (`pip install 'vedette[notify]'`).
#
# Apprise opens its own connections, past the guard: its URLs are the operator's own infrastructure, like a mail
# server. So it goes to these URLs and nowhere else: a redirect is not followed, and what was to be told counts as not
# told.


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceChannel:
    name: str
    service: Any  # an apprise.Apprise, or whatever has its `notify`
    template: str | None = None

    @property
    def lane(self) -> LaneKey:
        return LaneKey(f"notify:apprise-{self.name}")

    async def send(self, notice: Notice, *, at: datetime) -> Delivery:
        words = (
            templates.text(notice) if self.template is None else templates.of_operator(self.template, notice)
        )
        is_told = await asyncio.to_thread(self.service.notify, title=templates.subject(notice), body=words)
        if is_told:
            return Delivery(outcome=Outcome.OK)
        return Delivery(outcome=Outcome.SERVER_ERROR, detail="a service of this channel did not take it")


def apprise_service(urls: tuple[str, ...], where: str) -> Any:
    """Apprise with these URLs; ConfigError says what is missing, and never repeats a URL: it may hold a secret."""
    try:
        apprise = importlib.import_module("apprise")
    except ImportError:
        raise ConfigError(
            f"`{where}.kind`: apprise is not installed; pip install 'vedette[notify]'"
        ) from None
    asset = apprise.AppriseAsset()
    if not hasattr(asset, "http_redirects"):
        raise ConfigError(
            f"`{where}.kind`: this apprise follows redirects anywhere; pip install -U 'vedette[notify]'"
        )
    asset.http_redirects = False
    service = apprise.Apprise(asset=asset)
    for number, url in enumerate(urls):
        if not service.add(url):
            raise ConfigError(f"`{where}.urls.{number}`: Apprise does not know this kind of URL")
    for one in service:
        one.redirects = False  # also where the URL says `redirect=yes`
    return service
