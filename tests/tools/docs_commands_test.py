# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""docs_commands_test.py ROOT LACUNA: runs the `lacuna` commands of all pages: each line of a code block, and each command in
backticks that names a file, an option's value or a program.

Each command runs in a folder of its own, which holds a small trace under every name that the command reads. `lacuna run`
and `lacuna tune` get the program `true` in the place of theirs. Wrong usage (exit code 2) and a death by signal are faults.
Exit code 1 is one too, unless ALLOWED names the reason. NOT_RUN lists the commands that are not run, and why."""

import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
LACUNA = str(pathlib.Path(sys.argv[2]).resolve())
LEFT_OUT = ("build", ".git", ".github", ".deps")
PAGES = sorted(page for page in ROOT.rglob("*.md") if page.relative_to(ROOT).parts[0] not in LEFT_OUT and page.name != "CHANGELOG.md")
COMMAND = re.compile(r"(?:\$ |sudo )?lacuna [a-z]+(?: .*)?$")
TIME_LIMIT_S = 60
UNUSED_PID = "4194305"  # above the largest that Linux gives

# command or option: why it is not run
NOT_RUN = {
    "gui": "opens a window; tests/gui runs it without a display",
    "calibrate": "measures kernels for minutes",
    "--calibration": "needs the result of lacuna calibrate",
    "captures": "decodes raw captures, which need a GPU to be made; tests/collector decodes committed ones",
    "--standby": "waits for a trigger; tests/e2e/standby runs it",
}
# command: (what it prints where it may end with 1, why)
ALLOWED = {
    "trigger": ("there is no (process|job)", "nothing is recorded here"),
    "attach": ("there is no process", "nothing is on standby here"),
    "tune": ("no step was seen", "the program `true` does not train"),
    "recover": ("cannot open OUT.lcn.recording", "no recording was killed here"),
}
# Words of a synopsis in the place of values.
VALUES = {"PID": UNUSED_PID, "N": "1", "B": "second.lcn", "OUT": "out.lcn", "SELECT …": "SELECT 1", "…": None}
READS = {".lcn": "first.lcn", ".json.gz": "first.json.gz", ".sqlite": "first.sqlite", ".pickle": "snapshot.pickle"}
FILES_OF_SYNOPSIS = ("FILE", "IN", "A", "BEFORE", "AFTER")
WRITES = ("-o", "--output")
RECORDS = ("run", "tune")


def texts(page):
    """(line number, text, whether it is of a code block)."""
    fenced = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield number, line.strip(), True
        else:
            for text in re.findall(r"`([^`]+)`", line):
                yield number, text, False


def words_of(text):
    """The words of a command without optional parts of a synopsis; None where it is only a command's name."""
    text = re.sub(r"^(\$ |sudo )", "", re.sub(r"\[[^\]]*\]", "", text))
    words = shlex.split(text, comments=True)
    words = [word for word in (VALUES.get(word, word) for word in words) if word is not None]
    if words[1] in ("trigger", "attach") and words[2:] and words[2].isdigit():
        words[2] = UNUSED_PID  # somebody may have the number of the example
    return words


def is_whole(words, in_block):
    """Whether it is a command to type, not a mention of one."""
    if in_block:
        return len(words) > 1
    return "--" in words or any(word in FILES_OF_SYNOPSIS or re.search(r"\.\w+$", word) for word in words[2:]) or UNUSED_PID in words[2:-1]


def reason_not_run(words):
    return next((why for key, why in NOT_RUN.items() if key in words[1:]), None)


def commands():
    """{words: [place]} of the commands to run, and {reason: count} of the others."""
    found, left_out = {}, {}
    for page in PAGES:
        for number, text, in_block in texts(page):
            if not COMMAND.match(text):
                continue
            words = words_of(text)
            if not is_whole(words, in_block):
                continue
            why = reason_not_run(words)
            if why:
                left_out[why] = left_out.get(why, 0) + 1
                continue
            if words[1] in RECORDS and "--" in words:
                words = words[:words.index("--") + 1] + ["true"]
            found.setdefault(tuple(words), []).append(f"{page.relative_to(ROOT)}:{number}")
    return found, left_out


