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
# Those that events are placed, joined and measured by.
KEYS = ("ts", "dur", "pid", "tid", "id", "correlation", "External id", "Sequence number", "Fwd thread id", "device", "stream", "grid", "block", "registers per thread",
        "shared memory", "blocks per SM", "warps per SM", "est. achieved occupancy %", "bytes", "Bytes", "Addr", "Total Allocated", "Total Reserved", "Device Id", "Device Type",
        "Input Dims", "memory bandwidth (GB/s)", "queued", "context", "Group size", "In msg nelems", "Out msg nelems", "dtype", "Rank", "Collective name", "Process Group Name",
        "wait_on_stream", "wait_on_cuda_event_id", "Ev Idx", "Python id", "Python parent id", "totalGlobalMem", "computeMajor", "maxThreadsPerMultiprocessor",
        "regsPerMultiprocessor", "warpSize", "sharedMemPerMultiprocessor", "numSms", "maxThreadsPerBlock", "rank", "world_size", "baseTimeNanoseconds", "sort_index", "value")


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
    return (text[: pair.start()] + pair[0] * mutate_bytes.times(random, len(pair[0]), (2, 3, 1000, 50000)) + text[pair.start() :]).encode("utf-8", "surrogateescape")


class Literal:
    """Text that stands in the document as it is, JSON or not."""

    def __init__(self):
        self.texts = []

    def __call__(self, text):
        self.texts.append(text)
        return f"@@{len(self.texts) - 1}@@"

    def dumps(self, document):
        text = re.sub(r'"@@(\d+)@@"', lambda m: self.texts[int(m[1])], json.dumps(document))
        return text.encode("utf-8", "surrogateescape")


def event(cat, name, ts, dur=5, pid=1, tid=1, ph="X", **args):
    return {"ph": ph, "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": {key.replace("_", " "): value for key, value in args.items()}}


def kernel(name, ts, dur=25, stream=7, link=0, device=0, **args):
    return event("kernel", name, ts, dur, device, stream, device=device, stream=stream, correlation=link, grid=[8, 1, 1], block=[128, 1, 1], registers_per_thread=64,
                 shared_memory=4096, **args)


