// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/parts.h"

#include <algorithm>
#include <array>

namespace lacuna::analyzer {
namespace {

constexpr std::array kParts{
#define LACUNA_ANALYSIS_POINTER(name) &parts::name,
    LACUNA_REGISTRY(LACUNA_ANALYSIS_POINTER, LACUNA_NOTHING, LACUNA_ANALYSIS_POINTER)
#undef LACUNA_ANALYSIS_POINTER
};

}  // namespace

PartList listedParts() {
  return kParts;
}

std::vector<const AnalysisPart*> inputsFirst(PartList listed) {
  std::vector<const AnalysisPart*> waiting(listed.begin(), listed.end());
  std::vector<const AnalysisPart*> ordered;
  const auto isReady = [&](const AnalysisPart* part) {
    return std::ranges::all_of(part->inputs, [&](const AnalysisPart* input) {
      return std::ranges::find(ordered, input) != ordered.end();
    });
  };
  for (auto next = std::ranges::find_if(waiting, isReady); next != waiting.end();
       next = std::ranges::find_if(waiting, isReady)) {
    ordered.push_back(*next);
    waiting.erase(next);
  }
  return ordered;
}

PartList allParts() {
  static const std::vector<const AnalysisPart*> ordered = inputsFirst(kParts);
  return ordered;
}

}  // namespace lacuna::analyzer
