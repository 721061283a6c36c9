// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lacuna/collector/options.h"
#include "lacuna/prof/recording.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// Records the process that started this one, for a program that records a part of itself
/// (lacuna.profile of the Python package). The program joins the recording itself.
///
/// `input` and `output` connect the two. Once the recording is there, `output` gets texts that end
/// in a 0 byte. They are `set NAME=VALUE` for each variable that the program must set before it
/// joins, `note WORDS` for each thing that cannot be recorded, and at last `ready DIRECTORY`. The
/// recording ends with the first byte or the end of `input`, or with the caller. It has neither CPU
/// samples, lines of Python nor counters: nothing watches the caller from outside.
///
/// Uses `output`, `replace`, `sources`, `memoryLimit` and `pythonHook` of the options. Fails when
/// nothing can be recorded or the trace cannot be written.
prof::Result<prof::DrainStats> recordCaller(const RunOptions& options, int input, int output);

}  // namespace lacuna::collector
