// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "analyses/work/launched_within.h"

namespace lacuna::analyzer {

/// Outermost operators of a training thread beside its training, in the counted steps: averages of
/// the weights, copies of the model, metrics. They lie behind a backward pass or an optimizer's
/// step, in front of the next batch, forward or evaluation. Operators between a backward pass and
/// the optimizer belong to the training (clipping), and so do those that set gradients to zero. All
/// is 0 where these phases are not marked.
struct SideWork {
  std::uint64_t operators = 0;
  std::int64_t operatorsNs = 0;  ///< that they took on their threads
  std::int64_t deviceNs = 0;     ///< of the kernels that they launched
  std::string costliest;         ///< of them, by name
  prof::TimeWindow longest{0, 0};
  ThreadStretches stretches;  ///< where they may lie
};

prof::Result<SideWork> sideWork(const Store& store, prof::TimeWindow window,
                                const TableScope& scope = {});

}  // namespace lacuna::analyzer
