# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of Python's pickles, and snapshots assembled opcode by opcode, which no Python program would write.

Each hostile part sits in a snapshot that is valid otherwise, so that the importer goes on behind unpickling."""

import struct

import mutate_bytes

NAMES = ["main", "forward", "", "\x1b[2J", "a\nb", "x" * 70000, "\u2028\u202e", "</script>", "=cmd()", "ProfilerStep#1", "\x00", "%s%n"]
NUMBERS = [0, 1, -1, 255, 512, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 50, (1 << 50) + 1, (1 << 63) - 1, -(1 << 63), 1 << 63, (1 << 64) - 1, 1 << 200]
ACTIONS = ["alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "snapshot", "oom", "", "other"]


class Raw(bytes):
    """Opcodes that push one value."""


class Assembler:
    """Opcodes of values; what the pickle module may decide, the caller decides."""

    def __init__(self, protocol=2):
        self.protocol, self.slots = protocol, 0

    def text(self, value):
        data = value.encode("utf-8", "surrogatepass")
        if self.protocol >= 4 and len(data) < 256:
            return b"\x8c" + bytes([len(data)]) + data
        return b"X" + struct.pack("<I", len(data)) + data

    @staticmethod
    def number(value):
        if 0 <= value < 256:
            return b"K" + bytes([value])
        if -(1 << 31) <= value < 1 << 31:
            return b"J" + struct.pack("<i", value)
        data = value.to_bytes((value.bit_length() + 8) // 8, "little", signed=True)
        return b"\x8a" + bytes([len(data)]) + data

    def put(self, opcodes):
        """The same, remembered; and what recalls it."""
        slot, self.slots = self.slots, self.slots + 1
        return Raw(opcodes + b"r" + struct.pack("<I", slot)), Raw(b"j" + struct.pack("<I", slot) if slot > 255 else b"h" + bytes([slot]))

    def of(self, value):
        if isinstance(value, Raw):
            return value
        if value is None:
            return b"N"
        if isinstance(value, bool):
            return b"\x88" if value else b"\x89"
        if isinstance(value, int):
            return self.number(value)
        if isinstance(value, float):
            return b"G" + struct.pack(">d", value)
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return b"}(" + b"".join(self.of(key) + self.of(one) for key, one in value.items()) + b"u"
        if isinstance(value, tuple):
            return b"(" + b"".join(map(self.of, value)) + b"t"
        return self.items(map(self.of, value))

    @staticmethod
    def items(opcodes):
        return Raw(b"](" + b"".join(opcodes) + b"e")

    def whole(self, **members):
        """The pickle of a snapshot with these members, already opcodes or not."""
        start = b"\x80" + bytes([self.protocol])
        return start + self.of(members) + b"."


def frame(line=1, name="forward", file="/a/train.py"):
    return {"filename": file, "line": line, "name": name}


def event(action="alloc", addr=4096, size=512, us=1, **more):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": us, **more}


def segment(blocks=(), address=4096, size=1 << 20, **more):
    return {"device": 0, "address": address, "total_size": size, "allocated_size": 512, "active_size": 512, "stream": 0, "segment_type": "small", "frames": [],
            "blocks": list(blocks), **more}


def usual(assembler, random, history=None, segments=None, **more):
    """A snapshot that is sound but for the given parts."""
    rest = [event(("alloc", "free_requested", "free_completed")[i % 3], 4096 + i // 3 * 512, 512, i, frames=[frame(i % 5), frame(9, "main")]) for i in range(60)]
    block = {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": [frame()]}
    return assembler.whole(device_traces=[rest] if history is None else history, segments=[segment([block])] if segments is None else segments, **more)


def assembler(random):
    return Assembler(random.choice((2, 2, 3, 4, 5)))


def shared_events(random, _):
    """One event, one history or one device, referred to from as many places as fit."""
    a = assembler(random)
    put, get = a.put(a.of(event(random.choice(ACTIONS), frames=[frame(i) for i in range(random.choice((0, 3, 2000)))])))
    many, more = random.choice(((1, 1), (1000, 1), (400000, 1), (1000, 1000), (3, 300000), (60000, 60)))
    history, again = a.put(a.items([put] + [get] * many))
    return usual(a, random, a.items([history] + [again] * (more - 1)))


def shared_frames(random, _):
    """Stacks of their own for every event, made of frames that are shared; or one stack that is."""
    a = assembler(random)
    depth, events = random.choice(((50, 2000), (2000, 50), (100000, 3), (1, 100000), (300, 3000)))
    made = [a.put(a.of(frame(i, random.choice(NAMES[:2]), "f" * random.choice((10, 60000)) if i == 0 else "/a/b.py"))) for i in range(min(depth, 200))]
    first = a.items([put for put, _ in made])
    stack = lambda n: a.items([random.choice(made)[1] for _ in range(depth)] if depth < 5000 else [made[(i * n) % len(made)][1] for i in range(depth)])
    shared, again = a.put(first)
    rows = [a.of(event(us=0, frames=shared))]
    rows += [a.of(event("alloc", 4096 + n * 512, 512, n, frames=again if random.random() < 0.2 else stack(n))) for n in range(events) if n * depth < 400000]
    return usual(a, random, a.items([a.items(rows)]))


def long_text(random, _):
    """A text of up to megabytes, referred to from every frame, event, name and setting."""
    a = assembler(random)
    put, get = a.put(a.text(random.choice(("x", "\x1b[31m", "é", "\n")) * random.choice((1000, 300000, 3000000)) + random.choice(("", ".py"))))
    key = random.choice(("action", "filename", "name", "state"))
    rows = [a.of(event(put if key == "action" and i == 0 else get if key == "action" else "alloc", 4096 + i * 512, 512, i,
                       frames=[{"filename": get if key == "filename" else "/a.py", "line": i, "name": get if key == "name" else f"f{i}"}])) for i in range(random.choice((50, 5000)))]
    settings = Raw(b"}(" + put + b"N" + b"".join(a.text(f"k{i}") + get for i in range(100)) + get + b"N" + b"u")
    blocks = [{"address": 4096 + i * 512, "size": 512, "state": get if key == "state" else "active_allocated", "frames": []} for i in range(50)]
    return a.whole(allocator_settings=settings, device_traces=a.items([a.items(rows)]), segments=[segment(blocks)])


def cycles(random, _):
    """Containers that hold themselves, at each place that the importer goes down to."""
    a = assembler(random)
    slot, a.slots = a.slots, a.slots + 1
    get = b"h" + bytes([slot])
    inner = random.choice((b"]" + b"q\x00" + b"(" + get * random.choice((1, 3, 1000)) + b"e", b"}q\x00(" + b"".join(a.text(key) + get for key in (
        "frames", "blocks", "action", "segments", "device_traces", "total_size", "address", "name")) + b"u", b"]q\x00(" + get + b"ta"))
    cycle = Raw(inner)
    place = random.randrange(6)
    if place == 0:
        return usual(a, random, cycle)
    if place == 1:
        return usual(a, random, segments=cycle)
    if place == 2:
        return usual(a, random, [[event(frames=cycle), event(frames=Raw(get))]])
    if place == 3:
        return usual(a, random, segments=[segment([cycle, Raw(get)])])
    if place == 4:
        return usual(a, random, allocator_settings=cycle)
    return usual(a, random, [cycle, Raw(get), [event()]], [cycle, Raw(get)])


def lying_length(random, _):
    """A text or number that claims more bytes than there are, or fewer than it has."""
    a = assembler(random)
    size = random.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 26, (1 << 26) + 1, 1 << 62, (1 << 64) - 1))
    code, form = random.choice(((b"X", "<I"), (b"T", "<I"), (b"B", "<I"), (b"\x8b", "<I"), (b"\x8d", "<Q"), (b"\x8e", "<Q"), (b"\x96", "<Q"), (b"\x8c", "<B"), (b"\x8a", "<B"),
                                (b"U", "<B"), (b"C", "<B")))
    lie = Raw(code + struct.pack(form, size & ((1 << 8 * struct.calcsize(form)) - 1)) + b"a" * random.choice((0, 1, 300, 70000)))
    data = usual(a, random, [[event(), event(random.choice(ACTIONS), size=lie), event()]], allocator_settings={"key": lie})
    return data + bytes(random.choice((0, 1000, 1 << 20)))


def wrong_frames(random, data):
    """Protocol 4's frames, that claim any size and lie anywhere."""
    a = Assembler(random.choice((4, 5)))
    claim = lambda: Raw(b"\x95" + struct.pack("<Q", random.choice((0, 1, 7, 1 << 16, 1 << 32, 1 << 63, (1 << 64) - 1))) + b"N")
    rows = [event(us=i, extra=claim()) for i in range(random.choice((1, 100)))]
    return usual(a, random, [rows], other=claim())


