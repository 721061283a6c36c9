# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""docs_site_test.py ROOT: scripts/docs rewrites links as its help promises, finds planted links that lead nowhere, takes the
navigation from docs/README.md, and names a missing generator. It does not need the generator."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv[1]).resolve() / "scripts/docs"
sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("docs_script", str(SCRIPT))
docs = importlib.util.module_from_spec(importlib.util.spec_from_loader("docs_script", LOADER))
LOADER.exec_module(docs)
Page = pathlib.PurePosixPath
HEADER = "room/include/lacuna/part/one.h"


class Tree(unittest.TestCase):
    FILES = {"README.md": "# Top\n", "docs/README.md": "# Pages\n\n## First\n\n- [a](faq.md), [b](limits.md#part)\n\n## Second\n\n- [a](faq.md), [room](../room)\n",
             "docs/faq.md": "# A\n", "docs/limits.md": "# B\n", "room/README.md": "# Room\n", "room/bare/file.txt": "", "room/tool.py": "", HEADER: ""}

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        docs.ROOT = pathlib.Path(place.name).resolve()
        docs.PAGES = docs.ROOT / "build/docs/pages"
        for name, text in self.FILES.items():
            self.write(name, text)
        self.pages = [Page(name) for name in self.FILES if name.endswith(".md")]

    def write(self, name, text):
        path = docs.ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def failure(self, call):
        heard = io.StringIO()
        with contextlib.redirect_stderr(heard), self.assertRaises(SystemExit) as ended:
            call()
        self.assertEqual(ended.exception.code, 1)
        return heard.getvalue()


class Links(Tree):
    def setUp(self):
        super().setUp()
        self.stager = docs.Stager(self.pages, {HEADER: "api/one_8h.html"})

    def line(self, text, page="docs/faq.md"):
        return self.stager.line(Page(page), text)

    def test_pages_and_anchors_stay(self):
        for text in ("[b](../docs/limits.md#part)", "[here](#part)", "[out](https://example.org/a)", "![picture](../room/tool.py)"):
            self.assertEqual(self.line(text), text)

    def test_the_first_page_is_the_readme(self):
        self.assertEqual(self.line("see [top](../README.md#top), too"), "see [top](../index.md#top), too")

    def test_a_folder_leads_to_its_readme(self):
        self.assertEqual(self.line("[room](../room)"), "[room](../room/README.md)")
        self.assertIn("docs/faq.md links to the folder ../room/bare", self.failure(lambda: self.line("[bare](../room/bare)")))

    def test_a_header_leads_to_its_reference(self):
        self.assertEqual(self.line(f"[`one.h`](../{HEADER}), [b](limits.md)"),
                         '<a class="reference" href="../api/one_8h.html"><code>one.h</code></a>, [b](../docs/limits.md)')
        self.assertEqual(self.line(f"[one]({HEADER})", "README.md"), '<a class="reference" href="api/one_8h.html">one</a>')

    def test_other_files_are_copied(self):
        self.line("[tool](../room/tool.py)")
        self.assertEqual(self.stager.files, {Page("room/tool.py")})

    def test_code_is_no_link(self):
        text = "`[x](missing.md)` and [`b`](../docs/limits.md) and ``[y](missing.md)``"
        self.assertEqual(self.line(text), text)
        self.write("docs/faq.md", "```\n[x](missing.md)\n```\n    [y](missing.md)\n[top](../README.md)\n")
        self.stager.stage(Page("docs/faq.md"))
        self.assertEqual((docs.PAGES / "docs/faq.md").read_text(), "```\n[x](missing.md)\n```\n    [y](missing.md)\n[top](../index.md)\n")

    def test_a_target_that_does_not_exist_is_named(self):
        self.assertIn("docs/faq.md links to missing.md, which is not in the repository", self.failure(lambda: self.line("[x](missing.md)")))
        self.assertIn("../../outside.md", self.failure(lambda: self.line("[x](../../outside.md)")))


class Navigation(Tree):
    def test_headings_and_links_make_it_each_page_once(self):
        self.assertEqual(docs.contents(Page("docs/README.md"), self.pages),
                         [("First", [Page("docs/faq.md"), Page("docs/limits.md")]), ("Second", [Page("room/README.md")])])
        text = docs.navigation(Page("docs/README.md"), self.pages, Page("docs/README.md"), captions=True)
        self.assertIn(":caption: First\n\n../docs/faq\n../docs/limits\n", text)
        self.assertIn(":caption: Second\n\n../room/README\n", text)

    def test_entries_are_as_seen_from_the_page_that_holds_them(self):
        text = docs.navigation(Page("docs/README.md"), self.pages, Page("README.md"), captions=False)
        self.assertIn("\n\ndocs/faq\ndocs/limits\n", text)
        self.assertNotIn("caption", text)

    def test_a_page_outside_of_the_navigation_is_named(self):
        self.write("docs/findings/README.md", "# Findings\n")
        self.write("docs/README.md", "# Pages\n\n## First\n\n- [faq](faq.md), [room](../room), [findings](findings)\n")
        subprocess.run(["git", "init", "-q", docs.ROOT], check=True)
        self.assertIn("docs/limits.md is not in docs/README.md", self.failure(lambda: docs.stage_pages({})))


class Check(unittest.TestCase):
    def wrong(self, **pages):
        with tempfile.TemporaryDirectory() as place:
            for name, text in pages.items():
                (pathlib.Path(place) / f"{name}.html").write_text(text)
            return docs.broken_links(pathlib.Path(place).resolve())

    def test_links_that_lead_somewhere_pass(self):
        count, wrong = self.wrong(a='<a href="b.html#part">b</a><a href="#own" id="own">a</a><a href="https://example.org/x">out</a>', b='<p id="part">')
        self.assertEqual((count, wrong), (2, []))

    def test_a_missing_page_anchor_and_picture_are_named(self):
        _, wrong = self.wrong(a='<a href="c.html">c</a><a href="b.html#other">b</a><img src="picture.png">', b='<p id="part">')
        self.assertEqual(wrong, ["a.html: c.html leads nowhere", "a.html: b.html#other names no anchor of that page", "a.html: picture.png leads nowhere"])


class Misuse(unittest.TestCase):
    def run_script(self, *words, **environment):
        return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=60, env={**os.environ, **environment})

    def test_a_missing_program_is_named_with_the_remedy(self):
        with tempfile.TemporaryDirectory() as empty:
            done = self.run_script(PATH=empty)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"scripts/docs: missing: .*doxygen.*Remedy: scripts/setup --docs")

    def test_a_wrong_option_ends_with_2(self):
        done = self.run_script("--nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--nonsense", done.stderr)

    def test_a_wrong_port_ends_with_2_before_anything_is_built(self):
        for port in ("-1", "65536", "web"):
            done = self.run_script("--serve", "--port", port)
            self.assertEqual(done.returncode, 2, port)
            self.assertIn(port, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
