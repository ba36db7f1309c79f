"""Who is let in, and how long a client may take.  The same rules for every port.

- Host: the names of loopback, addresses, and names that the operator configured.  A page in the operator's browser
  that points its own name at us (DNS rebinding) sends its own name here.
- Token: not short, and a wrong one is answered late.  A client that asks over many connections and waits for no
  answer is hardly slowed by that.  So after some wrong ones all tokens are checked one after another, a few per
  second whoever sent them; the right one has its turn too, and at once from an address that had it right and was
  not wrong since.
- Connections: a limited number at once.  One that has not sent its request in time is closed; when all are taken,
  the one that has kept us waiting for longest makes room.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

TOKEN_LEAST = 5  # characters
TOKEN_KINDS = 3  # different ones
LINES = 128
HEAD_S = 10.0  # from the first byte, or the last answer, until a request is there
REQUEST_S = 30.0  # until it is answered
WRONG_S = 0.5  # the first wrong token; the delay grows with those that were wrong lately
WRONG_MOST_S = 3.0
WRONG_FEW = 8  # in a minute, before all that come are looked at one after another,
TURN_S = 0.1  # and how long each turn is: with every line taken the last one waits 13 s
TRUSTED = 256  # addresses
_LOCAL = frozenset(("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"))


def is_ours(host: str | None, names: Iterable[str]) -> bool:
    """True where the Host header names us.  Addresses do: a foreign page can only come by a name."""
    name = _name_of(host or "")
    if name in _LOCAL or name.endswith(".localhost") or name in {one.lower() for one in names}:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


_PROXIED = frozenset(
    ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
)


def comes_by_a_proxy(headers: Mapping[str, str]) -> bool:
    """True where the request is somebody else's, though its address is of this machine.

    A proxy adds a header of its own, or hands on the name that the other one typed.  One that does neither cannot be
    told from a browser here: docs/how-to/deploy.md has settings that do.
    """
    return not _PROXIED.isdisjoint(headers) or not is_ours(headers.get("host"), ())


def token_problem(token: str) -> str:
    """Why a token protects nothing; empty: it is not short."""
    if len(token) >= TOKEN_LEAST and len(set(token)) >= TOKEN_KINDS:
        return ""
    return f"is easily guessed; use at least {TOKEN_LEAST} characters, better 32 random ones"


@dataclass(slots=True)
class TokenCheck:
    """One secret, and how often it was guessed wrongly of late."""

    token: str | None
    now: Callable[[], float]
    _wrong: list[float] = field(default_factory=list)
    _trusted: OrderedDict[str, None] = field(default_factory=OrderedDict)
    turns: asyncio.Lock = field(default_factory=asyncio.Lock)  # whose turn it is

    def turn(self, address: str) -> float:
        """How long it takes until a token from there is looked at, when its turn has come."""
        if address in self._trusted:
            return 0.0
        return TURN_S if len(self._lately()) >= WRONG_FEW else 0.0

    def heard(self, address: str, *, is_right: bool) -> None:
        """Of a token from there."""
        self._trusted.pop(address, None)
        if is_right:
            self._trusted[address] = None
            if len(self._trusted) > TRUSTED:
                self._trusted.popitem(last=False)

    def is_right(self, authorization: str) -> bool:
        wanted = f"Bearer {self.token}".encode()
        given = authorization.encode("utf-8", "surrogateescape")
        return self.token is not None and hmac.compare_digest(given, wanted)

    def delay(self) -> float:
        """How long the answer to a wrong token waits."""
        self._wrong = [*self._lately(), self.now()]
        return min(WRONG_MOST_S, WRONG_S * len(self._wrong))

    def _lately(self) -> list[float]:
        return [at for at in self._wrong[-16:] if at > self.now() - 60]


class Lines:
    """Connections that are open, those that owe us a request in the order in which they began to."""

    def __init__(self, now: Callable[[], float], most: int = LINES) -> None:
        self._now = now
        self._most = most
        self._owing: OrderedDict[object, tuple[float, Callable[[], None]]] = OrderedDict()
        self._busy: set[object] = set()

    def __len__(self) -> int:
        return len(self._owing) + len(self._busy)

    def open(self, line: object, cut: Callable[[], None]) -> bool:
        """True where the connection may stay.  When all are taken, one that owes a request is closed for it."""
        if len(self) >= self._most:
            if not self._owing:
                return False
            self._owing.popitem(last=False)[1][1]()
        self._owing[line] = (self._now(), cut)
        return True

    def asked(self, line: object) -> None:
        """A whole request is there."""
        if self._owing.pop(line, None) is not None:
            self._busy.add(line)

    def answered(self, line: object, cut: Callable[[], None]) -> None:
        """It may ask again."""
        if line in self._busy:
            self._busy.discard(line)
            self._owing[line] = (self._now(), cut)

    def time_left(self, line: object) -> float:
        """Until it is cut, unless it asks."""
        since = self._owing[line][0] if line in self._owing else self._now()
        return since + HEAD_S - self._now()

    def closed(self, line: object) -> None:
        self._owing.pop(line, None)
        self._busy.discard(line)


def _name_of(host: str) -> str:
    """The name in a Host header, without port, brackets and last dot."""
    text = host.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    name = text if text.count(":") > 1 else text.partition(":")[0]
    return name.removesuffix(".")
