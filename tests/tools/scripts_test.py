# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""scripts_test.py SCRIPTS: format, lint, setup and others, copied beside a few files of their own, with programs that stand in
for clang-format, clang-tidy and apt. Files that they cannot read must not pass. A wrong call ends with 2 and a message
about the mistake."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv[1]).resolve()

# Lays a file out by writing "tidy" into it; has a complaint about files with "bad" in them.
CLANG_FORMAT = """#!/bin/sh
case $1 in
  --version) echo "clang-format version 14.0" ;;
  --dry-run) shift 2; ! grep -q bad "$@" ;;
  -i) shift; for file; do echo tidy > "$file"; done ;;
  *) echo tidy ;;
esac
"""
CLANG_TIDY = """#!/bin/sh
for file; do :; done
if grep -q bad "$file"; then echo "$file: bad"; exit 1; fi
"""
# A server that does not answer: a warning, and an error only for who asks for one.
APT_GET = """#!/bin/sh
echo "W: Failed to fetch http://127.0.0.1:1/debian/dists/bookworm/InRelease  Could not connect" >&2
case "$*" in *Error-Mode=any*) exit 100 ;; esac
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name).resolve() / "root"
        for name in ("format", "fuzz", "lint", "pictures", "setup", "test"):
            text = (SCRIPTS / name).read_text().replace("/etc/os-release", str(self.root / "os-release"))
            self.write(f"scripts/{name}", text, program=True)
        stubs = {"clang-format-14": CLANG_FORMAT, "clang-tidy-14": CLANG_TIDY, "apt-get": APT_GET, "dpkg-query": "#!/bin/sh\nexit 1\n",
                 "apt-cache": "#!/bin/sh\n", "sudo": '#!/bin/sh\nexec "$@"\n'}
        for name, text in stubs.items():
            self.write(f"../stubs/{name}", text, program=True)
        self.environment = dict(os.environ, PATH=f"{self.root.parent}/stubs:{os.environ['PATH']}", GIT_CONFIG_GLOBAL="/dev/null",
                                GIT_CEILING_DIRECTORIES=str(self.root.parent), LC_ALL="C")
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # set where git itself runs this
            self.environment.pop(name, None)
        self.write("part/good.cpp", "tidy\n")
        self.write("part/bad.cpp", "bad\n")
        self.write("build/dev/compile_commands.json", f'[{{"file": "{self.root}/part/good.cpp"}}, {{"file": "{self.root}/part/bad.cpp"}}]')

    def write(self, name, text, program=False):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if program else 0o644)

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(self.root), *words], check=True, env=self.environment)

    def make_repository(self):
        (self.root / ".gitignore").write_text("build\n")
        self.git("init", "-q", "-b", "main")
        self.commit({})

    def commit(self, files):
        for name, text in files.items():
            self.write(name, text)
        self.git("add", ".")
        self.git("commit", "-q", "-m", "files")

    def run_script(self, *words, where="."):
        done = subprocess.run([self.root / "scripts" / words[0], *words[1:]], cwd=self.root / where, env=self.environment,
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr


class Format(Scripts):
    def check(self, *files, where="."):
        return self.run_script("format", "--check", *files, where=where)

    def test_names_are_seen_from_where_one_is(self):
        self.assertEqual(self.check("good.cpp", where="part")[0], 0)
        code, text = self.check("good.cpp", "bad.cpp", where="part")
        self.assertEqual(code, 1)
        self.assertIn("part/bad.cpp\n", text)
        self.assertEqual(self.check(str(self.root / "part/bad.cpp"), where="..")[0], 1)
        self.assertEqual(self.run_script("format", "bad.cpp", where="part")[0], 0)
        self.assertEqual((self.root / "part/bad.cpp").read_text(), "tidy\n")

    def test_a_name_that_is_no_file_is_a_wrong_call(self):
        code, text = self.check("part/good.cpp", "part/missing.cpp")
        self.assertEqual(code, 2)
        self.assertIn("part/missing.cpp is not a file", text)

    def test_without_git_nothing_passes(self):
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("git does not say which files are ours", text)

    def test_every_file_of_ours_is_checked(self):
        self.make_repository()
        self.assertIn("1 of 2 files", self.check()[1])
        (self.root / "part/bad.cpp").unlink()
        self.assertEqual(self.check()[0], 0)

    def test_a_tree_without_files_does_not_pass(self):
        shutil.rmtree(self.root / "part")
        self.make_repository()
        self.assertEqual(self.check()[0], 1)


class Lint(Scripts):
    def test_names_are_seen_from_where_one_is(self):
        self.assertEqual(self.run_script("lint", "good.cpp", where="part")[0], 0)
        self.assertEqual(self.run_script("lint", "bad.cpp", "--build", "../build/dev", where="part")[0], 1)

    def test_what_cannot_be_checked_does_not_pass(self):
        self.write("part/left_out.cpp", "")
        self.assertEqual(self.run_script("lint", "part/missing.cpp")[0], 2)
        code, text = self.run_script("lint", "part/left_out.cpp")
        self.assertEqual(code, 1)
        self.assertIn("does not compile part/left_out.cpp", text)

    def test_without_git_nothing_passes(self):
        for words in ([], ["--all"]):
            code, text = self.run_script("lint", *words)
            self.assertEqual(code, 1, words)
            self.assertIn("git does not say which files to check", text)

    def test_a_revision_that_is_none_does_not_pass(self):
        self.make_repository()
        self.assertEqual(self.run_script("lint", "--since", "nonsense")[0], 1)
        self.assertEqual(self.run_script("lint", "--since", "HEAD"), (0, "scripts/lint: nothing to check\n"))
        self.assertEqual(self.run_script("lint", "--all")[0], 1)

    def linted(self):
        """What lint complains of without arguments, and its exit code."""
        code, text = self.run_script("lint")
        return code, [line for line in text.splitlines() if line.endswith(": bad")]

    def test_the_main_branch_is_checked_by_its_last_commit(self):
        self.make_repository()
        self.assertEqual(self.linted(), (1, ["part/bad.cpp: bad"]))  # the first commit brought every file
        self.commit({"part/good.cpp": "tidy too\n"})
        self.assertEqual(self.linted(), (0, []))
        self.commit({"part/bad.cpp": "bad as well\n"})
        self.assertEqual(self.linted(), (1, ["part/bad.cpp: bad"]))
        self.write("part/good.cpp", "tidy, not committed\n")
        self.assertEqual(self.linted(), (0, []))

    def test_a_branch_is_checked_from_where_it_left_main(self):
        self.make_repository()
        self.git("checkout", "-q", "-b", "topic")
        self.commit({"part/bad.cpp": "bad as well\n"})
        self.commit({"part/good.cpp": "tidy too\n"})
        self.assertEqual(self.linted(), (1, ["part/bad.cpp: bad"]))
        self.git("branch", "-q", "-D", "main")
        self.assertEqual(self.linted(), (0, []))  # without a main branch: the last commit
        self.git("update-ref", "refs/remotes/origin/main", "HEAD~2")
        self.assertEqual(self.linted(), (1, ["part/bad.cpp: bad"]))

    def test_a_clone_without_the_commit_before_does_not_pass(self):
        self.make_repository()
        self.commit({"part/good.cpp": "tidy too\n"})
        self.git("clone", "-q", "--depth", "1", f"file://{self.root}", f"{self.root.parent}/shallow")
        self.root = self.root.parent / "shallow"
        self.write("build/dev/compile_commands.json", f'[{{"file": "{self.root}/part/good.cpp"}}]')
        code, text = self.run_script("lint")
        self.assertEqual(code, 1)
        self.assertIn("Remedy: git fetch --deepen 1", text)

    def test_a_header_is_checked_through_a_file_that_includes_it(self):
        self.write("part/bad.cpp", '#include "part/shared.h"\nbad\n')
        self.make_repository()
        self.commit({"part/shared.h": "int shared;\n", "part/alone.h": "int alone;\n"})
        code, text = self.run_script("lint")
        self.assertEqual(code, 1)
        self.assertIn("part/bad.cpp: bad", text)
        self.assertIn("part/alone.h is not part of build/dev and stays unchecked", text)
        self.assertEqual(self.run_script("lint", "part/alone.h")[0], 1)

    def test_a_header_is_checked_through_the_file_that_reads_it_alone(self):
        self.write("part/shared.h", "int shared;\n")
        reader = "build/dev/headers/part/shared.h.cpp"
        self.write(reader, "bad\n")
        self.write("part/good.cpp", '#include "part/shared.h"\ntidy\n')
        self.make_repository()
        self.assertEqual(self.run_script("lint", "part/shared.h")[0], 0)
        self.write("build/dev/compile_commands.json", f'[{{"file": "{self.root}/part/good.cpp"}}, {{"file": "{self.root}/{reader}"}}]')
        code, text = self.run_script("lint", "part/shared.h")
        self.assertEqual(code, 1)
        self.assertIn(f"{reader}: bad", text)

    def test_a_build_that_joins_files_is_refused(self):
        self.write("build/ci/compile_commands.json", '[{"file": "build/ci/part.dir/Unity/unity_0_cxx.cxx"}]')
        code, text = self.run_script("lint", "part/good.cpp", "--build", "build/ci")
        self.assertEqual(code, 1)
        self.assertIn("Remedy: cmake --preset clang", text)


class Bench(Scripts):
    """A benchmark that prints what it is given."""

    def setUp(self):
        super().setUp()
        self.write("scripts/bench", (SCRIPTS / "bench").read_text(), program=True)
        self.write("tests/bench/check_limits.py", (SCRIPTS.parent / "tests/bench/check_limits.py").read_text())
        self.write("tests/bench/limits", "# of this test\nmade.ratio <= 1.5\nmade.rate >= 10e6\nother.ratio <= 1\n")
        self.write("build/release/build.ninja", "")
        self.write("../stubs/ninja", "#!/bin/sh\n", program=True)

    def bench(self, *words, ratio=1.5, rate=2e7, code=0):
        lines = [f'{{"name": "made.{name}", "value": {value}, "unit": "1"}}' for name, value in (("ratio", ratio), ("rate", rate), ("free", 9))]
        text = "".join(f"echo '{line}'\n" for line in lines if "None" not in line)
        self.write("tests/bench/made", f'#!/bin/sh\n[ "$1" = --json ] || echo "plain $*"\n{text}exit {code}\n', program=True)
        return self.run_script("bench", "made", *words)

    def test_figures_within_their_limits_pass(self):
        code, text = self.bench("--check")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"made.ratio +1.5 1 +ok: at most 1.5\n")
        self.assertRegex(text, r"made.rate +2e\+07 1 +ok: at least 1e\+07\n")
        self.assertRegex(text, r"made.free +9 1\n")
        self.assertNotIn("other", text)

    def test_one_beyond_its_limit_fails_and_is_named(self):
        for figures, name in (({"ratio": 1.51}, "made.ratio"), ({"rate": 9e6}, "made.rate")):
            code, text = self.bench("--check", **figures)
            self.assertEqual(code, 1)
            self.assertRegex(text, name + r" .* MISSED: at ")
            self.assertIn(f"1 of 2 limits missed: {name}\n", text)

    def test_json_has_the_limits_too(self):
        code, text = self.bench("--json", "--check", ratio=2)
        self.assertEqual(code, 1)
        self.assertIn('{"name": "made.ratio", "value": 2, "unit": "1", "limit": "at most 1.5", "ok": false}\n', text)

    def test_a_benchmark_that_fails_does_not_pass(self):
        self.assertEqual(self.bench("--check", code=3)[0], 3)

    def test_what_was_not_measured_is_named_and_nothing_at_all_does_not_pass(self):
        code, text = self.bench("--check", rate=None)
        self.assertEqual(code, 0)
        self.assertIn("not measured: made.rate\n", text)
        code, text = self.bench("--check", rate=None, ratio=None)
        self.assertEqual(code, 1)
        self.assertIn("nothing was checked", text)

    def test_without_check_nothing_is_held_to_a_limit(self):
        code, text = self.bench("part", ratio=9)
        self.assertEqual(code, 0)
        self.assertIn("plain part\n", text)

    def test_every_limit_is_of_a_figure_that_a_benchmark_prints(self):
        sources = [path.read_text() for path in (SCRIPTS.parent / "tests/bench").rglob("*") if path.is_file() and path.name != "limits" and path.suffix != ".pyc"]
        literals = {text for source in sources for text in re.findall(r'"([a-z0-9_.]{6,})(?:\{\})?"', source)}
        for line in (SCRIPTS.parent / "tests/bench/limits").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            name, kind, limit = line.split()
            self.assertIn(kind, ("<=", ">="), line)
            float(limit)
            figure = name.split(".", 1)[1]
            # Some are put together around the name of a part.
            known = any(text in (name, figure) or name.startswith(text) or name.endswith(text) for text in literals)
            self.assertTrue(known, name)


class Misuse(Scripts):
    def test_an_option_without_its_value_is_named(self):
        for words in (["lint", "--since"], ["lint", "--build"], ["lint", "--limit"], ["test", "--preset"], ["fuzz", "-t"], ["fuzz", "-t", "soon"],
                      ["setup", "--list", "--nonsense"]):
            code, text = self.run_script(*words)
            self.assertEqual(code, 2, words)
            self.assertIn(f"scripts/{words[0]}: ", text, words)
            self.assertIn(words[-1] if words[-1].startswith("-") else "-t", text, words)

    def test_traces_for_pictures_are_seen_from_where_one_is(self):
        for program in ("lacuna", "lacuna-gui", "faulty"):
            self.write(f"build/release/bin/{program}", "#!/bin/sh\nexit 1\n", program=True)
        self.write("part/before.lcn", "")
        code, text = self.run_script("pictures", "before.lcn", "after.lcn", where="part")
        self.assertEqual((code, text), (2, f"scripts/pictures: {self.root}/part/after.lcn is not a file\n"))


class Setup(Scripts):
    def test_lists_that_cannot_be_fetched_are_named_as_the_reason(self):
        code, text = self.run_script("setup")
        self.assertEqual(code, 1)
        self.assertIn("the lists of packages could not be fetched", text)
        self.assertIn("nothing is known of: g++", text)
        self.assertIn("Failed to fetch", text)

    def test_a_package_that_is_nowhere_is_named(self):
        self.write("../stubs/apt-get", "#!/bin/sh\n", program=True)
        code, text = self.run_script("setup")
        self.assertEqual(code, 1)
        self.assertIn("this system's packages have none of: g++", text)

    def set_up_on(self, system, clang, group="--dev"):
        """Runs setup with a group on a system whose archive has every package, and clang of that version."""
        self.write("os-release", system)
        self.write("scripts/setup", (self.root / "scripts/setup").read_text().replace("\ninstall_nvtx\n", "\n"), program=True)
        self.write("../stubs/apt-get", "#!/bin/sh\n", program=True)
        self.write("../stubs/apt-cache", f"""#!/bin/sh
