# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Stands still at known places, and writes where its own interpreter finds its threads: `THREAD FUNCTION LINE FILE`,
innermost frame first. Ends when its input does."""

import os
import sys
import threading

sys.path.insert(0, sys.argv[1])
import lacuna_frames  # noqa: E402


def stand():
    sys.stdin.buffer.read()


def generate():
    for number in range(3):
        if number == 1:
            stand()
        yield number


class Größe:
    """A name that is not ASCII, and a frame beneath its __init__ that is not the program's."""

    def __init__(self):
        self.total = sum(
            number
            for number in generate()
        )


def deep(levels):
    if levels == 0:
        return Größe()
    return deep(levels - 1)


class Waiter(threading.Thread):
    def run(self):
        self.wait_for_ever()

    def wait_for_ever(self):
        gate.acquire()


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def report():
    own = threading.get_native_id()
    numbers = {thread.ident: thread.native_id for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        while frame is not None and numbers[ident] != own:
            print(numbers[ident], name_of(frame.f_code), frame.f_lineno, frame.f_code.co_filename)
            frame = frame.f_back
    print("end", flush=True)


# The code that has run often is another for some versions.
def warm():
    for _ in range(200):
        Warm()


class Warm:
    def __init__(self):
        self.value = list(number for number in range(2))


warm()
gate = threading.Lock()
gate.acquire()
Waiter(daemon=True).start()
os.environ["LACUNA_PYTHON_FRAMES"] = sys.argv[2]
lacuna_frames.announce()
threading.Timer(0.3, report).start()
deep(5)
os._exit(0)
