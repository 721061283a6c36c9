// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "analyses/disturbance/recording_bands.h"
#include "analyses/parts.h"
#include "analyses/work/kernels.h"
#include "analyses/work/name_guesses.h"
#include "analyses/work/step_work.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::Kernel;

/// The executions of CPU devices among the kernels are recorded by those that run them, and take
/// that much longer.
prof::Status addRecording(const Store& store, prof::TimeWindow window, const TableScope& scope,
                          std::unordered_map<prof::StringId, KernelRow>& byName) {
  const EventCosts costs = eventCosts(store);
  const auto cpus = cpuDevices(store);
  if ((!costs.known() && scope.taken.empty()) || cpus.empty()) return {};
  std::unordered_map<prof::StringId, RecordedTime> recorded;
  if (scope.taken.empty() && cpus.size() == store.rows<prof::Device>()) {
    for (auto& [name, row] : byName) recorded[name].ranges = row.count;
  } else {
    const auto status = store.scan<&Kernel::startNs, &Kernel::durNs, &Kernel::queue,
                                   &Kernel::device, &Kernel::name>(
        window, [&](std::uint64_t, auto start, auto dur, auto queue, auto device, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            const bool inside =
                start[i] >= window.startNs && start[i] < window.endNs && scope.only.holds(queue[i]);
            if (!inside || !cpus.contains(device[i])) continue;
            RecordedTime& sum = recorded[name[i]];
            ++sum.ranges;
            sum.takenNs += scope.taken.between(start[i], start[i] + dur[i]);
          }
        });
    if (!status) return status;
  }
  for (const auto& [name, sum] : recorded) {
    KernelRow& row = byName[name];
    row.recordingNs = sum.of(row.totalNs, costs);
  }
  return {};
}

}  // namespace

prof::Result<std::vector<KernelRow>> kernelTable(const Store& store, prof::TimeWindow window,
                                                 const TableScope& scope, const StepWork& work) {
  std::unordered_map<prof::StringId, KernelRow> byName;
  const auto status = store.scan<&Kernel::startNs, &Kernel::durNs, &Kernel::queue, &Kernel::name>(
      window, [&](std::uint64_t, auto start, auto dur, auto queue, auto name) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (start[i] < window.startNs || start[i] >= window.endNs || !scope.only.holds(queue[i]))
            continue;
          KernelRow& row = byName[name[i]];
          row.minNs = row.count == 0 ? dur[i] : std::min(row.minNs, dur[i]);
          row.maxNs = std::max(row.maxNs, dur[i]);
          prof::addTo(row.totalNs, dur[i]);
          ++row.count;
        }
      });
  if (!status) return status.error();
  if (const auto added = addRecording(store, window, scope, byName); !added) return added.error();
  std::vector<KernelRow> rows;
  for (auto& [id, row] : byName) {
    row.name = store.text(id);
    const auto inSteps = work.kernels.find(id);
    if (inSteps != work.kernels.end()) {
      row.stepCount = inSteps->second.count;
      row.stepNs = inSteps->second.ns;
    } else if (scope.steps.everything()) {
      row.stepCount = row.count;
      row.stepNs = row.totalNs;
    }
    row.work = classifyKernel(row.name);
    row.tensorCore = usesTensorCores(row.name);
    row.matrix = isMatrixWork(row.name);
    row.pointwise = isPointwiseWork(row.name);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) {
    return a.totalNs != b.totalNs ? a.totalNs > b.totalNs : a.name < b.name;
  });
  return rows;
}

namespace of_kernels {
namespace {

constexpr std::array kInputs{&parts::stepWork};

prof::Status compute(Analysis& analysis) {
  return keep(analysis, kernelTable(*analysis.store, analysis.window, analysis.scope,
                                    analysis.of<StepWork>()));
}

}  // namespace
}  // namespace of_kernels

constinit const AnalysisPart parts::kernels{
    .name = "kernels",
    .inputs = of_kernels::kInputs,
    .compute = of_kernels::compute,
};

}  // namespace lacuna::analyzer
