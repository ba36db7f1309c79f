"""Any service that Apprise knows (`pip install 'vedette[notify]'`).

Apprise opens its own connections, past the guard: its URLs are the operator's own infrastructure, like a mail server.
So it goes to these URLs and nowhere else: a redirect is not followed, and what was to be told counts as not told.
"""

from __future__ import annotations

import asyncio
import importlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vedette.contracts.alerts import Delivery, Notice
from vedette.contracts.errors import ConfigError
from vedette.contracts.words import LaneKey, Outcome
from vedette.notify import templates


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
