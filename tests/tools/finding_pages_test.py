# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""finding_pages_test.py ROOT: each finding has a page in docs/findings, each page has a finding and all of its sections,
and the index lists them with the kind of their rule."""

import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
SECTIONS = ["Meaning", "Why it costs", "How to fix it", "In the report", "What refutes it"]
PAGES = "docs/findings"
LEAST_LETTERS = 40  # of a section: fewer are no explanation
KINDS = {"Fault": "fault", "Opportunity": "opportunity"}


def rules(root):
    """The kind of each finding, by its id."""
    found = {}
    for file in (root / "analyzer/src/rules").glob("*/*.cpp"):
        text = file.read_text()
        for key, kind in re.findall(r'\.key = "([\w-]+)",.*?\.kind = FindingKind::(\w+)', text, re.S):
            found[key] = KINDS[kind]
    return found


def sections(text):
    """[(heading, text)] of a page."""
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    return list(zip(parts[1::2], (part.strip() for part in parts[2::2])))


def faults(root):
    folder, wrong = root / PAGES, []
    kinds = rules(root)
    pages = {page.stem: page.read_text() for page in folder.glob("*.md") if page.name != "README.md"}
    wrong += [f"{key}: has no page {PAGES}/{key}.md" for key in kinds.keys() - pages.keys()]
    wrong += [f"{PAGES}/{name}.md: no finding has this id" for name in pages.keys() - kinds.keys()]
    for name in kinds.keys() & pages.keys():
        text = pages[name]
        if not re.search(rf"^# {re.escape(name)}: \w", text, re.M):
            wrong.append(f"{name}: the title must begin with its id")
        if not re.search(rf"^{kinds[name].capitalize()} · ", text, re.M):
            wrong.append(f"{name}: the page must name it as {kinds[name]}")
        found = sections(text)
        if [heading for heading, _ in found] != SECTIONS:
            wrong.append(f"{name}: the sections must be {', '.join(SECTIONS)}")
        wrong += [f"{name}: '{heading}' explains nothing" for heading, part in found if len(part) < LEAST_LETTERS]
    index = (folder / "README.md").read_text()
    listed = re.findall(r"^\| \[([\w-]+)\]\(([\w-]+)\.md\) \| (\w+) \|", index, re.M)
    wrong += [f"{name}: must be listed once in {PAGES}/README.md, as {kind}" for name, kind in kinds.items()
              if listed.count((name, name, kind)) != 1]
    return sorted(wrong)


class FindingPages(unittest.TestCase):
    def test_each_finding_has_a_whole_page(self):
        self.assertGreater(len(rules(ROOT)), 0)
        self.assertEqual(faults(ROOT), [])


class Planted(unittest.TestCase):
    """A tree of two findings, and faults in it."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name)
        for key, kind in (("one-fault", "Fault"), ("other-gain", "Opportunity")):
            self.write(f"analyzer/src/rules/host/{key}.cpp", f'    .key = "{key}",\n    .kind = FindingKind::{kind},\n')
            self.write(f"{PAGES}/{key}.md", self.page(key, kind))
        self.write(f"{PAGES}/README.md", "| [one-fault](one-fault.md) | fault |\n| [other-gain](other-gain.md) | opportunity |\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def page(self, key, kind, headings=tuple(SECTIONS)):
        return f"# {key}: a title\n\n{kind} · \n" + "".join(f"\n## {heading}\n\n{'Words of an explanation. ' * 3}\n" for heading in headings)

    def test_a_whole_tree_passes(self):
        self.assertEqual(faults(self.root), [])

    def test_a_finding_without_a_page(self):
        (self.root / f"{PAGES}/one-fault.md").unlink()
        self.assertEqual(faults(self.root), [f"one-fault: has no page {PAGES}/one-fault.md"])

    def test_a_page_without_a_finding(self):
        self.write(f"{PAGES}/gone.md", self.page("gone", "Fault"))
        self.assertEqual(faults(self.root), [f"{PAGES}/gone.md: no finding has this id"])

    def test_a_page_that_lacks_a_section(self):
        self.write(f"{PAGES}/one-fault.md", self.page("one-fault", "Fault", SECTIONS[1:]))
        self.assertEqual(len(faults(self.root)), 1)
        self.assertIn("the sections must be Meaning", faults(self.root)[0])

    def test_an_empty_section(self):
        self.write(f"{PAGES}/one-fault.md", self.page("one-fault", "Fault").replace("Words of an explanation. ", "", 3))
        self.assertEqual(faults(self.root), ["one-fault: 'Meaning' explains nothing"])

    def test_a_wrong_kind_and_a_page_that_is_not_listed(self):
        self.write(f"{PAGES}/other-gain.md", self.page("other-gain", "Fault"))
        self.write(f"{PAGES}/README.md", "| [one-fault](one-fault.md) | fault |\n")
        self.assertEqual(len(faults(self.root)), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
