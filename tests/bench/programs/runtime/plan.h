// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "samples/common/flags.h"

/// A drawn training of the runtime: what tests/bench/programs/runtime_programs.py drew, as flags.
namespace lacuna::drawn {

struct Plan {
  explicit Plan(const samples::Flags& flags);

  std::string family;
  std::int64_t width, depth, side, length, batch;
  std::string loader;  ///< "workers", "processes", "own" or "memory"
  unsigned workers, prefetch;
  std::string optimizer;
  bool clips, evaluates;
  std::int64_t accumulates;
  std::int64_t faultUs;    ///< what a fault that takes time takes
  std::int64_t prepareUs;  ///< what preparing a batch takes without one
  std::int64_t saveEvery;
  std::uint64_t seed;

  [[nodiscard]] bool has(const std::string& fault) const { return faults_.contains(fault); }

 private:
  std::set<std::string> faults_;
};

/// The flags that a plan is read from.
void addPlanFlags(samples::Flags& flags);

}  // namespace lacuna::drawn
