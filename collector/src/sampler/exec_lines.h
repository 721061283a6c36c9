// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "sampler/perf_record.h"

namespace lacuna::collector::sampler {

/// Gives an exec the command line that its process has now, and the facts of its environment.
void readExecLine(PerfRecord& exec);
/// Gives the execs among the records from `from` on theirs. False where there is no exec.
bool readExecLines(std::vector<PerfRecord>& records, std::size_t from);
/// Takes a line away that was read when the process ran the next image already: it is that one's.
void forgetLinesOfNext(std::vector<PerfRecord>& records);

}  // namespace lacuna::collector::sampler
