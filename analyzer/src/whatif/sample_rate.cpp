// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/sample_rate.h"

#include <charconv>

#include "lacuna/analyzer/analysis.h"
#include "whatif/changes/registry.h"

namespace lacuna::analyzer {
namespace {

/// Times are in nanoseconds, rates in seconds.
constexpr double kSecondNs = 1e9;

}  // namespace

double samplesPerSecond(const Analysis& analysis) {
  double batch = 0;
  for (const auto& [key, value] : analysis.of<ProgramFacts>().knobs) {
    if (key == changes::batch.info.name)
      std::from_chars(value.data(), value.data() + value.size(), batch);
  }
  const double stepNs = static_cast<double>(analysis.meanStepNs());
  if (analysis.steps.all.empty() || batch <= 0 || stepNs <= 0) return 0;
  return batch * static_cast<double>(analysis.processCount()) * kSecondNs / stepNs;
}

}  // namespace lacuna::analyzer
