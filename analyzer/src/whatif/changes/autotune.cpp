// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

constexpr KernelKind kTunedMatrix[] = {KernelKind::Product, KernelKind::Convolution};
constexpr KernelKind kTunedProduct[] = {KernelKind::Product};
constexpr KernelKind kTunedConvolution[] = {KernelKind::Convolution};
/// A convention: from an algorithm that is a quarter faster than the heuristic's choice to none.
constexpr DurationFactor kTuned{0.9, 0.75, 1.0};
constexpr CalibratedFactor kTuneFactors[] = {
    {"matrix", kTunedMatrix, kTuned},
    {"product", kTunedProduct},
    {"convolution", kTunedConvolution},
};

}  // namespace

constinit const ChangeType changes::autotune{
    .info = {.name = "autotune",
             .form = "autotune=on",
             .brief = "the fastest algorithm is searched for each shape",
             .effect = "matrix kernels take 0.9 (0.75 … 1) of their time",
             .argument = ChangeArgument::Word,
             .values = kSwitchWords,
             .error = kNotMeasured},
    .acts = Acts::WhenOn,
    .apply =
        [](Scenario& scenario, const Change& change, Bound bound) {
          scaleByKind(scenario, change, bound, [](std::string_view) { return true; });
        },
    .note = noteOfFactors,
    .hasBounds = true,
    .factors = kTuneFactors,
    .factorsFrom = "a convention",
};

}  // namespace lacuna::analyzer