class Runner:
    """A folder with traces, below which each command has a folder of its own."""

    def __init__(self, root):
        self.root = root
        for name, seed in (("first", 1), ("second", 2)):
            self.call(root, "generate", "-o", f"{name}.lcn", "--steps", "24", "--layers", "1", "--processes", "2", "--seed", str(seed))
        for suffix in ("json.gz", "sqlite"):
            for name in ("first", "second"):
                self.call(root, "convert", f"{name}.lcn", "-o", f"{name}.{suffix}")
        subprocess.run([sys.executable, pathlib.Path(__file__).with_name("make_pickle.py"), "snapshot", "2", root / "snapshot.pickle"], check=True)
        self.environment = {**os.environ, "HOME": str(root), "TERM": "dumb", "RANK": "0"}

    @staticmethod
    def call(where, *words):
        subprocess.run([LACUNA, *words], cwd=where, check=True, capture_output=True, timeout=TIME_LIMIT_S)

    def place(self, folder, words):
        """Puts a trace under each name that the command reads, another one under the second; answers the words with patterns expanded."""
        out, placed = [], []
        for index, word in enumerate(words):
            suffix = next((end for end in READS if word.endswith(end)), ".lcn" if word in FILES_OF_SYNOPSIS else None)
            if suffix is None or words[index - 1] in WRITES or index < 2:
                out.append(word)
                continue
            names = [word.replace("*", number) for number in "01"] if "*" in word else [word]
            for name in names:
                source = READS[suffix].replace("first", "second") if placed else READS[suffix]
                placed.append(name)
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.exists():
                    path.symlink_to(self.root / source)
            out += names
        return out

    def run(self, number, words):
        """None, or what is wrong."""
        folder = self.root / str(number)
        folder.mkdir()
        words = self.place(folder, list(words))
        done = subprocess.run([LACUNA, *words[1:]], cwd=folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIME_LIMIT_S)
        if done.returncode == 0:
            return None
        output = (done.stdout + done.stderr).strip()
        pattern, _ = ALLOWED.get(words[1], (None, None))
        if done.returncode == 1 and pattern and re.search(pattern, output):
            return None
        return f"{shlex.join(words)}: ends with {done.returncode}: {output[:300]}"


def records():
    return subprocess.run([LACUNA, "run", "--help"], capture_output=True, timeout=TIME_LIMIT_S).returncode == 0


class Commands(unittest.TestCase):
    def test_every_command_runs(self):
        found, left_out = commands()
        for why, count in sorted(left_out.items()):
            print(f"not run: {count}: {why}")
        if not records():  # without NVTX headers the collector is not built
            found = {words: places for words, places in found.items() if words[1] not in (*RECORDS, "trigger", "attach", "doctor")}
        self.assertGreater(len(found), 50)
        with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(2) as pool:
            runner = Runner(pathlib.Path(place).resolve())
            faults = list(pool.map(runner.run, range(len(found)), found))
        wrong = [f"{', '.join(places)}: {fault}" for fault, places in zip(faults, found.values()) if fault]
        print(f"{len(found)} different commands ran")
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_a_wrong_command_is_found(self):
        with tempfile.TemporaryDirectory() as place:
            runner = Runner(pathlib.Path(place).resolve())
            for number, text in enumerate(("lacuna report FILE --section nonsense", "lacuna report run.lcn --nonsense", "lacuna query run.lcn 'SELECT gone FROM kernel'",
                                           "lacuna whatif run.lcn nonsense=1")):
                self.assertIsNotNone(runner.run(number, words_of(text)), text)
            self.assertIsNone(runner.run("right", words_of("$ lacuna report FILE --section ledger [--json]   # a comment")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
