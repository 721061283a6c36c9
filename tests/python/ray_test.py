# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The plug-in of Ray with a stand-in for its classes: ray_test.py LACUNA"""

import asyncio
import shlex
import subprocess
import sys
import types
import unittest

from built import InFolder

parts = ("ray", "ray._private", "ray._private.runtime_env", "ray._private.runtime_env.plugin")
for part in parts:
    sys.modules[part] = types.ModuleType(part)
sys.modules[parts[-1]].RuntimeEnvPlugin = object

from lacuna.integrations.ray import LacunaPlugin  # noqa: E402


class Ray(InFolder):
    def start(self, entry, program):
        """As Ray's agent starts a worker: a line for bash."""
        environment = {"lacuna": entry}
        plugin = LacunaPlugin()
        plugin.validate(environment)
        asyncio.run(plugin.create(None, environment, None, logger=None))
        context = types.SimpleNamespace(py_executable=sys.executable)
        plugin.modify_context([], environment, context, None)
        return subprocess.run(["bash", "-c", f"exec {context.py_executable} {shlex.join(['-c', program])}"],
                              capture_output=True, text=True, timeout=60, check=False)

    def test_each_worker_has_a_trace_of_its_own_in_a_folder_that_is_made(self):
        folder = self.folder / "the traces"
        for code in (0, 7):
            done = self.start(str(folder), f"import lacuna, sys\nwith lacuna.range('work'): pass\nprint('out'); sys.exit({code})")
            self.assertEqual((done.returncode, done.stdout), (code, "out\n"), done.stderr)
        traces = sorted(folder.glob("*.lcn"))
        self.assertEqual(len(traces), 2)
        for trace in traces:
            self.assertEqual(self.ranges(trace), {"work": 1})

    def test_options_of_lacuna_run_are_handed_on(self):
        done = self.start({"folder": str(self.folder), "options": ["--trace", "nvtx"]}, "print(1)")
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = next(self.folder.glob("*.lcn"))
        self.assertEqual(self.trace(trace).sql("SELECT count(*) AS n FROM python_sample"), [{"n": 0}])

    def test_an_entry_that_makes_no_sense_names_the_remedy(self):
        for entry, words in (("traces", "absolute path"), ({"folder": "/x", "out": 1}, "names no folder"), (3, "names no folder"),
                             ({"folder": "/x", "options": "-q"}, "list of texts")):
            with self.assertRaisesRegex(ValueError, words):
                LacunaPlugin.validate({"lacuna": entry})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
