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
    ZSTD.ZSTD_isError.argtypes = ZSTD.ZSTD_getErrorName.argtypes = (ctypes.c_size_t,)
    ZSTD.ZSTD_getErrorName.restype = ctypes.c_char_p
    ZSTD.ZSTD_compress.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)


def checksum(data):
    """Of .lcn; None where the library is missing, and damage then stays in front of the checksums."""
    return XXHASH.XXH3_64bits(bytes(data), len(data)) if XXHASH else None


def zstd(data, level=3):
    if not ZSTD:
        return None
    room = ctypes.create_string_buffer(ZSTD.ZSTD_compressBound(len(data)))
    size = ZSTD.ZSTD_compress(room, len(room), data, len(data), level)
    return room.raw[:size]


def unzstd(data, most=4 << 30):
    """The text of frames; none where the library is missing."""
    if not ZSTD:
        return None
    size = 1 << 20
    while True:
        room = ctypes.create_string_buffer(size)
        got = ZSTD.ZSTD_decompress(room, size, data, len(data))
        if not ZSTD.ZSTD_isError(got):
            return memoryview(room)[:got].tobytes()
        why = ZSTD.ZSTD_getErrorName(got).decode()
        if "too small" not in why or size >= most:
            raise ValueError(f"{why}, in {size} bytes")
        size *= 8
