# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
import types


class Wrapper:
    comment = "#"

    def __init__(self):
        self.lines = []

    def writeline(self, line):
        self.lines.append(line)


V = types.SimpleNamespace(graph=types.SimpleNamespace(graph=types.SimpleNamespace(nodes=[]), wrapper_code=Wrapper()))
