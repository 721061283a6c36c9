// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/copies.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyses/parts.h"
#include "analyses/work/calls.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {

using prof::TimeNs;

std::string_view copyKindName(std::size_t kind) {
  static constexpr std::string_view kNames[kCopyKindCount] = {
      "unknown",          "host to device", "device to host",  "host to array",
      "array to host",    "array to array", "array to device", "device to array",
      "device to device", "host to host",   "peer to peer"};
  return kNames[std::min(kind, kCopyKindCount - 1)];
}

prof::Result<CopyStats> copyStats(const Store& store, prof::TimeWindow window,
                                  const TableScope& scope, const StepWork& work) {
  using prof::Memcpy;
  using prof::Memset;
  CopyStats stats;
  const auto cpus = cpuDevices(store);
  const double rangeNs = eventCosts(store).rangeNs;
  const auto bandOf = [&](prof::DeviceId device, TimeNs start, std::int64_t dur) {
    if (!cpus.contains(device)) return std::int64_t{0};
    return std::min<std::int64_t>(dur,
                                  std::llround(rangeNs + scope.taken.between(start, start + dur)));
  };
  const auto inSteps = [&](prof::QueueId queue, TimeNs start) {
    return work.outside.empty() || !work.outside.contains({queue, start});
  };
  auto status =
      store.scan<&Memcpy::startNs, &Memcpy::durNs, &Memcpy::queue, &Memcpy::device, &Memcpy::bytes,
                 &Memcpy::sourceKind, &Memcpy::targetKind, &Memcpy::copyKind>(
          window, [&](std::uint64_t, auto start, auto dur, auto queue, auto device, auto bytes,
                      auto source, auto target, auto kind) {
            for (std::size_t i = 0; i < start.size(); ++i) {
              if (start[i] < window.startNs || start[i] >= window.endNs ||
                  !scope.only.holds(queue[i]))
                continue;
              const bool counts = inSteps(queue[i], start[i]);
              ++stats.count;
              stats.stepCount += counts ? 1 : 0;
              prof::addTo(stats.bytes, bytes[i]);
              CopyRow& row =
                  stats.byKind[std::min(static_cast<std::size_t>(kind[i]), kCopyKindCount - 1)];
              ++row.count;
              prof::addTo(row.bytes, bytes[i]);
              prof::addTo(row.ns, dur[i]);
              prof::addTo(row.recordingNs, bandOf(device[i], start[i], dur[i]));
              if (source[i] != prof::MemoryKind::Pageable &&
                  target[i] != prof::MemoryKind::Pageable)
                continue;
              ++stats.pageableCount;
              prof::addTo(stats.pageableBytes, bytes[i]);
              prof::addTo(stats.pageableNs, dur[i]);
              prof::addTo(stats.pageableRecordingNs, bandOf(device[i], start[i], dur[i]));
              if (!counts || bytes[i] <= kStagedBytes) continue;
              ++stats.stepPageableCount;
              prof::addTo(stats.stepPageableBytes, bytes[i]);
              prof::addTo(stats.stepPageableNs, dur[i]);
            }
          });
  if (!status) return status.error();
  status = store.scan<&Memset::startNs, &Memset::durNs, &Memset::queue, &Memset::device>(
      window, [&](std::uint64_t, auto start, auto dur, auto queue, auto device) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (start[i] < window.startNs || start[i] >= window.endNs || !scope.only.holds(queue[i]))
            continue;
          ++stats.memsetCount;
          stats.stepMemsets += inSteps(queue[i], start[i]) ? 1 : 0;
          prof::addTo(stats.memsetNs, dur[i]);
          prof::addTo(stats.memsetRecordingNs, bandOf(device[i], start[i], dur[i]));
        }
      });
  if (!status) return status.error();
  return stats;
}

namespace of_copies {
namespace {

constexpr std::array kInputs{&parts::stepWork};

prof::Status compute(Analysis& analysis) {
  return keep(analysis,
              copyStats(*analysis.store, analysis.window, analysis.scope, analysis.of<StepWork>()));
}

}  // namespace
}  // namespace of_copies

constinit const AnalysisPart parts::copies{
    .name = "copies",
    .inputs = of_copies::kInputs,
    .compute = of_copies::compute,
};

}  // namespace lacuna::analyzer
