# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The good traces that mutants are made of: (kind, name, bytes, or what a folder holds)."""

import gzip
import json
import os
import pathlib
import pickle
import random as randomness
import shutil
import signal
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass

import build_lcn
import mutate_bytes
import mutate_json
import mutate_lcn
import mutate_perfetto
import mutate_pickle
import mutate_records
import mutate_sqlite
import native

ROOT = pathlib.Path(__file__).resolve().parents[2]


def packed_json(random, data):
    try:
        text = gzip.decompress(data)
    except (OSError, EOFError, zlib.error):  # another mutation came before
        return mutate_bytes.flip(random, data)
    return mutate_bytes.gz(random.choice(mutate_json.ALL)(random, text))


MUTATORS = {"json": mutate_json.ALL, "lcn": mutate_lcn.ALL + (build_lcn.hostile_rows,) * 6, "sqlite": mutate_sqlite.ALL, "log": mutate_sqlite.WITH_LOG, "perfetto": mutate_perfetto.ALL,
            "pickle": mutate_pickle.ALL, "capture": mutate_records.CAPTURE, "recording": mutate_records.RECORDING, "gzip": (packed_json,) + mutate_bytes.ALL, "other": mutate_bytes.ALL}
# Number of times that each is taken.
WEIGHTS = {"json": 6, "lcn": 8, "sqlite": 5, "log": 2, "perfetto": 4, "pickle": 6, "capture": 3, "recording": 5, "gzip": 1, "other": 1}
CORPUS = {"chrome": "json", "nsys": "other", "perfetto": "perfetto", "snapshot": "pickle", "reader": "lcn", "bytes": "other"}
# Names of the parts of a mutant that is more than one file begin so: in a folder, or beside the file.
IN_FOLDER = "/"


def kineto(rank=0, shift=0):
    """Two steps of a training with launches, kernels, copies, a collective, a loader and memory."""
    return json.dumps(mutate_json.over(mutate_json.document(mutate_json.training(), distributedInfo={"rank": rank, "world_size": 2}),
                                       lambda key, value: value + shift if key == "ts" else value)).encode()


