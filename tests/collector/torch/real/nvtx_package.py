# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""A program annotated with Python's nvtx package."""

import nvtx


@nvtx.annotate("work", color="blue")
def work():
    return sum(range(1000))


for _ in range(3):
    work()
with nvtx.annotate("block", domain="my domain", category="my category", payload=7):
    pass