def training(steps=4, launches=8):
    """Steps of a training, one after the other, as a profiler of PyTorch writes them."""
    events = []
    for step in range(steps):
        base = 1000 * step
        events.append(event("user_annotation", f"ProfilerStep#{step}", base, 900))
        events.append(event("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", base + 1, 200))
        for k in range(launches):
            ts, link = base + 220 + k * 60, step * 1000 + k + 1
            collective = k == launches - 1
            events.append(event("cpu_op", "c10d::allreduce_" if collective else "aten::mm", ts, 40, Input_Dims=[[64, 64], [64, 64]], External_id=link, Sequence_number=link))
            events.append(event("cuda_runtime", "cudaLaunchKernel", ts + 5, 10, correlation=link))
            more = {"Collective_name": "allreduce", "In_msg_nelems": 1024, "Out_msg_nelems": 1024, "dtype": "Float", "Group_size": 2, "Process_Group_Name": "0"} if collective else {}
            events.append(kernel("ncclDevKernel_AllReduce_Sum_f32" if collective else "gemm", ts + 30, link=link, External_id=link, **more))
            events.append({"ph": "s", "id": link, "pid": 1, "tid": 1, "ts": ts + 5, "cat": "ac2g", "name": "ac2g"})
            events.append({"ph": "f", "id": link, "pid": 0, "tid": 7, "ts": ts + 30, "cat": "ac2g", "name": "ac2g", "bp": "e"})
        events.append(event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", base + 800, 20, 0, 7, device=0, stream=7, correlation=step * 1000 + 500, bytes=4096))
        events.append(event("cuda_sync", "Stream Wait Event", base + 810, 5, 0, 7, stream=7, wait_on_stream=9, wait_on_cuda_event_id=1))
        events.append(event("cuda_runtime", "cudaDeviceSynchronize", base + 820, 60, correlation=step * 1000 + 999))
        for k in range(4):
            events.append({"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": base + 300 + k, "s": "t", "args": {
                "Device Type": 1, "Device Id": 0, "Addr": 4096 + k // 2 * 512, "Bytes": 512 if k % 2 == 0 else -512, "Total Allocated": 512, "Total Reserved": 2048}})
        events.append({"ph": "C", "name": "GPU 0 Utilization", "pid": 0, "ts": base, "args": {"value": 50}})
    return events


DEVICE = {"id": 0, "name": "GPU", "totalGlobalMem": 1 << 34, "computeMajor": 8, "computeMinor": 0, "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536, "warpSize": 32,
          "sharedMemPerMultiprocessor": 167936, "numSms": 108, "maxThreadsPerBlock": 1024}


def document(events, device=None, **more):
    return {"schemaVersion": 1, "deviceProperties": [device or DEVICE], "distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": events, **more}


def over(value, change):
    """A document with every value of a key as the function makes it."""
    if isinstance(value, dict):
        return {key: over(change(key, one), change) for key, one in value.items()}
    return [over(one, change) for one in value] if isinstance(value, list) else value


def extremes(random, _):
    """Extremes of one or two keys that matter, in one event of some, in some or in all."""
    literal, keys = Literal(), random.sample(KEYS, random.choice((1, 1, 2)))
    some, values = random.choice((0.02, 0.3, 1)), random.sample(NUMBERS, random.choice((1, 3)))
    def change(key, value):
        if key not in keys or random.random() > some:
            return value
        if isinstance(value, list) and random.random() < 0.7:
            return [literal(random.choice(values)) if random.random() < 0.5 else one for one in value]
        return literal(random.choice(values))
    return literal.dumps(over(document(training(), baseTimeNanoseconds=0), change))


def same_ids(random, _):
    """Every kernel of one correlation, every operator of one id, every flow of one; or each of thousands of launches of one."""
    count = random.choice((20, 2000, 8000))
    keys = random.sample(("correlation", "External id", "id", "Sequence number", "Addr", "stream", "tid"), random.choice((1, 2)))
    events = training(max(2, count // 20), random.choice((3, 8)))[:count * 2]
    return json.dumps(over(document(events), lambda key, value: 7 if key in keys and not isinstance(value, dict) else value)).encode()


def many_arguments(random, _):
    count = random.choice((300, 5000, 48000))
    value = random.choice((lambda n: n, lambda n: f"v{n}", lambda n: [n, [n]], lambda n: {"a": n}, lambda n: 1e300))
    events = training(1, 2) + [event("cpu_op", "x", i * 10) for i in range(3)]
    for one in events[-3:]:
        one["args"] = {f"key {n}": value(n) for n in range(count)}
    return json.dumps(document(events)).encode()


def many_lanes(random, _):
    """Each event on a thread, a process or a queue of its own, or all open at once."""
    count = random.choice((100, 2000, 20000))
    key = random.choice(("pid", "tid", "ts"))
    def make(i):
        one = event(random.choice(("cpu_op", "kernel", "gpu_memcpy", "user_annotation")), f"n{i % 7}", 5, 1000000 - i, device=i % 5, stream=i if key == "tid" else 7, correlation=i)
        one[key] = i
        return one
    return json.dumps({"traceEvents": [make(i) for i in range(count)]}).encode()


def crossing(random, _):
    """Ranges that overlap without nesting, kernels at the same time on one queue, or steps within steps."""
    count = random.choice((50, 1000, 20000))
    kind = random.randrange(5)
    make = (lambda i: event("cpu_op", f"op {i % 9}", i, count), lambda i: kernel(f"k{i % 9}", i // 2, count, link=i), lambda i: event("user_annotation", f"ProfilerStep#{i}", i, count),
            lambda i: event("user_annotation", "ProfilerStep#1", i * 3, 2), lambda i: event("cpu_op", f"op {i}", i, 2 * (count - i)))[kind]
    return json.dumps(document(training(2, 3) + [make(i) for i in range(count)])).encode()


def hostile_kernels(random, _):
    """Dimensions, registers and memory that no device has, one or two of them at a time."""
    extreme = (0, -1, 1, 1024, 65535, 2**27, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**64, 1e300, "many", None)
    value = lambda usual: random.choice(extreme) if random.random() < 0.15 else usual
    def make(i):
        return event("kernel", f"k{i % 3}", i * 100, 50, 0, 7, device=0, stream=7, correlation=i, grid=[value(80), value(1), value(1)], block=[value(128), value(1), value(1)],
                     registers_per_thread=value(64), shared_memory=value(4096), blocks_per_SM=value(2))
    device = {key: value(DEVICE[key]) if key != "name" and random.random() < 0.3 else DEVICE[key] for key in DEVICE}
    return json.dumps(document([make(i) for i in range(60)], device)).encode()


def far_times(random, _):
    """A second of work at the beginning and at the end of all time."""
    far = random.choice((9e15, 9.2e15, 1e12, -9.2e15))
    events = training(4, 3)
    for i, one in enumerate(events):
        if i > len(events) // 2:
            one["ts"] += far
        if random.random() < 0.05:
            one["dur"] = random.choice((0, -5, far))
    return json.dumps(document(events)).encode()


def flows(random, _):
    """Flows that never end, that only end, or go from everywhere to everywhere; and every phase there is."""
    count = random.choice((100, 5000, 40000))
    phases = random.choice((("s",), ("f",), ("t",), ("s", "f"), ("s", "t", "f", "b", "e", "n", "B", "E", "N", "D", "O", "C", "M", "i", "R", "c", "(", ")", "P", "v", "?"), ("B",), ("E",), ("b",)))
    ids = random.choice((1, 4, count))
    events = [{"ph": random.choice(phases), "cat": "ac2g", "name": random.choice(("ac2g", "b", "process_name")), "pid": random.randrange(3), "tid": random.randrange(3),
               "ts": random.randrange(1 + count // 10), "id": random.randrange(ids), "args": {"name": "p", "value": i}} for i in range(count)]
    return json.dumps(document(training(2, 3) + events)).encode()


def deep_value(random, _):
    """Nested lists and objects at keys that are read, just within and far beyond what a reader goes down to."""
    literal, depth = Literal(), random.choice((20, 900, 1023, 1024, 1025, 100000))
    opening, closing = random.choice((("[", "]"), ('{"a":', "}"), ('[{"a":[', "]}]")))
    bomb = opening * depth + "1" + closing * depth
    key = random.choice(KEYS + ("args", "name", "cat", "traceEvents", "deviceProperties", "distributedInfo"))
    return literal.dumps(over(document(training(2, 3)), lambda name, value: literal(bomb) if name == key and random.random() < 0.3 else value))


def hostile_names(random, _):
    """Names of every kind that outputs repeat: of events, processes, threads, devices, groups, types, keys."""
    literal = Literal()
    name = lambda: literal(f'"{random.choice(NAMES)}"')
    events = training(3, 4)
    for one in events:
        for place in ("name", "cat"):
            if random.random() < 0.1:
                one[place] = name()
        if one.get("args") and random.random() < 0.1:
            one["args"][random.choice(("Collective name", "dtype", "Process Group Name", "\x1b[31mkey", "a\nb", "=key", "Input type"))] = name()
    events += [{"ph": "M", "name": kind, "pid": i % 3, "tid": i, "args": {"name": name(), "labels": name()}} for i, kind in enumerate(("process_name", "thread_name", "process_labels") * 4)]
    return literal.dumps(document(events, {**DEVICE, "name": name()}, traceName=name(), with_stack=1))


def python_stacks(random, _):
    """Calls of Python that are each other's parents."""
    count = random.choice((10, 3000))
    parent = random.choice((lambda i: i, lambda i: (i + 1) % count, lambda i: i - 1, lambda i: 1 << 62))
    events = [event("python_function", f"a.py({i}): f{i % 9}", i, count - i, Python_id=i, Python_parent_id=parent(i), Python_module_id=i % 3) for i in range(count)]
    return json.dumps(document(training(2, 3) + events)).encode()


def memory(random, _):
    """Allocations that are never made, never freed, or wrap around, and totals that contradict them."""
    sizes = random.choice(((512, -512), (1 << 62, -(1 << 62)), (-512,), (0,), (2**63 - 1,), (1 << 40,)))
    address = random.choice((lambda i: 4096, lambda i: i * 512, lambda i: 2**64 - 1 - i, lambda i: -i))
    total = random.choice((lambda i: 512, lambda i: 2**63 - 1 - i, lambda i: -i, lambda i: i % 2 * 2**62))
    events = [{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": i, "s": "t", "args": {"Device Type": random.choice((0, 1, 99)), "Device Id": random.choice((0, 0, -1, 70000)),
               "Addr": address(i), "Bytes": random.choice(sizes), "Total Allocated": total(i), "Total Reserved": total(i + 1)}} for i in range(random.choice((50, 10000)))]
    return json.dumps(document(training(2, 3) + events)).encode()


DESIGNED = (extremes, extremes, extremes, same_ids, many_arguments, many_lanes, crossing, hostile_kernels, far_times, flows, deep_value, hostile_names, python_stacks, memory)
ALL = (numbers, numbers, one_number_everywhere, one_number_everywhere, names, names, nest, repeat_keys) + DESIGNED + mutate_bytes.ALL[:6]
