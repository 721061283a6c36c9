#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that replaying a trace without a change gives the step time that was measured, within 2 %."""
import argparse
import json
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("trace")
parser.add_argument("--lacuna", required=True, help="the command to check")
args = parser.parse_args()
done = subprocess.run([args.lacuna, "whatif", args.trace, "host*1", "--json"], capture_output=True, text=True)
if done.returncode != 0:
    sys.exit(done.stderr)
answer = json.loads(done.stdout)
measured, replayed = answer["measured_ns_per_step"], answer["base_ns_per_step"]
print(f"measured {measured} ns a step, replayed {replayed} ns")
sys.exit(0 if abs(replayed - measured) <= 0.02 * measured else 1)