CALLS = (b"cos\nsystem\n", b"c__builtin__\neval\n", b"cos\nsystem\n(X\x02\x00\x00\x00idtR", b"\x8c\x02os\x8c\x06system\x93", b"\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R",
         b"(ios\nsystem\n", b"(cos\nsystem\nX\x02\x00\x00\x00ido", b"}}b", b"))\x81", b")}\x81", b"\x82\x01", b"\x83\x01\x00", b"\x84\x01\x00\x00\x00", b"Pname\n", b"NQ", b"\x97", b"N\x98",
         b"ccollections\nOrderedDict\n)R", b"c" + b"a" * 100000)


def calls(random, _):
    """Opcodes that would run code, at places where a value is wanted."""
    a = assembler(random)
    call = Raw(random.choice(CALLS))
    where = random.randrange(4)
    return usual(a, random, *(([call], None), ([[event(size=call)]], None), (None, [call]), ([[event(frames=[call])]], None))[where])


def old_opcodes(random, _):
    """Protocols 0 and 1, which end what they hold with a newline."""
    a = Assembler(random.choice((0, 1, 2)))
    number = Raw(random.choice((b"I12\n", b"I01\n", b"L99999999999999999999L\n", b"F1e999\n", b"Inan\n", b"I" + b"9" * 100000 + b"\n", b"I", b"S'a'\n", b"Va\\u0041\n", b"S'" + b"x" * 100000)))
    data = usual(a, random, [[event(size=number)]])
    return data if random.random() < 0.5 else data[2:]


