#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""small_disk_test.py LACUNA [LACUNA_GUI]

Has every command write onto a full disk, and into a folder that cannot be written. The error names the file and what to do, the exit code is
not 0, and the folder holds what it held before."""
import os
import shlex
import subprocess
import sys
import tempfile

LACUNA = os.path.abspath(sys.argv[1])
GUI = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 and os.path.exists(sys.argv[2]) else None
FAILED = []
SKIPPED = 77
# A disk of so much; what is on it leaves nearly nothing.
DISK_KIB = 256
LEFT_KIB = 8
FULL = "No space left on device"
UNWRITABLE = ("Read-only file system", "Permission denied")


def check(truth, what):
    if not truth:
        FAILED.append(what)
        print("wrong:", what)
    return truth


def run(words, place, **environment):
    return subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=120, env={**os.environ, "QT_QPA_PLATFORM": "offscreen", **environment})


def listing(place):
    return sorted((name, os.path.getsize(os.path.join(place, name))) for name in os.listdir(place))


def writers(inputs):
    """Each command that writes a file of its own name: the words, and the file."""
    trace, other, cut = (os.path.join(inputs, name) for name in ("a.lcn", "b.lcn", "cut.lcn"))
    for name in ("out.lcn", "out.json", "out.json.gz", "out.pftrace", "out.sqlite", "out.folded", "out.speedscope.json"):
        yield [LACUNA, "convert", trace, "-o", name], name
    yield [LACUNA, "convert", trace, "-o", "out.csv", "--table", "range"], "out.csv"
    yield [LACUNA, "merge", trace, other, "-o", "merged.lcn"], "merged.lcn"
    yield [LACUNA, "generate", "-o", "made.lcn", "--events", "500000"], "made.lcn"
    yield [LACUNA, "recover", cut, "-o", "recovered.lcn"], "recovered.lcn"
    yield [LACUNA, "report", trace, "-o", "page.html"], "page.html"
    yield [LACUNA, "check", trace, "--baseline", other, "-o", "junit.xml"], "junit.xml"
    if GUI:
        yield [GUI, trace, "--screenshot", "picture.png"], "picture.png"


def check_refused(words, name, place, why, small=()):
    """`small` files fit onto the disk all the same."""
    before = listing(place)
    done = run(words, place)
    called = shlex.join([os.path.basename(words[0]), *words[1:]])
    if name in small and done.returncode == 0:
        os.remove(os.path.join(place, name))
        return
    check(done.returncode == 127 if words[1] == "run" else done.returncode in (1, 3), f"{called} ends with {done.returncode}")
    check(name in done.stderr, f"{called} names the file: {done.stderr[:300]}")
    check(any(one in done.stderr for one in why), f"{called} says why: {done.stderr[:300]}")
    check(listing(place) == before, f"{called} leaves {listing(place)}, where there was {before}")


def check_full(inputs, place):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_KIB}k", "tmpfs", place], check=True)
    with open(os.path.join(place, "ballast"), "wb") as ballast:
        ballast.write(bytes((DISK_KIB - LEFT_KIB) << 10))
    for words, name in writers(inputs):
        check_refused(words, name, place, [FULL], small=("junit.xml",))
    # The file that was there under the name stays, whole.
    old = os.path.join(place, "out.json")
    open(old, "w").write("older\n")
    check_refused([LACUNA, "convert", os.path.join(inputs, "a.lcn"), "-o", "out.json", "--force"], "out.json", place, [FULL])
    check(open(old).read() == "older\n", "an older file stays")
    done = run([LACUNA, "query", os.path.join(inputs, "a.lcn"),
                "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 50000) SELECT count(*) FROM (SELECT DISTINCT printf('%0200d', x) FROM c)"],
               place, TMPDIR=place, SQLITE_TMPDIR=place)
    check(done.returncode == 1 and "the folder of temporary files has no room left; set TMPDIR" in done.stderr, f"a query without room says so: {done.stderr}")


def check_read_only(inputs, place):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,ro", "tmpfs", place], check=True)
    for words, name in writers(inputs):
        check_refused(words, name, place, UNWRITABLE)
    check_refused([LACUNA, "run", "--no-report", "-o", "run.lcn", "--", "true"], "run.lcn", place, UNWRITABLE)
    check_refused([LACUNA, "run", "--no-report", "--", "true"], place, place, UNWRITABLE)
    # Reading needs no folder to write in.
    trace = os.path.join(inputs, "a.lcn")
    for words in (["info", trace], ["report", trace], ["query", trace, "SELECT count(*) FROM range"], ["diff", trace, os.path.join(inputs, "b.lcn")]):
        done = run([LACUNA, *words], place)
        check(done.returncode == 0 and done.stdout, f"{words[0]} reads in a folder that cannot be written: {done.stderr}")


def within():
    """In a name space of its own, where disks may be mounted."""
    with tempfile.TemporaryDirectory() as folder:
        for name, seed in (("a.lcn", "1"), ("b.lcn", "2")):
            subprocess.run([LACUNA, "generate", "-o", os.path.join(folder, name), "--steps", "400", "--seed", seed], check=True, stdout=subprocess.DEVNULL)
        full = open(os.path.join(folder, "a.lcn"), "rb").read()
        open(os.path.join(folder, "cut.lcn"), "wb").write(full[:-1000])
        for check_one in (check_full, check_read_only):
            place = os.path.join(folder, check_one.__name__)
            os.mkdir(place)
            try:
                check_one(folder, place)
            finally:
                subprocess.run(["umount", place])


if os.environ.get("SMALL_DISK_WITHIN"):
    within()
    print("failed" if FAILED else "passed")
    sys.exit(1 if FAILED else 0)
for how in (["unshare", "-m"], ["unshare", "-Urm"]):
    if subprocess.run([*how, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode == 0:
        sys.exit(subprocess.run([*how, sys.executable, *sys.argv], env={**os.environ, "SMALL_DISK_WITHIN": "1"}).returncode)
print("disks cannot be mounted here")
sys.exit(SKIPPED)
