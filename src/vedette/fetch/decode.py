"""Content codings undone in steps, so that no bomb is ever held: cap, ratio, layers, end of stream.

At most the cap and one step are in memory.  Every layer is metered, because an inner layer may eat
gigabytes of the outer one's output and give nothing back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, cast

import brotli
import zstandard
from isal import isal_zlib

from vedette.contracts.fetch import MIB
from vedette.contracts.words import Outcome
from vedette.fetch.faults import Fault, plain

STEP = 256 * 1024  # output of one step
SLICE = 64 * 1024  # input of one step: what is left over after a member is copied, so keep it small
ZSTD_SLICE = (
    128  # zstandard cannot bound its output; a 4-byte block gives 128 KiB, so this gives 4 MiB at most
)
ZSTD_WINDOW = 8 * MIB  # RFC 9659
MEMBERS = 1000
TRAILING = 64 * 1024  # bytes after the end that are overlooked, as browsers do
RATIO_FROM = MIB
_GZIP, _ZLIB, _RAW = 31, 15, -15  # zlib's wbits
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGICS = (b"\x28\xb5", *(bytes((n, 0x2A)) for n in range(0x50, 0x60)))  # frame, skippable frames
_NAMES = {"x-gzip": "gzip", "x-deflate": "deflate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeLimits:
    body: int
    ratio: int
    layers: int


class BodyDecoder:
    """Takes a body as it comes from the wire, gives it decoded, or says why not."""

    def __init__(self, codings: tuple[str, ...], limits: DecodeLimits) -> None:
        self._layers = [_LAYERS[name]() for name in reversed(codings)]
        self._given = [0] * len(codings)
        self._limits = limits
        self._taken = 0
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> Fault | None:
        """The next bytes of the wire.  After a fault, feed no more."""
        try:
            for start in range(0, len(data), SLICE):
                piece = data[start : start + SLICE] if len(data) > SLICE else data
                self._taken += len(piece)
                fault = self._push(piece, 0)
                if fault is not None:
                    return fault
        except _BROKEN as error:
            return Fault(Outcome.DECODE_ERROR, plain(str(error)))
        return None

    def finish(self) -> Fault | None:
        """The wire ended.  A stream that did not reach its own end is not a page."""
        if self._taken and not all(layer.is_complete for layer in self._layers):
            return Fault(Outcome.TRUNCATED, "the coded body ends before its end mark")
        return None

    @property
    def size(self) -> int:
        """Of what was decoded so far."""
        return self._given[-1]

    def body(self) -> bytes:
        """What was decoded so far, never more than the cap."""
        whole = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        return whole if len(whole) <= self._limits.body else whole[: self._limits.body]

    def _push(self, data: bytes, depth: int) -> Fault | None:
        is_last = depth + 1 == len(self._layers)
        for piece in self._layers[depth].push(data):
            self._given[depth] += len(piece)
            if is_last:
                self._parts.append(piece)
            fault = self._over(self._given[depth]) or (None if is_last else self._push(piece, depth + 1))
            if fault is not None:
                return fault
        return None

    def _over(self, given: int) -> Fault | None:
        if given > self._limits.body:
            return Fault(Outcome.TOO_LARGE, f"decoded body over {self._limits.body} bytes")
        if given > RATIO_FROM and given > self._limits.ratio * self._taken:
            return Fault(
                Outcome.TOO_LARGE, f"ratio over {self._limits.ratio}: {given} bytes from {self._taken}"
            )
        return None


def make_decoder(codings: tuple[str, ...], limits: DecodeLimits) -> BodyDecoder | Fault | None:
    """A decoder for these codings; None when there is nothing to undo; a Fault when we cannot."""
    if not codings:
        return None
    unknown = [name for name in codings if name not in _LAYERS]
    if unknown:
        return Fault(Outcome.DECODE_ERROR, f"unknown content coding {plain(unknown[0], 40)!r}")
    if len(codings) > limits.layers:
        return Fault(Outcome.DECODE_ERROR, f"{len(codings)} content codings, the limit is {limits.layers}")
    return BodyDecoder(codings, limits)


def codings_of(values: Iterable[str]) -> tuple[str, ...]:
    """The codings of Content-Encoding in the order they were applied, identity left out."""
    names = [name.strip().lower() for value in values for name in value.split(",")]
    return tuple(_NAMES.get(name, name) for name in names if name and name != "identity")


class _Unfit(Exception):
    """The stream is well formed so far and still not one we take."""


# The cast: isal's stub takes its exception class for an instance.
_BROKEN = cast(tuple[type[Exception], ...], (_Unfit, isal_zlib.error, brotli.error, zstandard.ZstdError))


class _Layer(Protocol):
    @property
    def is_complete(self) -> bool: ...

    def push(self, data: bytes) -> Iterator[bytes]: ...


class _Members:
    """A stream of members one after the other.  Junk after a complete member is overlooked, up to a size."""

    magics: tuple[bytes, ...] = ()

    def __init__(self) -> None:
        self._is_open = False  # inside a member
        self._count = 0
        self._held = b""  # too little to tell what begins here
        self._trailing = 0

    @property
    def is_complete(self) -> bool:
        return self._count > 0 and not self._is_open

    def push(self, data: bytes) -> Iterator[bytes]:
        while data:
            if not self._is_open:
                data = self._begin(data)
                if not data:
                    return
            data = yield from self._inside(data)

    def _begin(self, data: bytes) -> bytes:
        """What the new member starts with; nothing when there is none (yet)."""
        data, self._held = self._held + data, b""
        if self._trailing or (self._count and len(data) >= 2 and not data.startswith(self.magics)):
            self._trailing += len(data)
            if self._trailing > TRAILING:
                raise _Unfit("too much behind the end of the coded body")
            return b""
        if len(data) < 2:
            self._held = data
            return b""
        if self._count == MEMBERS:
            raise _Unfit(f"more than {MEMBERS} members")
        self._count += 1
        self._is_open = True
        self._open(data)
        return data

    def _open(self, data: bytes) -> None:
        raise NotImplementedError

    def _inside(self, data: bytes) -> Generator[bytes, None, bytes]:
        """Yields output; returns what is left of the input after the member."""
        raise NotImplementedError


class _Inflate(_Members):
    """gzip and deflate by ISA-L: the same answers as zlib in half the time."""

    magics = (_GZIP_MAGIC,)

    def __init__(self, wbits: int | None) -> None:
        super().__init__()
        self._wbits = wbits

    def _open(self, data: bytes) -> None:
        wbits = self._wbits
        if wbits is None:  # RFC 9110 says zlib; servers send bare deflate too
            is_zlib = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            wbits = _ZLIB if is_zlib else _RAW
        self._stream = isal_zlib.decompressobj(wbits)

    def _inside(self, data: bytes) -> Generator[bytes, None, bytes]:
        stream = self._stream
        while True:
            out = stream.decompress(data, STEP)
            if out:
                yield out
            if stream.eof:
                self._is_open = False
                return bytes(stream.unused_data)
            data = stream.unconsumed_tail
            if not data and len(out) < STEP:
                return b""


class _Zstd(_Members):
    magics = _ZSTD_MAGICS

    def _open(self, data: bytes) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()

    def _inside(self, data: bytes) -> Generator[bytes, None, bytes]:
        for start in range(0, len(data), ZSTD_SLICE):
            out = self._stream.decompress(data[start : start + ZSTD_SLICE])
            if out:
                yield out
            if self._stream.eof:
                self._is_open = False
                return self._stream.unused_data + data[start + ZSTD_SLICE :]
        return b""


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    @property
    def is_complete(self) -> bool:
        return bool(self._stream.is_finished())

    def push(self, data: bytes) -> Iterator[bytes]:
        out = self._stream.process(data, output_buffer_limit=STEP)
        while out:
            yield out
            if self._stream.is_finished() or self._stream.can_accept_more_data():
                return
            out = self._stream.process(b"", output_buffer_limit=STEP)


_LAYERS: dict[str, Callable[[], _Layer]] = {
    "gzip": lambda: _Inflate(_GZIP),
    "deflate": lambda: _Inflate(None),
    "br": _Brotli,
    "zstd": _Zstd,
}
