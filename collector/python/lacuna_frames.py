# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Announces to the supervisor where this interpreter keeps the frames of its threads. The supervisor reads them from
outside while the program runs, so no thread, signal or lock of ours is in the program.

Structures differ between versions of CPython and builds of one version. Everything that is announced is measured or
checked here, where the truth is at hand (sys._getframe, id(), code objects). A value that fails its check is not
announced."""

import os
import sys

FOLDER = "LACUNA_PYTHON_FRAMES"
PREFIX = "python-"
WORD = 8
MOST_FRAMES = 4096

# Lines of a code object: how its table is written.
LINES_PAIRS, LINES_RANGES, LINES_LOCATIONS = 1, 2, 3

# Offsets in CPython's structures, by version. From 3.13 on the interpreter publishes its own.
TABLES = {
    (3, 9): {"main": 40, "threads": 8, "next": 8, "id": 176, "frame": 24, "back": 24, "code": 32, "lasti": 104},
    (3, 10): {"main": 40, "threads": 8, "next": 8, "id": 176, "frame": 24, "back": 24, "code": 32, "lasti": 96},
    (3, 11): {
        "main": 48,
        "threads": 16,
        "next": 8,
        "id": 152,
        "cframe": 56,
        "cframe_frame": 8,
        "chunk": 296,
        "back": 48,
        "code": 32,
        "instruction": 56,
        "owner": 69,
        "frame_size": 80,
        "bytecode": 184,
    },
    (3, 12): {
        "main": 48,
        "threads": 72,
        "next": 8,
        "id": 136,
        "cframe": 56,
        "cframe_frame": 0,
        "chunk": 232,
        "back": 8,
        "code": 0,
        "instruction": 56,
        "owner": 70,
        "frame_size": 80,
        "bytecode": 192,
    },
}
# The words of _Py_DebugOffsets behind its cookie, by version; names in the middle as in TABLES, "-" for others.
PUBLISHED = {
    (3, 13): "version free_threaded - - head - - - threads" + " -" * 9
    # thread state: size, prev, next, interp, current_frame, thread_id, native_thread_id, datastack_chunk, status
    + " - - next - frame id - chunk -"
    # frame: size, previous, executable, instr_ptr, localsplus, owner; code: size and nine others
    + " frame_size back code instruction - owner - - - - - - - - - bytecode",
    (3, 14): "version free_threaded - - head - - - threads" + " -" * 12
    + " - - next - frame id - chunk -"
    + " frame_size back code instruction - owner - - - - - - - - - - - bytecode",
}


class Unknown(Exception):
    """Something is not as this file knows it."""


class Memory:
    """This process's memory. An address that is not there raises OSError, where a pointer would be the end."""

    def __init__(self):
        self.fd = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)

    def close(self):
        os.close(self.fd)

    def read(self, address, size):
        if not 0 < address < 1 << 63:
            raise Unknown(f"address {address:#x}")
        data = os.pread(self.fd, size, address)
        if len(data) != size:
            raise Unknown(f"memory at {address:#x} ends")
        return data

    def number(self, address, size=WORD):
        return int.from_bytes(self.read(address, size), sys.byteorder)


def require(condition, what):
    if not condition:
        raise Unknown(what)


def place_of(data, value, what, size=WORD):
    """The only place where an object holds a value that nothing else in it has."""
    wanted = value.to_bytes(size, sys.byteorder)
    places = [at for at in range(0, len(data) - size + 1, size) if data[at : at + size] == wanted]
    require(len(places) == 1, f"{what} is at {len(places)} places")
    return places[0]


