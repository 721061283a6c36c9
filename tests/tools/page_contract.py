#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Opens the report's HTML page in headless Chromium, as wide as a screen and as a phone. Every part is there and has a
size. Nothing sticks out to the side, nothing is loaded from elsewhere, and a screenshot is not empty. Ends with 77
where no Chromium starts."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROBE = """<script>
const box = (e) => { const r = e.getBoundingClientRect(); return {what: e.tagName + "." + e.className, right: r.right, width: r.width, height: r.height}; };
const seen = {
  width: document.documentElement.clientWidth, scroll: document.documentElement.scrollWidth,
  headings: [...document.querySelectorAll("h2")].map((e) => e.textContent),
  charts: [...document.querySelectorAll("svg, .bar")].map(box),
  texts: [...document.querySelectorAll("h1, h2, .verdict, .card, .legend li")].map(box),
  small: Math.min(...[...document.querySelectorAll("svg text")].map((e) => e.getBoundingClientRect().height)),
  loads: performance.getEntriesByType("resource").length};
parent.postMessage("PROBE" + JSON.stringify(seen) + "EBORP", "*");
</script>"""
# A window is never as narrow as a phone, a frame is.
FRAME = """<!doctype html><body style="margin:0;overflow:hidden"><script>onmessage = (e) => { document.title = e.data; };</script>
<iframe src="file://PAGE" style="border:0;display:block;width:WIDTHpx;height:HEIGHTpx"></iframe>"""


def chromium(browser, folder, *words):
    return subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", *words],
                          capture_output=True, text=True, timeout=100)


def framed(folder, page, width, height):
    frame = os.path.join(folder, f"frame-{width}-{height}.html")
    with open(frame, "w", encoding="utf-8") as out:
        out.write(FRAME.replace("PAGE", page).replace("WIDTH", str(width)).replace("HEIGHT", str(height)))
    return f"file://{frame}"


def check_page(browser, folder, page, width):
    done = chromium(browser, folder, "--virtual-time-budget=5000", "--dump-dom", framed(folder, page, width, 900))
    found = re.search(r"PROBE(.*?)EBORP", done.stdout, re.DOTALL)
    if not found:
        return [f"{width}: the page did not load: {done.stderr[-300:]}"]
    seen = json.loads(found[1].replace("&amp;", "&").replace("&gt;", ">").replace("&lt;", "<"))
    wrong = []
    if seen["scroll"] > seen["width"]:
        wrong.append(f"the page is {seen['scroll']} wide in a window of {seen['width']}")
    for part in ("Where the device's time goes", "Findings", "Steps", "Memory", "Kernels", "Operators"):
        if not any(heading.startswith(part) for heading in seen["headings"]):
            wrong.append(f"no heading {part}")
    if len(seen["charts"]) < 3:
        wrong.append(f"{len(seen['charts'])} charts")
    for box in seen["charts"] + seen["texts"]:
        if box["width"] < 1 or box["height"] < 1 or box["right"] > seen["width"] + 1:
            wrong.append(f"{box} in a window of {seen['width']}")
    if seen["small"] < 9:
        wrong.append(f"text of {seen['small']} pixels")
    if seen["loads"] > 0:
        wrong.append(f"{seen['loads']} things are loaded from elsewhere")
    return [f"{width}: {what}" for what in wrong]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lacuna", help="the command to check")
    parser.add_argument("--keep", help="leave screenshots in this folder")
    args = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("no Chromium here")
        sys.exit(77)
    wrong = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if "<body>" not in chromium(browser, folder, "--dump-dom", "data:text/html,<p>a").stdout:
            print("Chromium does not start here")
            sys.exit(77)
        trace, page = os.path.join(folder, "run.lcn"), os.path.join(folder, "page.html")
        subprocess.run([args.lacuna, "generate", "-o", trace, "--steps", "8"], check=True, capture_output=True)
        subprocess.run([args.lacuna, "report", trace, "-o", page], check=True, capture_output=True)
        probed = os.path.join(folder, "probed.html")
        with open(page, encoding="utf-8") as plain, open(probed, "w", encoding="utf-8") as out:
            out.write(plain.read().replace("</body>", PROBE + "</body>"))
        for width, height in ((1200, 1600), (375, 4000)):
            wrong += check_page(browser, folder, probed, width)
            shot = os.path.join(args.keep or folder, f"page-{width}.png")
            chromium(browser, folder, f"--window-size={max(width, 500)},{height}", f"--screenshot={shot}", framed(folder, page, width, height))
            if not os.path.exists(shot) or os.path.getsize(shot) < 20_000:
                wrong.append(f"{width}: the screenshot is empty")
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
