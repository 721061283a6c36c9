# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Files as processes see them and as they are on the disk, while the changes that fault_tracer has logged are made again."""

import json
import os

SECTOR = 512


class Inode:
    def __init__(self, data=b"", durable=None):
        self.data = bytearray(data)
        self.durable = durable if durable is None else bytes(durable)


class Disk:
    def __init__(self, files):
        self.names = {path: Inode(data, data) for path, data in files.items()}
        self.durable_names = dict(self.names)

    def apply(self, op):
        path, to = op["path"], op["to"]
        if op["what"] == "open":
            inode = self.names.setdefault(path, Inode())
            if op["truncates"]:
                del inode.data[:]
        elif op["what"] == "write" and path in self.names:
            data, offset, piece = self.names[path].data, op["offset"], bytes.fromhex(op["bytes"])
            data.extend(bytes(max(0, offset - len(data))))
            data[offset : offset + len(piece)] = piece
        elif op["what"] == "cut" and path in self.names:
            data = self.names[path].data
            del data[op["offset"] :]
            data.extend(bytes(op["offset"] - len(data)))
        elif op["what"] == "rename" and path in self.names:
            self.names[to] = self.names.pop(path)
        elif op["what"] == "remove":
            self.names.pop(path, None)
        elif op["what"] == "sync" and path in self.names:
            self.names[path].durable = bytes(self.names[path].data)
        elif op["what"] == "sync":
            self.sync_folder(path)

    def sync_folder(self, folder):
        for names in (self.durable_names, self.names):
            for path in [p for p in names if os.path.dirname(p) == folder]:
                if path in self.names:
                    self.durable_names[path] = self.names[path]
                else:
                    self.durable_names.pop(path)

    def killed(self):
        """A killed process leaves everything."""
        return {path: bytes(inode.data) for path, inode in self.names.items()}

    def states(self):
        """The possible states afterwards. A killed process leaves everything. A power failure leaves the synced bytes,
        and either all names or only the synced ones. Bytes behind the synced ones of a file are missing, or zero."""
        yield "killed", self.killed()
        for when, names in (("names first", self.names), ("names last", self.durable_names)):
            yield f"power cut, {when}", {path: inode.durable or b"" for path, inode in names.items()}
        yield "power cut, zeros", {
            path: (inode.durable or b"").ljust(len(inode.data), b"\0") for path, inode in self.names.items()
        }

    def torn(self, rng):
        """A disk that was on its way: of what was not synced some sectors are there, the others are as before, or zero."""
        return {path: torn(inode, rng) for path, inode in self.names.items()}


def torn(inode, rng):
    durable = (inode.durable or b"").ljust(len(inode.data), b"\0")
    share = rng.random()
    return b"".join((inode.data if rng.random() < share else durable)[at : at + SECTOR] for at in range(0, len(inode.data), SECTOR))


def files_below(folder):
    """{path: content}, without links and what they lead to."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


def read_log(path):
    with open(path) as file:
        return [json.loads(line) for line in file]