def measure_code(memory, found):
    """Where a code object keeps its names and lines, from one that is made for that."""
    # Each text is an object of its own, and the line a number that nothing else is.
    line = 0x5AC3
    texts = {name: f"Probe.{name}" for name in ("co_name", "co_qualname") if hasattr(place_of.__code__, name)}
    code = place_of.__code__.replace(co_filename="<lacuna's probe>", co_firstlineno=line, **texts)
    data = memory.read(id(code), type(code).__basicsize__)
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    found["code_size"] = len(data)
    found["type"] = place_of(data, id(type(code)), "a code object's type")
    found["file"] = place_of(data, id(code.co_filename), "a code object's file")
    found["name"] = place_of(data, id(getattr(code, "co_qualname", code.co_name)), "a code object's name")
    found["first_line"] = place_of(data, line, "a code object's line", 4)
    found["table"] = place_of(data, id(table), "a code object's line table")
    found["code_type"] = id(type(code))
    found["lines"] = LINES_PAIRS if sys.version_info < (3, 10) else LINES_RANGES
    if sys.version_info >= (3, 11):
        found["lines"] = LINES_LOCATIONS
        found["units"] = WORD * 2
        require(memory.number(id(code) + found["units"]) * 2 == len(code.co_code), "a code object's size")
    found["bytes_size"] = WORD * 2
    found["bytes_data"] = bytes.__basicsize__ - 1
    require(memory.number(id(table) + found["bytes_size"]) == len(table), "the size of bytes")
    require(memory.read(id(table) + found["bytes_data"], len(table)) == table, "the data of bytes")


def measure_text(memory, found):
    """Where texts keep their length, kind and characters."""
    ascii_size = sys.getsizeof("") - 1
    found["text_length"] = WORD * 2
    found["text_state"] = WORD * 4
    found["text_ascii"] = ascii_size
    found["text_wide"] = str.__basicsize__ - WORD
    kinds = set()
    for text, width, start in (
        ("lacuna", 1, found["text_ascii"]),
        ("l\u00e0c\u00fbna", 1, found["text_wide"]),
        ("l\u20acc\u20acna", 2, found["text_wide"]),
        ("l\U0001f600cuna", 4, found["text_wide"]),
    ):
        require(memory.number(id(text) + found["text_length"]) == len(text), "the length of a text")
        state = memory.number(id(text) + found["text_state"], 4)
        shifts = [
            shift
            for shift in (2, 8, 16)
            if (state >> shift & 7, state >> shift + 3 & 1, state >> shift + 4 & 1) == (width, 1, int(text.isascii()))
        ]
        kinds.add(tuple(shifts))
        encoding = {1: "latin-1", 2: "utf-16", 4: "utf-32"}[width]
        if width > 1:
            encoding += "-le" if sys.byteorder == "little" else "-be"
        data = text.encode(encoding)
        require(memory.read(id(text) + start, len(data)) == data, "the characters of a text")
    common = set.intersection(*(set(shifts) for shifts in kinds))
    require(len(common) == 1, "the kind of a text")
    found["text_kind_shift"] = common.pop()


def published(memory, runtime, version):
    """The offsets that the interpreter publishes at the beginning of its state."""
    require(memory.read(runtime, WORD) == b"xdebugpy", "the offsets that CPython publishes")
    found = {}
    for number, name in enumerate(PUBLISHED[version].split()):
        if name != "-":
            found[name] = memory.number(runtime + WORD * (number + 1))
    require(found.pop("version") >> 16 == version[0] << 8 | version[1], "the version of the published offsets")
    require(found.pop("free_threaded") == 0, "an interpreter without its global lock")
    return found


def runtime_address():
    import _ctypes  # only this part of ctypes: a program that never needs it should not pay for the rest

    return _ctypes.dlsym(_ctypes.dlopen(None, 0), "_PyRuntime")


def thread_of(memory, found):
    """The state of the thread that runs this."""
    import _thread

    own = _thread.get_ident()
    state = memory.number(found["interpreter"] + found["threads"])
    for _ in range(MOST_FRAMES):
        require(state != 0, "this thread among the interpreter's")
        if memory.number(state + found["id"]) == own:
            return state
        state = memory.number(state + found["next"])
    raise Unknown("the list of threads")


def measure_thread(memory, found):
    """Where the C library keeps the number by which the kernel knows a thread."""
    import _thread

    own, number = _thread.get_ident(), _thread.get_native_id()
    # glibc on x86-64 first: a small number may be at other places, too.
    for at in (720, *range(0, 2048, 4)):
        if memory.number(own + at, 4) == number:
            found["tid"] = at
            return
    raise Unknown("the kernel's number of a thread")


