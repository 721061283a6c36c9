# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""What the attack script finds in programs that do something wrong, and that its mutants are those of their seed."""

import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import mutate_lcn  # noqa: E402
import native  # noqa: E402
import seeds  # noqa: E402
import verdict  # noqa: E402
import watch  # noqa: E402

TRACE = (seeds.ROOT / "tests/data/format-1.0.lcn").read_bytes()


class Verdicts(unittest.TestCase):
    def ended(self, program, limits=watch.Limits(1, 1, 200, 1)):
        with tempfile.TemporaryDirectory() as folder:
            out, err = pathlib.Path(folder) / "out", pathlib.Path(folder) / "err"
            ended = watch.run([sys.executable, "-c", program], folder, out, err, limits, {})
            return verdict.ending(ended, err.read_bytes(), (0, 1, 2), (), b"lacuna: error:")

    def test_programs_that_end_badly_are_found(self):
        for kind, program in (("crash", "import os; os.kill(os.getpid(), 8)"), ("hang", "while True: pass"), ("hang", "import time; time.sleep(60)"),
                              ("hang", "import threading, time; threading.Thread(target=lambda: time.sleep(60)).start()"),
                              ("blow-up", "a = bytearray(1 << 29)"),
                              ("blow-up", "print('a' * (3 << 20))"), ("exit code", "exit(7)"), ("exit code", "exit(1)"),
                              ("crash", "import sys; sys.stderr.write('x.cpp:1: runtime error: y')"),
                              ("output", r"import sys; sys.stderr.write('lacuna: error: \x1b[2J'); exit(1)")):
            with self.subTest(program):
                self.assertEqual((self.ended(program) or ("nothing",))[0], kind)

    def test_programs_that_end_well_pass(self):
        self.assertIsNone(self.ended("print('well')"))
        self.assertIsNone(self.ended("import sys; sys.stderr.write('lacuna: error: x'); exit(1)"))

    def test_output_that_is_not_valid_is_found(self):
        for wrong in (verdict.strict_json(b'{"a": NaN}'), verdict.strict_json(b'{"a": 1, "a": 2}'), verdict.strict_json(b'{"a": "\xff"}'), verdict.strict_json(b"{"),
                      verdict.plain(b"a\x1b[2J"), verdict.plain(b"\xc2\x9b"), verdict.page(b"<p><script>x</script></p>"), verdict.page(b"<p><b></p>"),
                      verdict.table(b"a,b\n1\n"), verdict.stacks(b"main;x\n"), verdict.xml_document(b"<a>")):
            self.assertTrue(wrong)
        for right in (verdict.strict_json(b'{"a": [1, null]}'), verdict.plain("µs\n".encode()), verdict.page(b"<p>a<br></p>"), verdict.table(b'a,b\n"1\n2",3\n'),
                      verdict.stacks(b"main;x 7\n"), verdict.xml_document(b"<a/>")):
            self.assertEqual(right, "")


class Mutants(unittest.TestCase):
    def test_a_seed_makes_the_same_mutants(self):
        some = [("lcn", "a", TRACE), ("json", "b", seeds.kineto())]
        first, again = ([seeds.mutant(random.Random(n), some) for n in range(20)] for _ in range(2))
        self.assertEqual(first, again)
        self.assertGreater(len({data for _, data in first}), 15)

    @unittest.skipUnless(native.XXHASH, "libxxhash is not here")
    def test_checksums_of_changed_blocks_are_right(self):
        sealed = bytearray(TRACE)
        found = mutate_lcn.blocks(TRACE)
        self.assertGreater(len(found), 5)
        self.assertEqual(found[-1].end + 40, len(TRACE))
        for block in found:
            mutate_lcn.seal(sealed, block)
        self.assertEqual(bytes(sealed), TRACE)


if __name__ == "__main__":
    unittest.main()
