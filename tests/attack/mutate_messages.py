# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of Perfetto's protocol buffers and of Python's pickles."""

import pickle
import struct

import mutate_bytes
from mutate_bytes import varint


def fields(data):
    """(begin, place of the payload, end) of the packets of a trace."""
    found, at = [], 0
    while at < len(data) and data[at] == 0x0A:
        begin, size, shift = at, 0, 0
        at += 1
        while at < len(data):
            size |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if not data[at - 1] & 0x80:
                break
        if at + size > len(data):
            break
        found.append((begin, at, at + size))
        at += size
    return found


def packet(payload):
    return b"\x0a" + varint(len(payload)) + payload


def inside(random, data):
    """Changes a packet and gives it a length that is right."""
    found = fields(data)
    if not found:
        return mutate_bytes.flip(random, data)
    begin, at, end = random.choice(found)
    change = random.choice((mutate_bytes.flip, mutate_bytes.extreme, mutate_bytes.long_varint, mutate_bytes.remove, mutate_bytes.truncate))
    return data[:begin] + packet(change(random, data[at:end])) + data[end:]


def repeat_packets(random, data):
    found = fields(data)
    if not found:
        return data
    begin, _, end = random.choice(found)
    return data[:end] + data[begin:end] * random.choice((1, 100, 20000)) + data[end:]


def shuffle_packets(random, data):
    parts = [data[begin:end] for begin, _, end in fields(data)]
    random.shuffle(parts)
    return b"".join(parts)


def deep_packet(random, data):
    payload = b""
    for _ in range(random.choice((100, 2000))):
        payload = bytes([random.choice((0x5A, 0x22, 0x32, 0x0A))]) + varint(len(payload)) + payload
    return data + packet(payload)


def claims(random, data):
    """A packet that is compressed, or says how long it is, and is not."""
    import zlib
    text = zlib.compress(bytes(random.choice((1000, 300 << 20))))
    return data + packet(b"\x92\x03" + varint(len(text)) + text)  # compressed_packets, field 50


PERFETTO = (inside, inside, inside, inside, repeat_packets, shuffle_packets, deep_packet, claims) + mutate_bytes.ALL


def opcode(random, data):
    """An opcode of a pickle somewhere, with what it may expect behind it."""
    codes = b"()]}.aehjlprstubcdegiqIFJKLMNSTUVXGB\x80\x81\x82\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98"
    at = random.randrange(len(data) + 1)
    tail = random.choice((b"", struct.pack("<I", random.choice((0, 1, 255, 0x7FFFFFFF, 0xFFFFFFFF))), struct.pack("<Q", 1 << 62), b"os\nsystem\n"))
    return data[:at] + bytes([random.choice(codes)]) + tail + data[at + random.randrange(2) :]


def memo_bomb(random, data):
    """Lists of lists, each twice the one before; or as many of one."""
    thing = [{"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "time_us": 1, "frames": [{"filename": "a", "line": 1, "name": "b"}]}]
    for _ in range(random.choice((10, 22, 40))):
        thing = [thing, thing] if random.random() < 0.5 else thing + thing[:1]
    return pickle.dumps({"segments": [], "device_traces": random.choice((thing, [thing[0]] if thing else []))}, random.choice((2, 4)))


def shared_history(random, data):
    """One event, or its stack of frames, many thousand times in few bytes."""
    frames = [{"filename": "f" * 1000, "line": i, "name": "n" * 1000} for i in range(random.choice((1, 1000)))]
    event = {"action": random.choice(("alloc", "free_completed", "segment_map", "oom")), "addr": 4096, "size": 512, "stream": 0, "time_us": 1, "frames": frames}
    history = [event] * random.choice((100, 20000))
    for _ in range(random.choice((0, 8))):
        history = [history] * 8 if random.random() < 0.1 else history
    return pickle.dumps({"segments": [event] * 10, "device_traces": [history] * random.choice((1, 50))}, random.choice((2, 3, 4)))


def deep_pickle(random, data):
    return b"\x80\x02" + random.choice((b"]", b"}", b"(", b"K\x01\x85", b"(l", b"2")) * random.choice((1000, 1000000)) + data[2:]


PICKLE = (opcode, opcode, opcode, memo_bomb, shared_history, deep_pickle) + mutate_bytes.ALL
