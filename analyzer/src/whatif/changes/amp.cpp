// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/work/efficiency.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

constexpr std::string_view kHalfTypes[] = {"bf16", "fp16"};
constexpr auto kAmpWords = [] {
  std::array<std::string_view, std::size(kHalfTypes) + kSwitchWords.size()> words;
  std::copy(std::begin(kHalfTypes), std::end(kHalfTypes), words.begin());
  std::copy(kSwitchWords.begin(), kSwitchWords.end(), words.begin() + std::size(kHalfTypes));
  return words;
}();

constexpr KernelKind kAmpMatrix[] = {KernelKind::Product, KernelKind::Convolution};
constexpr KernelKind kAmpProduct[] = {KernelKind::Product};
constexpr KernelKind kAmpConvolution[] = {KernelKind::Convolution};
constexpr KernelKind kAmpOther[] = {KernelKind::Pointwise, KernelKind::Other};
/// ResNet-18 took 0.42 and a small transformer 0.33 with oneDNN on a CPU with AMX; their
/// convolutions alone 0.29.
constexpr DurationFactor kHalfMatrix{0.35, 0.15, 0.6};
/// From the same runs.
constexpr DurationFactor kHalfOther{0.85, 0.6, 1.0};
constexpr CalibratedFactor kAmpFactors[] = {
    {"matrix", kAmpMatrix, kHalfMatrix},
    {"product", kAmpProduct},
    {"convolution", kAmpConvolution},
    {"other", kAmpOther, kHalfOther},
};

bool computesInHalf(std::string_view kernel) {
  const Number number = numberOfKernel(kernel);
  return number == Number::F16 || number == Number::Bf16 || number == Number::F8 ||
         number == Number::I8;
}

}  // namespace

constinit const ChangeType changes::amp{
    .info = {.name = "amp",
             .form = "amp=on",
             .brief = "kernels compute in half precision",
             .effect = "matrix kernels take 0.35 (0.15 … 0.6), other kernels 0.85 (0.6 … 1) of "
                       "their time; kernels whose names already show half precision keep theirs",
             .argument = ChangeArgument::Word,
             .values = kAmpWords,
             .error = kNotMeasured},
    .acts = Acts::WhenOn,
    .apply =
        [](Scenario& scenario, const Change& change, Bound bound) {
          scaleByKind(scenario, change, bound,
                      [](std::string_view name) { return !computesInHalf(name); });
        },
    .note = noteOfFactors,
    .hasBounds = true,
    .factors = kAmpFactors,
    .factorsFrom = "measured on a CPU with AMX, a convention elsewhere",
};

}  // namespace lacuna::analyzer
