# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""new_test.py ROOT [COMPILE_COMMANDS]: scripts/new makes one of each kind in a copy of the tree. The checks that need no
build pass there, and with the commands of a build the compiler finds no fault in the new sources."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
COMMANDS = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
# The target whose flags a new source is checked with, by the beginning of its path. Sources of one target are read as one
# file, as unity builds do: most of the time goes into the headers that they share.
TARGETS = {"analyzer/src/": "lacuna_analyzer", "cli/src/": "lacuna_cli_commands", "runtime/src/": "runtime_ops_test", "tests/runtime/": "runtime_ops_test",
           "tests/analyzer/": "analyzer_rules_test", "tests/libprof/": "analyzer_rules_test", "gui/src/": "gui_window_test", "tests/gui/": "gui_window_test"}
# The line that registers each new thing.
REGISTRATIONS = {
    "analyzer/src/analyses/registry.h": "ANALYSIS(queueUse)",
    "analyzer/include/lacuna/analyzer/findings.h": "FINDING(TokenCache)",
    "analyzer/src/whatif/changes/registry.h": "CHANGE(matrixProducts)",
    "analyzer/include/lacuna/analyzer/files.h": "IMPORTER(TokenLog)",
    "runtime/include/lacuna/runtime/ops.h": "Tensor mish(const Tensor& x);",
    "cli/src/commands.h": "COMMAND(Longest)",
    "gui/src/views/page_list.cpp": "makePage<DevicesPage>},",
    "libprof/include/lacuna/prof/events.h": "COLUMN(std::uint64_t, priority, Plain,",
}
MOST_FILES = 4  # that a new thing takes besides its documents


def run(*words, where, **options):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run([str(word) for word in words], cwd=where, env=environment, capture_output=True, text=True, check=False, timeout=300, **options)


