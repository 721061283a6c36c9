# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""completion_test.py LACUNA: what shells propose behind `lacuna`, asked from the command and from the shells that are here."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

LACUNA = os.path.abspath(sys.argv[1])


def proposed(*words):
    done = subprocess.run([LACUNA, "--complete", *words], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def commands():
    """Those that --help lists."""
    page = subprocess.run([LACUNA, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    return [line.split()[0] for line in page.split("Subcommands:")[1].splitlines() if line.startswith("  ") and line[2] != " "]


class Command(unittest.TestCase):
    def test_commands_are_those_of_the_help(self):
        self.assertEqual([word for word in proposed("") if not word.startswith("-")], commands())
        self.assertEqual(proposed("wh"), ["whatif"])
        self.assertIn("--version", proposed("--"))
        self.assertEqual(proposed("no-such", "--"), [])

    def test_options_are_those_of_the_command(self):
        names = proposed("report", "--")
        for name in ("--section", "--csv", "--json", "--steps", "--budget"):
            self.assertIn(name, names)
        self.assertEqual(proposed("report", "run.lcn", "--sec"), ["--section"])
        self.assertNotIn("--former", proposed("convert", "--"), "hidden options stay hidden")
        self.assertIn("--output", proposed("convert", "a.lcn", "--"))

    def test_changes_are_those_that_whatif_lists(self):
        listed = json.loads(subprocess.run([LACUNA, "whatif", "--list", "--json"], capture_output=True, text=True, check=True,
                                           timeout=60).stdout)["changes"]
        expected = set()
        for change in listed:
            name, names = change["name"], change["names"]
            if not change["form"]:
                continue
            if change["argument"] == "word":
                expected |= {f"{name}={value}" for value in change["values"]}
            elif change["argument"] == "number":
                expected.add(f"{name}=")
            elif change["argument"] == "factor":
                expected |= ({f"{name}*"} if names != "needed" else set()) | ({f"{name}:"} if names != "none" else set())
            else:
                expected.add(name)
        self.assertGreater(len(expected), 20)
        self.assertEqual(set(proposed("whatif", "run.lcn", "")), expected)
        self.assertEqual(set(proposed("whatif", "run.lcn", "amp=on", "")), expected, "several changes are played together")
        self.assertEqual(proposed("whatif", "run.lcn", "loader.work"), ["loader.workers="])
        self.assertEqual(proposed("whatif", ""), [], "a file stands there")

    def test_a_list_goes_on_behind_its_comma(self):
        self.assertIn("--section=loader", proposed("report", "--section=lo"))
        self.assertEqual(proposed("report", "--section", "steps,lo"), ["steps,loader"])
        self.assertEqual(proposed("report", "--cause", "loader_"), ["loader_wait"])

    def test_values_are_known_where_the_command_knows_them(self):
        self.assertIn("loader_stages", proposed("report", "--csv", "lo"))
        self.assertEqual(proposed("convert", "a.lcn", "--to", "per"), ["perfetto"])
        self.assertEqual(proposed("report", "--steps", ""), [], "nobody knows")
        self.assertEqual(proposed("completion", ""), ["bash", "zsh", "fish"])

    @unittest.skipUnless("run" in commands(), "built without the collector")
    def test_the_recorded_program_is_completed_by_the_shell(self):
        self.assertEqual(proposed("run", "--trace", "nvtx,cu"), ["nvtx,cuda", "nvtx,cublas", "nvtx,cudnn", "nvtx,cusparse", "nvtx,cusolver"])
        self.assertEqual(proposed("run", "--", "python", "--"), [])
        self.assertEqual(proposed("run", "pyth"), [])
        self.assertEqual(proposed("run", "--set", "amp=on,fu"), ["amp=on,fuse=on"])
        self.assertEqual(proposed("tune", "--knobs", "amp,fu"), ["amp,fuse"])
        self.assertEqual(proposed("tune", "--", "python", "--"), [])

    def test_an_unknown_shell_is_named(self):
        done = subprocess.run([LACUNA, "completion", "csh"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'csh'", done.stderr)
        self.assertIn("bash, zsh and fish", done.stderr)


@unittest.skipUnless(shutil.which("bash"), "no bash")
class Bash(unittest.TestCase):
    def reply(self, line):
        """The words that bash would put in the place of the last one."""
        script = f'source <("{LACUNA}" completion bash); COMP_LINE=$1; COMP_POINT=${{#COMP_LINE}}; compopt() {{ :; }}; _lacuna; printf "%s\\n" "${{COMPREPLY[@]}}"'
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "lacuna").symlink_to(LACUNA)
            done = subprocess.run(["bash", "--norc", "-c", script, "bash", line], capture_output=True, text=True, check=True, timeout=60,
                                  env=dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"]))
        self.assertEqual(done.stderr, "")
        return done.stdout.split("\n")[:-1]

    def test_proposes_what_the_command_proposes(self):
        self.assertEqual(self.reply("lacuna wh"), ["whatif"])
        self.assertEqual(self.reply("lacuna report --csv loader_"), ["loader_stages"])
        self.assertEqual(self.reply("lacuna report "), [""], "files are left to bash")

    def test_replaces_only_what_follows_an_equals_sign(self):
        self.assertEqual(self.reply("lacuna report --section=lo"), ["loader"])
        self.assertEqual(self.reply("lacuna whatif run.lcn amp=o"), ["on", "off"])


@unittest.skipUnless(shutil.which("zsh"), "no zsh")
class Zsh(unittest.TestCase):
    def test_the_script_is_read(self):
        done = subprocess.run(["zsh", "-f", "-c", f'autoload -U compinit && compinit -D -u; source <("{LACUNA}" completion zsh); whence -w _lacuna'],
                              capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(done.stdout, "_lacuna: function\n")


@unittest.skipUnless(shutil.which("fish"), "no fish")
class Fish(unittest.TestCase):
    def test_proposes_what_the_command_proposes(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "lacuna").symlink_to(LACUNA)
            done = subprocess.run(["fish", "-N", "-c", 'lacuna completion fish | source; complete -C "lacuna whatif run.lcn loader.work"'],
                                  capture_output=True, text=True, check=True, timeout=60,
                                  env=dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"], HOME=folder))
        self.assertEqual(done.stdout.split(), ["loader.workers="])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
