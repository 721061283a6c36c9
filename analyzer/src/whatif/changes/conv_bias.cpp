// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "analyses/work/name_guesses.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// The gradient of a layer's bias is the sum of the layer's: a reduction among the products that
/// come next to the norm's own gradient, which is computed just before.
void removeBiases(Scenario& scenario, const Change&, Bound) {
  bool behindNorm = false;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch) continue;
    const std::string& name = scenario.base->names[item.node];
    if (isBatchNormKernel(name)) {
      behindNorm = isBackwardKernel(name);
    } else if (isBiasKernel(name) || (behindNorm && isReductionKernel(name))) {
      removeLaunch(scenario, item);
      behindNorm = false;
    } else if (behindNorm && !isMatrixWork(name) && !scenario.nodes[item.node].isMemset) {
      behindNorm = false;
    }
  }
}

}  // namespace

constinit const ChangeType changes::convBias{
    .info = {.name = "conv_bias",
             .form = "conv_bias=off",
             .brief = "layers in front of a batch norm have no bias",
             .effect = "kernels with \"bias\" in their names are gone, and reductions among the "
                       "products behind a batch norm's gradient: the bias's own gradient. Adding "
                       "and updating the bias stays",
             .argument = ChangeArgument::Word,
             .values = kSwitchWords,
             .error = kNotMeasured},
    .acts = Acts::WhenOff,
    .apply = removeBiases,
};

}  // namespace lacuna::analyzer
