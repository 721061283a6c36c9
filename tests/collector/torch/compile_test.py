# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Runs `lacuna run` on programs that compile with a stand-in for PyTorch. Usage: compile_test.py LACUNA CORE_FOLDER"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LACUNA = CORE = None


class Compiling(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def record(self, case, **variables):
        environment = dict(os.environ, PYTHONPATH=os.path.join(HERE, "fake"), FAKE_TORCH_CORE=CORE, **variables)
        self.trace = os.path.join(self.folder.name, "out.lcn")
        done = subprocess.run(
            [LACUNA, "run", "-q", "--force", "-o", self.trace, "--", sys.executable, os.path.join(HERE, "compiling.py"), case],
            env=environment, cwd=self.folder.name, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def query(self, sql):
        done = subprocess.run([LACUNA, "query", "--json", self.trace, sql], capture_output=True, text=True, check=True)
        return [tuple(row.values()) for row in json.loads(done.stdout)]

    def test_the_compiler_sees_the_call_of_modules_that_it_knows(self):
        self.assertEqual(self.record("modules"), "the compiler finds its own call True\nand after a reset True\nours is back True\n")

    def test_a_compiled_model_has_the_ranges_of_the_program_s_own(self):
        self.record("modules")
        self.assertEqual(self.query("select name, count(*) from range where category = 'module' group by name"), [("Net", 2)])

    def test_a_compilation_is_a_phase_without_the_operators_that_are_tried_in_it(self):
        self.record("modules")
        self.assertEqual(self.query("select name, count(*) from range where category = 'phase' and name != 'garbage collection' group by name"),
                         [("compile", 2), ("forward", 2)])
        self.assertEqual(self.query("select count(*) from range where name = 'aten::traced'"), [(0,)])

    def test_reasons_of_breaks_and_recompilations_are_marks(self):
        self.assertEqual(self.record("reasons"), "the error of the program\n")
        marks = self.query("select name, text from mark where name != 'hello' order by timeNs")
        with open(os.path.join(HERE, "compiling.py"), encoding="utf-8") as file:
            line = next(number for number, words in enumerate(file, 1) if words.strip() == "def recompiled():")
        self.assertEqual(marks, [
            ("graph break", "net.py:3: Call to graph_break()"), ("graph break", "net.py:8: Call to graph_break()"),
            ("recompilation", f"compiling.py:{line} recompiled: 0/0: size of x"),
            ("graph break", "net.py:9: Call to graph_break()"),
            ("recompilation", f"compiling.py:{line} recompiled: no guard of the code compiled before holds")])

    def test_kernels_of_compiled_code_are_operators_with_their_origin(self):
        self.assertEqual(self.record("kernels"), "kernel (3,) {'size': 2}\nlaunched 3 1\nresult 7\n"
                         "kernel (4,) {'size': 2}\nlaunched 4 1\nresult 7\n")
        rows = self.query("select name, text, count(*) from range where category = 'operator' and name like '%fused%' "
                          "group by name, text order by name")
        self.assertEqual(rows, [("cpp_fused_relu_0", "aten.addmm aten.relu | hidden block.0.act | net.py:4 net.py:5", 2),
                                ("triton_poi_fused_0", "", 2)])

    def test_kernels_are_executions_and_the_region_around_them_is_none(self):
        self.record("kernels")
        self.assertEqual(self.query("select name, count(*) from kernel where name not like 'aten::%' group by name order by name"),
                         [("cpp_fused_relu_0", 2), ("triton_poi_fused_0", 2)])
        self.assertEqual(self.query("select count(*) from range where name like 'Torch-Compiled%'"), [(1,)])

    def test_it_can_be_left_out(self):
        self.record("kernels", LACUNA_TORCH="operators,modules")
        self.assertEqual(self.query("select count(*) from range where name like '%fused%'"), [(0,)])


if __name__ == "__main__":
    LACUNA, CORE = (os.path.abspath(word) for word in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
