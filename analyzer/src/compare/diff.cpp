// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analyses/work/calls.h"
#include "analyses/work/copies.h"
#include "analyses/work/kernels.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

/// From the median absolute deviation to a standard deviation, for normal noise.
constexpr double kMadToSigma = 1.4826;
constexpr double kNoiseSigmas = 3;
/// A machine is never steadier than this from day to day.
constexpr double kLeastNoise = 0.02;

double spread(const std::vector<std::int64_t>& values) {
  const std::int64_t middle = medianOf(values);
  std::vector<std::int64_t> distances;
  for (const std::int64_t value : values) distances.push_back(std::abs(value - middle));
  return kMadToSigma * static_cast<double>(medianOf(distances));
}

/// Standard error of the mean step, from the means of ten blocks of steps: neighbours in time are
/// not independent.
double stepError(const Analysis& analysis) {
  const auto steady = analysis.steps.steady();
  const std::size_t blocks = std::min<std::size_t>(10, steady.size());
  if (blocks < 2) return 0;
  std::vector<std::int64_t> means;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t from = b * steady.size() / blocks;
    const std::size_t to = (b + 1) * steady.size() / blocks;
    std::int64_t sum = 0;
    for (std::size_t i = from; i < to; ++i) prof::addTo(sum, steady[i].durNs());
    means.push_back(sum / static_cast<std::int64_t>(to - from));
  }
  return spread(means) / std::sqrt(static_cast<double>(blocks));
}

double perStep(const Analysis& analysis, std::uint64_t count) {
  return static_cast<double>(count) / static_cast<double>(analysis.stepCount());
}

std::uint64_t countKernels(const Analysis& analysis) {
  std::uint64_t count = 0;
  for (const KernelRow& row : analysis.of<KernelTable>()) count += row.stepCount;
  return count;
}

std::uint64_t countSyncs(const Analysis& analysis) {
  std::uint64_t count = 0;
  for (const CallRow& row : analysis.of<CallTable>())
    count += row.activity == Activity::Sync ? row.stepCount : 0;
  return count;
}

using Figure = double (*)(const Analysis&);

/// The largest distance of the figure in a further run of the baseline.
double farthest(double before, std::span<const Analysis> noise, Figure figure) {
  double most = 0;
  for (const Analysis& run : noise) most = std::max(most, std::abs(figure(run) - before));
  return most;
}

/// Counts are the same in every run, unless runs of the baseline show otherwise, as with batches of
/// any length.
Comparison counted(std::string what, const Analysis& before, const Analysis& after,
                   std::span<const Analysis> noise, Figure figure) {
  const double a = figure(before);
  // Work of a step that the recording cut off may be missing at the edges.
  const double threshold = std::max({0.5, 0.005 * a, farthest(a, noise, figure)});
  return {std::move(what), "", a, figure(after), threshold, true};
}

Comparison timed(std::string what, const Analysis& before, const Analysis& after,
                 std::span<const Analysis> noise, Figure figure) {
  const double a = figure(before);
  double error = std::hypot(stepError(before), stepError(after));
  if (!noise.empty()) {
    std::vector<std::int64_t> runs{static_cast<std::int64_t>(a)};
    for (const Analysis& run : noise) runs.push_back(static_cast<std::int64_t>(figure(run)));
    error = std::hypot(error, spread(runs));
  }
  return {std::move(what),
          "ns",
          a,
          figure(after),
          std::max(kNoiseSigmas * error, kLeastNoise * a),
          false};
}

double stepTime(const Analysis& analysis) {
  return static_cast<double>(analysis.meanStepNs());
}
double idleTime(const Analysis& analysis) {
  return static_cast<double>(analysis.meanStepLedger().idleNs());
}
double peakMemory(const Analysis& analysis) {
  return static_cast<double>(analysis.of<MemoryTables>().all.peakBytes);
}

}  // namespace

