# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of what the recorder leaves: raw captures of CUPTI, and folders of recordings whose supervisor was killed."""

import os
import struct
from dataclasses import dataclass

import mutate_bytes
import mutate_lcn

PAGE = 4096
WORDS = [0, 1, 2, 7, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, 1 << 61, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def doubling_symbol(length=281):
    """A mangled name whose every parameter holds the one before twice: demangled it has more than 2^40 bytes."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    symbol, parameters = "_Z1f1AIiiE", 0
    while True:
        one = "S" + (digits[parameters // 36] if parameters >= 36 else "") + digits[parameters % 36] + "_"
        if len(symbol) + 4 + 2 * len(one) > length:
            return symbol.encode()
        symbol += f"S_I{one}{one}E"
        parameters += 1


TEXTS = [doubling_symbol(), b"", b"\x1b[2J", b"a" * 70000, b"\xff\xfe", b"a\nb\tc", b"ncclDevKernel_AllReduce", b"</script>", b"x\x00y"]


def chunks(data):
    """[[type, bytes]] of a capture."""
    found, at = [], 8
    while at + 16 <= len(data):
        kind, _, size = struct.unpack_from("<IIQ", data, at)
        if size > len(data) - at - 16:
            break
        found.append([kind, data[at + 16 : at + 16 + size]])
        at += 16 + size
    return found


def capture(parts):
    return b"LCNCUPT1" + b"".join(struct.pack("<IIQ", kind, 0, len(body)) + body for kind, body in parts)


def of_chunks(change):
    def mutation(random, data):
        found = chunks(data)
        if not found:
            return mutate_bytes.flip(random, data)
        change(random, found)
        return capture(found)
    mutation.__name__ = change.__name__
    return mutation


def some(random, found, kind):
    places = [place for place, (one, body) in enumerate(found) if one == kind and body]
    return random.choice(places) if places else random.randrange(len(found))


@of_chunks
def fields(random, found):
    """Fields of activity records: extremes, at places where a field begins."""
    for _ in range(random.choice((1, 3, 20))):
        part = found[some(random, found, 2)]
        body = bytearray(part[1])
        width = random.choice((1, 2, 4, 4, 8, 8))
        if len(body) >= width:
            at = random.randrange(0, len(body) - width + 1, width)
            body[at : at + width] = (random.choice(WORDS) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        part[1] = bytes(body)


@of_chunks
def kinds(random, found):
    """Records of another kind than they are."""
    part = found[some(random, found, 2)]
    body = bytearray(part[1])
    if len(body) >= 4:
        struct.pack_into("<I", body, random.randrange(0, len(body) - 3, 8), random.choice((*range(60), 0xFFFFFFFF)))
    part[1] = bytes(body)


@of_chunks
def strides(random, found):
    """How long the records of a kind are, by the header."""
    part = found[some(random, found, 1)]
    body = bytearray(part[1])
    for _ in range(random.choice((1, 5, 60))):
        if len(body) > 10:
            struct.pack_into("<H", body, 8 + 2 * random.randrange((len(body) - 8) // 2), random.choice((0, 1, 4, 8, 64, 160, 0xFFFF)))
    part[1] = bytes(body)


@of_chunks
def texts(random, found):
    for kind in (3, 4):
        part = found[some(random, found, kind)]
        if part[0] == kind:
            part[1] = part[1][:8] + random.choice(TEXTS)


@of_chunks
def clocks(random, found):
    """Times of day that go back, stand still, or are at the ends of all time."""
    far = random.choice(((0, 0), (1 << 62, 0), (-(1 << 62), 1 << 62), (1, 1 << 62), (10**18, 10**18)))
    found[random.randrange(len(found)) :] = [[5, struct.pack("<qq", *far)]] * random.choice((1, 2, 1000)) + found[random.randrange(len(found)) :]


@of_chunks
def repeat_chunks(random, found):
    place = random.randrange(len(found))
    found[place:place] = [found[place]] * mutate_bytes.times(random, len(found[place][1]), (1, 50, 3000))


@of_chunks
def shuffle_chunks(random, found):
    random.shuffle(found)


def claimed_length(random, data):
    places, at = [], 8
    for kind, body in chunks(data):
        places.append(at + 8)
        at += 16 + len(body)
    if not places:
        return mutate_bytes.flip(random, data)
    place = random.choice(places)
    return data[:place] + struct.pack("<Q", random.choice(WORDS + [len(data), 1 << 30, (1 << 30) + 1])) + data[place + 8 :]


CAPTURE = (fields,) * 5 + (kinds, strides, texts, clocks, repeat_chunks, shuffle_chunks, claimed_length) + mutate_bytes.ALL[:6]


class Sparse:
    """A file that is mostly holes: its size and its pages."""

    def __init__(self, size, pages):
        self.size, self.pages = size, pages

    @classmethod
    def of(cls, path):
        size, pages = os.path.getsize(path), {}
        with open(path, "rb") as file:
            at = 0
            while at < size:
                try:
                    at = os.lseek(file.fileno(), at, os.SEEK_DATA) // PAGE * PAGE
                except OSError:
                    break
                data = os.pread(file.fileno(), PAGE, at)
                if data.strip(b"\0"):
                    pages[at] = data
                at += PAGE
        return cls(size, pages)

    def write(self, path):
        with open(path, "wb") as file:
            file.truncate(self.size)
            for at, data in self.pages.items():
                if at < self.size:
                    file.seek(at)
                    file.write(data[: self.size - at])

    def patched(self, at, data):
        pages = dict(self.pages)
        page = at // PAGE * PAGE
        body = bytearray(pages.get(page, bytes(PAGE)))
        body[at - page : at - page + len(data)] = data
        pages[page] = bytes(body[:PAGE])
        return Sparse(self.size, pages)


@dataclass(frozen=True)
class Special:
    """An entry of a folder that is no file: a link, a pipe, a folder."""
    kind: str
    target: str = ""

    def write(self, path):
        if self.kind == "link":
            os.symlink(self.target, path)
        elif self.kind == "pipe":
            os.mkfifo(path)
        else:
            os.mkdir(path)


def of_a_file(wanted, change):
    """A mutation of one file of the folder: Sparse or bytes."""
    def mutation(random, files):
        names = sorted(name for name, held in files.items() if isinstance(held, wanted) and (isinstance(held, Sparse) or held))
        if not names:
            return files
        name = random.choice(names)
        return {**files, name: change(random, files[name])}
    mutation.__name__ = change.__name__
    return mutation


def shared_words(random, held):
    """Words of the memory that process and drainer share, where it holds something."""
    for _ in range(random.choice((1, 1, 4, 30))):
        page = random.choice(sorted(held.pages)) if random.random() < 0.7 else min(held.pages)
        used = [at for at in range(0, PAGE, 8) if held.pages[page][at : at + 8].strip(b"\0")]
        at, width = random.choice(used or [0]), random.choice((1, 2, 4, 8))
        at += random.randrange(0, 8, width)
        held = held.patched(page + at, (random.choice(WORDS + [random.getrandbits(64)]) & ((1 << 8 * width) - 1)).to_bytes(width, "little"))
    return held


def shared_records(random, held):
    """Records of another kind, with a name that is none, or of more slots than they have."""
    pages = [page for page in held.pages if page >= 1 << 20]
    for _ in range(random.choice((1, 8, 60))):
        page = random.choice(pages or sorted(held.pages))
        at = random.randrange(0, PAGE, 16)
        second = struct.unpack_from("<Q", held.pages[page], at + 8)[0]
        second = random.choice((second & (2**56 - 1) | random.randrange(24) << 56, second ^ 1 << random.randrange(64), second & ~0xFFFFFFFF | random.choice(WORDS) & 0xFFFFFFFF))
        held = held.patched(page + at + 8, struct.pack("<Q", second))
    return held


def sizes_of_file(random, held):
    return Sparse(random.choice((0, 100, PAGE, held.size // 2, held.size - 1, held.size * 2, 1 << 40)), held.pages)


def small_file(random, data):
    return random.choice((mutate_bytes.flip, mutate_bytes.flip, mutate_bytes.extreme, mutate_bytes.truncate, mutate_bytes.remove, mutate_bytes.duplicate,
                          lambda random, data: b"", lambda random, data: data + bytes(random.choice((1, 1 << 20)))))(random, data)


def words_of_file(random, data):
    """Words of a saved state, aligned as its writer lays them."""
    data = bytearray(data)
    for _ in range(random.choice((1, 3))):
        width = random.choice((4, 8))
        if len(data) >= width:
            at = random.randrange(0, len(data) - width + 1, random.choice((1, width)))
            data[at : at + width] = (random.choice(WORDS) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(data)


def without_file(random, files):
    gone = random.choice(sorted(files))
    return {name: held for name, held in files.items() if name != gone}


def swapped(random, files):
    a, b = (random.choice(sorted(files)) for _ in range(2))
    return {**files, a: files[b], b: files[a]}


def special_file(random, files):
    """A link, a pipe or a folder in a file's place or beside it, as an archive may hold them."""
    name = random.choice(sorted(files) + ["shm", "frames", "checkpoint", "output", "open-1", "more.lcr", "x.failed", "stacks-1"])
    targets = ("/dev/zero", "/etc/passwd", ".", "/", "/dev/shm", "/dev/shm/lacuna-none", name, "/dev/stdin", "../good.lcn", "/proc/self/mem")
    return {**files, name: random.choice([Special("pipe"), Special("folder")] + [Special("link", target) for target in targets])}


def written_trace(random, files):
    """Changes the trace that the dead supervisor had written; its checksums are right."""
    if not isinstance(files.get("trace"), bytes):
        return files
    return {**files, "trace": random.choice(mutate_lcn.ALL)(random, files["trace"])}


def notes(random, files):
    """The note of where the trace is written leads elsewhere."""
    return {**files, "output": random.choice((b"/dev/zero", b"/etc/passwd", b"good.lcn", b"../good.lcn", b"\x1b[2J", b"a" * 5000, b"", b"/dev/stdin", b".", b"/proc/self/mem"))}


RECORDING = (of_a_file(Sparse, shared_words),) * 5 + (of_a_file(Sparse, shared_records),) * 4 + (of_a_file(Sparse, sizes_of_file),) + \
    (of_a_file(bytes, small_file),) * 4 + (of_a_file(bytes, words_of_file),) * 3 + (written_trace, written_trace, without_file, swapped, special_file, special_file, notes)
