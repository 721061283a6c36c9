// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyses/work/step_work.h"
#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"

/// Formulas and limits of this table and of the others: docs/analyses/tables.md.
namespace lacuna::analyzer {

struct KernelRow {
  std::string name;
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::uint64_t stepCount = 0;
  std::int64_t stepNs = 0;
  std::int64_t minNs = 0;
  std::int64_t maxNs = 0;
  Work work = Work::Compute;
  bool tensorCore = false;       ///< by its name, a tensor-core kernel
  bool matrix = false;           ///< a matrix product or convolution: eligible for tensor cores
  bool pointwise = false;        ///< elementwise work that could be fused with its neighbours
  std::int64_t recordingNs = 0;  ///< of totalNs, at most; as all of that name (ledger.h)
  [[nodiscard]] std::int64_t meanNs() const {
    return count == 0 ? 0 : totalNs / static_cast<std::int64_t>(count);
  }
};
/// Costliest first.
using KernelTable = std::vector<KernelRow>;
prof::Result<KernelTable> kernelTable(const Store& store, prof::TimeWindow window,
                                      const TableScope& scope = {}, const StepWork& work = {});

}  // namespace lacuna::analyzer
