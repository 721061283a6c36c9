// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"
#include "whatif/name_lists.h"

namespace lacuna::analyzer {
namespace {

bool isChosenKernel(const Change& change, const Simulator::Model& model, std::size_t node) {
  return model.nodes[node].work != Work::Copy && isNamed(change, model.names[node]);
}

prof::Status hasChosenKernels(const Change& change, const Simulator::Model& model) {
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    if (isChosenKernel(change, model, i)) return {};
  }
  return prof::Error{fmt::format(
      "'{}': no kernel of the steps replayed has a name with '{}' in it; the costliest are: {}",
      change.text(), change.pattern, costliestKernels(model))};
}

}  // namespace

constinit const ChangeType changes::kernel{
    .info = {.name = "kernel",
             .form = "kernel:PATTERN*F",
             .brief = "kernels of these names take F times as long",
             .effect =
                 "kernels whose names match take F times as long; without a pattern all kernels do",
             .names = ChangeNames::Optional,
             .error = kNotMeasured},
    .apply =
        [](Scenario& scenario, const Change& change, Bound) {
          scaleNodes(scenario, change.factor, [&](std::size_t node) {
            return isChosenKernel(change, *scenario.base, node);
          });
        },
    .check = hasChosenKernels,
};

}  // namespace lacuna::analyzer
