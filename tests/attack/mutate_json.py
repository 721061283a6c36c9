# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of JSON traces: of the values, of their text, and whole documents that are hostile by design."""

import json
import re

import mutate_bytes

NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e308", "-0", "0", "-1", "1", "0.1", "2147483648", "4294967296",
           "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "18446744073709551616",
           "1e18", "1e-300", "null", "true", '""', '"7"', "[]", "{}", "[[1e99]]"]
NAMES = ["", "a" * 70000, "\\u0000", "\\u001b[2J\\u001b]0;x\\u0007", "\\n::error::x", "</script><script>alert(1)</script>", "<!--", "\\ud800",
         "\\u2028\\u202e", "'; DROP TABLE kernel; --", "%s%n", "../../../etc/passwd", "step", "ProfilerStep#1", "=cmd()", "\\u0085\\u009b31m"]


def numbers(random, data):
    text = data.decode("utf-8", "surrogateescape")
    places = list(re.finditer(r"(?<=[:\[, ])-?\d+(\.\d+)?([eE][-+]?\d+)?", text))
    for place in sorted(random.sample(places, min(len(places), random.choice((1, 2, 8)))), key=lambda m: -m.start()):
        text = text[: place.start()] + random.choice(NUMBERS) + text[place.end() :]
    return text.encode("utf-8", "surrogateescape")


def one_number_everywhere(random, data):
    """Every value of one key."""
    text = data.decode("utf-8", "surrogateescape")
    keys = re.findall(r'"([\w. ]+)":\s*-?\d', text)
    if not keys:
        return numbers(random, data)
    key, value = random.choice(keys), random.choice(NUMBERS)
    return re.sub(rf'("{re.escape(key)}":\s*)-?[\d.eE+-]+', lambda m: m[1] + value, text).encode("utf-8", "surrogateescape")


def names(random, data):
    text = data.decode("utf-8", "surrogateescape")
    places = list(re.finditer(r'"(?:[^"\\]|\\.)*"', text))
    for place in sorted(random.sample(places, min(len(places), random.choice((1, 2, 8)))), key=lambda m: -m.start()):
        text = text[: place.start()] + '"' + random.choice(NAMES) + '"' + text[place.end() :]
    return text.encode("utf-8", "surrogateescape")


def nest(random, data):
    depth = random.choice((100, 1100, 20000, 500000))
    opening, closing = random.choice((("[", "]"), ('{"a":', "}")))
    text = data.decode("utf-8", "surrogateescape")
    places = [m.end() for m in re.finditer(r'":\s*', text)] or [0]
    at = random.choice(places)
    bomb = opening * depth + ("1" if opening != "[" else "") + closing * (depth if random.random() < 0.7 else 0)
    return (text[:at] + bomb + "," + text[at:]).encode("utf-8", "surrogateescape")


def repeat_keys(random, data):
    text = data.decode("utf-8", "surrogateescape")
    pairs = list(re.finditer(r'"[\w ]+":\s*(?:-?[\d.]+|"[^"]*"),', text))
    if not pairs:
        return data
    pair = random.choice(pairs)
    return (text[: pair.start()] + pair[0] * random.choice((2, 3, 1000, 50000)) + text[pair.start() :]).encode("utf-8", "surrogateescape")


def events(random, count, make):
    return json.dumps({"traceEvents": [make(i) for i in range(count)]}).encode()


def many_arguments(random, _):
    count = random.choice((300, 5000, 48000))
    return events(random, 3, lambda i: {"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": i * 10, "dur": 5,
                                        "args": {f"key {n}": n for n in range(count)}})


def many_lanes(random, _):
    """Each event on a thread, a process or a queue of its own, or all open at once."""
    count = random.choice((100, 2000, 20000))
    key = random.choice(("pid", "tid", "ts"))
    def make(i):
        event = {"ph": "X", "cat": random.choice(("cpu_op", "kernel", "gpu_memcpy", "user_annotation")), "name": f"n{i % 7}", "pid": 1,
                 "tid": 1, "ts": 5, "dur": 1000000 - i, "args": {"device": i % 5, "stream": i if key == "tid" else 7, "correlation": i}}
        event[key] = i
        return event
    return events(random, count, make)


def hostile_kernels(random, _):
    """Dimensions, registers and memory that no device has, one or two of them at a time."""
    extremes = (0, -1, 1, 1024, 65535, 2**27, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**64, 1e300, "many", None)
    value = lambda usual: random.choice(extremes) if random.random() < 0.15 else usual
    def make(i):
        return {"ph": "X", "cat": "kernel", "name": f"k{i % 3}", "pid": 0, "tid": 7, "ts": i * 100, "dur": 50, "args": {
            "device": 0, "stream": 7, "correlation": i, "grid": [value(80), value(1), value(1)], "block": [value(128), value(1), value(1)],
            "registers per thread": value(64), "shared memory": value(4096), "blocks per SM": value(2), "est. achieved occupancy %": value(50)}}
    trace = json.loads(events(random, 60, make))
    usual = {"totalGlobalMem": 1 << 34, "computeMajor": 8, "computeMinor": 0, "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536,
             "warpSize": 32, "sharedMemPerMultiprocessor": 167936, "numSms": 108, "maxThreadsPerBlock": 1024}
    trace["deviceProperties"] = [{"id": 0, "name": "GPU", **{key: value(usual[key]) if random.random() < 0.3 else usual[key] for key in usual}}]
    return json.dumps(trace).encode()


def far_times(random, _):
    """A second of work at the beginning and at the end of all time."""
    far = random.choice((9e15, 9.2e15, 1e12, -9.2e15))
    return events(random, 40, lambda i: {"ph": "X", "cat": ("cpu_op", "kernel")[i % 2], "name": "step", "pid": 1, "tid": 1,
                                         "ts": far if i > 30 else i, "dur": random.choice((1, 0, -5, far)), "args": {"device": 0, "stream": 1}})


def flows(random, _):
    count = random.choice((100, 5000))
    phases = ("s", "t", "f", "b", "e", "n", "B", "E", "N", "D", "O", "C", "M", "i", "R", "c", "(", ")", "P", "v", "?")
    return events(random, count, lambda i: {"ph": random.choice(phases), "cat": "x", "name": random.choice(("a", "b", "process_name")),
                                            "pid": random.randrange(3), "tid": random.randrange(3), "ts": random.randrange(100),
                                            "id": random.randrange(4), "args": {"name": "p", "value": i}})


DESIGNED = (many_arguments, many_lanes, hostile_kernels, far_times, flows)
ALL = (numbers, numbers, one_number_everywhere, one_number_everywhere, names, names, nest, repeat_keys) + DESIGNED + mutate_bytes.ALL[:6]