case $1 in
  madison) echo "$2 | 1.0 | archive" ;;
  depends) printf 'clang\\n  Depends: clang-{clang}\\n  Breaks: <clang-3.2>\\n' ;;
esac
""", program=True)
        code, text = self.run_script("setup", group)
        self.assertEqual(code, 0, text)
        return text

    def test_a_group_brings_its_own_packages_alone(self):
        for group, has, lacks in (("--docs", "install doxygen:", "install clang-format-14:"), ("--dev", "install clang-format-14:", "install doxygen:")):
            text = self.set_up_on('ID=debian\nVERSION_ID="12"\n', 14, group)
            self.assertIn("install cmake:", text)
            self.assertIn(has, text)
            self.assertNotIn(lacks, text)

    def test_the_runtime_is_that_of_the_systems_clang(self):
        for clang in (14, 18, 19):
            text = self.set_up_on('ID=debian\nVERSION_ID="12"\n', clang)
            self.assertIn(f"install libclang-rt-{clang}-dev:", text)
            self.assertEqual(text.count("install libclang-"), 1)

    def test_an_installed_clang_names_its_own_runtime(self):
        self.write("../stubs/dpkg-query", """#!/bin/sh
case "$*" in
  *Status*" clang") echo -n installed ;;
  *Depends*" clang") echo -n "clang-16 (>= 16~)" ;;
  *) exit 1 ;;
esac
""", program=True)
        self.assertIn("install libclang-rt-16-dev:", self.set_up_on("ID=debian\n", 14))

    def test_only_on_debian_12_it_is_not_reported_as_untested(self):
        self.assertNotIn("untested", self.set_up_on('ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"\n', 14))
        for name, words in (("Debian 13", 'ID=debian\nVERSION_ID="13"\n'), ("Ubuntu 24.04", 'ID=ubuntu\nVERSION_ID="24.04"\n'),
                            ("this system", "")):
            named = f'PRETTY_NAME="{name}"\n' if words else ""
            self.assertIn(f"scripts/setup: untested on {name}; tested on Debian 12 only\n", self.set_up_on(words + named, 18))
        self.assertIn("Tested on Debian 12 only", self.run_script("setup", "--help")[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
