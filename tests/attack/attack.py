#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Gives mutants of traces to every command and checks how each ends and what it writes.

A mutant is known by the seed and its number: `--seed S --only N` makes it again. Those that something is wrong with are kept in a folder,
each with the command line to repeat it. The exit code is 0 where nothing is wrong, 1 where something is, 2 for wrong usage."""

import argparse
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import pickle
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import build_lcn  # noqa: E402
import commands  # noqa: E402
import seeds  # noqa: E402
import verdict  # noqa: E402
import watch  # noqa: E402

# A format may hold nothing of what there is; the file is then whole and empty.
EMPTY = re.compile(rb"the trace has no events|but no track events")
SHELL = ("unshare", "-m", "--propagation", "private", "sh", "-c")


def can_hide():
    """Whether a command can have shared memory of its own: others' recordings are none of its business."""
    return subprocess.run([*SHELL, "mount -t tmpfs none /dev/shm"], capture_output=True, check=False).returncode == 0 if shutil.which("unshare") else False


class Attacker:
    """Works in a folder of its own, one mutant at a time."""

    def __init__(self, options, seed_list, goods, keep):
        self.options, self.seeds, self.goods, self.keep = options, seed_list, goods, keep
        self.bin = pathlib.Path(options.bin).resolve()
        self.limits = watch.Limits(options.seconds, options.rest, options.memory)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lacuna-attack-"))
        self.mutant, self.made, self.out, self.tmp = (self.folder / name for name in ("mutant", "made.lcn", "out", "tmp"))
        self.good = {name: goods / f"{name}.lcn" for name in ("good", "rank")}
        self.good_bytes = {path: path.read_bytes() for path in self.good.values()}
        self.environment = {**os.environ, "TMPDIR": str(self.tmp), "QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(self.folder / "config"),
                            "XDG_RUNTIME_DIR": str(self.folder / "config"), "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "100"}
        for name in ("LACUNA_BUDGET", "LACUNA_SANDBOX", "LACUNA_CALIBRATION"):
            self.environment.pop(name, None)

    def words(self, command, subject):
        place = {"MUTANT": str(subject), "GOOD": str(self.good["good"]), "RANK": str(self.good["rank"])}
        if command.shell:
            return [*SHELL, command.shell.replace("MUTANT", shlex.quote(str(subject))).replace("LACUNA", shlex.quote(str(self.bin / "lacuna")))]
        return [str(self.bin / ("lacuna-gui" if command.gui else "lacuna"))] + [place.get(word, word) for word in command.words]

    def attack(self, number):
        """The findings: (kind, what, command, how the mutant was made)."""
        rng = random.Random(f"{self.options.seed}-{number}")
        mutant = seeds.mutant(rng, self.seeds)
        self.place(mutant)
        every = self.options.gui_every
        chosen = list(commands.all_commands(rng, number // every if self.options.gui and number % every == 0 else None))
        if self.options.commands:
            windows = [command for command in chosen if command.gui]
            chosen = rng.sample(chosen, min(self.options.commands, len(chosen)))
            chosen += [command for command in windows if command not in chosen]
        making = list(commands.making_commands(mutant.kind, self.options.hides))
        found, subject, calls = [], self.mutant, 0
        for command in making + chosen:
            if mutant.is_folder and subject is self.mutant and command not in making:
                break  # nothing could be made of it
            calls += 1
            wrong, changed = self.one(command, subject), self.changed(mutant, command)
            wrong = wrong or changed
            if wrong:
                self.kept(number, mutant, command, subject, wrong)
                found.append((*wrong, command.name, mutant.how))
            if command.makes and (self.out / command.makes).exists():
                os.replace(self.out / command.makes, self.made)
                subject = self.made
        return number, calls, found

    def place(self, mutant):
        """The mutant and nothing else in the folder."""
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        mutant.place(self.mutant)
        self.inputs = {path.name for path in self.folder.iterdir()} | {self.made.name}

    def changed(self, mutant, command):
        """Whether a file that is only read is another now; then it is as it was again."""
        wrong = None
        if mutant.is_folder:
            if command.takes_folder or not self.is_complete(mutant):
                wrong = None if command.takes_folder else ("changed input", "the folder was changed")
                shutil.rmtree(self.mutant, ignore_errors=True)
                mutant.place(self.mutant)
        else:
            for ending, held in mutant.files.items():
                path = pathlib.Path(str(self.mutant) + ending)
                if not path.is_file() or path.read_bytes() != held:
                    wrong = "changed input", f"a file that is read was changed (mutant{ending})"
                    path.write_bytes(held)
        for path, held in self.good_bytes.items():
            if path.read_bytes() != held:
                wrong = "changed input", f"a file that is read was changed ({path.name})"
                path.write_bytes(held)
        return wrong

    def is_complete(self, mutant):
        there = {f"{seeds.IN_FOLDER}{path.name}": path for path in self.mutant.iterdir()} if self.mutant.is_dir() else {}
        return there.keys() == mutant.files.keys() and all(there[name].read_bytes() == held for name, held in mutant.files.items() if isinstance(held, bytes))

    def one(self, command, subject):
        for folder in (self.out, self.tmp, self.folder / "config"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
        stdout, stderr = self.folder / "stdout", self.folder / "stderr"
        ended = watch.run(self.words(command, subject), self.folder, stdout, stderr, self.limits, self.environment)
        with open(stderr, "rb") as file:
            output = file.read(1 << 20)
        wrong = verdict.ending(ended, output, command.codes, command.silent, command.message)
        if wrong:
            return wrong
        if ended.code == 0 or stdout.stat().st_size > 0 and command.printed is verdict.plain:
            wrong = verdict.of_file(stdout, command.printed)
            if wrong:
                return "output", f"standard output {wrong}"
        return self.files(command, ended.code)

    def files(self, command, code):
        there = {path.name for path in self.out.iterdir()}
        wanted = set(command.writes) if code == 0 or (code == 1 and command.words[0] == "check") else set()
        left = [path.name for path in self.tmp.iterdir()] + sorted(there - wanted)
        left += sorted({path.name for path in self.folder.iterdir()} - self.inputs - {"out", "tmp", "config", "stdout", "stderr"})
        if left:
            return "leftover", f"{', '.join(left)} (exit code {code})"
        for name in sorted(wanted):
            if name not in there:
                return (None if code == 1 else ("output", f"{name} is not there"))
            holds = command.writes[name]
            wrong = verdict.of_file(self.out / name, holds) if holds else self.reopened(name)
            if wrong:
                return "output", f"{name} {wrong}"
        return None

    def reopened(self, name):
        ended = watch.run([str(self.bin / "lacuna"), "info", "--json", f"out/{name}"], self.folder, self.folder / "stdout", self.folder / "stderr", self.limits,
                          self.environment)
        output = (self.folder / "stderr").read_bytes()
        if ended.code == 1 and EMPTY.search(output):
            return ""
        if ended.code != 0:
            return f"does not open again: exit {ended.code}, signal {ended.signal}: {output[:200]!r}"
        return verdict.of_file(self.folder / "stdout", verdict.strict_json)

    def kept(self, number, mutant, command, subject, wrong):
        folder = self.keep / f"{number:06d}"
        folder.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(folder / "mutant"):
            mutant.place(folder / "mutant")
        if subject is self.made:
            shutil.copy(self.made, folder / self.made.name)
        words = self.words(command, folder / subject.name)
        with open(folder / "findings.txt", "a", encoding="utf-8", errors="replace") as file:
            file.write(f"{wrong[0]}: {wrong[1]}\n  {mutant.how}\n  mkdir -p out; {shlex.join(words)}\n")

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


worker = None


def begin(*arguments):
    global worker
    import atexit
    worker = Attacker(*arguments)
    atexit.register(worker.close)


def attack(number):
    try:
        return worker.attack(number)
    except Exception:  # a fault of ours ends no night's run; it is named with the rest
        return number, 0, [("own fault", traceback.format_exc(limit=-3), "", "")]


def seeds_for(options, lacuna, folder, keep):
    """Recordings are never the same twice, so the seeds of a run are kept beside its findings, for --only."""
    store = keep / "seeds"
    if options.only is not None and store.exists():
        seed_list, build_lcn.TABLES = pickle.loads(store.read_bytes())
        return seed_list
    seed_list = seeds.all_seeds(str(lacuna), folder, options.recordings)
    wanted = set(options.kinds.split(",")) if options.kinds else set(seeds.MUTATORS)
    seed_list = [seed for seed in seed_list if seed[0] in wanted]
    keep.mkdir(parents=True, exist_ok=True)
    store.write_bytes(pickle.dumps((seed_list, build_lcn.TABLES)))
    return seed_list


def attack_all(options, folder, keep):
    lacuna = pathlib.Path(options.bin).resolve() / "lacuna"
    seed_list = seeds_for(options, lacuna, folder, keep)
    goods = folder / "goods"
    goods.mkdir()
    call = lambda *words: subprocess.run([str(lacuna), *words], check=True, capture_output=True)
    call("generate", "-o", str(goods / "good.lcn"), "--steps", "5", "--layers", "2", "--seed", "9")
    (folder / "rank.json").write_bytes(seeds.kineto(1, 17))
    call("convert", "-q", str(folder / "rank.json"), "-o", str(goods / "rank.lcn"))
    options.hides = can_hide()
    numbers = options.only if options.only is not None else range(options.mutants)
    found, calls, start, shown = [], 0, time.monotonic(), 0.0
    with concurrent.futures.ProcessPoolExecutor(options.jobs, initializer=begin, initargs=(options, seed_list, goods, keep)) as pool:
        for done, (number, count, wrong) in enumerate(pool.map(attack, numbers), 1):
            calls += count
            found += [(number, *one) for one in wrong]
            now = time.monotonic()
            if now - shown > (1 if sys.stderr.isatty() else 15):
                shown = now
                print(f"{done} of {len(numbers)} mutants, {calls} calls, {len(found)} wrong, {now - start:.0f} s", file=sys.stderr, flush=True)
    return len(numbers), calls, found, time.monotonic() - start


def summary(options, mutants, calls, found, seconds, keep):
    bad = len({number for number, *_ in found})
    print(f"{mutants} mutants (seed {options.seed}), {calls} calls in {seconds:.0f} s: {bad} mutants with something wrong ({100 * bad / mutants:.2f} %)")
    for kind in ("crash", "hang", "blow-up", "exit code", "output", "leftover", "changed input", "own fault"):
        print(f"  {kind:14} {sum(1 for one in found if one[1] == kind)}")
    groups = collections.defaultdict(list)
    for number, kind, what, command, how in found:
        groups[kind, command.split(" ")[0], hashlib.sha1(what[:40].encode()).hexdigest()].append((number, what, command, how))
    for (kind, _, _), ones in sorted(groups.items(), key=lambda item: -len(item[1])):
        number, what, command, how = ones[0]
        print(f"{kind}, {len(ones)} times, as of mutant {number} ({how}):\n  lacuna {command}\n  {what[:300]}")
    if found:
        print(f"kept with the calls to repeat them: {keep}")


def main():
    parser = argparse.ArgumentParser(prog="attack", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="the folder with lacuna and lacuna-gui")
    parser.add_argument("--mutants", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same mutants")
    parser.add_argument("--only", type=lambda text: [int(number) for number in text.split(",")],
                        help="the mutants of these numbers alone, with commas, of the seeds that the last run left in the --keep folder if it did")
    parser.add_argument("--commands", type=int, default=0, help="so many commands for each mutant, picked by chance (default: all)")
    parser.add_argument("--kinds", default="", help=f"seeds of these kinds alone ({', '.join(seeds.MUTATORS)}), with commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=20, help="of processor time; a call that takes more is a hang, however busy the machine is (default: 20)")
    parser.add_argument("--rest", type=float, default=60, help="seconds; so is one that neither runs nor waits for a core for longer, as one that is blocked (default: 60)")
    parser.add_argument("--memory", type=int, default=2048, help="MiB; a call that takes more is a blow-up")
    parser.add_argument("--keep", default="attack-findings", help="the folder for mutants that something is wrong with")
    parser.add_argument("--no-recordings", dest="recordings", action="store_false", help="no seeds that take recording programs first, some ten seconds")
    parser.add_argument("--gui-every", type=int, default=10, help="a window is opened for one mutant of so many, each time with the next page (default: 10)")
    parser.add_argument("--no-gui", dest="gui", action="store_false")
    options = parser.parse_args()
    for kind in filter(None, options.kinds.split(",")):
        if kind not in seeds.MUTATORS:
            parser.error(f"--kinds {kind}: there are {', '.join(seeds.MUTATORS)}")
    options.gui = options.gui and (pathlib.Path(options.bin) / "lacuna-gui").exists()
    if not (pathlib.Path(options.bin) / "lacuna").exists():
        parser.error(f"there is no {options.bin}/lacuna; build it first")
    if not seeds.can_seal():
        print("attack: libxxhash is not here, so damage of .lcn files stays in front of their checksums", file=sys.stderr)
    keep = pathlib.Path(options.keep).resolve()
    if options.only is None:
        shutil.rmtree(keep, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="lacuna-attack-seeds-") as folder:
        result = attack_all(options, pathlib.Path(folder), keep)
    summary(options, *result, keep)
    return 1 if result[2] else 0


if __name__ == "__main__":
    sys.exit(main())
