// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/sequence_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyses/work/sequences.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "rules/words.h"

namespace lacuna::analyzer {
namespace {

std::string shortKernel(std::string_view kernel) {
  std::string name = plainName(kernel);
  const std::size_t space = name.rfind("::");
  return space == std::string::npos || space + 2 == name.size() ? name : name.substr(space + 2);
}

}  // namespace

std::string sequenceText(const Store& store, const SequenceRow& row) {
  std::string out;
  for (std::size_t i = 0; i < row.kernels.size();) {
    const std::string name = shortKernel(store.text(row.kernels[i]));
    std::size_t end = i + 1;
    while (end < row.kernels.size() && shortKernel(store.text(row.kernels[end])) == name) ++end;
    out += (out.empty() ? "" : ", ") + name + (end - i > 1 ? fmt::format(" ×{}", end - i) : "");
    i = end;
  }
  return out;
}

double sequenceShare(const Analysis& analysis, const SequenceRow& row) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < analysis.steps.all.size(); ++i) {
    if (analysis.steps.all[i].within(analysis.window))
      prof::addTo(total, analysis.ledgers.steps[i].totalNs());
  }
  if (total == 0) total = analysis.ledgers.run.totalNs();
  return total <= 0 ? 0 : static_cast<double>(row.totalNs()) / static_cast<double>(total);
}

double sequenceCountPerStep(const Analysis& analysis, std::uint64_t count) {
  return static_cast<double>(count) /
         static_cast<double>(analysis.stepCount() * analysis.processCount());
}

std::int64_t sequenceNsPerStep(const Analysis& analysis, std::int64_t ns) {
  return ns / (analysis.stepCount() *
               std::max<std::int64_t>(1, static_cast<std::int64_t>(analysis.devices.size())));
}

}  // namespace lacuna::analyzer
