# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Lacuna finds where the time and memory of neural-network training go.

Record a program on the command line, `lacuna run -- python train.py`, and read the recording here:

    trace = lacuna.open("run.lcn")
    trace.findings                                # the faults, each with its cost, its fix and what the fix gains
    trace.sql("SELECT name, durNs FROM kernel")   # rows, as dictionaries
    trace.table("kernel").to_pandas()             # rows, for pandas, polars, pyarrow and others
    trace.whatif("loader.workers=4")              # the step time with a change

A program names stretches of its time in its own recording, `with lacuna.range("augment"): …`, marks its steps with
`lacuna.step()`, and switches the recording with `lacuna.start()` and `lacuna.stop()`. `with lacuna.profile("run.lcn"): …`
records a stretch of a program that was started as ever.
"""

from ._control import snapshot, start, stop
from ._profile import profile
from ._program import Error, program, version
from ._range import range  # noqa: A004  `lacuna.range`
from ._rows import Rows
from ._steps import step
from ._trace import Trace, open_trace as open  # noqa: A004  `lacuna.open`, as `gzip.open`

__version__ = version()
__all__ = ["Error", "Rows", "Trace", "open", "profile", "program", "range", "snapshot", "start", "step", "stop"]
