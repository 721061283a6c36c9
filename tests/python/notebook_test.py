# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""notebook_test.py NOTEBOOK…: runs the code cells of each, as Jupyter would, without Jupyter. A cell tagged needs-NAME is left
out where the module NAME is not installed. A committed notebook has no outputs."""

import ast
import importlib.util
import json
import pathlib
import sys


def run(source, names):
    """A cell: its statements, and then the repr of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is not None:
        print(repr(eval(compile(ast.Expression(last.value), "cell", "eval"), names)))


def missing(cell):
    needed = [tag.removeprefix("needs-") for tag in cell["metadata"].get("tags", []) if tag.startswith("needs-")]
    return [name for name in needed if importlib.util.find_spec(name) is None]


def main():
    ran = 0
    for path in map(pathlib.Path, sys.argv[1:]):
        names = {"__name__": "__main__"}
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            if cell["cell_type"] != "code":
                continue
            if cell["outputs"] or cell["execution_count"] is not None:
                sys.exit(f"{path}: cell {number} has outputs; clear them")
            if missing(cell):
                print(f"{path.name}: cell {number} left out, {', '.join(missing(cell))} not installed")
                continue
            print(f"{path.name}: cell {number}", flush=True)
            run("".join(cell["source"]), names)
            ran += 1
    if ran == 0:
        sys.exit("no cell ran")


main()
