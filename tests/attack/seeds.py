# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The good traces that mutants are made of: (kind, name, bytes)."""

import json
import os
import pathlib
import pickle
import subprocess

import mutate_bytes
import mutate_json
import mutate_lcn
import mutate_messages
import mutate_sqlite
import native

ROOT = pathlib.Path(__file__).resolve().parents[2]
MUTATORS = {"json": mutate_json.ALL, "lcn": mutate_lcn.ALL, "sqlite": mutate_sqlite.ALL, "perfetto": mutate_messages.PERFETTO,
            "pickle": mutate_messages.PICKLE, "other": mutate_bytes.ALL}
CORPUS = {"chrome": "json", "nsys": "other", "perfetto": "perfetto", "snapshot": "pickle", "reader": "lcn", "bytes": "other"}


def kineto():
    """Two steps of a training with launches, kernels, copies, a collective, a loader and memory."""
    events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}]
    host = lambda name, ts, dur, cat="cpu_op", tid=1, **args: events.append(
        {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args})
    for step in range(4):
        base = 1000 * step
        host(f"ProfilerStep#{step}", base, 900, "user_annotation")
        host("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", base + 1, 200, "user_annotation")
        for k in range(8):
            ts, link = base + 220 + k * 60, step * 100 + k
            host("aten::mm", ts, 40, **{"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"], "External id": link})
            host("cudaLaunchKernel", ts + 5, 10, "cuda_runtime", correlation=link)
            events.append({"ph": "X", "cat": "kernel", "name": ("gemm", "ncclDevKernel_AllReduce_Sum_f32")[k == 7], "pid": 0, "tid": 7, "ts": ts + 30, "dur": 25, "args": {
                "device": 0, "stream": 7, "correlation": link, "grid": [8, 1, 1], "block": [128, 1, 1], "registers per thread": 64, "shared memory": 4096}})
        host("cudaDeviceSynchronize", base + 760, 100, "cuda_runtime", correlation=step * 100 + 99)
        events.append({"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": base + 300, "s": "t",
                       "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096, "Bytes": 512, "Total Allocated": 512, "Total Reserved": 2048}})
    device = {"id": 0, "name": "GPU", "totalGlobalMem": 1 << 34, "computeMajor": 8, "computeMinor": 0, "numSms": 108, "warpSize": 32,
              "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 167936, "maxThreadsPerBlock": 1024}
    return json.dumps({"schemaVersion": 1, "deviceProperties": [device], "distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": events}).encode()


def snapshot():
    frames = [{"filename": f"/a/{name}.py", "line": 3, "name": name} for name in ("forward", "main")]
    entry = lambda action, addr, size, us: {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": us, "frames": frames}
    block = {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": frames}
    return {"segments": [{"device": 0, "address": 4096, "total_size": 4096, "allocated_size": 512, "active_size": 512, "stream": 0, "segment_type": "small",
                          "is_expandable": False, "frames": [], "blocks": [block]}],
            "device_traces": [[entry(("alloc", "free_requested", "free_completed")[i % 3], 4096 + i // 3 * 512, 512, i) for i in range(60)]]}


def made(lacuna, folder):
    """What our own commands write."""
    call = lambda *words: subprocess.run([lacuna, *words], check=True, capture_output=True, cwd=folder)
    for number, options in enumerate((("--steps", "3", "--layers", "2"), ("--steps", "6", "--processes", "2", "--layers", "1", "--block-rows", "64"),
                                      ("--steps", "2", "--zstd-level", "9"))):
        call("generate", "--force", "-o", f"seed{number}.lcn", *options)
        yield "lcn", f"seed{number}.lcn"
    for kind, to in (("json", "chrome"), ("perfetto", "perfetto"), ("sqlite", "nsys")):
        name = f"seed.{kind}"
        call("convert", "-q", "--force", "seed0.lcn", "-o", name, "--to", to)
        yield kind, name
    for name, content in (("kineto.json", kineto()), ("snapshot.pickle", pickle.dumps(snapshot(), 2)), ("snapshot4.pickle", pickle.dumps(snapshot(), 4))):
        (folder / name).write_bytes(content)
        yield name.split(".")[1], name
    call("convert", "-q", "--force", "kineto.json", "-o", "kineto.lcn")
    yield "lcn", "kineto.lcn"


def all_seeds(lacuna, folder):
    seeds = [(kind, name, (folder / name).read_bytes()) for kind, name in made(lacuna, folder)]
    seeds.append(("lcn", "format-1.0.lcn", (ROOT / "tests/data/format-1.0.lcn").read_bytes()))
    for room, kind in CORPUS.items():
        for path in sorted((ROOT / "tests/fuzz/corpus" / room).iterdir()):
            if os.path.getsize(path) > 0:
                seeds.append((kind, f"{room}-{path.name}", path.read_bytes()))
    return seeds


def mutant(random, seeds):
    """(a name that says how it came to be, bytes)"""
    kinds = sorted({kind for kind, _, _ in seeds})
    kind = random.choices(kinds, [1 if kind == "other" else 4 for kind in kinds])[0]
    _, name, data = random.choice([seed for seed in seeds if seed[0] == kind])
    how = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        change = random.choice(MUTATORS[kind])
        how.append(change.__name__)
        data = change(random, data)
    if kind in ("json", "perfetto", "pickle", "other") and random.random() < 0.15:
        how.append("packed")
        data = mutate_bytes.packed(random, data)
    return f"{name}: {', '.join(how)}", data


def can_seal():
    return native.checksum(b"") is not None
