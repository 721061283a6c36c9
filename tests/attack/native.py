# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The two libraries that .lcn needs and Python lacks, called where they are: XXH3 and zstd."""

import ctypes
import ctypes.util


def load(name):
    path = ctypes.util.find_library(name)
    try:
        return ctypes.CDLL(path) if path else None
    except OSError:
        return None


XXHASH = load("xxhash")
ZSTD = load("zstd")
if XXHASH:
    XXHASH.XXH3_64bits.restype = ctypes.c_uint64
    XXHASH.XXH3_64bits.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
if ZSTD:
    ZSTD.ZSTD_compressBound.restype = ZSTD.ZSTD_compress.restype = ctypes.c_size_t
    ZSTD.ZSTD_compressBound.argtypes = (ctypes.c_size_t,)
    ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
    ZSTD.ZSTD_decompress.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    ZSTD.ZSTD_isError.argtypes = (ctypes.c_size_t,)
    ZSTD.ZSTD_compress.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)


def checksum(data):
    """Of .lcn; None where the library is missing, and damage then stays in front of the checksums."""
    return XXHASH.XXH3_64bits(bytes(data), len(data)) if XXHASH else None


def zstd(data, level=3):
    if not ZSTD:
        return None
    room = ctypes.create_string_buffer(ZSTD.ZSTD_compressBound(len(data)))
    return room.raw[: ZSTD.ZSTD_compress(room, len(room), data, len(data), level)]


def unzstd(data, most=256 << 20):
    """The text of frames; none where the library is missing."""
    if not ZSTD:
        return None
    # A block of one byte stands for 128 KiB in four.
    room = ctypes.create_string_buffer(min(most, 32768 * len(data) + (1 << 20)))
    got = ZSTD.ZSTD_decompress(room, len(room), data, len(data))
    if ZSTD.ZSTD_isError(got):
        raise ValueError("no frames of zstd, or far more in them than there should be")
    return room.raw[:got]
