// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "support/planted_runs.h"

#include <functional>
#include <random>

namespace lacuna::test {

using analyzer::FindingId;

std::span<const PlantedRun> plantedRuns() {
  static const std::vector<PlantedRun> kCases{
      {{}, {}},
      {{.syncEachStep = true}, {}},
      {{.ranks = 2, .collectiveNs = 100'000}, {}},
      {{.operators = 10, .kernelNs = 900'000}, {}},
      {{.steps = 60, .batchNs = 2'000'000, .workers = 4}, {}},
      {{.batchNs = 20'000'000, .workers = 0}, {FindingId::LoaderWait}},
      {{.batchNs = 30'000'000, .workers = 1}, {FindingId::LoaderWait}},
      {{.operatorNs = 60'000, .syncEveryOperators = 4}, {FindingId::SyncInStep}},
      {{.operatorNs = 60'000, .syncEveryOperators = 1}, {FindingId::DebugMode}},
      {{.operators = 200, .kernelNs = 3'000}, {FindingId::LaunchBound}},
      {{.operatorNs = 200'000, .launchNs = 120'000}, {FindingId::SlowLaunches}},
      {{.pageableCopyNs = 2'000'000}, {FindingId::PageableCopy}},
      {{.zeroGradNs = 1'000'000}, {FindingId::ZeroGrad}},
      {{.mallocNs = 3'000'000}, {FindingId::DriverCalls}},
      {{.hostPauseNs = 3'000'000}, {FindingId::HostWork}},
      {{.asleepNs = 3'000'000}, {FindingId::HostNotRunning}},
      {{.leakBytes = 2 << 20}, {FindingId::MemoryLeak}},
      {{.memorySpike = true}, {FindingId::MemorySpike}},
      {{.allocationChurn = true}, {FindingId::AllocationChurn}},
      {{.ranks = 2, .collectiveNs = 3'000'000}, {FindingId::ExposedCommunication}},
      {{.ranks = 4, .collectiveNs = 100'000, .lateNs = 2'000'000}, {FindingId::LateRank}},
      {{.tinyRepeats = 300}, {FindingId::TinyKernels}},
      {{.biasBeforeNorm = true}, {FindingId::BiasBeforeNorm}},
      {{.blockingCopyNs = 600'000}, {FindingId::BlockingCopy}},
      {{.blockingMemsetNs = 600'000}, {FindingId::BlockingMemset}},
      {{.gloo = true}, {FindingId::SlowBackend}},
      {{.batchNs = 20'000'000, .workers = 0, .leakBytes = 2 << 20},
       {FindingId::LoaderWait, FindingId::MemoryLeak}},
      {{.pageableCopyNs = 2'000'000, .zeroGradNs = 1'000'000},
       {FindingId::PageableCopy, FindingId::ZeroGrad}},
      {{.memorySpike = true, .biasBeforeNorm = true},
       {FindingId::MemorySpike, FindingId::BiasBeforeNorm}},
      {{.asleepNs = 3'000'000, .allocationChurn = true},
       {FindingId::HostNotRunning, FindingId::AllocationChurn}},
  };
  return kCases;
}

RunPlan anyPlan(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto chance = [&](std::uint32_t oneIn) { return random() % oneIn == 0; };
  const auto upTo = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random()) % most + 1;
  };
  RunPlan plan{.steps = static_cast<int>(10 + upTo(30)),
               .operators = static_cast<int>(upTo(120)),
               .operatorNs = upTo(100'000),
               .kernelNs = upTo(150'000),
               .batchNs = upTo(8'000'000),
               .workers = static_cast<int>(upTo(4)) - 1,
               .syncEachStep = chance(2)};
  const std::vector<std::function<void()>> faults{
      [&] { plan.syncEveryOperators = static_cast<int>(upTo(8)); },
      [&] { plan.pageableCopyNs = upTo(3'000'000); },
      [&] { plan.zeroGradNs = upTo(2'000'000); },
      [&] { plan.mallocNs = upTo(4'000'000); },
      [&] { plan.hostPauseNs = upTo(4'000'000); },
      [&] { plan.asleepNs = upTo(4'000'000); },
      [&] { plan.collectiveNs = upTo(4'000'000); },
      [&] { plan.tinyRepeats = static_cast<int>(upTo(300)); },
      [&] { plan.biasBeforeNorm = true; },
      [&] { plan.biasGradientNs = upTo(1'000'000); },
      [&] { plan.blockingCopyNs = upTo(1'000'000); },
      [&] { plan.blockingMemsetNs = upTo(1'000'000); },
      [&] { plan.optimizerKernels = static_cast<int>(upTo(100)); },
      [&] { plan.roundTrips = static_cast<int>(upTo(10)); },
      [&] { plan.slowStepNs = upTo(20'000'000); },
      [&] { plan.waitIsMarked = false; },
      [&] { plan.stepsMarked = false; },
      [&] { plan.cpuDevice = true; },
      [&] { plan.allocationChurn = true; },
      [&] { plan.launchNs = upTo(150'000); },
  };
  for (const auto& plant : faults) {
    if (chance(5)) plant();
  }
  return plan;
}

}  // namespace lacuna::test
