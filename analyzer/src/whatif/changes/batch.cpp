// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// More samples: work on the device and in the loader takes that much longer, at most; the host's
/// part stays.
void scaleBatch(Scenario& scenario, const Change& change, Bound) {
  for (DeviceNode& node : scenario.nodes) {
    if (node.work != Work::Communication) node.durNs = scaled(node.durNs, change.factor);
  }
  scaleLoader(scenario, change.factor);
}

/// More samples make a step longer, so its length alone means little.
std::string samplesNote(const Change& change, const Prediction& prediction) {
  const double times =
      change.factor * static_cast<double>(prediction.baseNsPerStep) /
      static_cast<double>(std::max<std::int64_t>(1, prediction.predictedNsPerStep));
  return fmt::format(
      "a step has {:g} times the samples: {:.2f} times as many a second, or more where kernels "
      "grow less",
      change.factor, times);
}

std::optional<std::string_view> refuseNoSamples(const Change& change) {
  if (change.factor > 0) return std::nullopt;
  return "a batch has samples, so the factor is above 0";
}

}  // namespace

constinit const ChangeType changes::batch{
    .info = {.name = "batch",
             .form = "batch*K",
             .brief = "a batch has K times the samples",
             .effect =
                 "a batch K times as large: kernels, copies and preparing batches take K times as "
                 "long, at most; the host's part stays. The step has K times the samples",
             .error = kNotMeasured,
             .notReplayed = "how long every kernel takes with other shapes is not in the trace",
             .instead = "record a short run with the other batch and compare samples per second "
                        "(lacuna diff)"},
    .apply = scaleBatch,
    .refuse = refuseNoSamples,
    .resultNote = samplesNote,
};

}  // namespace lacuna::analyzer
