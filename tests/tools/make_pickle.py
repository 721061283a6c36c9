#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""make_pickle.py KIND PROTOCOL OUT: pickles for the tests of the memory snapshot importer, by Python's own pickle module."""
import pickle
import sys


def frames(*names):
    return [{"filename": f"/home/u/{name}.py", "line": 10 + i, "name": name} for i, name in enumerate(names)]


def snapshot():
    model = frames("forward", "train", "main")
    entry = lambda action, addr, size, us, where=model: {
        "action": action, "addr": addr, "size": size, "stream": 0, "time_us": 1700000000000000 + us, "frames": where}
    return {
        "segments": [{
            "device": 0, "address": 0x1000, "total_size": 4096, "allocated_size": 1536, "active_size": 1536, "stream": 0,
            "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
            "blocks": [
                {"address": 0x1000, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": frames("init")},
                {"address": 0x1200, "size": 1024, "requested_size": 1000, "state": "active_allocated", "frames": model},
                {"address": 0x1600, "size": 2560, "requested_size": 0, "state": "inactive", "frames": []}]}],
        "device_traces": [[
            entry("alloc", 0x1200, 1024, 10),
            entry("alloc", 0x1600, 256, 20, frames("loss", "train", "main")),
            entry("free_requested", 0x1600, 256, 30),
            entry("free_completed", 0x1600, 256, 31),
            entry("free_completed", 0x1800, 128, 40, []),
            dict(entry("oom", 0, 1 << 40, 50), device_free=77),
            entry("snapshot", 0, 0, 60)]],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": True,
                               "garbage_collection_threshold": 0.5},
    }


MB = 1 << 20
BASE = 0x7f0000000000


def expandable(trace, mapped, blocks):
    entry = lambda action, addr, size, us: {
        "action": action, "addr": BASE + addr * MB, "size": size * MB, "stream": 0, "time_us": us, "frames": []}
    return {"segments": [{
        "device": 0, "address": BASE, "total_size": mapped * MB, "stream": 0, "is_expandable": True, "frames": [],
        "blocks": [{"address": BASE + addr * MB, "size": size * MB, "state": state, "frames": []}
                   for addr, size, state in blocks]}],
            "device_traces": [[entry(*row) for row in trace]]}


def unmapped():
    """40 MiB are mapped in two pieces, and the upper 30 given back as one."""
    return expandable([("segment_map", 0, 20, 1000), ("segment_map", 20, 20, 2000), ("alloc", 0, 10, 2500),
                       ("segment_unmap", 10, 30, 3000)], 10, [(0, 10, "active_allocated")])


def late():
    """The history begins when 100 MiB are mapped, to which 20 come."""
    return expandable([("segment_map", 100, 20, 2000), ("alloc", 100, 20, 2100)], 120,
                      [(0, 100, "inactive"), (100, 20, "active_allocated")])


def impossible():
    """Three events of the history have sizes or times that none can have."""
    whole = snapshot()
    odd = [dict(whole["device_traces"][0][0], **change) for change in ({"size": -5}, {"size": 2**70}, {"time_us": -2**62})]
    whole["device_traces"][0][1:1] = odd
    return whole


class Evil:
    def __reduce__(self):
        import os
        return (os.system, ("touch /tmp/lacuna-must-not-exist",))


KINDS = {"snapshot": snapshot, "unmapped": unmapped, "late": late, "impossible": impossible, "evil": lambda: {"segments": [Evil()]}, "empty": lambda: {"segments": [], "device_traces": [[]]},
         "other": lambda: {"weights": [1.5, None, b"x", (1, 2), {3}]}, "segments": lambda: snapshot()["segments"]}

if __name__ == "__main__":
    kind, protocol, out = sys.argv[1:]
    with open(out, "wb") as file:
        pickle.dump(KINDS[kind](), file, protocol=int(protocol))
