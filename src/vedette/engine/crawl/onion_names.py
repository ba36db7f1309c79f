"""Onion names stay in the compliance file: everywhere else an alias stands for each of them.

The alias is put in place of the name in every answer, before anything else sees it, and the name in place of the alias
in every request.  So addresses, lanes, robots.txt, archive, logs and reports know aliases alone.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

import re2

from vedette.contracts.copies import replace
from vedette.contracts.fetch import Fetched, FetchRequest
from vedette.contracts.ports import Fetcher
from vedette.contracts.source import Source
from vedette.contracts.words import SourceId

SUFFIX = ".hidden.invalid"  # RFC 2606: no name server knows it
_NAMED = re2.compile(rb"(?i)([a-z0-9\-]{1,63})\.onion\b")
_ALIAS = re2.compile(r"([0-9a-f]{20})\.hidden\.invalid")
_WIDE = ("utf-16-le", "utf-16-be")
_FRAMING = frozenset({"content-encoding", "content-length", "transfer-encoding"})


@dataclass(slots=True)
class OnionNames:
    """Names and aliases of this installation."""

    key: bytes
    names: dict[str, str]  # by alias
    remember: Callable[[str, str], None]  # lasting when it returns

    def hidden(self, text: str) -> str:
        """The text with aliases for names."""
        return self.hidden_bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def hidden_bytes(self, data: bytes) -> bytes:
        if b".onion" not in data.lower():
            return data
        return bytes(_NAMED.sub(lambda found: self._alias(found.group(1)).encode(), data))

    def shown(self, url: str) -> str:
        """The address to ask for.  An alias that nobody made stays: no name server knows it."""
        if SUFFIX not in url:
            return url
        return str(_ALIAS.sub(lambda found: self.names.get(found.group(0), found.group(0)), url))

    def source(self, source: Source) -> Source:
        """As it is stored."""
        if ".onion" not in source.url.lower():
            return source
        hidden = self.hidden(source.name)
        alias = self.hidden(source.url).split("/")[2].removesuffix(SUFFIX)
        is_named = "onion" in source.id
        return replace(
            source,
            url=self.hidden(source.url),
            name=hidden,
            id=SourceId(f"hidden-{alias}") if is_named else source.id,
        )

    def _alias(self, label: bytes) -> str:
        name = f"{label.decode('ascii').lower()}.onion"
        alias = hmac.new(self.key, name.encode(), hashlib.sha256).hexdigest()[:20] + SUFFIX
        if alias not in self.names:
            self.remember(alias, name)
            self.names[alias] = name
        return alias


class OnionFetcher:
    """Implements `contracts.ports.Fetcher`."""

    def __init__(self, fetcher: Fetcher, names: OnionNames) -> None:
        self._fetcher = fetcher
        self._names = names

    async def fetch(self, request: FetchRequest) -> Fetched:
        fetched = await self._fetcher.fetch(replace(request, url=self._names.shown(request.url)))
        return self._hidden(fetched, request.url)

    async def close(self) -> None:
        await self._fetcher.close()

    def _hidden(self, fetched: Fetched, url: str) -> Fetched:
        hide = self._names.hidden
        body = self._body(fetched.body)
        headers = tuple((name, hide(value)) for name, value in fetched.headers)
        wire = fetched.wire
        if body is not fetched.body:  # what was packed is kept as it was unpacked
            headers = tuple(pair for pair in headers if pair[0].lower() not in _FRAMING)
            wire = body
        elif not body:
            wire = self._body(wire)
        return replace(
            fetched,
            url=url,
            headers=headers,
            body=body,
            wire=wire,
            phrase=hide(fetched.phrase),
            redirect_to=None if fetched.redirect_to is None else hide(fetched.redirect_to),
            etag=None if fetched.etag is None else hide(fetched.etag),
            detail=hide(fetched.detail),
        )

    def _body(self, body: bytes) -> bytes:
        for codec in _WIDE:
            if ".onion".encode(codec) in body:
                return self._names.hidden(body.decode(codec, "replace")).encode(codec)
        return self._names.hidden_bytes(body)
