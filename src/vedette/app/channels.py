"""Builds the channels that the configuration names, and the sender over them."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TextIO

from vedette.config.alert_policies import channel_policies, channel_rows, check_channel, send_retry
from vedette.config.model import Config, secret
from vedette.config.policies import fetch_settings
from vedette.config.sections import ChannelConfig
from vedette.contracts.alerts import ChannelName, Delivery, Letter, Notice
from vedette.contracts.errors import ConfigError, InputError
from vedette.contracts.fetch import FetchSettings
from vedette.contracts.ports import Channel, Clock, Poster
from vedette.contracts.watch import Group
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import canonical
from vedette.engine.stages.queue_worker import QueueWorker, QueueWorkers
from vedette.fetch.connections import tls_context
from vedette.fetch.http import check_settings
from vedette.fetch.post import HttpPoster
from vedette.notify.channels import (
    ServiceChannel,
    SlackChannel,
    StdoutChannel,
    WebhookChannel,
    apprise_service,
    read_secret,
)
from vedette.notify.mail import PORTS, MailChannel, MailServer
from vedette.notify.sender import ChannelQueue, ChannelRoute, Heard, MakeDigest, Sender
from vedette.report.notices import digest_notice, letter_notice, probe_notice
from vedette.store.connection import StorePlace
from vedette.store.outbox import SqliteOutbox

SHORT = ("slack", "apprise")  # kinds of channels whose readers see a few lines at once


@dataclass(frozen=True, slots=True)
class _Making:
    """One row of the configuration on its way to a channel."""

    name: ChannelName
    row: ChannelConfig
    config: Config
    poster: Poster
    stdout: TextIO

    @property
    def where(self) -> str:
        return f"notify.channels.{self.name}"

    def secret(self, value: str) -> str:
        return secret(value, f"`{self.where}`")

    def url(self) -> str:
        given = self.secret(self.row.url or "")
        url = canonical(given)
        if url is None:
            raise ConfigError(f"`{self.where}.url` is not an http or https URL")
        return url

    def settings(self) -> FetchSettings:
        """As everything is fetched, but with the channel's own networks and none of the crawler's headers."""
        timeout = self.row.timeout
        return replace(
            fetch_settings(self.config),
            allow_networks=self.row.allow_networks,
            allow_ports=self.row.allow_ports,
            headers=(),
            proxy=None,
            connect_timeout=timeout,
            read_timeout=timeout,
            total_timeout=timeout,
            keep_alive=timedelta(0),
        )

    def headers(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, self.secret(value)) for name, value in sorted(self.row.headers.items()))


def channels(config: Config, poster: Poster, stdout: TextIO | None = None) -> dict[ChannelName, Channel]:
    """Every configured channel, with its secrets read."""
    rows = channel_rows(config)
    return {name: _made(config, name, row, poster, stdout or sys.stdout) for name, row in rows.items()}


@dataclass(frozen=True, slots=True)
class Telling:
    """Where a sender writes, and who hears of what it sends."""

    stdout: TextIO | None = None
    on_sent: Heard = lambda channel, message, delivery: None
    on_bug: Callable[[ChannelName, BaseException], None] = lambda channel, error: None


NOBODY = Telling()


@contextmanager
def sending(
    config: Config, path: StorePlace, *, clock: Clock, told: Telling = NOBODY
) -> Iterator[tuple[QueueWorkers, HttpPoster]]:
    """A sender on this store; the caller runs it and closes the poster within its loop."""
    poster = HttpPoster(clock)
    made = channels(config, poster, told.stdout)
    outbox = SqliteOutbox(path)
    policies = {policy.name: policy for policy in channel_policies(config)}
    sender = Sender(
        outbox=outbox,
        clock=clock,
        retry=send_retry(config),
        make_digest=_digests(config),
        on_sent=told.on_sent,
        on_bug=told.on_bug,
    )
    ways = [ChannelRoute(channel, policies[name]) for name, channel in made.items()]
    try:
        yield senders(sender, ways), poster
    finally:
        outbox.close()


def senders(sender: Sender, ways: Iterable[ChannelRoute]) -> QueueWorkers:
    """One worker for each channel."""
    return QueueWorkers([QueueWorker(queue=ChannelQueue(sender, way)) for way in ways])


def send_test(config: Config, name: str, *, clock: Clock) -> Delivery:
    """One test notice to one channel, now.  Blocking."""
    return send_now(config, name, probe_notice(ChannelName(name), now=clock.now()), clock=clock)


def send_now(config: Config, name: str, notice: Notice, *, clock: Clock) -> Delivery:
    """One notice to one channel, past outbox and budget.  Blocking."""
    return _send_now(config, name, clock, lambda channel: channel.send(notice, at=clock.now()))


def send_letter(config: Config, name: str, letter: Letter, *, clock: Clock) -> Delivery:
    """A letter to one channel, now: whole by mail, as a notice with its lines elsewhere.  Blocking."""

    def send(channel: Channel) -> Awaitable[Delivery]:
        if isinstance(channel, MailChannel):
            return channel.send_letter(letter)
        return channel.send(letter_notice(letter), at=letter.at)

    return _send_now(config, name, clock, send)


def _send_now(
    config: Config, name: str, clock: Clock, send: Callable[[Channel], Awaitable[Delivery]]
) -> Delivery:
    rows = channel_rows(config)
    if name not in rows:
        raise InputError(unknown("channel", name, rows))
    channel = ChannelName(name)

    async def sent() -> Delivery:
        poster = HttpPoster(clock)
        try:
            return await send(_made(config, channel, rows[channel], poster, sys.stdout))
        finally:
            await poster.close()

    return asyncio.run(sent())


def _made(config: Config, name: ChannelName, row: ChannelConfig, poster: Poster, stdout: TextIO) -> Channel:
    check_channel(name, row)
    return MAKERS[row.kind](_Making(name, row, config, poster, stdout))


def _digests(config: Config) -> MakeDigest:
    """A chat has room for a line of each notice, all others for the diffs too."""
    rows = channel_rows(config)

    def made(name: str, channel: ChannelName, notices: Sequence[Notice], now: datetime) -> Notice:
        has_room = rows[channel].kind not in SHORT
        return digest_notice(name, channel, notices, now=now, with_diffs=has_room)

    return made


def _stdout(making: _Making) -> Channel:
    return StdoutChannel(making.stdout, making.row.template)


def _webhook(making: _Making) -> Channel:
    settings = making.settings()
    check_settings(replace(settings, headers=making.headers()))
    key = read_secret(making.secret(making.row.secret or ""), f"{making.where}.secret")
    return WebhookChannel(
        url=making.url(), key=key, poster=making.poster, settings=settings, headers=making.headers()
    )


def _slack(making: _Making) -> Channel:
    settings = making.settings()
    check_settings(replace(settings, headers=making.headers()))
    return SlackChannel(
        url=making.url(),
        poster=making.poster,
        settings=settings,
        headers=making.headers(),
        template=making.row.template,
    )


def _smtp(making: _Making) -> Channel:
    row, ca_file = making.row, making.config.fetch.ca_file
    for key, value in (("from", row.sender or ""), *(("to", one) for one in row.to)):
        if "@" not in value or not value.isprintable():
            raise ConfigError(f"`{making.where}.{key}`: {value!r} is not a mail address")
    context: Callable[[], ssl.SSLContext] = (
        partial(tls_context, ca_file) if ca_file else ssl.create_default_context
    )
    server = MailServer(
        host=row.host or "",
        port=row.port or PORTS[row.tls],
        tls=row.tls,
        username=row.username,
        password=None if row.password is None else making.secret(row.password),
        timeout=row.timeout.total_seconds(),
        tls_context=context,
    )
    return MailChannel(server=server, sender=row.sender or "", to=row.to, template=row.template)


def _apprise(making: _Making) -> Channel:
    urls = tuple(making.secret(url) for url in making.row.urls)
    service = apprise_service(urls, making.where)
    return ServiceChannel(name=making.name, service=service, template=making.row.template)


MAKERS: dict[str, Callable[[_Making], Channel]] = {
    "stdout": _stdout,
    "smtp": _smtp,
    "webhook": _webhook,
    "slack": _slack,
    "apprise": _apprise,
}


def told(wake: Callable[[], None]) -> Callable[[Group], None]:
    """For the settler's thread: wakes the sender when a group brought messages."""
    post = asyncio.get_running_loop().call_soon_threadsafe

    def hear(group: Group) -> None:
        if group.messages:
            with suppress(RuntimeError):  # the loop is gone
                post(wake)

    return hear
