// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/sequence_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "report/text_details.h"
#include "rules/words.h"

namespace lacuna::analyzer {
namespace {

std::string shortKernel(std::string_view kernel) {
  std::string name = plainName(kernel);
  const std::size_t space = name.rfind("::");
  return space == std::string::npos || space + 2 == name.size() ? name : name.substr(space + 2);
}

SequenceRow sumOf(const std::vector<SequenceRow>& rows) {
  SequenceRow sum;
  for (const SequenceRow& row : rows) {
    sum.count += row.count;
    sum.runs += row.launches();
    prof::addTo(sum.deviceNs, row.deviceNs);
    prof::addTo(sum.gapNs, row.gapNs);
  }
  return sum;
}

void addRows(const Analysis& analysis, const std::vector<SequenceRow>& rows, int width, int most, Lines& out) {
  const int nameWidth = std::max(4, width - 44);
  for (std::size_t i = 0; i < rows.size() && static_cast<int>(i) < most; ++i) {
    const SequenceRow& row = rows[i];
    out.push_back(fmt::format(
        " {} {:>9.1f} {:>11} {:>11} {:>8}", padded(sequenceText(*analysis.store, row), nameWidth),
        sequenceCountPerStep(analysis, row.count), prof::timeText(sequenceNsPerStep(analysis, row.deviceNs)),
        prof::timeText(sequenceNsPerStep(analysis, row.gapNs)), prof::shareText(sequenceShare(analysis, row))));
  }
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
    if (analysis.steps.all[i].within(analysis.window)) prof::addTo(total, analysis.stepLedgers[i].totalNs());
  }
  if (total == 0) total = analysis.ledger.totalNs();
  return total <= 0 ? 0 : static_cast<double>(row.totalNs()) / static_cast<double>(total);
}

double sequenceCountPerStep(const Analysis& analysis, std::uint64_t count) {
  return static_cast<double>(count) / static_cast<double>(analysis.stepCount() * analysis.processCount());
}

std::int64_t sequenceNsPerStep(const Analysis& analysis, std::int64_t ns) {
  return ns / (analysis.stepCount() * std::max<std::int64_t>(1, static_cast<std::int64_t>(analysis.devices.size())));
}

Lines sequenceLines(const Analysis& analysis, int width, int rows) {
  const SequenceStats& stats = analysis.sequences;
  Lines out;
  if (stats.repeated.empty() && stats.pointwise.empty()) return out;
  out.push_back(fmt::format(" {} {:>9} {:>11} {:>11} {:>8}", padded("kernels in order", std::max(4, width - 44)),
                            analysis.steps.all.empty() ? "in all" : "a step", "computing", "gaps", "share"));
  addRows(analysis, stats.repeated, width, rows, out);
  if (stats.repeated.empty())
    out.emplace_back(analysis.steps.all.empty() ? " none repeat" : " none repeat within a step");
  if (stats.pointwise.empty()) return out;
  const SequenceRow sum = sumOf(stats.pointwise);
  const bool steps = !analysis.steps.all.empty();
  out.push_back(fmt::format(
      " pointwise kernels one behind the other, which one kernel could do: {:.1f} {}, {:.1f} launches, {} of the time, "
      "{} of that between them",
      sequenceCountPerStep(analysis, sum.count), steps ? "times a step" : "times in all",
      sequenceCountPerStep(analysis, sum.runs), prof::shareText(sequenceShare(analysis, sum)),
      prof::shareText(sum.totalNs() <= 0 ? 0 : static_cast<double>(sum.gapNs) / static_cast<double>(sum.totalNs()))));
  addRows(analysis, stats.pointwise, width, rows, out);
  return out;
}

}  // namespace lacuna::analyzer