def memo_tricks(random, _):
    """Slots far away, put again and again, put as something else, or never put."""
    a = assembler(random)
    tricks = (b"]r" + struct.pack("<I", 0xFFFFFFFF), b"]" + b"".join(b"r" + struct.pack("<I", i * 977) for i in range(50000)), b"Nq\x00]q\x00}q\x00", b"j" + struct.pack("<I", 77),
              b"]" + b"\x94" * 300000, b"]q\x00" + b"h\x00" * 200000 + b"0" * 200000, b"N2" * 1000 + b"0" * 1999, b"(" * 500000 + b"1" * 500000 + b"N", b"(" * 3000000)
    return usual(a, random, [[event(size=Raw(random.choice(tricks))), event()]])


def deep(random, _):
    """Containers in containers, as a value of a key that is read."""
    a = assembler(random)
    depth = random.choice((100, 20000, 1000000))
    opening, closing = random.choice(((b"", b"\x85"), (b"](", b"e"), (b"(", b"t"), (b"}" + a.text("frames"), b"s"), (b"}" + a.text("blocks"), b"s"), (b"(" + a.text("a"), b"d")))
    nest = Raw(opening * depth + b"N" + closing * depth)
    where = random.randrange(4)
    return usual(a, random, *((nest, None), ([[event(frames=nest), event()]], None), (None, [segment([nest])]), ([[nest]], [nest]))[where])


def many_keys(random, _):
    """Dictionaries of very many keys, or of one key again and again, that are asked often."""
    a = assembler(random)
    count = random.choice((33, 5000, 100000))
    key = random.choice((lambda i: a.text(f"k{i}"), lambda i: a.text("size"), lambda i: a.number(i), lambda i: b"]", lambda i: a.text("action") if i % 2 else a.text("x" * (i % 50))))
    big, again = a.put(b"}(" + b"".join(key(i) + b"K\x01" for i in range(count)) + a.text("action") + a.text("alloc") + b"u")
    frames = a.items([big] + [again] * random.choice((10, 5000)))
    return usual(a, random, [[event(frames=frames), again] + [again] * random.choice((10, 50000))], a.items([again] * 1000))


