"""Content decoding: every coding, cut anywhere, and bombs that are never held."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.fetch import MIB
from vedette.contracts.words import Outcome
from vedette.fetch.decode import BodyDecoder, DecodeLimits, codings_of, make_decoder
from vedette.fetch.faults import Fault

LIMITS = DecodeLimits(body=10 * MIB, ratio=200, layers=2)
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


def decode(codings: tuple[str, ...], parts: Iterator[bytes] | list[bytes]) -> bytes | Fault:
    decoder = make_decoder(codings, LIMITS)
    assert isinstance(decoder, BodyDecoder)
    for part in parts:
        fault = decoder.feed(part)
        if fault is not None:
            return fault
    return decoder.finish() or decoder.body()


def cut(wire: bytes, size: int) -> list[bytes]:
    return [wire[at : at + size] for at in range(0, len(wire), size)]


@given(st.sampled_from(sorted(ENCODERS)), st.binary(max_size=4000), st.integers(1, 60), st.integers(1, 60))
def test_a_body_comes_out_as_it_went_in_however_it_is_cut(
    name: str, body: bytes, size: int, times: int
) -> None:
    whole = body * times
    assert decode((name,), cut(ENCODERS[name](whole), size)) == whole


@given(
    st.sampled_from(sorted(ENCODERS)), st.sampled_from(sorted(ENCODERS)), st.binary(min_size=1, max_size=3000)
)
def test_two_layers_come_off_in_reverse_order(inner: str, outer: str, body: bytes) -> None:
    assert decode((inner, outer), cut(ENCODERS[outer](ENCODERS[inner](body)), 100)) == body


@given(st.sampled_from(sorted(ENCODERS)), st.binary(min_size=1, max_size=2000), st.data())
def test_a_stream_cut_short_is_never_a_page(name: str, body: bytes, data: st.DataObject) -> None:
    wire = ENCODERS[name](body)
    end = data.draw(st.integers(1, len(wire) - 1))
    fault = decode((name,), [wire[:end]])
    assert isinstance(fault, Fault)
    assert fault.outcome in (Outcome.TRUNCATED, Outcome.DECODE_ERROR)


@given(st.sampled_from(sorted(ENCODERS)), st.binary(min_size=1, max_size=500))
def test_noise_is_an_outcome(name: str, noise: bytes) -> None:
    assert isinstance(decode((name,), [noise]), bytes | Fault)


@given(st.binary(min_size=20, max_size=2000), st.integers(0, 10**6), st.integers(1, 255))
def test_a_flipped_byte_of_gzip_is_noticed_or_harmless(body: bytes, at: int, flip: int) -> None:
    wire = bytearray(gzip.compress(body, mtime=0))
    place = 10 + at % (len(wire) - 10)  # behind the header, whose fields are free
    wire[place] ^= flip
    result = decode(("gzip",), [bytes(wire)])
    assert isinstance(result, Fault) or result == body


def test_large_members_larger_than_any_step() -> None:
    body = bytes(range(256)) * 8192 * 2
    assert decode(("gzip",), cut(gzip.compress(body, 1) + gzip.compress(b"end"), 70_000)) == body + b"end"


def test_frames_of_zstd_follow_each_other_and_skippable_ones_are_skipped() -> None:
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    wire = zstandard.compress(b"one") + skipped + zstandard.compress(b"two")
    assert decode(("zstd",), [wire]) == b"onetwo"


def test_a_zstd_window_over_8_mib_is_refused() -> None:
    packer = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=27, write_content_size=0)
    )
    stream = packer.compressobj()
    fault = decode(("zstd",), [stream.compress(b"a" * 1000) + stream.flush()])
    assert isinstance(fault, Fault)
    assert fault.outcome is Outcome.DECODE_ERROR


def gzip_bomb() -> Iterator[bytes]:
    """10 GB of zeros, a flushed MiB at a time."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield squeeze.compress(bytes(MIB)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(bytes(MIB)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    for _ in range(10_000):
        yield block


def name_bomb() -> Iterator[bytes]:
    """An inner gzip whose file name has no end: it takes all the outer layer gives and gives nothing."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield squeeze.compress(b"\x1f\x8b\x08\x08" + bytes(6)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(b"a" * MIB) + squeeze.flush(zlib.Z_FULL_FLUSH)
    for _ in range(10_000):
        yield block


BOMBS: dict[str, tuple[tuple[str, ...], Callable[[], Iterator[bytes]]]] = {
    "gzip": (("gzip",), gzip_bomb),
    "a name without end in gzip in gzip": (("gzip", "gzip"), name_bomb),
    "br": (("br",), lambda: iter([brotli.compress(bytes(128 * MIB), quality=1)])),
    "zstd": (("zstd",), lambda: iter([zstandard.compress(bytes(512 * MIB))])),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_stopped_with_little_in_hand(name: str) -> None:
    codings, bomb = BOMBS[name]
    parts = bomb() if "gzip" in name else iter(list(bomb()))
    tracemalloc.start()
    fault = decode(codings, parts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(fault, Fault)
    assert fault.outcome is Outcome.TOO_LARGE
    assert peak < 24 * MIB


@pytest.mark.parametrize(
    ("values", "codings"),
    [
        (["gzip"], ("gzip",)),
        ([" GZip , identity,br "], ("gzip", "br")),
        (["x-gzip", "deflate"], ("gzip", "deflate")),
        ([""], ()),
        ([",,"], ()),
        (["utf-8"], ("utf-8",)),
    ],
)
def test_the_header_is_read_as_a_list(values: list[str], codings: tuple[str, ...]) -> None:
    assert codings_of(values) == codings