std::vector<Comparison> compareRuns(const Analysis& before, const Analysis& after,
                                    std::span<const Analysis> noise) {
  std::vector<Comparison> out;
  for (const auto& [what, figure] :
       {std::pair<const char*, Figure>(
            "kernels per step",
            [](const Analysis& run) { return perStep(run, countKernels(run)); }),
        std::pair<const char*, Figure>(
            "synchronisations per step",
            [](const Analysis& run) { return perStep(run, countSyncs(run)); }),
        std::pair<const char*, Figure>(
            "copies per step",
            [](const Analysis& run) { return perStep(run, run.of<CopyStats>().stepCount); }),
        std::pair<const char*, Figure>("memsets per step", [](const Analysis& run) {
          return perStep(run, run.of<CopyStats>().stepMemsets);
        })}) {
    out.push_back(counted(what, before, after, noise, figure));
  }
  if (before.of<MemoryTables>().all.present && after.of<MemoryTables>().all.present) {
    const double peak = peakMemory(before);
    out.push_back({"peak memory", "bytes", peak, peakMemory(after),
                   std::max(0.01 * peak, farthest(peak, noise, peakMemory)), true});
  }
  out.push_back(timed("step time", before, after, noise, stepTime));
  Comparison idle = timed("idle time per step", before, after, noise, idleTime);
  // Idle time is what is left of the step, so it is no steadier than the step is.
  idle.threshold = std::max(idle.threshold, kLeastNoise * stepTime(before));
  out.push_back(std::move(idle));
  return out;
}

namespace {

using TimesByName = std::map<std::string, std::pair<double, double>>;

/// Sums per step of both runs by name, as comparisons, largest difference first.
std::vector<Comparison> byDifference(const TimesByName& byName, std::string_view prefix) {
  std::vector<Comparison> out;
  for (const auto& [name, times] : byName) {
    out.push_back({std::string(prefix) + name, "ns", times.first, times.second,
                   3 * kLeastNoise * std::max(times.first, times.second), false});
  }
  std::sort(out.begin(), out.end(), [](const Comparison& a, const Comparison& b) {
    return std::abs(a.after - a.before) > std::abs(b.after - b.before);
  });
  return out;
}

template <class Rows, class Time>
TimesByName timesByName(const Rows& before, double beforeSteps, const Rows& after,
                        double afterSteps, Time time) {
  TimesByName byName;
  for (const auto& row : before)
    byName[row.name].first += static_cast<double>(time(row)) / beforeSteps;
  for (const auto& row : after)
    byName[row.name].second += static_cast<double>(time(row)) / afterSteps;
  return byName;
}

}  // namespace

std::vector<Comparison> compareKernels(const Analysis& before, const Analysis& after) {
  return byDifference(timesByName(before.of<KernelTable>(), static_cast<double>(before.stepCount()),
                                  after.of<KernelTable>(), static_cast<double>(after.stepCount()),
                                  [](const KernelRow& row) { return row.stepNs; }),
                      "kernel ");
}

std::vector<Comparison> compareOperators(const Analysis& before, const Analysis& after) {
  return byDifference(
      timesByName(before.of<OperatorTables>().byName, static_cast<double>(before.stepCount()),
                  after.of<OperatorTables>().byName, static_cast<double>(after.stepCount()),
                  [](const OperatorRow& row) { return row.stepSelfNs + row.stepDeviceNs; }),
      "operator ");
}

std::vector<Comparison> compareLedgers(const Analysis& before, const Analysis& after) {
  const Ledger a = before.meanStepLedger();
  const Ledger b = after.meanStepLedger();
  // An entry is a part of the step, so it is no steadier than the step is.
  const double error = std::hypot(stepError(before), stepError(after));
  const double threshold = std::max(kNoiseSigmas * error, kLeastNoise * stepTime(before));
  std::vector<Comparison> out;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    if (a.ns[i] == 0 && b.ns[i] == 0) continue;
    out.push_back({std::string(causeLabel(static_cast<Cause>(i))), "ns",
                   static_cast<double>(a.ns[i]), static_cast<double>(b.ns[i]), threshold, false});
  }
  return out;
}

}  // namespace lacuna::analyzer
