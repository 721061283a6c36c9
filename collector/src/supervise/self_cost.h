// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "lacuna/prof/writer.h"

namespace lacuna::collector {

/// Nanoseconds that the recorded thread spends on one event of each kind, when it does other things
/// between them.
struct SelfCost {
  double rangeNs = 0;  ///< push and pop, with a binary payload
  double markNs = 0;   ///< with a binary payload
};

/// Measures on this machine, now. A child process loads `injection` as a recorded program does and
/// times NVTX calls into a recording of its own, gone afterwards. Takes some milliseconds. Nothing
/// where that is not possible. To be called before there are threads.
std::optional<SelfCost> measureSelfCost(const std::filesystem::path& injection);

/// Puts the cost into a trace, so that a report can separate it from the program's own time.
void appendSelfCost(const SelfCost& cost, prof::Writer& out);

}  // namespace lacuna::collector
