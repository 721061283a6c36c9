# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of .lcn files (libprof/src/format/FORMAT.md), with checksums made right again, so that they get behind them."""

import struct

import mutate_bytes
import native

SYNC = b"\xf7\xce\xb5\x62\x6c\x6b\x1a\x0a"
HEADER = 64


class Block:
    """A block's place, and those of its sections: (place of the description behind the name, place of the bytes, their size)."""

    def __init__(self, data, at):
        self.at = at
        self.body_bytes, self.header_bytes, self.rows = struct.unpack_from("<QII", data, at + 8)
        self.kind = data[at + 26]
        self.sections, self.names = [], []
        place = at + HEADER
        place += 1 + data[place]
        body = at + self.header_bytes
        for _ in range(struct.unpack_from("<H", data, at + 44)[0]):
            self.names.append(bytes(data[place : place + 1 + data[place]]))
            place += 1 + data[place]
            encoding = data[place + 3]
            tail = place + 4 + encoding
            stored = struct.unpack_from("<I", data, tail)[0]
            self.sections.append((place, body, stored))
            place, body = tail + 12, body + stored

    @property
    def end(self):
        return self.at + self.header_bytes + self.body_bytes


def blocks(data):
    found, at = [], HEADER
    while data[at : at + 8] == SYNC:
        try:
            block = Block(data, at)
        except (IndexError, struct.error):
            break
        if block.end <= at:  # a mutant of a mutant
            break
        found.append(block)
        at = block.end
    return found


def put_checksum(data, at, begin, end):
    total = native.checksum(data[begin:end])
    if total is not None and at + 8 <= len(data):
        struct.pack_into("<Q", data, at, total)


def seal(data, block):
    """All checksums of a block, from the inside out."""
    for place, body, stored in block.sections:
        put_checksum(data, place + 4 + data[place + 3] + 4, body, body + stored)
    head = block.at + block.header_bytes
    put_checksum(data, block.at + 56, block.at, block.at + 56)
    put_checksum(data, head - 8, block.at, head - 8)


def sealed(change):
    """Makes a mutation of one block one of the file."""
    def mutation(random, data):
        found = blocks(data)
        if not found:
            return mutate_bytes.flip(random, data)
        data = bytearray(data)
        for _ in range(random.choice((1, 1, 3))):
            block = random.choice(found)
            change(random, data, block)
            seal(data, block)
        return bytes(data)
    mutation.__name__ = change.__name__
    return mutation


@sealed
def bytes_of_a_column(random, data, block):
    stored = [section for section in block.sections if section[2]]
    if stored:
        _, body, size = random.choice(stored)
        piece = random.choice((mutate_bytes.flip, mutate_bytes.extreme))(random, bytes(data[body : body + size]))
        data[body : body + size] = piece[:size]


@sealed
def encoding(random, data, block):
    if block.sections:
        place = random.choice(block.sections)[0]
        at = place + 4 + random.randrange(max(1, data[place + 3]))
        data[at] = random.choice((0, 1, 2, 3, 4, 0x7F, 0xFF, data[at] ^ 1, random.randrange(256)))


@sealed
def constant(random, data, block):
    """A column that is the same extreme in all rows."""
    constants = [place for place, _, _ in block.sections if data[place + 4] == 1 and data[place + 3] >= 9]
    if constants:
        struct.pack_into("<Q", data, random.choice(constants) + 5, random.choice(mutate_bytes.EXTREMES))


@sealed
def reference(random, data, block):
    predicted = [place for place, _, _ in block.sections if data[place + 4] == 2 and data[place + 3] >= 16]
    if predicted:
        place = random.choice(predicted)
        if random.random() < 0.5:
            struct.pack_into("<Q", data, place + 5, random.choice(mutate_bytes.EXTREMES))
        else:
            data[place + 13 + random.randrange(7)] = random.choice((0, 1, 2, 3, 63, 64, 254, 255))


@sealed
def type_of_a_column(random, data, block):
    if block.sections:
        data[random.choice(block.sections)[0] + random.randrange(3)] = random.choice((*range(16), 255))


@sealed
def counts(random, data, block):
    at, form, values = random.choice((
        (8, "<Q", mutate_bytes.EXTREMES), (16, "<I", (0, 64, 72, 65536, 1 << 31)), (20, "<I", (0, 1, 1 << 20, block.rows * 16, 1 << 31)),
        (24, "<H", (*range(40), 1000, 65535)), (26, "<B", range(6)), (27, "<B", (0, 1, 255)), (44, "<H", (0, 1, 65535))))
    struct.pack_into(form, data, block.at + at, random.choice(list(values)) & ((1 << 8 * struct.calcsize(form)) - 1))


@sealed
def times(random, data, block):
    struct.pack_into("<Q", data, block.at + random.choice((28, 36)), random.choice(mutate_bytes.EXTREMES))


def rows_claimed(random, data):
    """Most rows that a block may have, in blocks that hold nothing but constants."""
    data, found = bytearray(data), blocks(data)
    for block in found:
        if block.kind == 1:
            struct.pack_into("<I", data, block.at + 20, min(1 << 20, block.end - block.at) * random.choice((1, 15, 16)))
            seal(data, block)
    return bytes(data)


def constant_blocks(random, data):
    """Blocks of a million rows that take 64 KiB each, since all their columns are constants."""
    found = [block for block in blocks(data) if block.kind == 1]
    if not found or native.checksum(b"") is None:
        return data
    block = random.choice(found)
    name_bytes = 1 + data[block.at + HEADER]
    described = bytearray(data[block.at : block.at + HEADER + name_bytes])
    for name, (place, _, _) in zip(block.names, block.sections):
        described += name + data[place : place + 3] + bytes([9, 1])
        described += struct.pack("<QIQ", random.choice((0, 1, 2, random.choice(mutate_bytes.EXTREMES))), 0, native.checksum(b""))
    header, body, rows = len(described) + 8, 1 << 16, 1 << 20
    struct.pack_into("<QII", described, 8, body, header, rows)
    put_checksum(described, 56, 0, 56)
    described += struct.pack("<Q", native.checksum(bytes(described)))
    return data[:HEADER] + (bytes(described) + bytes(body)) * random.choice((1, 20, 100))


def repeat_blocks(random, data):
    found = blocks(data)
    if not found:
        return data
    block = random.choice(found)
    return data[: block.end] + data[block.at : block.end] * mutate_bytes.times(random, block.end - block.at, (1, 10, 300)) + data[block.end :]


def shuffle_blocks(random, data):
    found = blocks(data)
    parts = [data[block.at : block.end] for block in found]
    random.shuffle(parts)
    return data[:HEADER] + b"".join(parts[: random.randrange(len(parts) + 1)])


def unfinished(random, data):
    """Without its end, and perhaps within a block."""
    found = blocks(data)
    return data[: random.choice(found).end + random.choice((0, 1, 70))] if found else data


ALL = (bytes_of_a_column, bytes_of_a_column, encoding, encoding, constant, reference, reference, type_of_a_column, counts, counts, times, rows_claimed, constant_blocks,
       repeat_blocks, shuffle_blocks, unfinished) + mutate_bytes.ALL[:5]
