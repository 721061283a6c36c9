# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of bytes whatever they mean. All take (random, bytes) and answer bytes."""

import functools
import gzip
import struct

import native

EXTREMES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


MOST = 32 << 20


def times(random, size, counts):
    """How often a part of this size is repeated: a mutation may follow on another that made it large."""
    return max(1, min(random.choice(counts), MOST // max(1, size)))


def flip(random, data):
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def truncate(random, data):
    return data[: random.randrange(len(data) + 1)]


def piece(random, data, most=4096):
    if not data:
        return 0, 0
    begin = random.randrange(len(data))
    return begin, min(len(data), begin + random.randrange(1, most))


def duplicate(random, data):
    begin, end = piece(random, data)
    at = random.randrange(len(data) + 1)
    return data[:at] + data[begin:end] * times(random, end - begin, (1, 1, 2, 50)) + data[at:]


def remove(random, data):
    begin, end = piece(random, data)
    return data[:begin] + data[end:]


def splice(random, data):
    a, b = (random.randrange(len(data) + 1) for _ in range(2))
    return data[:a] + data[b:]


def extreme(random, data):
    """A number of some width gets an extreme: what it counts, if it counts, is then far too much."""
    width, form = random.choice(((1, "<B"), (2, "<H"), (4, "<I"), (8, "<Q")))
    if len(data) < width:
        return data
    at = random.randrange(len(data) - width + 1)
    return data[:at] + struct.pack(form, random.choice(EXTREMES) & ((1 << 8 * width) - 1)) + data[at + width :]


def varint(value):
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def long_varint(random, data):
    at = random.randrange(len(data) + 1)
    return data[:at] + varint(random.choice(EXTREMES)) + data[at + random.randrange(3) :]


ALL = (flip, flip, truncate, duplicate, remove, splice, extreme, extreme, long_varint)


def gz(data):
    """The same bytes at any time of day."""
    return gzip.compress(data, 6, mtime=0)


@functools.lru_cache
def blanks(size, as_gzip):
    """So many spaces, to stand behind other parts of a compressed file."""
    return gz(b" " * size) if as_gzip else native.zstd(b" " * size)


def packed(random, data):
    """The same compressed, whole or cut or with a tail; or a bomb of it."""
    pack = random.choice((gz, lambda text: native.zstd(text) or gz(text)))
    kind = random.randrange(6)
    if kind == 0:
        # Each of the fifty calls unpacks a large one, which takes more than a second.
        return pack(data) + blanks(random.choice((1 << 20,) * 9 + (200 << 20,)), pack is gz or not native.ZSTD)
    done = pack(data)
    if kind == 1:
        return truncate(random, done)
    if kind == 2:
        return flip(random, done)
    if kind == 3:
        return done + done
    return done + bytes(random.randrange(64)) if kind == 4 else pack(done)
