# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of Perfetto's protocol buffers."""

import functools
import struct
import zlib

import mutate_bytes
from mutate_bytes import varint


def read_varint(data, at):
    value, shift = 0, 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at
    raise ValueError


def parse(data):
    """[[field, wire type, value]] of a message, where it is one; ValueError otherwise."""
    found, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at : at + size], at + size
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise ValueError
        if at > len(data) or tag >> 3 == 0:
            raise ValueError
        found.append([tag >> 3, kind, value])
    return found


def build(fields):
    out = bytearray()
    for field, kind, value in fields:
        out += varint(field << 3 | kind)
        out += varint(value) if kind == 0 else varint(len(value)) + value if kind == 2 else value
    return bytes(out)


NAMES = [b"", b"a" * 70000, b"\x1b[2J", b"\xff\xfe", b"</script>", b"\n::error::x", b"\x00", "\u2028\u202e".encode(), b"=cmd()"]


def changed(random, data, depth=0):
    """The message with one field of it, or of one in it, made another; lengths are right."""
    fields = parse(data)
    if not fields:
        return data
    place = random.randrange(len(fields))
    field, kind, value = fields[place]
    if kind == 2 and value and depth < 8 and random.random() < 0.9:
        try:
            fields[place][2] = changed(random, value, depth + 1)
            return build(fields)
        except ValueError:
            pass
    action = random.randrange(6)
    if action == 0:
        del fields[place]
    elif action == 1:
        fields[place : place + 1] = [fields[place]] * mutate_bytes.times(random, 10 + (len(value) if kind == 2 else 0), (2, 3, 1000))
    elif action == 2:
        fields.insert(random.randrange(len(fields) + 1), fields.pop(place))
    elif kind == 0:
        fields[place][2] = random.choice(mutate_bytes.EXTREMES + [value + 1, max(0, value - 1)])
    elif kind == 2:
        fields[place][2] = random.choice(NAMES)
    else:
        fields[place][2] = random.choice((b"\0", b"\xff", b"\x7f")) * len(value)
    return build(fields)


def field(random, data):
    try:
        return changed(random, data)
    except ValueError:
        return mutate_bytes.flip(random, data)


def one_field_everywhere(random, data):
    """Numbers of the same field of all packets' events."""
    try:
        packets, number, value = parse(data), random.randrange(1, 60), random.choice(mutate_bytes.EXTREMES)
    except ValueError:
        return mutate_bytes.flip(random, data)

    def over(message, depth):
        try:
            fields = parse(message)
        except ValueError:
            return message
        for one in fields:
            if one[1] == 0 and one[0] == number:
                one[2] = value
            elif one[1] == 2 and depth < 4:
                one[2] = over(one[2], depth + 1)
        return build(fields)
    return build([[f, k, over(v, 0) if k == 2 else v] for f, k, v in packets])


def packets_of(data):
    try:
        return parse(data)
    except ValueError:
        return []


def packet(payload):
    return b"\x0a" + varint(len(payload)) + payload


def inside(random, data):
    """Changes the bytes of a packet and gives it a length that is right."""
    found = packets_of(data)
    if not found:
        return mutate_bytes.flip(random, data)
    place = random.randrange(len(found))
    change = random.choice((mutate_bytes.flip, mutate_bytes.extreme, mutate_bytes.long_varint, mutate_bytes.remove, mutate_bytes.truncate))
    if found[place][1] == 2:
        found[place][2] = change(random, found[place][2])
    return build(found)


def repeat_packets(random, data):
    found = packets_of(data)
    if not found:
        return data
    place = random.randrange(len(found))
    return build(found[:place] + [found[place]] * mutate_bytes.times(random, 10 + (len(found[place][2]) if found[place][1] == 2 else 0), (2, 100, 20000)) + found[place:])


def shuffle_packets(random, data):
    found = packets_of(data)
    random.shuffle(found)
    return build(found)


def deep_packet(random, data):
    payload = b""
    for _ in range(random.choice((100, 2000))):
        payload = bytes([random.choice((0x5A, 0x22, 0x32, 0x0A))]) + varint(len(payload)) + payload
    return data + packet(payload)


@functools.lru_cache
def zeros(size):
    return zlib.compress(bytes(size), 1)


def claims(random, data):
    """A compressed packet of zeros, of up to 300 MiB once it is unpacked."""
    text = zeros(random.choice((1000, 300 << 20)))
    return data + packet(b"\x92\x03" + varint(len(text)) + text)  # compressed_packets, field 50


def track(uuid, name=b"t", parent=0, pid=0, tid=0, counter=False):
    body = b"\x08" + varint(uuid) + b"\x12" + varint(len(name)) + name + (b"\x28" + varint(parent) if parent else b"")
    if pid and not tid:
        body += b"\x1a" + varint(len(b"\x08" + varint(pid))) + b"\x08" + varint(pid)
    if tid:
        inner = b"\x08" + varint(pid) + b"\x10" + varint(tid)
        body += b"\x22" + varint(len(inner)) + inner
    if counter:
        body += b"\x42\x00"
    return packet(b"\x50\x01\xe2\x03" + varint(len(body)) + body)


def event(at, kind, uuid, name=b"e", more=b""):
    body = b"\x48" + varint(kind) + b"\x58" + varint(uuid) + b"\xba\x01" + varint(len(name)) + name + more
    return packet(b"\x40" + varint(at) + b"\x50\x01\x5a" + varint(len(body)) + body)


def tracks(random, _):
    """Tracks that are each other's parents, many tracks, or one track again and again; slices never opened or never closed."""
    count = random.choice((3, 500, 20000))
    parent = random.choice((lambda i: i, lambda i: i % count + 1, lambda i: i - 1, lambda i: 0, lambda i: 1 << 63))
    out = [track(i, random.choice(NAMES[:1] + NAMES[2:]), parent(i), i if random.random() < 0.5 else 1, i if random.random() < 0.5 else 0) for i in range(1, count + 1)]
    kinds = random.choice(((1,), (2,), (1, 2), (1, 2, 3, 4), (4,), (9,)))
    out += [event(random.choice((i, 5, (1 << 63) - 1, (1 << 64) - 1 - i)), random.choice(kinds), random.randrange(1, count + 1)) for i in range(count)]
    return b"".join(out)


def arguments(random, _):
    """Annotations within annotations, or very many; flows without an end."""
    def annotation(name, value):
        body = b"\x52" + varint(len(name)) + name + value
        return b"\x22" + varint(len(body)) + body
    more = b""
    for _ in range(random.choice((1, 30, 500))):
        nested = random.choice((b"\x5a", b"\x62"))  # dict_entries, array_values
        inner = more or b"\x20\x01"
        body = b"\x52\x01a" + (nested + varint(len(inner)) + inner if more else inner)
        more = body
    deep = b"\x22" + varint(len(more)) + more
    many = b"".join(annotation(b"k%d" % i, random.choice((b"\x20" + varint(i), b"\x29" + struct.pack("<d", 1e308), b"\x32\x03a\x1bb"))) for i in range(random.choice((5, 300, 20000))))
    flows = b"".join(b"\xf9\x02" + struct.pack("<Q", i) for i in range(random.choice((1, 1000))))
    return track(1, b"t", 0, 1, 1) + b"".join(event(i, 1 + i % 2, 1, b"e", random.choice((deep, many, flows, b""))) for i in range(20))


ALL = (field,) * 5 + (one_field_everywhere, inside, inside, repeat_packets, shuffle_packets, deep_packet, claims, tracks, arguments) + mutate_bytes.ALL[:6]