def many_places(random, _):
    """As many devices, queues, actions, segments or stacks as there are events."""
    a = assembler(random)
    count = random.choice((300, 5000, 40000))
    kind = random.randrange(5)
    if kind == 0:
        return usual(a, random, a.items([a.of([event(us=i)]) for i in range(count)]))
    if kind == 1:
        return usual(a, random, [[event(addr=4096 + i * 512, us=i, stream=i) for i in range(count)]])
    if kind == 2:
        return usual(a, random, [[event(f"action {i}", us=i) for i in range(count)]])
    if kind == 3:
        return usual(a, random, segments=[segment(address=i * (1 << 20), device=i % random.choice((1, 7, count))) for i in range(count)])
    return usual(a, random, [[event(addr=4096 + i * 512, us=i, frames=[frame(i, f"f{i}"), frame(0, f"g{i % 300}")]) for i in range(count)]])


def overlaps(random, _):
    """Segments and blocks that overlap, wrap around the end of all addresses, and are given back in other pieces."""
    a = assembler(random)
    top = 1 << 64
    def row(i):
        action = random.choice(ACTIONS[:8])
        address = random.choice((0, i * 512, random.randrange(0, 1 << 24, 512), top - 512, top - 1, 1 << 63))
        size = random.choice((0, 1, 512, 1 << 20, 1 << 24, 1 << 49, top - 1, -512))
        return event(action, address, size, i)
    rows = [row(i) for i in range(random.choice((100, 20000)))]
    blocks = [{"size": random.choice((512, 0, -1, 1 << 62)), "state": random.choice(("active_allocated", "inactive")), "frames": []} for _ in range(1000)]
    return usual(a, random, [rows], [segment(blocks, random.choice((0, 4096, top - 4096)), random.choice((0, 1 << 20, top - 1, -1))) for _ in range(random.choice((1, 50)))])


def extremes(random, _):
    """A number that is none of its key's, in one event, some or all."""
    a = assembler(random)
    key = random.choice(("addr", "size", "stream", "time_us", "device_free", "line", "device", "total_size", "allocated_size", "active_size", "address"))
    value = random.choice(NUMBERS + [1e999, float("nan"), -0.0, "7", None, True, [], {}])
    some = random.choice((0.02, 0.3, 1))
    put = lambda row: {**row, key: value} if random.random() < some else row
    rows = [put(event(random.choice(ACTIONS), 4096 + i * 512, 512, i, frames=[put(frame(i))])) for i in range(100)]
    blocks = [put({"address": 4096 + i * 512, "size": 512, "state": "active_allocated", "frames": [put(frame(i))]}) for i in range(20)]
    return usual(a, random, [rows] * random.choice((1, 3)), [put(segment(blocks))])


def hostile_names(random, _):
    a = assembler(random)
    name = lambda usual: random.choice(NAMES) if random.random() < 0.4 else usual
    rows = [event(name("alloc"), 4096 + i * 512, 512, i, frames=[frame(i, name("f"), name("/a.py")), frame(1, name("main"), name("/m.py"))]) for i in range(60)]
    block = {"address": 1 << 20, "size": 512, "state": name("active_allocated"), "frames": [frame(1, name("f"))]}
    return usual(a, random, [rows], [segment([block])], allocator_settings={name(f"k{i}"): name("v") for i in range(20)}, external_annotations=[{name("a"): name("b")}])


def opcode(random, data):
    """An opcode somewhere, with what it may expect behind it."""
    codes = b"()]}.aehjlprstubcdegiqIFJKLMNSTUVXGB\x80\x81\x82\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98"
    at = random.randrange(len(data) + 1)
    tail = random.choice((b"", struct.pack("<I", random.choice((0, 1, 255, 0x7FFFFFFF, 0xFFFFFFFF))), struct.pack("<Q", 1 << 62), b"os\nsystem\n"))
    return data[:at] + bytes([random.choice(codes)]) + tail + data[at + random.randrange(2) :]


DESIGNED = (shared_events, shared_frames, long_text, cycles, lying_length, wrong_frames, calls, old_opcodes, memo_tricks, deep, many_keys, many_places, overlaps, extremes, hostile_names)
ALL = DESIGNED + (opcode, opcode, opcode) + mutate_bytes.ALL[:7]