def copy_of_scripts(folder):
    """A tree that has nothing but scripts/new and the files that it changes."""
    for name in ("scripts/new", "scripts/format", ".clang-format", "docs/README.md", "docs/findings/README.md", "docs/gui.md", "docs/importing.md", "docs/schema.md", "docs/runtime-operators.md", "docs/analyses/findings.md",
                 "docs/analyses/whatif.md", "tests/runtime/ops/undefined_test.cpp", *REGISTRATIONS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    shutil.copytree(ROOT / "scripts/templates", folder / "scripts/templates")


class EveryKind(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.root = pathlib.Path(place.name).resolve() / "copy"
        done = run(ROOT / "scripts/new", "--try", cls.root, where=ROOT)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.files = re.findall(r"^(?:wrote|changed) +(\S+)$", done.stdout, re.M)

    def test_each_is_registered(self):
        for path, line in REGISTRATIONS.items():
            self.assertIn(path, self.files)
            self.assertIn(line, (self.root / path).read_text(), path)
            self.assertNotIn(line, (ROOT / path).read_text(), path)

    def test_no_placeholder_is_left(self):
        for path in self.files:
            self.assertNotRegex((self.root / path).read_text(), r"@(?:name|camel|Camel|kebab|words|Words|Row|table)@", path)

    def test_the_checks_that_need_no_build_pass(self):
        tools = self.root / "tests/tools"
        sources = [path for path in self.files if path.endswith((".cpp", ".h"))]
        for words in (["scripts/format", "--check", *sources], ["scripts/arrows", "--quiet"], ["scripts/prose", "--check"],
                      [sys.executable, tools / "docs_test.py", self.root], [sys.executable, tools / "includes_lint.py", self.root],
                      [sys.executable, tools / "rules_lint.py", self.root], [sys.executable, tools / "finding_pages_test.py", self.root], [sys.executable, tools / "numbers_lint.py", self.root / "analyzer/src/whatif"]):
            if words[0] == "scripts/format" and not (shutil.which("clang-format-14") or shutil.which("clang-format")):
                continue
            done = run(*words, where=self.root)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_new_tests_in_python_are_python(self):
        for path in self.files:
            if path.endswith(".py"):
                compile((self.root / path).read_text(), path, "exec")

    def test_the_compiler_finds_no_fault(self):
        if COMMANDS is None or not COMMANDS.exists():
            self.skipTest(f"there is no {COMMANDS or 'compile_commands.json'}: cmake --preset ci writes one")
        flags = {}
        for entry in json.loads(COMMANDS.read_text()):
            if "c++-header" not in entry["command"]:
                flags.setdefault(re.search(r"/([\w-]+)\.dir/", entry["command"])[1], entry["command"])
        together = {}
        for path in self.files:
            if path.endswith(".cpp") and not (ROOT / path).exists():
                target = next(target for start, target in TARGETS.items() if path.startswith(start))
                together.setdefault(target, []).append(path)
        known = {target: paths for target, paths in together.items() if target in flags}  # a sanitizer's build has fewer
        self.assertGreater(len(known), 0)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for faults in pool.map(lambda target: self.faults_of(self.words_of(flags[target]), known[target]), known):
                self.assertEqual(faults, "")

    def faults_of(self, words, paths):
        text = "".join(f'#include "{self.root / path}"\n' for path in paths)
        with tempfile.TemporaryDirectory() as generated:
            for path in paths:  # what Qt's compiler writes in a build
                (pathlib.Path(generated) / pathlib.Path(path).with_suffix(".moc").name).touch()
            done = run(*words, "-I", generated, "-fsyntax-only", "-x", "c++", "-", where=self.root, input=text)
        return done.stderr if done.returncode != 0 else ""

    def words_of(self, command):
        """The compiler and its flags, for the copy: without the file, its output and a precompiled header, which has this
        project's own headers in it."""
        words, kept = iter(shlex.split(command.split(" && ")[0])), []
        for word in words:
            if word in ("-o", "-c", "-include", "-Xclang", "-MF", "-MT", "-MQ"):
                next(words)
            elif word not in ("-Winvalid-pch", "-MD"):
                kept.append(re.sub(rf"^((?:-\w|-isystem)?){re.escape(str(ROOT))}/(?!build/)", rf"\g<1>{self.root}/", word))
        return kept


class OneKind(unittest.TestCase):
    """Calls in a small tree."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name).resolve()
        copy_of_scripts(self.root)

    def new(self, *words):
        return run(self.root / "scripts/new", *words, where=self.root)

    def snapshot(self):
        return {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def refused(self, *words):
        before = self.snapshot()
        done = self.new(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        self.assertEqual(self.snapshot(), before, f"{words} changed a file")
        return done.stderr

    def test_each_kind_takes_few_files_and_names_them_and_the_next_commands(self):
        kinds = dict(line.split(maxsplit=1) for line in self.new("--list").stdout.splitlines())
        self.assertGreaterEqual(len(kinds), len(REGISTRATIONS))
        for kind in kinds:
            before = self.snapshot()
            done = self.new(kind, "queue.fresh_idea" if kind == "column" else "fresh_idea")
            self.assertEqual(done.returncode, 0, done.stderr)
            after = self.snapshot()
            touched = {str(path.relative_to(self.root)) for path in after if after[path] != before.get(path)}
            printed, _, following = done.stdout.partition("\nnext:\n")
            self.assertEqual(touched, set(re.findall(r"^(?:wrote|changed) +(\S+)$", printed, re.M)), kind)
            self.assertLessEqual(len([path for path in touched if not path.startswith("docs/")]), MOST_FILES, touched)
            self.assertTrue(any(path.endswith(("_test.cpp", "_test.py")) for path in touched), f"{kind} has no test: {touched}")
            self.assertTrue(any(path.startswith("docs/") for path in touched), f"{kind} has no document: {touched}")
            self.assertIn("cmake --build", following)
            self.assertIn("ctest", following)

    def test_a_second_one_of_the_same_name_is_refused(self):
        for kind, name in (("analysis", "one"), ("finding", "one"), ("change", "one"), ("importer", "one"), ("operator", "one"), ("command", "one"), ("page", "one"), ("column", "mark.one")):
            self.assertEqual(self.new(kind, name).returncode, 0)
            self.assertIn("Remedy: choose another name", self.refused(kind, name), kind)

    def test_names_that_are_taken_elsewhere_are_refused(self):
        for kind, name in (("analysis", "loader"), ("finding", "amp"), ("change", "copy"), ("operator", "relu"), ("command", "info"), ("page", "sql"), ("column", "queue.name")):
            self.assertIn("already", self.refused(kind, name), kind)

    def test_wrong_names_have_a_remedy(self):
        self.assertIn("Remedy: scripts/new finding slow_log\n", self.refused("finding", "SlowLog"))
        self.assertIn("is no name in snake_case", self.refused("finding", "b2"))
        self.assertIn("'class' is a word of C++", self.refused("operator", "class"))
        self.assertIn("a new column needs TABLE.NAME", self.refused("column", "priority"))
        self.assertIn("did you mean 'queue'?", self.refused("column", "queu.priority"))

    def test_an_unknown_kind_is_refused_with_the_nearest_one(self):
        self.assertIn("did you mean 'analysis'? Remedy: scripts/new --list", self.refused("analyis", "one"))
        self.assertIn("a kind and a name are needed", self.refused("finding"))

    def test_a_list_that_has_moved_stops_it_before_it_writes(self):
        registry = self.root / "analyzer/src/analyses/registry.h"
        registry.write_text(registry.read_text().replace("LACUNA_REGISTRY(", "LACUNA_OTHER("))
        self.assertIn("does not define LACUNA_REGISTRY", self.refused("analysis", "one"))

    def test_try_needs_an_empty_folder(self):
        self.assertIn("is not empty", self.refused("--try", self.root))

    def test_the_self_test_builds_and_tests_the_new_things_and_fails_with_them(self):
        stand_ins, calls = self.root / "stand-ins", self.root / "calls"
        stand_ins.mkdir()
        for name, code in (("cmake", 0), ("ctest", 1)):
            (stand_ins / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {calls}\nexit {code}\n')
            (stand_ins / name).chmod(0o755)
        done = run("env", f"PATH={stand_ins}:{os.environ['PATH']}", ROOT / "scripts/new", "--self-test", where=self.root)
        self.assertEqual(done.returncode, 1)
        self.assertIn("this failed in a copy with one of each kind: ctest", done.stderr)
        configured, built, tested = calls.read_text().splitlines()
        self.assertEqual(configured, "cmake --preset ci")
        for target in ("analyzer_rules_test", "gui_devices_page_test", "lacuna_cli", "prof_model_test"):
            self.assertIn(f" {target}", built)
        self.assertIn("cli\\.(longest|help", tested)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
