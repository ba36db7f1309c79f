"""The source of a page that a listing names on another host: a host without a source gets one (spec 001/6.2)."""

from __future__ import annotations

from collections.abc import Iterable

from vedette.contracts.source import ListerKind, Registered, Source
from vedette.contracts.words import SourceId
from vedette.core.urls.canonical import host_of

HIERARCHY = 5  # "Uputa", as 6.2 has it
AUTO = "auto"  # origin of such a source


def auto_source(domain: str) -> Source:
    """The source of a domain that nobody configured, as 6.2 makes it."""
    return Source(
        id=SourceId(domain.replace(".", "-").lower()),
        name=f"Auto: {domain}",
        url=f"https://{domain}/",
        lister=ListerKind.PAGE,
        origin=AUTO,
        registered=Registered(hierarchy=HIERARCHY),
    )


class Homes:
    """Which hosts have a source.  Hosts with and without www are one."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._made: dict[str, SourceId] = {}
        self._configured: set[str] = set()
        for source in sources:
            host = _bare(host_of(source.url))
            if source.origin == AUTO:
                self._made[host] = source.id
            else:
                self._configured |= {host, *map(_bare, source.options.follow_hosts)}

    def home(self, url: str, finder: SourceId) -> tuple[SourceId, Source | None]:
        """Whose the page is, and the source that has to be made for it.

        On a host that someone configured, it belongs to the source that found it.
        """
        host = _bare(host_of(url))
        if host in self._configured:
            return finder, None
        known = self._made.get(host)
        if known is not None:
            return known, None
        source = auto_source(host)
        self._made[host] = source.id
        return source.id, source


def _bare(host: str) -> str:
    return host.lower().removeprefix("www.")
