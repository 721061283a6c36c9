# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Writes .lcn files whose form is right and whose values are hostile (libprof/src/format/FORMAT.md)."""

import struct

import mutate_bytes
import mutate_lcn
import native

TABLES = {}  # name: (number, [(column, type, refers, hint)]), learned from good files
WIDTHS = (8, 8, 4, 4, 2, 1, 8)
REFERS = (None, "string", "process", "thread", "device", "queue", "counter_track", "stack_frame", "arg_set")
REAL, TIME, LENGTH, RISING = 6, 1, 2, 3
EXTREMES = [0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 53, (1 << 61) - 1, 1 << 61, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 1000]
REALS = [float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0]
TEXTS = ["ProfilerStep#1", "ProfilerStep#2", "step", "gemm", "ncclDevKernel_AllReduce_Sum_f32", "cudaLaunchKernel", "cudaDeviceSynchronize", "cudaMalloc", "cudaMemcpyAsync", "aten::mm",
         "aten::zero_", "aten::_to_copy", "optimizer", "forward", "backward", "loader", "wait", "AccumulateGrad", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "queue", "operators",
         "collectives", "main", "source.format", "kineto", "lacuna", "host.cores", "cpu.count", "loader.workers", "merge.flow_stride", "merge.input0.threads", "merge.input0.queues",
         "chrome.pid.1", "chrome.event", "chrome.metadata", "chrome.distributedInfo", '{"rank": 99999999999999999999}', "self.cost.range", "18446744073709551615", "1e999", "-1", "[[64, 64], [64, 64]]",
         "[[9223372036854775807, 9223372036854775807]]", "[" * 2000, "thread CPU", "waiting for a core", "loader.cpu_time", "recorder CPU", "bytes", "torch.cuda", "+a\n=b\n.c", "~f|x|y|!bp=\"e\"", "!{}",
         "+lacuna\n+lacuna", "x" * 70000, "\x1b[2J\x1b]0;x\x07", "\n::error::x", "</script><script>alert(1)</script>", "=cmd()", "\u2028\u202e", "a\tb;c 7", "\x00", "", "../../etc/passwd", "\udcff"]


def learn(data):
    """Collects the tables and their columns."""
    for block in mutate_lcn.blocks(data):
        if block.kind != 1:
            continue
        name = data[block.at + 65 : block.at + 65 + data[block.at + 64]].decode()
        number = struct.unpack_from("<H", data, block.at + 24)[0]
        columns = {text[1:].decode(): tuple(data[place : place + 3]) for text, (place, _, _) in zip(block.names, block.sections)}
        known = TABLES.setdefault(name, (number, {}))
        for column, kind in columns.items():
            known[1].setdefault(column, kind)


def learn_all(seeds):
    for kind, _, data in seeds:
        if kind == "lcn":
            try:
                learn(data)
            except (IndexError, struct.error, UnicodeDecodeError):
                pass


def text_of(name):
    raw = name.encode("utf-8", "surrogateescape")[:255]
    return bytes([len(raw)]) + raw


