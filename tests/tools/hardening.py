#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Checks how programs and libraries were linked.

hardening.py FOLDER… [--hardened]  every ELF file below the folders: where it searches for libraries
                                   --hardened: and that it has what cmake/LacunaHardening.cmake asks for
hardening.py --self-test           plants each fault in a small program and expects it to be found
"""
import os
import re
import subprocess
import sys
import tempfile

# Runs in signal handlers of any program, so it calls nothing of the C library that checks.
NEEDS_NO_STACK_PROTECTOR = {"liblacuna_sampler.so"}
# Run set-uid by a test: for such programs the loader does not resolve $ORIGIN.
NAMES_THE_BUILD = {"record_c_program"}


def elf_files(folder):
    for place, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f != "CMakeFiles"]
        for name in names:
            path = os.path.join(place, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                head = file.read(18)
            if head[:4] == b"\x7fELF" and head[16:18] in (b"\2\0", b"\3\0"):  # programs and shared libraries
                yield path


def readelf(*arguments):
    done = subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"})
    return done.stdout


def search_path_faults(path, dynamic, inside):
    """An empty element is the working folder, and a relative one lies below it: a file beside a trace would run."""
    faults = []
    for kind, paths in re.findall(r"\((R(?:UN)?PATH)\).*\[(.*)\]", dynamic):
        for element in paths.split(":"):
            if element == "":
                faults.append(f"its {kind} '{paths}' has an empty element, which is the working folder")
            elif not element.startswith(("$ORIGIN", "/")):
                faults.append(f"its {kind} '{paths}' has the relative element '{element}'")
            elif element.startswith(inside) and os.path.basename(path) not in NAMES_THE_BUILD:
                faults.append(f"its {kind} '{paths}' names the folder of the build instead of $ORIGIN")
    return faults


def hardening_faults(path, dynamic):
    faults = []
    segments = readelf("-l", path)
    if "GNU_RELRO" not in segments:
        faults.append("no RELRO segment")
    if "BIND_NOW" not in dynamic and not re.search(r"FLAGS_1.*\bNOW\b", dynamic):
        faults.append("it binds functions late (no BIND_NOW), so their addresses stay writable")
    stack = re.search(r"GNU_STACK.* (R?W?E?) +0x", segments)
    if not stack or "E" in stack.group(1):
        faults.append("its stack is executable")
    if "(TEXTREL)" in dynamic:
        faults.append("it relocates its code (TEXTREL)")
    if "DYN" not in readelf("-h", path).split("Type:")[1].splitlines()[0]:
        faults.append("it is loaded at a fixed address (no PIE)")
    symbols = readelf("--dyn-syms", path)
    if "__stack_chk_fail" not in symbols and os.path.basename(path) not in NEEDS_NO_STACK_PROTECTOR:
        faults.append("no function protects its stack (-fstack-protector-strong)")
    faults += jump_target_faults(path)
    return faults


def jump_target_faults(path):
    """Exported functions and main() begin with an instruction that marks a target of indirect jumps."""
    if "X86-64" not in readelf("-h", path):
        return []
    sections = {number: (int(address, 16), int(offset, 16)) for number, address, offset in
                re.findall(r"\[ *(\d+)\] \S+ +\S+ +([0-9a-f]+) ([0-9a-f]+)", readelf("-S", path))}
    faults = []
    with open(path, "rb") as file:
        for address, number, name in re.findall(r": ([0-9a-f]{16}) +\d+ FUNC +GLOBAL +DEFAULT +(\d+) (\S+)",
                                                readelf("-s", path)):
            if number not in sections or name in ("_start", "_init", "_fini"):
                continue
            start, offset = sections[number]
            file.seek(int(address, 16) - start + offset)
            if file.read(4) != b"\xf3\x0f\x1e\xfa":
                faults.append(f"{name}() does not begin with endbr64 (-fcf-protection)")
    return faults


def check(folder, hardened):
    """Paths are held against the folder above: a build has bin and lib side by side."""
    files = sorted(elf_files(folder))
    bad = 0
    for path in files:
        dynamic = readelf("-d", path)
        faults = search_path_faults(path, dynamic, os.path.dirname(os.path.realpath(folder)))
        if hardened:
            faults += hardening_faults(path, dynamic)
        for fault in faults:
            print(f"{path}: {fault}", file=sys.stderr)
        bad += bool(faults)
    if not files:
        print(f"{folder}: there is no program and no library", file=sys.stderr)
    print(f"{len(files)} programs and libraries below {folder}, {bad} with faults")
    return bad == 0 and bool(files)


PLANTED = {
    "an empty element": ["-Wl,-rpath,/usr/lib:"],
    "a relative element": ["-Wl,-rpath,lib"],
    "the build's folder": ["-Wl,-rpath,FOLDER/lib"],
    "no RELRO": ["-Wl,-z,norelro"],
    "late binding": ["-Wl,-z,lazy"],
    "an executable stack": ["-Wl,-z,execstack"],
    "a fixed address": ["-no-pie"],
    "no stack protector": ["-fno-stack-protector"],
    "no marked jump targets": ["-fcf-protection=none"],
}


def self_test():
    source = "#include <string.h>\nint main(int n, char** a) { char b[64]; strncpy(b, a[0], 63); return b[n & 63]; }\n"
    sound = ["-O2", "-fPIE", "-pie", "-fstack-protector-strong", "-fcf-protection=full", "-Wl,-z,relro", "-Wl,-z,now",
             "-Wl,-rpath,$ORIGIN/../lib"]
    wrong = 0
    for name, flags in {"nothing": [], **PLANTED}.items():
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "main.c"), "w", encoding="utf-8") as file:
                file.write(source)
            flags = [flag.replace("FOLDER", os.path.realpath(folder)) for flag in flags]
            subprocess.run([os.environ.get("CC", "cc"), "main.c", *sound, *flags, "-o", "program"], cwd=folder, check=True,
                           stderr=subprocess.DEVNULL)
            if check(folder, True) != (name == "nothing"):
                print(f"planted {name}: the check does not find it" if name != "nothing" else "a sound program is refused")
                wrong += 1
    return wrong == 0


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        return self_test()
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return False
    hardened = "--hardened" in arguments
    return all([check(folder, hardened) for folder in arguments if folder != "--hardened"])


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
