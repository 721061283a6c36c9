// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/phrases.h"

#include <fmt/format.h>

#include "lacuna/analyzer/memory.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::analyzer {

double ratio(double part, double total) {
  return total <= 0 ? 0 : part / total;
}

std::string_view perStep(const Analysis& analysis) {
  return analysis.steps.all.empty() ? "in all" : "a step";
}

std::string inBrackets(std::string_view band) {
  return band.empty() ? "" : fmt::format(" ({})", band);
}

std::string bandInBrackets(std::int64_t bandNs, std::int64_t ns) {
  return inBrackets(humanBand(bandNs, ns));
}

std::string ageText(const MemoryStats& memory, std::size_t at) {
  const TensorLife& life = memory.lives[at];
  return life.stepsOld > 0 ? prof::countText(life.stepsOld, "step")
                           : prof::timeText(memory.peakAtNs - memory.live[at].allocatedNs);
}

std::string stayText(const MemoryStats& memory, std::size_t at) {
  const TensorLife& life = memory.lives[at];
  if (!life.freed) return "to the end";
  return life.stepsAhead > 0 ? prof::countText(life.stepsAhead, "step")
                             : prof::timeText(life.freedNs - memory.peakAtNs);
}

std::string liveName(const LiveTensor& tensor) {
  if (tensor.tensor.empty()) return std::string(tensor.op);
  return tensor.op.empty() ? std::string(tensor.tensor) : fmt::format("{} ({})", tensor.tensor, tensor.op);
}

}  // namespace lacuna::analyzer