def check_frames(memory, found):
    """Walks the frames of this thread as the supervisor does, and compares with what the interpreter itself answers."""
    state = thread_of(memory, found)
    # No call of a Python function here: while the pointer is read, the innermost frame is this function's.
    first = state + found["cframe" if "cframe" in found else "frame"]
    at = int.from_bytes(os.pread(memory.fd, WORD, first), sys.byteorder)
    if "cframe" in found:
        at = int.from_bytes(os.pread(memory.fd, WORD, at + found["cframe_frame"]), sys.byteorder)
    stack = []
    for _ in range(MOST_FRAMES):
        if at == 0:
            break
        code = memory.number(at + found["code"]) & ~7
        if "owner" not in found:
            require(memory.number(at + found["type"]) == found["frame_type"], "the type of a frame")
            stack.append((code, memory.number(at + found["lasti"], 4)))
        elif memory.number(at + found["owner"], 1) < 3:
            stack.append((code, memory.number(at + found["instruction"]) - code - found["bytecode"]))
        at = memory.number(at + found["back"])
    want = []
    frame = sys._getframe()
    while frame is not None:
        # 3.10 counts instructions there.
        want.append((id(frame.f_code), frame.f_lasti // 2 if sys.version_info[:2] == (3, 10) else frame.f_lasti))
        frame = frame.f_back
    require(all(memory.number(code + found["type"]) == found["code_type"] for code, _ in stack), "code objects")
    # The innermost has moved since.
    require((stack[0][0], stack[1:]) == (want[0][0], want[1:]), "the frames of this thread")
    if "chunk" in found:
        chunk = memory.number(state + found["chunk"])
        top = memory.number(state + found["chunk"] + WORD)
        require(chunk < top <= chunk + memory.number(chunk + WORD), "the piece of memory that holds frames")


def measure(memory):
    version = sys.version_info[:2]
    require(sys.implementation.name == "cpython", f"Python is {sys.implementation.name}")
    require(version in TABLES or version in PUBLISHED, f"CPython {version[0]}.{version[1]}")
    runtime = runtime_address()
    found = dict(TABLES[version]) if version in TABLES else published(memory, runtime, version)
    require(all(0 <= value < 1 << 16 for value in found.values()), "an offset")
    # The main interpreter follows the head of the list.
    found["interpreter"] = memory.number(runtime + (found.pop("main", 0) or found["head"] + WORD))
    found.pop("head", None)
    measure_code(memory, found)
    measure_text(memory, found)
    measure_thread(memory, found)
    if "owner" not in found:
        found["frame_type"] = id(type(sys._getframe()))
    check_frames(memory, found)
    return found


class Announcer:
    """Writes one file for each process, also for those that are forked."""

    announced = None  # the one of this process
    failure = None  # why there is none; only users of torch want to know

    def __init__(self, folder, found):
        self.folder = folder
        self.found = found

    def write(self):
        import time

        pid = os.getpid()
        lines = [f"pid {pid}"]
        try:
            lines.append(f"namespace {os.stat('/proc/self/ns/pid').st_ino}")
        except OSError:
            pass
        lines += [f"{name} {value}" for name, value in sorted(self.found.items())]
        lines.append("end 1\n")
        path = os.path.join(self.folder, f"{PREFIX}{pid}-{time.monotonic_ns()}")
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, "\n".join(lines).encode())
        finally:
            os.close(fd)

    def forked(self):
        try:
            self.write()
        except Exception:  # a full disk; the child goes on without
            pass


def announce():
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    try:
        memory = Memory()
        try:
            found = measure(memory)
        finally:
            memory.close()
        announcer = Announcer.announced = Announcer(folder, found)
        announcer.write()
        os.register_at_fork(after_in_child=announcer.forked)
    except Exception as error:
        Announcer.failure = error if not isinstance(error, Unknown) else f"this interpreter is not as expected: {error}"


def draw_a_bar():
    """This program draws a progress bar, so `lacuna run` draws no line of its own."""
    announcer = Announcer.announced
    if announcer is not None and "bar" not in announcer.found:
        announcer.found = dict(announcer.found, bar=1)
        announcer.forked()


def places():
    """What measure() finds in this interpreter."""
    if Announcer.announced is not None:
        return Announcer.announced.found
    memory = Memory()
    try:
        return measure(memory)
    finally:
        memory.close()


def work_for_another():
    """This process prepares what another one waits for: it is sampled less often."""
    announcer = Announcer.announced
    if announcer is None:
        return
    announcer.found = dict(announcer.found, helper=1)
    announcer.forked()