def block(kind, table, name, rows, sections, first=1, last=0, flags=0):
    """Sections: (name, type, refers, hint, encoding, stored bytes)."""
    described = text_of(name)
    for column, form, refers, hint, encoding, stored in sections:
        described += text_of(column) + bytes([form, refers, hint, len(encoding)]) + encoding + struct.pack("<IQ", len(stored), native.checksum(stored) or 0)
    body = b"".join(section[5] for section in sections)
    body += bytes(max(0, rows // 16 + 1 - len(body)))
    head = mutate_lcn.SYNC + struct.pack("<QIIHBBQQH10x", len(body), 64 + len(described) + 8, rows, table, kind, flags, first & (2**64 - 1), last & (2**64 - 1), len(sections))
    head += struct.pack("<Q", native.checksum(head) or 0) + described
    return head + struct.pack("<Q", native.checksum(head) or 0) + body


def column(values, width):
    """Numbers as they are, in planes."""
    raw = b"".join(value.to_bytes(width, "little") for value in values)
    planes = [raw[place::width] for place in range(width)]
    kinds = [(0, b"") if not any(plane) else (1, plane) for plane in planes]
    encoding = struct.pack("<BQBBBBBBBB", 2, 0, 0, 255, 255, 255, 0, 0, 0, width) + b"".join(struct.pack("<BI", mode, len(plane)) for mode, plane in kinds)
    return encoding, b"".join(plane for _, plane in kinds)


def constant(value):
    return struct.pack("<BQ", 1, value), b""


def strings(texts):
    raw = [text.encode("utf-8", "surrogateescape") for text in texts]
    blob = struct.pack("<II", 1, len(raw)) + b"".join(struct.pack("<I", len(text)) for text in raw) + b"".join(raw)
    return block(2, 0, "", 0, [("blob", 5, 0, 0, struct.pack("<BIBBI", 0, len(blob), 1, 1, len(blob)), blob)])


def whole(parts, end=True):
    """A file of these blocks, with index and footer."""
    head = b"\x89LCN\r\n\x1a\n" + struct.pack("<HHI40x", 1, 0, 64)
    data = head + struct.pack("<Q", native.checksum(head) or 0)
    index = b""
    for part in parts:
        index += struct.pack("<Q", len(data)) + part[8:44]
        data += part
    if not end:
        return data
    blob = struct.pack("<Q", len(parts)) + index
    at = len(data)
    data += block(3, 0, "", 0, [("blob", 5, 0, 0, struct.pack("<BIBBI", 0, len(blob), 1, 1, len(blob)), blob)])
    foot = bytes.fromhex("f7ceb565 6e641a0a") + struct.pack("<QQ8x", at, len(data) + 40)
    return data + foot + struct.pack("<Q", native.checksum(foot) or 0)


class Maker:
    """Columns of plausible values with extremes among them."""

    def __init__(self, random):
        self.random = random
        self.share = random.choice((0, 0.002, 0.02, 0.3))
        self.span = random.choice((1, 1000, 1000000, 1 << 40))
        self.counts = {"string": len(TEXTS)}
        self.odd = set(random.sample(sorted(TABLES), min(len(TABLES), random.choice((1, 3, len(TABLES))))))

    def values(self, table, name, form, refers, hint, rows):
        random, width = self.random, WIDTHS[form]
        share = self.share if table in self.odd else 0
        if name == "id" and hint == RISING:
            base = random.choice((lambda i: i + 1, lambda i: i + 1, lambda i: i + 1, lambda i: 1, lambda i: rows - i, lambda i: i * 1000003))
        elif REFERS[refers] if refers < len(REFERS) else False:
            most = max(1, self.counts.get(REFERS[refers], 5))
            base = random.choice((lambda i: random.randint(0, most), lambda i: random.randint(1, most), lambda i: i % most + 1, lambda i: 1))
        elif hint == TIME:
            step = random.choice((0, 1, max(1, self.span // rows), self.span))
            start = random.choice((0, 10**9, 10**9, 10**9, (1 << 61) - rows * step - 1, (1 << 64) - 10**6))
            base = random.choice((lambda i: start + i * step, lambda i: start + i * step, lambda i: start + random.randrange(self.span), lambda i: start + (rows - i) * step))
        elif hint == LENGTH:
            base = random.choice((lambda i: random.randrange(self.span), lambda i: self.span // rows, lambda i: self.span - i, lambda i: 0))
        elif form == REAL:
            return [struct.unpack("<Q", struct.pack("<d", random.choice(REALS) if random.random() < share else random.random() * 100))[0] for _ in range(rows)]
        elif width == 1:
            base = lambda i: random.randrange(6)
        elif width == 2:
            base = lambda i: random.randrange(4)
        else:
            base = random.choice((lambda i: random.randrange(1 << 16), lambda i: i, lambda i: 512, lambda i: 128, lambda i: 0))
        mask = (1 << 8 * width) - 1
        return [(random.choice(EXTREMES) if share and random.random() < share else base(i)) & mask for i in range(rows)]

    def table(self, name, rows):
        number, columns = TABLES[name]
        sections, first, last = [], 1, 0
        for place, (column_name, (form, refers, hint)) in enumerate(columns.items()):
            if place and self.random.random() < 0.02:
                continue  # as an older file
            form = min(form, 6)
            values = self.values(name, column_name, form, refers, hint, rows)
            same = len(set(values)) == 1
            sections.append((column_name, form, refers, hint, *(constant(values[0]) if same else column(values, WIDTHS[form]))))
            if hint == TIME and first > last:
                signed = [value - (1 << 64) if value >> 63 else value for value in values]
                first, last = min(signed), min(max(signed) + self.span, (1 << 63) - 1)
        return block(1, number, name, rows, sections, first, last)


PLACES = ("process", "thread", "device", "queue", "counter_track", "stack_frame", "arg_set")


def hostile_rows(random, data):
    """A file of all tables or some, whose rows refer to each other, to themselves or to nothing, with values at their ends."""
    if not TABLES:
        learn(data)
    if not TABLES or native.checksum(b"") is None:
        return mutate_bytes.flip(random, data)
    maker = Maker(random)
    rows = random.choice((3, 60, 60, 300))
    names = [name for name in TABLES if random.random() < random.choice((0.5, 1))]
    big = random.choice(sorted(TABLES)) if random.random() < 0.3 else ""
    for name in names:
        maker.counts[name] = random.choice((1, 2, 4, rows)) if name in PLACES else rows
        if name == big:
            maker.counts[name] = 15000
    texts = list(TEXTS)
    random.shuffle(texts)
    parts = [strings(texts)] + [maker.table(name, maker.counts[name]) for name in sorted(names, key=lambda name: TABLES[name][0])]
    for name in names:
        if random.random() < 0.1:
            parts.append(maker.table(name, maker.counts[name]))
    return whole(parts, random.random() < 0.9)
