# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""docs_test.py ROOT [LACUNA]: checks that the targets of documents exist. These are links and their anchors, files,
headers, and pages that sources name. Where the command is given, they include commands and options that documents
show."""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
LACUNA = sys.argv[2] if len(sys.argv) > 2 else None
ROOMS = ("analyzer", "cli", "collector", "docs", "gui", "libprof", "runtime", "samples", "scripts", "tests", "cmake")
LONGEST_LINE = 160
PAGES = sorted(ROOT.glob("*.md")) + [page for room in ROOMS for page in sorted((ROOT / room).rglob("*.md"))]


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(page):
    return {slug(match[1]) for match in re.finditer(r"^#+ (.*)$", page.read_text(), re.M)}


def code(page):
    """The lines of code blocks, fenced and indented, and what stands in backticks."""
    fenced = False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield line.strip()
        else:
            yield from re.findall(r"`([^`]+)`", line)


def problem(page, what):
    return f"{page.relative_to(ROOT)}: {what}"


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        wrong = []
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                file = (page.parent / path).resolve() if path else page
                if not file.exists() or (anchor and anchor not in anchors(file)):
                    wrong.append(problem(page, target))
        self.assertEqual(wrong, [])

    def test_every_analysis_has_formula_inputs_and_limits(self):
        wrong = []
        for page in sorted((ROOT / "docs" / "analyses").glob("*.md")):
            headings = re.findall(r"^## (.*)$", page.read_text(), re.M)
            wrong += [problem(page, f"no heading '{wanted}'") for wanted in ("Formula", "Inputs", "Limits") if wanted not in headings]
        self.assertEqual(wrong, [])

    def test_lines_of_analyses_are_short(self):
        wrong = []
        for page in sorted((ROOT / "docs" / "analyses").glob("*.md")):
            # Rows of generated tables have no line breaks.
            written = re.sub(r"^<!-- (?:tables|lacuna) .*?^<!-- end.*?-->$", lambda found: "\n" * found[0].count("\n"), page.read_text(), flags=re.M | re.S)
            wrong += [problem(page, f"line {number} has {len(line)} characters, more than {LONGEST_LINE}")
                      for number, line in enumerate(written.splitlines(), 1) if len(line) > LONGEST_LINE]
        self.assertEqual(wrong, [])

    def test_the_tables_of_contents_have_every_page(self):
        contents = [ROOT / "docs" / "README.md", ROOT / "docs" / "findings" / "README.md"]
        listed = {(page.parent / target.partition("#")[0]).resolve() for page in contents
                  for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text())}
        pages = set((ROOT / "docs").rglob("*.md")) - {contents[0]}
        self.assertEqual(sorted(problem(page, "is in no table of contents") for page in pages - listed), [])

    def test_files_that_are_named_are_there(self):
        wrong = []
        for page in PAGES:
            if page.name == "CHANGELOG.md":  # which speaks of what was
                continue
            for text in code(page):
                for path in re.findall(rf"(?<![\w./-])((?:{'|'.join(ROOMS)})/[\w./-]+\w)(?![\w/*…-])", text):
                    if not (ROOT / path).exists() and not any(ROOT.glob(path + ".*")) and not path.startswith("tests/data/"):
                        wrong.append(problem(page, path))
                for header in re.findall(r"(?<![\w/])(lacuna/[a-z]+/\w+\.h)", text):
                    if not any(ROOT.glob(f"*/include/{header}")):
                        wrong.append(problem(page, header))
        self.assertEqual(wrong, [])

    def test_pages_that_sources_name_are_there(self):
        wrong = []
        for file in (file for room in ROOMS for file in (ROOT / room).rglob("*") if file.suffix in (".h", ".cpp", ".c", ".py")):
            for path in re.findall(r"\bdocs/[\w/-]+\.md", file.read_text(errors="replace")):
                if not (ROOT / path).exists():
                    wrong.append(problem(file, path))
        self.assertEqual(wrong, [])

    def test_public_names_of_the_python_package_are_explained(self):
        public = re.search(r"^__all__ = \[(.*?)\]", (ROOT / "python/lacuna/__init__.py").read_text(), re.M | re.S)[1]
        page = (ROOT / "docs/python.md").read_text().partition("## All public names")[2]
        names = re.findall(r'"(\w+)"', public)
        self.assertTrue(names)
        self.assertEqual([name for name in names if not re.search(rf"^\| .*`lacuna\.{name}\b", page, re.M)], [])

    def test_variables_that_are_read_are_explained(self):
        explained = set(re.findall(r"`([A-Z_0-9]+)`", (ROOT / "docs" / "environment.md").read_text())) | {"HOME", "PATH", "TERM"}
        wrong = []
        for file in (file for room in ROOMS if room not in ("tests", "samples") for file in (ROOT / room).rglob("*") if file.suffix in (".h", ".cpp", ".c")):
            for name in re.findall(r"\bgetenv\(\"([A-Z_0-9]+)\"\)", file.read_text(errors="replace")):
                if name not in explained and name not in ("OMP_NUM_THREADS", "KUBERNETES_SERVICE_HOST"):
                    wrong.append(problem(file, name))
        self.assertEqual(wrong, [])

    @unittest.skipUnless(LACUNA, "the command was not built")
    def test_commands_and_options_are_known(self):
        helps, wrong = {}, []
        for page in PAGES:
            for text in code(page) if page.name != "CHANGELOG.md" else ():
                call = re.match(r"(?:\$ |sudo )?lacuna ([a-z]+(?:-[a-z]+)*)(.*)", text)
                if not call:
                    continue
                name, words = call.groups()
                if name not in helps:
                    helps[name] = subprocess.run([LACUNA, name, "--help"], capture_output=True, text=True, timeout=60)
                if helps[name].returncode != 0:
                    # These need the collector, which is not built where there are no NVTX headers.
                    if name not in ("run", "trigger", "doctor"):
                        wrong.append(problem(page, text))
                    continue
                # Behind quotes, a comment or the program's own -- anything may stand; lacuna-gui has options of its own.
                words = re.sub(r"\"[^\"]*\"|'[^']*'", "", re.split(r"\s#|\s--\s", words)[0])
                for option in re.findall(r"(?<!\S)\[?(--?[a-z][a-z-]*)", words) if name != "gui" else ():
                    if not re.search(rf"(?<![\w-]){option}(?![\w-])", helps[name].stdout):
                        wrong.append(problem(page, f"{option} of lacuna {name}"))
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
