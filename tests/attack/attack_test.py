# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the attack script finds the faults of programs, and that a seed always gives the same mutants."""

import pathlib
import pickle
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import build_lcn  # noqa: E402
import mutate_bytes  # noqa: E402
import mutate_lcn  # noqa: E402
import mutate_perfetto  # noqa: E402
import mutate_pickle  # noqa: E402
import mutate_records  # noqa: E402
import native  # noqa: E402
import seeds  # noqa: E402
import verdict  # noqa: E402
import watch  # noqa: E402

TRACE = (seeds.ROOT / "tests/data/format-1.0.lcn").read_bytes()
CAPTURE = (seeds.ROOT / "tests/data/cupti/every-kind/cupti-1.raw").read_bytes()


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

    def test_memory_that_the_attack_itself_took_is_not_the_programs(self):
        held = b"x" * (300 << 20)
        del held
        self.assertIsNone(self.ended("print('well')"))

    def test_large_output_is_checked_as_small_output_is(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"[" + b"1," * (verdict.LARGE // 2) + b"1]")
            file.flush()
            path = pathlib.Path(file.name)
            self.assertEqual(verdict.of_file(path, verdict.strict_json), "")
            file.write(b"]")
            file.flush()
            self.assertIn("is no JSON", verdict.of_file(path, verdict.strict_json))
            self.assertIn("ZeroDivisionError", verdict.of_file(path, lambda data: str(1 // (len(data) - len(data)))))

    def test_output_that_is_not_valid_is_found(self):
        for wrong in (verdict.strict_json(b'{"a": NaN}'), verdict.strict_json(b'{"a": 1, "a": 2}'), verdict.strict_json(b'{"a": "\xff"}'), verdict.strict_json(b"{"),
                      verdict.plain(b"a\x1b[2J"), verdict.plain(b"\xc2\x9b"), verdict.page(b"<p><script>x</script></p>"), verdict.page(b"<p><b></p>"),
                      verdict.table(b"a,b\n1\n"), verdict.stacks(b"main;x\n"), verdict.xml_document(b"<a>")):
            self.assertTrue(wrong)
        for right in (verdict.strict_json(b'{"a": [1, null]}'), verdict.plain("µs\n".encode()), verdict.page(b"<p>a<br></p>"), verdict.table(b'a,b\n"1\n2",3\n'),
                      verdict.stacks(b"main;x 7\n"), verdict.xml_document(b"<a/>")):
            self.assertEqual(right, "")


class Mutants(unittest.TestCase):
    def some(self):
        pickled = mutate_pickle.usual(mutate_pickle.Assembler(), random.Random(1))
        held = mutate_records.Sparse(1 << 24, {0: bytes(range(256)) * 16, 1 << 21: b"\1" * 4096})
        return [("lcn", "a", TRACE), ("json", "b", seeds.kineto()), ("pickle", "c", pickled), ("capture", "d", CAPTURE), ("gzip", "e", mutate_bytes.gz(seeds.kineto())),
                ("perfetto", "f", mutate_perfetto.tracks(random.Random(2), b"")), ("recording", "g", {"x.lcr": held, "settings": bytes(48), "checkpoint": bytes(90)})]

    def test_a_seed_makes_the_same_mutants(self):
        build_lcn.TABLES.clear()
        first, again = ([seeds.mutant(random.Random(n), self.some()) for n in range(60)] for _ in range(2))
        self.assertEqual([mutant.how for mutant in first], [mutant.how for mutant in again])
        bytes_of = lambda mutant: b"".join(held for _, held in sorted(mutant.files.items()) if isinstance(held, bytes))
        self.assertEqual([mutant.how for mutant, other in zip(first, again) if bytes_of(mutant) != bytes_of(other)], [])
        self.assertEqual({mutant.kind for mutant in first}, {kind for kind, _, _ in self.some()})

    def test_mutations_of_mutations_stay_small(self):
        for n in range(3):
            data = b"".join(mutate_perfetto.packet(b"\x0a\x08" + b"a" * 8) for _ in range(20))
            for _ in range(6):
                data = mutate_perfetto.repeat_packets(random.Random(n), data)
            self.assertLess(len(data), 7 * mutate_bytes.MOST)

    def test_assembled_snapshots_hold_their_values(self):
        read = pickle.loads(mutate_pickle.usual(mutate_pickle.Assembler(), random.Random(1), [[mutate_pickle.event(size=-(1 << 63)), mutate_pickle.event("oom")]]))
        self.assertEqual([row["size"] for row in read["device_traces"][0]], [-(1 << 63), 512])
        self.assertEqual(read["segments"][0]["blocks"][0]["frames"][0]["name"], "forward")
        again = pickle.loads(mutate_pickle.shared_events(random.Random(3), b""))
        self.assertGreater(len(again["device_traces"]), 0)

    def test_captures_and_messages_are_taken_apart_and_put_together(self):
        self.assertEqual(mutate_records.capture(mutate_records.chunks(CAPTURE)), CAPTURE)
        message = mutate_perfetto.tracks(random.Random(5), b"")
        self.assertEqual(mutate_perfetto.build(mutate_perfetto.parse(message)), message)

    def test_a_folder_is_placed_with_holes_links_and_pipes(self):
        files = {"/a.lcr": mutate_records.Sparse(1 << 30, {4096: b"x" * 4096}), "/b": b"text", "/c": mutate_records.Special("link", "/nowhere"), "/d": mutate_records.Special("pipe")}
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder) / "mutant"
            seeds.Mutant("", "recording", files).place(at)
            self.assertEqual((at / "a.lcr").stat().st_size, 1 << 30)
            self.assertLess((at / "a.lcr").stat().st_blocks, 1000)
            again = mutate_records.Sparse.of(at / "a.lcr")
            self.assertEqual((again.size, again.pages), (1 << 30, {4096: b"x" * 4096}))
            self.assertTrue((at / "c").is_symlink() and (at / "d").is_fifo())

    @unittest.skipUnless(native.ZSTD, "libzstd is not here")
    def test_texts_survive_packing(self):
        for text in (b"", b"abc" * 10, bytes(range(256)) * 40_000):
            self.assertEqual(native.unzstd(native.zstd(text)), text)
        packed = native.zstd(b"abc" * 1000)
        for broken in (packed[:-3], b"no frame", b"\0" * 40):
            with self.assertRaises(ValueError):
                native.unzstd(broken)
        with self.assertRaisesRegex(ValueError, "too small"):
            native.unzstd(native.zstd(b"\0" * (2 << 20)), most=1 << 20)

    @unittest.skipUnless(native.XXHASH, "libxxhash is not here")
    def test_files_of_hostile_rows_are_complete(self):
        build_lcn.TABLES.clear()
        build_lcn.learn(TRACE)
        for n in range(5):
            data = build_lcn.hostile_rows(random.Random(n), TRACE)
            found, sealed = mutate_lcn.blocks(data), bytearray(data)
            self.assertGreater(len(found), 4)
            for block in found:
                mutate_lcn.seal(sealed, block)
            self.assertEqual(bytes(sealed), data)

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