def snapshot(events=60, depth=2):
    stack = lambda i: [{"filename": f"/a/{(i * d) % 97}.py", "line": d, "name": f"f{(i + d) % 13}"} for d in range(depth)]
    entry = lambda action, addr, size, us: {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": us, "frames": stack(us)}
    block = {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": stack(1)}
    return {"segments": [{"device": 0, "address": 4096, "total_size": 4096, "allocated_size": 512, "active_size": 512, "stream": 0, "segment_type": "small",
                          "is_expandable": False, "frames": [], "blocks": [block]}],
            "device_traces": [[entry(("alloc", "free_requested", "free_completed")[i % 3], 4096 + i // 3 * 512, 512, i) for i in range(events)]],
            "allocator_settings": {"max_split_size": -1, "expandable_segments": False, "backend": "native"}}


def made(lacuna, folder):
    """Files that our own commands write."""
    call = lambda *words: subprocess.run([lacuna, *words], check=True, capture_output=True, cwd=folder)
    for number, options in enumerate((("--steps", "3", "--layers", "2"), ("--steps", "6", "--processes", "2", "--layers", "1", "--block-rows", "64"),
                                      ("--steps", "2", "--zstd-level", "9"))):
        call("generate", "--force", "-o", f"seed{number}.lcn", *options)
        yield "lcn", f"seed{number}.lcn"
    for kind, to in (("json", "chrome"), ("perfetto", "perfetto"), ("sqlite", "nsys")):
        name = f"seed.{kind}"
        call("convert", "-q", "--force", "seed0.lcn", "-o", name, "--to", to)
        yield kind, name
    for name, content in (("kineto.json", kineto()), ("rank1.json", kineto(1, 17)), ("kineto.gzip", mutate_bytes.gz(kineto())), ("snapshot.pickle", pickle.dumps(snapshot(), 2)),
                          ("deep.pickle", pickle.dumps(snapshot(400, 60), 2)), ("snapshot4.pickle", pickle.dumps(snapshot(), 4))):
        (folder / name).write_bytes(content)
        yield name.split(".")[1], name
    for name in ("kineto", "rank1", "snapshot"):
        call("convert", "-q", "--force", f"{name}.{'pickle' if name == 'snapshot' else 'json'}", "-o", f"{name}.lcn")
    yield "lcn", "kineto.lcn"
    yield "lcn", "snapshot.lcn"
    for name, kind, to in (("merged.lcn", "lcn", "lcn"), ("merged.json", "json", "chrome"), ("merged.sqlite", "sqlite", "nsys")):
        call("merge", "--force", "kineto.lcn", "rank1.lcn", "-o", name, "--to", to)
        yield kind, name


FORKS = """
import os, threading, time
def work(n):
    end = time.monotonic() + n
    while time.monotonic() < end: sum(range(1000))
threads = [threading.Thread(target=work, args=(0.15,)) for _ in range(2)]
for one in threads: one.start()
child = os.fork()
work(0.1)
if child == 0: os._exit(3)
os.waitpid(child, 0)
for one in threads: one.join()
"""


class Recorder:
    """Records programs with the command itself. What cannot be recorded here is named once."""

    def __init__(self, lacuna, folder):
        self.lacuna, self.folder, self.bin = str(lacuna), folder, pathlib.Path(lacuna).parent
        self.library = self.bin.parent / "lib/libfake_cupti.so"
        self.environment = {**os.environ, "TMPDIR": str(folder)}
        self.missing = []

    def words(self, name, options, program):
        return [self.lacuna, "run", "--force", "-q", "--no-report", "-o", name, *options, "--", *program]

    def program(self, name):
        path = self.bin / name
        if not path.exists():
            self.missing.append(name)
        return str(path) if path.exists() else ""

    def trace(self, name, options, program):
        """A whole recording."""
        if not program[0]:
            return
        subprocess.run(self.words(name, options, program), cwd=self.folder, env=self.environment, capture_output=True, timeout=60, check=False)
        if (self.folder / name).exists():
            yield "lcn", name, (self.folder / name).read_bytes()
        else:
            self.missing.append(name)

    def captures(self, name, mode):
        """CUPTI's raw records of a program that calls a driver that is not there."""
        program = self.program("cuda_program")
        if not program or not self.library.exists():
            return
        libraries, kept = self.folder / "libraries", self.folder / name
        libraries.mkdir(exist_ok=True)
        kept.mkdir()
        shutil.copy(self.library, libraries / "libcupti.so.13")
        environment = {**self.environment, "LD_LIBRARY_PATH": f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}", "LACUNA": self.lacuna}
        environment.pop("LACUNA_CUPTI", None)
        subprocess.run(self.words(f"{name}.lcn", ["--trace", "nvtx,cuda", "--raw-capture", str(kept)], [program, mode]), cwd=self.folder, env=environment, capture_output=True,
                       timeout=60, check=False)
        files = sorted(kept.glob("*.raw"))
        for path in files:
            yield "capture", f"{name}-{path.name}", path.read_bytes()
        if not files:
            self.missing.append(name)

    def killed(self, name, options, programs):
        """The folder of a recording whose supervisor was killed, once it has saved its state; what lay in shared memory is in it."""
        script = "".join(f"'{program}' & " for program in programs if program)
        recording = self.folder / f"{name}.lcn.recording"
        process = subprocess.Popen(self.words(f"{name}.lcn", ["--memory-limit", "1M", *options], ["sh", "-c", f"{script}sleep 30"]), cwd=self.folder, env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + 8
        while not (recording / "checkpoint").exists() and time.monotonic() < end and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.1)
        files = {}
        for path in recording.iterdir() if recording.is_dir() else ():
            if path.is_symlink():
                files.update(self.shared(path))
            elif path.is_file():
                files[path.name] = mutate_records.Sparse.of(path) if path.suffix == ".lcr" else path.read_bytes()
        trace = self.folder / f"{name}.lcn"
        if trace.exists():
            files["trace"] = trace.read_bytes()  # where it lies until it has its name
        if any(isinstance(held, mutate_records.Sparse) for held in files.values()):
            yield "recording", name, files
        else:
            self.missing.append(f"the killed recording {name}")

    @staticmethod
    def shared(link):
        """Takes what a recording left in shared memory, and the folder away."""
        folder = pathlib.Path(os.readlink(link))
        files = {path.name: mutate_records.Sparse.of(path) for path in folder.glob("*.lcr")}
        if folder.parent == pathlib.Path("/dev/shm") and folder.name.startswith("lacuna-"):
            shutil.rmtree(folder, ignore_errors=True)
        return files


def recorded(lacuna, folder):
    recorder = Recorder(lacuna, folder)
    everything = ["--trace", "nvtx,cuda,counters,samples", "--sample-rate", "500"]
    yield from recorder.trace("forks.lcn", everything, [sys.executable, "-c", FORKS])
    yield from recorder.trace("nvtx.lcn", [], [recorder.program("nvtx_program")])
    yield from recorder.trace("payload.lcn", [], [recorder.program("payload_program")])
    yield from recorder.trace("training.lcn", everything, [recorder.program("faulty"), "--fault", "slow-loader", "--steps", "12", "--hidden", "64"])
    for mode in ("work", "kinds", "captures"):
        yield from recorder.captures(f"capture-{mode}", mode)
    # Large batches make few events: each call reads what was recorded until the state is saved, two seconds or more.
    busy = recorder.program("faulty") + "' '--fault' 'slow-loader' '--batch' '4096' '--steps' '100000"
    yield from recorder.killed("events", [], [recorder.program("nvtx_program"), recorder.program("payload_program"), busy])
    yield from recorder.killed("samples", everything, [recorder.program("extension_program"), busy])
    if recorder.missing:
        print(f"attack: without {', '.join(dict.fromkeys(recorder.missing))}, which cannot be recorded here", file=sys.stderr)


def all_seeds(lacuna, folder, with_recordings=True):
    seeds = [(kind, name, (folder / name).read_bytes()) for kind, name in made(lacuna, folder)]
    if with_recordings:
        seeds += recorded(lacuna, folder)
    seeds.append(("lcn", "format-1.0.lcn", (ROOT / "tests/data/format-1.0.lcn").read_bytes()))
    for path in sorted((ROOT / "tests/data/cupti").glob("*/*.raw")):
        seeds.append(("capture", path.parent.name, path.read_bytes()))
    for room, kind in CORPUS.items():
        for path in sorted((ROOT / "tests/fuzz/corpus" / room).iterdir()):
            if os.path.getsize(path) > 0:
                seeds.append((kind, f"{room}-{path.name}", path.read_bytes()))
    databases = [data for kind, _, data in seeds if kind == "sqlite"]
    seeds += [("log", f"with-log-{number}", mutate_sqlite.with_log(randomness.Random(number), data)) for number, data in enumerate(databases)]
    build_lcn.learn_all(seeds)
    return seeds


@dataclass
class Mutant:
    how: str
    kind: str
    files: dict  # what a file and its companions hold ("" and "-wal"), or, by "/NAME", a folder

    @property
    def is_folder(self):
        return "" not in self.files

    def place(self, path):
        for ending, held in self.files.items():
            target = str(path) + ending
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if isinstance(held, bytes):
                with open(target, "wb") as file:
                    file.write(held)
            else:
                held.write(target)


def mutant(random, seeds):
    kinds = sorted({kind for kind, _, _ in seeds})
    kind = random.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0]
    _, name, data = random.choice([seed for seed in seeds if seed[0] == kind])
    how = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        change = random.choice(MUTATORS[kind])
        how.append(change.__name__)
        data = change(random, data)
        if isinstance(data, bytes) and len(data) > mutate_bytes.MOST:
            break
    if kind in ("json", "perfetto", "pickle", "sqlite", "other") and random.random() < 0.1:
        how.append("packed")
        data = mutate_bytes.packed(random, data)
    files = {"": data} if isinstance(data, bytes) else {(IN_FOLDER if kind == "recording" else "") + ending: held for ending, held in data.items()}
    return Mutant(f"{name}: {', '.join(how)}", kind, files)


def can_seal():
    return native.checksum(b"") is not None
