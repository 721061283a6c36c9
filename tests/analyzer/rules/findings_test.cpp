// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/findings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store_builder.h"
#include "lacuna/analyzer/summary.h"
#include "lacuna/analyzer/tables.h"
#include "lacuna/analyzer/whatif.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

using test::restlessRun;
using test::RunPlan;

Analysis analysed(const RunPlan& plan, const AnalysisOptions& options = {}) {
  auto analysis = analyse(test::makeRun(plan), options);
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

std::vector<std::string> faults(const RunPlan& plan, const AnalysisOptions& options = {}) {
  std::vector<std::string> ids;
  const Analysis analysis = analysed(plan, options);
  for (const Finding& finding : analysis.findings) {
    if (finding.kind == FindingKind::Fault) ids.push_back(finding.id);
  }
  return ids;
}

const Finding* find(const Analysis& analysis, std::string_view id) {
  for (const Finding& finding : analysis.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

/// A step of 40 µs of device work and some 0.2 ms of the host's, at whose end the host waits for the device.
constexpr RunPlan kHostBound{.steps = 20, .operators = 10, .kernelNs = 4'000, .batchNs = 1'000, .syncEachStep = true};

RunPlan with(RunPlan plan, auto change) {
  change(plan);
  return plan;
}

TEST(Findings, NoGraphLaunchesTheCpusOperatorsSooner) {
  // Thirty operators, and 0.3 ms of the program's own work in front of each: of a GPU that might be launches.
  const RunPlan plan{.steps = 20, .operators = 30, .operatorNs = 300'000, .kernelNs = 20'000, .batchNs = 1'000};
  EXPECT_THAT(faults(plan), testing::Contains("launch-bound"));
  const auto onCpu = faults(with(plan, [](RunPlan& p) { p.cpuDevice = true; }));
  EXPECT_THAT(onCpu, testing::Contains("host-work"));
  EXPECT_THAT(onCpu, testing::Not(testing::Contains("launch-bound")));
}

TEST(Findings, TellOfWorkersThatAreStartedAnew) {
  const RunPlan plan{.steps = 60, .batchNs = 500'000, .workers = 2, .stepsPerEpoch = 20, .restartNs = 80'000'000};
  const Analysis analysis = analysed(plan);
  EXPECT_EQ(analysis.loader.workers, 2U);
  const Finding* finding = find(analysis, "loader-restarts");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(analysis.findings.front().id, "loader-restarts");
  EXPECT_EQ(finding->count, 2U);
  const auto perStep = static_cast<double>(2 * plan.restartNs) / static_cast<double>(analysis.stepCount());
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep), perStep, 0.05 * perStep);
  EXPECT_EQ(finding->predictedGainNsPerStep, finding->costNsPerStep);
  EXPECT_EQ(find(analysis, "loader-wait"), nullptr) << "nothing but the restarts makes this run wait";
  RunPlan kept = plan;
  kept.stepsPerEpoch = 0;
  const Analysis without = analysed(kept);
  EXPECT_EQ(find(without, "loader-restarts"), nullptr);
}

TEST(Findings, KnowHowManyWorkersWouldDoWhereTheyAreStartedAnew) {
  const RunPlan plan{.steps = 60, .batchNs = 30'000'000, .workers = 2, .stepsPerEpoch = 20, .restartNs = 300'000'000};
  RunPlan kept = plan;
  kept.stepsPerEpoch = 0;
  const Analysis without = analysed(kept);
  const Analysis with = analysed(plan);
  ASSERT_NE(find(with, "loader-restarts"), nullptr);
  ASSERT_NE(find(with, "loader-wait"), nullptr);
  ASSERT_NE(find(without, "loader-wait"), nullptr);
  EXPECT_EQ(find(with, "loader-wait")->knob, find(without, "loader-wait")->knob);
}

TEST(Findings, ProposeNoWorkersThatTheReplayCallsSlower) {
  int without = 0;
  for (const std::uint32_t cores : {1u, 2u, 4u}) {
    for (const int workers : {0, 1, 2}) {
      for (const std::int64_t batchNs : {3'000'000, 12'000'000}) {
        const Analysis analysis = analysed({.steps = 30,
                                            .batchNs = batchNs,
                                            .workers = workers,
                                            .syncEachStep = true,
                                            .hostCores = cores,
                                            .cpuDevice = true,
                                            .loaderComputes = true});
        for (const Finding& finding : analysis.findings) {
          if (finding.id != "loader-wait") continue;
          if (finding.knob.empty()) {
            EXPECT_THAT(finding.advice, testing::HasSubstr("more workers would not help"));
            ++without;
          } else {
            EXPECT_GT(Simulator::create(analysis)->play(finding.knob).gainNs(), 0) << finding.knob;
          }
        }
      }
    }
  }
  EXPECT_GT(without, 0);
}

struct Planted {
  const char* name;
  RunPlan plan;
  std::string id;
};

class PlantedFault : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, IsTheTopFinding) {
  const auto found = faults(GetParam().plan);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), GetParam().id) << testing::PrintToString(found);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, PlantedFault,
    testing::Values(Planted{"SlowLoader", {.batchNs = 20'000'000, .workers = 0, .syncEachStep = true}, "loader-wait"},
                    Planted{"SlowLoaderWithoutSyncs", {.batchNs = 20'000'000, .workers = 0}, "loader-wait"},
                    Planted{"StarvedWorkers", {.batchNs = 30'000'000, .workers = 1}, "loader-wait"},
                    Planted{"SyncInStep", {.operatorNs = 60'000, .syncEveryOperators = 4}, "sync-in-step"},
                    Planted{"DebugMode", {.operatorNs = 60'000, .syncEveryOperators = 1}, "debug-mode"},
                    Planted{"TinyKernels", {.operators = 200, .kernelNs = 3'000}, "launch-bound"},
                    Planted{"PageableCopy", {.pageableCopyNs = 2'000'000}, "pageable-copy"},
                    Planted{"ZeroGrad", {.zeroGradNs = 1'000'000}, "zero-grad"},
                    Planted{"Malloc", {.mallocNs = 3'000'000}, "driver-calls"},
                    Planted{"HostPause", {.hostPauseNs = 3'000'000}, "host-work"},
                    Planted{"Asleep", {.asleepNs = 3'000'000}, "host-not-running"},
                    Planted{"Leak", {.leakBytes = 2 << 20}, "memory-leak"},
                    Planted{"MemorySpike", {.memorySpike = true}, "memory-spike"},
                    Planted{"AllocationChurn", {.allocationChurn = true}, "allocation-churn"},
                    Planted{"TinyRepeats", {.tinyRepeats = 300}, "tiny-kernels"},
                    Planted{"BiasBeforeNorm", {.biasBeforeNorm = true}, "bias-before-norm"},
                    Planted{"BlockingCopy", {.blockingCopyNs = 600'000}, "blocking-copy"},
                    Planted{"BlockingMemset", {.blockingMemsetNs = 600'000}, "blocking-memset"},
                    Planted{"HostCollectives", {.gloo = true}, "slow-backend"},
                    Planted{"SlowLaunches", {.operatorNs = 200'000, .launchNs = 120'000}, "slow-launches"},
                    Planted{"ExposedCommunication", {.ranks = 2, .collectiveNs = 3'000'000}, "exposed-communication"},
                    Planted{"DataParallel", {.ranks = 2, .dataParallel = true}, "data-parallel"},
                    Planted{"LateRank", {.ranks = 2, .collectiveNs = 100'000, .lateNs = 2'000'000}, "late-rank"}),
    [](const auto& info) { return info.param.name; });

std::vector<std::string> opportunities(const RunPlan& plan) {
  std::vector<std::string> ids;
  for (const Finding& finding : analysed(plan).findings) {
    if (finding.kind == FindingKind::Opportunity) ids.push_back(finding.id);
  }
  return ids;
}

TEST(Findings, OpportunitiesAreNamed) {
  EXPECT_THAT(opportunities(with(kHostBound, [](RunPlan& p) { p.roundTrips = 3; })),
              testing::Contains("dtype-round-trip"));
  EXPECT_THAT(opportunities(with(kHostBound, [](RunPlan& p) { p.optimizerKernels = 12; })),
              testing::Contains("optimizer-fused"));
  EXPECT_THAT(opportunities({.cpuDevice = true}), testing::Contains("half-on-cpu"));
  EXPECT_THAT(opportunities({.kernelName = "sgemm_128x64", .syncEachStep = true}), testing::Contains("amp"));
  EXPECT_THAT(opportunities({.kernelName = "vectorized_elementwise_kernel"}), testing::Contains("fuse"));
  EXPECT_THAT(opportunities({.kernelName = "sgemm_128x64", .knob = "autotune", .knobValue = "off"}),
              testing::Contains("autotune"));
  EXPECT_THAT(opportunities({.steps = 40, .slowStepNs = 20'000'000}), testing::Contains("slow-steps"));
}

TEST(Findings, WhatCostsAndGainsNextToNothingIsNone) {
  // Half a percent of a step is worth acting on, of a fault a tenth: 3 conversions of 2 µs in 0.2 ms are, in 4 ms not.
  const RunPlan longSteps{.syncEachStep = true, .roundTrips = 3};
  EXPECT_THAT(opportunities(longSteps), testing::Not(testing::Contains("dtype-round-trip")));
  EXPECT_THAT(faults({.operators = 400, .zeroGradNs = 100}), testing::Not(testing::Contains("zero-grad")));
  EXPECT_THAT(faults({.zeroGradNs = 100'000}), testing::Contains("zero-grad"));
  for (const RunPlan& plan : {RunPlan{.biasGradientNs = 10'000}, RunPlan{.syncEachStep = true, .optimizerKernels = 12},
                              RunPlan{.operators = 400, .zeroGradNs = 100}, longSteps}) {
    const Analysis analysis = analysed(plan);
    for (const Finding& finding : analysis.findings) {
      const std::int64_t weight = std::max(finding.costNsPerStep, finding.predictedGainNsPerStep);
      const int oneIn = finding.kind == FindingKind::Fault ? 1000 : 200;
      EXPECT_TRUE(weight * oneIn >= analysis.meanStepNs() || finding.gainBasis == GainBasis::None ||
                  finding.gainBasis == GainBasis::Bytes)
          << finding.id;
    }
  }
}

TEST(Findings, AFaultThatSomethingElseHidesIsToldOfWithItsCost) {
  // A reduction of 0.9 ms for a bias, behind waits for batches that take longer than all work of a step.
  const RunPlan plan{.batchNs = 20'000'000, .workers = 1, .biasBeforeNorm = true, .biasGradientNs = 900'000};
  const Analysis analysis = analysed(plan);
  const Finding* finding = find(analysis, "bias-before-norm");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->costNsPerStep, 900'000);
  EXPECT_LT(finding->predictedGainNsPerStep, 100'000);
  EXPECT_THAT(finding->title, testing::EndsWith(": 900.0 µs a step"));
}

TEST(Findings, AChangeGainsNoMoreThanItTakesAway) {
  RunPlan plan = kHostBound;
  plan.operators = 200;
  plan.roundTrips = 10;
  plan.hostOperatorNs = 10'000;
  const Analysis analysis = analysed(plan);
  const Finding* finding = find(analysis, "dtype-round-trip");
  ASSERT_NE(finding, nullptr);
  // Ten conversions of 10 µs are taken away, however uncertain the replay of a step of 3 ms is.
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), 100e3, 5e3);
  EXPECT_LE(finding->gainHighNsPerStep, 105'000);
}

TEST(Findings, WhatTheReplayDoesNotSeeOfIsNotCalledWorthless) {
  const Analysis analysis = analysed({.gloo = true});
  const Finding* finding = find(analysis, "slow-backend");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gainBasis, GainBasis::None);
  EXPECT_THAT(finding->notPredicted, testing::HasSubstr("what others lose by it is not replayed"));
}

TEST(Findings, LaunchCallsThatTakeLongAreNotWorkOfTheProgram) {
  const Analysis analysis = analysed(with(kHostBound, [](RunPlan& p) { p.loadsCodeNs = 3'000'000; }));
  const Finding* finding = find(analysis, "host-work");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, testing::EndsWith("a step, most of it in launch calls of aten::block"));
  EXPECT_THAT(finding->advice, testing::HasSubstr("a kernel's first launch loads its code"));
}

TEST(Findings, SeveralTensorsThatAreConvertedOneByOneAreNoRoundTrip) {
  EXPECT_THAT(opportunities({.roundTrips = 6, .tripsAreOfOne = false}),
              testing::Not(testing::Contains("dtype-round-trip")));
}

TEST(Findings, WhatIsSwitchedOnAlreadyIsNoOpportunity) {
  const auto with = [](const char* kernel, const char* knob) {
    return opportunities({.kernelName = kernel, .syncEachStep = true, .knob = knob, .knobValue = "on"});
  };
  EXPECT_THAT(with("sgemm_128x64", "amp"), testing::Not(testing::Contains("amp")));
  EXPECT_THAT(with("vectorized_elementwise_kernel", "fuse"), testing::Not(testing::Contains("fuse")));
  EXPECT_THAT(with("sgemm_128x64", "autotune"), testing::Not(testing::Contains("autotune")));
  EXPECT_THAT(opportunities({.steps = 40}), testing::Not(testing::Contains("slow-steps")));
  EXPECT_THAT(faults({.ranks = 2}), testing::Not(testing::Contains("data-parallel")));
}

TEST(Findings, ACallOfTheOperatingSystemIsNoDriverCall) {
  // Also where the scheduler tells that most of it was sleep.
  for (const std::int64_t asleepNs : {0, 2'500'000}) {
    const Analysis analysis = analysed({.asleepNs = asleepNs, .readNs = 3'000'000 - asleepNs});
    const Ledger step = analysis.meanStepLedger();
    EXPECT_EQ(step[Cause::DriverCall], 0) << asleepNs;
    EXPECT_NEAR(static_cast<double>(step[Cause::OffCpu]), 3e6, 0.05 * 3e6) << asleepNs;
    const auto finding = std::ranges::find(analysis.findings, "host-not-running", &Finding::id);
    ASSERT_NE(finding, analysis.findings.end()) << asleepNs;
    EXPECT_THAT(finding->title, testing::EndsWith("a step, most of it in read")) << asleepNs;
    ASSERT_FALSE(finding->evidence.empty()) << asleepNs;
    EXPECT_EQ(finding->evidence[0].what, "host thread not running: read") << asleepNs;
    EXPECT_EQ(std::ranges::find(analysis.findings, "driver-calls", &Finding::id), analysis.findings.end()) << asleepNs;
  }
}

TEST(Findings, CpuDevicesGetNoAdviceForGpus) {
  const RunPlan slow{.kernelNs = 3'000, .kernelName = "sgemm", .batchNs = 20'000'000, .workers = 0};
  EXPECT_THAT(opportunities(slow), testing::Contains("small-batch"));
  RunPlan onHost = slow;
  onHost.cpuDevice = true;
  EXPECT_THAT(opportunities(onHost), testing::Not(testing::Contains("small-batch")));
  EXPECT_THAT(opportunities(onHost), testing::Not(testing::Contains("amp")));
}

TEST(Findings, GrowingMemoryIsALeakAndNothingElse) {
  EXPECT_EQ(faults({.steps = 40, .leakBytes = 16 << 20}), std::vector<std::string>{"memory-leak"});
}

TEST(Findings, CleanRunsHaveNoFault) {
  EXPECT_THAT(faults({}), testing::IsEmpty());
  EXPECT_THAT(faults({.syncEachStep = true}), testing::IsEmpty());
  EXPECT_THAT(faults({.ranks = 2, .collectiveNs = 100'000}), testing::IsEmpty());
  EXPECT_THAT(faults({.operators = 10, .kernelNs = 900'000}), testing::IsEmpty());
}

TEST(Findings, AStepOfFewLaunchesMayWaitForItsLoss) {
  // As a captured graph: two launches and a synchronisation a step, and the device is hardly idle.
  EXPECT_THAT(faults({.steps = 40, .operators = 1, .kernelNs = 9'000'000, .syncEachStep = true}), testing::IsEmpty());
}

TEST(Findings, LongWorkOfTheHostBetweenLaunchesIsNotTheLaunches) {
  const auto found = faults({.operatorNs = 3'000'000});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), "host-work");
  EXPECT_THAT(found, testing::Not(testing::Contains("launch-bound")));
}

TEST(Findings, HostWorkInStepsThatAreNumberedIsOfOneName) {
  const Analysis analysis = analysed({.hostPauseNs = 3'000'000, .numberedSteps = true, .pauseIsNamed = false});
  const auto finding = std::ranges::find(analysis.findings, "host-work", &Finding::id);
  ASSERT_NE(finding, analysis.findings.end());
  EXPECT_THAT(finding->title, testing::EndsWith("most of it in step"));
  const auto named = [](const CauseDetail& detail) { return detail.name.starts_with("batch "); };
  EXPECT_EQ(std::ranges::count_if(analysis.details, named), 0);
}

TEST(Findings, SettingUpMakesNoWorkerIdle) {
  const Analysis quick = analysed({.batchNs = 30'000'000, .workers = 1});
  const Analysis late = analysed({.batchNs = 30'000'000, .workers = 1, .setupCopyNs = 5'000'000'000});
  EXPECT_EQ(quick.loaderVerdict.bound, LoaderBound::Computing);
  EXPECT_EQ(late.loaderVerdict.bound, quick.loaderVerdict.bound);
  EXPECT_DOUBLE_EQ(late.loader.utilisation(), quick.loader.utilisation());
}

TEST(Findings, ALateRankIsAsLateAsWasPlanted) {
  for (const int ranks : {2, 3, 4}) {
    const Analysis analysis = analysed({.ranks = ranks, .collectiveNs = 100'000, .lateNs = 2'000'000});
    const auto late = std::ranges::find(analysis.findings, "late-rank", &Finding::id);
    ASSERT_NE(late, analysis.findings.end()) << ranks;
    ASSERT_FALSE(late->evidence.empty()) << ranks;
    for (const Evidence& entry : late->evidence)
      EXPECT_NEAR(static_cast<double>(entry.endNs - entry.startNs), 2e6, 1e5) << ranks;
    EXPECT_GE(late->costNsPerStep, 1'500'000) << ranks;
    // All others enter together, so without it nothing would be waited for.
    EXPECT_EQ(late->predictedGainNsPerStep, late->costNsPerStep) << ranks;
    EXPECT_EQ(late->gainHighNsPerStep, late->costNsPerStep) << ranks;
    EXPECT_LT(late->confidence, 0.6) << ranks;
  }
}

TEST(Findings, SeveralDevicesAreNoReasonForOthers) {
  for (const RunPlan& plan : {RunPlan{.syncEachStep = true}, RunPlan{.zeroGradNs = 40'000}, RunPlan{.tinyRepeats = 40},
                              RunPlan{.operators = 30, .kernelNs = 900'000, .roundTrips = 1}}) {
    RunPlan four = plan;
    four.ranks = 4;
    EXPECT_EQ(faults(four), faults(plan));
  }
}

TEST(Findings, CountsOfSeveralDevicesAreOfOne) {
  const Analysis fills = analysed({.ranks = 4, .zeroGradNs = 1'000'000});
  ASSERT_NE(find(fills, "zero-grad"), nullptr);
  EXPECT_THAT(find(fills, "zero-grad")->title, testing::HasSubstr(": 10 fills"));
  const Analysis tiny = analysed({.ranks = 4, .tinyRepeats = 300});
  ASSERT_NE(find(tiny, "tiny-kernels"), nullptr);
  EXPECT_THAT(find(tiny, "tiny-kernels")->title, testing::StartsWith("600 tiny kernels a step"));
}

TEST(Findings, ZerosThatAreWrittenOnceAreNoHabit) {
  const RunPlan always{.zeroGradNs = 1'000'000};
  EXPECT_NE(find(analysed(always), "zero-grad"), nullptr);
  // The first step may be the warm-up, or one of two.
  for (const int steps : {12, 2}) {
    const RunPlan once{.steps = steps, .zeroGradNs = 1'000'000, .zeroGradSteps = 1};
    EXPECT_EQ(find(analysed(once), "zero-grad"), nullptr) << steps;
  }
}

TEST(Findings, ZerosThatAnOperatorWritesForItselfClearNoGradients) {
  EXPECT_NE(find(analysed({.zeroGradNs = 1'000'000, .zerosIn = ""}), "zero-grad"), nullptr);
  for (const char* op : {"aten::zeros", "torch::autograd::AccumulateGrad"})
    EXPECT_EQ(find(analysed({.zeroGradNs = 1'000'000, .zerosIn = op}), "zero-grad"), nullptr) << op;
}

TEST(Findings, ZerosOfManyTensorsInOneKernelAreFills) {
  EXPECT_TRUE(fillsMemory("void at::native::multi_tensor_apply_kernel<TensorListMetadata<1>, ZeroFunctor<float>>"));
  EXPECT_TRUE(fillsMemory("void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>>"));
  EXPECT_FALSE(fillsMemory("void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>, FusedAdamMathFunctor>"));
}

TEST(Findings, MemoryOfEachDeviceIsItsOwn) {
  // 120 MiB at the peak of each.
  const RunPlan roomy{.ranks = 4, .deviceBytes = 480u << 20};
  EXPECT_EQ(find(analysed(roomy), "memory-nearly-full"), nullptr);
  const RunPlan full{.ranks = 4, .deviceBytes = 125u << 20};
  EXPECT_NE(find(analysed(full), "memory-nearly-full"), nullptr);
  const Analysis leaking = analysed({.steps = 40, .ranks = 2, .leakBytes = 16 << 20});
  ASSERT_NE(find(leaking, "memory-leak"), nullptr);
  EXPECT_THAT(find(leaking, "memory-leak")->title, testing::HasSubstr("grows by 16.0 MiB"));
}

TEST(Findings, SetUpCostsNoStepAnything) {
  EXPECT_THAT(faults({.steps = 10, .syncEachStep = true, .setupKernels = 400, .setupCopyNs = 300'000'000}),
              testing::IsEmpty());
}

TEST(Findings, ACallOfTheSetUpIsNotBlamedForTheSteps) {
  const Analysis driver = analysed({.mallocNs = 3'000'000, .setupCallNs = 900'000'000});
  ASSERT_NE(find(driver, "driver-calls"), nullptr);
  EXPECT_THAT(find(driver, "driver-calls")->advice, testing::StartsWith("cudaMalloc takes the most"));
  const Analysis syncs = analysed({.operatorNs = 60'000,
                                   .syncEveryOperators = 4,
                                   .setupCallNs = 900'000'000,
                                   .setupCall = "cudaDeviceSynchronize"});
  ASSERT_NE(find(syncs, "sync-in-step"), nullptr);
  EXPECT_THAT(find(syncs, "sync-in-step")->advice, testing::StartsWith("avoid cudaStreamSynchronize"));
}

std::vector<std::string> faultsOfSteps(const RunPlan& plan, std::uint64_t first, std::uint64_t last) {
  return faults(plan, {.steps = std::pair(first, last), .device = {}, .rank = {}, .progress = {}});
}

TEST(Findings, ALeakIsFoundInTheStepsThatWereAskedFor) {
  EXPECT_THAT(faultsOfSteps({.steps = 60, .leakBytes = 16 << 20}, 10, 40), testing::Contains("memory-leak"));
  EXPECT_THAT(faultsOfSteps({.steps = 60}, 10, 40), testing::IsEmpty());
}

TEST(Findings, ALeakIsNamedThoughTheProgramFreesAllInTheEnd) {
  const Analysis analysis = analysed({.steps = 40, .leakBytes = 16 << 20, .givesAllBack = true});
  const Finding* leak = find(analysis, "memory-leak");
  ASSERT_NE(leak, nullptr);
  EXPECT_FALSE(leak->evidence.empty());
  EXPECT_THAT(leak->advice, testing::HasSubstr("aten::loss"));
  EXPECT_EQ(analysis.memory.leaked.at(0).bytes, 16U << 20);
}

TEST(Findings, WhatNothingHidesHasEvidence) {
  const std::pair<RunPlan, const char*> cases[] = {{{.ranks = 2, .collectiveNs = 3'000'000}, "exposed-communication"},
                                                   {{.blockingCopyNs = 2'000'000}, "exposed-copy"},
                                                   {{.pageableCopyNs = 2'000'000}, "pageable-copy"}};
  for (const auto& [plan, id] : cases) {
    const Analysis analysis = analysed(plan);
    const Finding* finding = find(analysis, id);
    ASSERT_NE(finding, nullptr) << id;
    ASSERT_FALSE(finding->evidence.empty()) << id;
    for (const Evidence& evidence : finding->evidence) {
      EXPECT_LT(evidence.startNs, evidence.endNs) << id;
      EXPECT_GE(evidence.startNs, analysis.window.startNs) << id;
      EXPECT_LE(evidence.endNs, analysis.window.endNs) << id;
    }
  }
}

TEST(Findings, EvidenceSaysWhoseItIs) {
  const auto first = [](const Analysis& analysis, const char* id) {
    const Finding* finding = find(analysis, id);
    return finding != nullptr && !finding->evidence.empty() ? finding->evidence[0] : Evidence{};
  };
  const Analysis loader = analysed({.batchNs = 20'000'000, .workers = 0});
  EXPECT_EQ(first(loader, "loader-wait").device, loader.devices.at(0).id);
  EXPECT_NE(first(loader, "loader-wait").thread, prof::ThreadId());
  const Analysis ranks = analysed({.ranks = 2, .collectiveNs = 100'000, .lateNs = 2'000'000});
  const Evidence late = first(ranks, "late-rank");
  const auto device = std::ranges::find(ranks.devices, late.device, &DeviceAccount::id);
  ASSERT_NE(device, ranks.devices.end());
  EXPECT_TRUE(std::ranges::count(device->queues, late.queue, &QueueAccount::id));
  const Analysis leak = analysed({.steps = 40, .leakBytes = 16 << 20, .givesAllBack = true});
  EXPECT_EQ(first(leak, "memory-leak").device, leak.memoryByDevice.at(0).device);
  EXPECT_NE(first(leak, "memory-leak").device, prof::DeviceId());
}

TEST(Findings, AnOptimizerOfMultiTensorKernelsIsNotToldToBecomeOne) {
  RunPlan plan{.operators = 10, .kernelNs = 2'000, .batchNs = 10'000, .syncEachStep = true};
  EXPECT_THAT(opportunities(plan), testing::Not(testing::Contains("optimizer-fused")));
  plan.optimizerKernels = 12;
  EXPECT_THAT(opportunities(plan), testing::Contains("optimizer-fused"));
  plan.optimizerKernel = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>";
  EXPECT_THAT(opportunities(plan), testing::Not(testing::Contains("optimizer-fused")));
}

/// A CPU device whose thread other programs kept off the cores for almost half of the time that it wanted to run.
constexpr RunPlan kDisplaced{.steps = 60,
                             .batchNs = 3'000'000,
                             .workers = 0,
                             .syncEachStep = true,
                             .hostCores = 2,
                             .cpuDevice = true,
                             .loaderSleeps = true,
                             .displaced = 0.46};

TEST(Findings, CoresThatOtherProgramsTookAreNamed) {
  const Analysis analysis = analysed(kDisplaced);
  const Finding* finding = find(analysis, "cores-taken");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, testing::HasSubstr("cpu:0 queue"));
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep), 0.8 * 0.46 * static_cast<double>(analysis.meanStepNs()),
              0.02 * static_cast<double>(analysis.meanStepNs()));
  ASSERT_FALSE(finding->evidence.empty());
  for (const Evidence& evidence : finding->evidence) {
    EXPECT_GE(evidence.startNs, analysis.window.startNs);
    EXPECT_LE(evidence.endNs, analysis.window.endNs);
    EXPECT_LT(evidence.startNs, evidence.endNs);
  }
  EXPECT_EQ(find(analysed({.syncEachStep = true, .hostCores = 2, .cpuDevice = true}), "cores-taken"), nullptr);
}

TEST(Findings, CoresThatWereTakenBeforeTheFirstStepCostNoStepAnything) {
  RunPlan plan = kDisplaced;
  plan.displacedAtFirst = true;
  plan.setupKernels = 1;
  plan.setupCallNs = 2'000'000'000;
  const Analysis analysis = analysed(plan);
  EXPECT_EQ(find(analysis, "cores-taken"), nullptr);
  EXPECT_TRUE(analysis.contention.known);
  EXPECT_LT(analysis.contention.lostShare(), kNoContention);
}

TEST(Findings, TwoFaultsAreBothFound) {
  EXPECT_THAT(faults({.batchNs = 20'000'000, .workers = 0, .leakBytes = 2 << 20}),
              testing::IsSupersetOf({"loader-wait", "memory-leak"}));
  EXPECT_THAT(faults({.pageableCopyNs = 2'000'000, .zeroGradNs = 1'000'000}),
              testing::IsSupersetOf({"pageable-copy", "zero-grad"}));
}

TEST(Findings, IdleTimePerCauseIsWhatWasPlanted) {
  struct Case {
    RunPlan plan;
    Cause cause;
    double plantedNs;
  };
  const RunPlan synced{.syncEachStep = true};
  const auto with = [&](auto change) {
    RunPlan plan = synced;
    change(plan);
    return plan;
  };
  for (const Case& planted :
       {Case{with([](RunPlan& p) { p.batchNs = 20'000'000, p.workers = 0; }), Cause::LoaderWait, 20e6},
        Case{{.asleepNs = 3'000'000}, Cause::OffCpu, 3e6}, Case{{.mallocNs = 3'000'000}, Cause::DriverCall, 3e6},
        Case{{.hostPauseNs = 3'000'000}, Cause::HostWork, 3e6},
        Case{{.stuckSyncNs = 3'000'000}, Cause::Synchronisation, 3e6},
        Case{{.startDelayNs = 3'000'000}, Cause::Launch, 3e6}, Case{{.profilerNs = 3'000'000}, Cause::Profiler, 3e6},
        Case{with([](RunPlan& p) { p.ranks = 2, p.collectiveNs = 3'000'000; }), Cause::ExposedCommunication, 3e6},
        Case{synced, Cause::Compute, 41 * 1e5}, Case{{.pageableCopyNs = 2'000'000}, Cause::ExposedCopy, 2e6}}) {
    const auto measured = static_cast<double>(analysed(planted.plan).meanStepLedger()[planted.cause]);
    EXPECT_NEAR(measured, planted.plantedNs, 0.05 * planted.plantedNs) << causeKey(planted.cause);
  }
}

TEST(Findings, AQueueWaitsForAnotherAsLongAsWasPlanted) {
  // Of a device with both queues it is exposed communication; of the compute queue alone it is a dependency.
  const Analysis analysis = analysed({.collectiveNs = 3'050'000, .earlyNs = 52'000});
  const auto& queues = analysis.devices.at(0).queues;
  const auto steps = static_cast<double>(analysis.steps.all.size());
  const auto worked = std::max_element(queues.begin(), queues.end(), [](const QueueAccount& a, const QueueAccount& b) {
    return a.ledger[Cause::Compute] < b.ledger[Cause::Compute];
  });
  EXPECT_NEAR(static_cast<double>(worked->ledger[Cause::Dependency]) / steps, 3e6, 0.05 * 3e6);
}

TEST(Findings, UnknownStaysSmall) {
  for (const RunPlan& plan :
       {RunPlan{}, RunPlan{.batchNs = 20'000'000, .workers = 0}, RunPlan{.operators = 200, .kernelNs = 3'000}}) {
    const Ledger ledger = analysed(plan).ledger;
    EXPECT_LE(ledger[Cause::Unknown] * 50, ledger.totalNs());
  }
}

TEST(Findings, BlockingCallsOfTheSetUpAreNotCounted) {
  const Analysis analysis = analysed({.blockingCopyNs = 600'000, .setupCallNs = 1'000'000, .setupCall = "cudaMemcpy"});
  const Finding* finding = find(analysis, "blocking-copy");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->count, 12U);
  EXPECT_THAT(finding->title, testing::StartsWith("1.0 cudaMemcpy calls a step hold the host for "));
}

TEST(Findings, WhoPreparesBatchesIsNotMadeUp) {
  RunPlan plan{.batchNs = 10'000'000, .syncEachStep = true};
  plan.waitName = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  const Analysis several = analysed(plan);
  EXPECT_FALSE(several.loader.workersKnown);
  EXPECT_EQ(several.loaderVerdict.workersNeeded, 0U);
  const Finding* unknown = find(several, "loader-wait");
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(unknown->knob, "");
  // All of the wait, at most.
  EXPECT_EQ(unknown->gainBasis, GainBasis::UpperBound);
  EXPECT_NEAR(static_cast<double>(unknown->predictedGainNsPerStep), 10e6, 0.02 * 10e6);
  EXPECT_EQ(unknown->gainLowNsPerStep, 0);
  EXPECT_LT(unknown->confidence, 0.3);
  EXPECT_THAT(unknown->advice, testing::HasSubstr("does not tell how many workers"));
  EXPECT_THAT(renderJson(several), testing::HasSubstr("\"workers\": -1"));
  const Prediction more = Simulator::create(several)->play("loader.workers=8");
  EXPECT_FALSE(more.touched);
  EXPECT_EQ(more.gainNs(), 0);
  plan.waitName = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  const Analysis none = analysed(plan);
  EXPECT_TRUE(none.loader.workersKnown);
  EXPECT_EQ(none.loader.workers, 0U);
  ASSERT_NE(find(none, "loader-wait"), nullptr);
  EXPECT_THAT(find(none, "loader-wait")->knob, testing::StartsWith("loader.workers="));
  EXPECT_GT(find(none, "loader-wait")->predictedGainNsPerStep, 5'000'000);
}

/// Work of a device every millisecond, and nothing of the host that gave it.
Analysis deviceAlone(std::int64_t busyNs) {
  StoreBuilder builder;
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  builder.append(prof::Queue{.id = prof::QueueId(1), .device = prof::DeviceId(1)});
  for (prof::TimeNs at = 0; at < 200'000'000; at += 1'000'000) {
    builder.append(prof::Kernel{.startNs = at,
                                .durNs = busyNs,
                                .queue = prof::QueueId(1),
                                .device = prof::DeviceId(1),
                                .name = builder.intern("k")});
  }
  auto analysis = analyse(builder.build());
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

TEST(Findings, BatchesThatAreReadyNeedNoMoreWorkers) {
  RunPlan plan = restlessRun();
  const Analysis ready = analysed(plan);
  ASSERT_GT(ready.meanStepLedger()[Cause::LoaderWait], ready.meanStepNs() / 10);
  EXPECT_EQ(find(ready, "loader-wait"), nullptr);
  plan.batchNs = 2'000'000;
  const Analysis late = analysed(plan);
  ASSERT_NE(find(late, "loader-wait"), nullptr);
  EXPECT_THAT(find(late, "loader-wait")->knob, testing::StartsWith("loader.workers="));
}

TEST(Findings, IdleTimeThatNobodyExplainsIsAFault) {
  const Analysis analysis = deviceAlone(150'000);
  const Finding* finding = find(analysis, "under-utilised");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->kind, FindingKind::Fault);
  EXPECT_EQ(finding->severity, Severity::High);
  EXPECT_EQ(finding->title,
            "the device is busy 15.1 % of the time; most of the rest, 169.15 ms in all, has no cause in the trace");
  EXPECT_FALSE(finding->evidence.empty());
  EXPECT_EQ(finding->costNsPerStep, 199 * 850'000);
  EXPECT_EQ(finding->predictedGainNsPerStep, 0);
}

TEST(Findings, ADeviceThatIsIdleForACauseWithoutARuleIsToldOf) {
  const Analysis analysis = analysed({.profilerNs = 20'000'000});
  const Finding* finding = find(analysis, "under-utilised");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, testing::EndsWith("a step, is held up by the profiler"));
  const Ledger step = analysis.meanStepLedger();
  EXPECT_GE(2 * finding->costNsPerStep, step.totalNs() - step.busyNs());
  EXPECT_LE(finding->costNsPerStep, step.totalNs() - step.busyNs());
}

TEST(Findings, IdleTimeThatAFindingPricesIsNoFaultOfItsOwn) {
  for (const RunPlan& plan :
       {RunPlan{}, RunPlan{.syncEachStep = true}, RunPlan{.batchNs = 20'000'000, .workers = 0},
        RunPlan{.hostPauseNs = 20'000'000}, RunPlan{.asleepNs = 20'000'000}, RunPlan{.mallocNs = 20'000'000},
        RunPlan{.operators = 200, .kernelNs = 3'000}, RunPlan{.ranks = 2, .collectiveNs = 20'000'000}})
    EXPECT_EQ(find(analysed(plan), "under-utilised"), nullptr);
}

TEST(Findings, NothingIsCalledFaultlessThatTheTraceCannotShow) {
  EXPECT_THAT(verdict(analysed({})), testing::EndsWith(" No fault found."));
  const Analysis some = deviceAlone(900'000);
  EXPECT_THAT(verdict(some),
              testing::EndsWith(" No fault is named, but 10.0 % of the time has no cause in the trace."));
}

TEST(Findings, ABlockingCopyIsAsLargeAsItsOwnCopy) {
  const Analysis among = analysed({.blockingCopyNs = 600'000, .asyncCopies = 50});
  const Finding* finding = find(among, "blocking-copy");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->count, 12U);
  const Analysis small = analysed({.pageableCopyNs = 2'000'000, .blockingCopyNs = 600'000, .blockingCopyBytes = 1024});
  EXPECT_EQ(find(small, "blocking-copy"), nullptr);
}

TEST(Findings, SmallCopiesOfTheSameNameAreNoneOfTheLargeOnes) {
  const Analysis both =
      analysed({.operatorNs = 60'000, .syncEveryOperators = 4, .blockingCopyNs = 600'000, .readsByCopy = true});
  const Finding* copy = find(both, "blocking-copy");
  const Finding* sync = find(both, "sync-in-step");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->count, 12U);
  ASSERT_NE(sync, nullptr);
  EXPECT_EQ(sync->count, 120U);
  EXPECT_THAT(sync->title, testing::HasSubstr("10.0 synchronisations a step"));
}

TEST(Findings, ReadingANumberBehindEachLaunchIsNoDebugMode) {
  RunPlan plan{.operatorNs = 60'000, .syncEveryOperators = 1, .readsByCopy = true};
  EXPECT_THAT(faults(plan), testing::Not(testing::Contains("debug-mode")));
  EXPECT_THAT(faults(plan), testing::Not(testing::Contains("slow-launches")));
  EXPECT_THAT(faults(plan), testing::Contains("sync-in-step"));
  plan.readsByCopy = false;
  EXPECT_THAT(faults(plan), testing::Contains("debug-mode"));
}

TEST(Findings, ACallersNumberedStepIsOfOneName) {
  const Analysis analysis =
      analysed({.operatorNs = 60'000, .syncEveryOperators = 4, .numberedSteps = true, .readsByCopy = true});
  ASSERT_NE(find(analysis, "sync-in-step"), nullptr);
  EXPECT_THAT(find(analysis, "sync-in-step")->advice, testing::StartsWith("avoid cudaMemcpy in step: "));
}

TEST(Findings, WhatTheAllocatorTakesFromTheSystemIsPricedOnce) {
  const Analysis churning = analysed({.mallocNs = 3'000'000, .allocationChurn = true});
  const Finding* churn = find(churning, "allocation-churn");
  ASSERT_NE(churn, nullptr);
  EXPECT_NEAR(static_cast<double>(churn->costNsPerStep), 3e6, 0.05 * 3e6);
  EXPECT_EQ(find(churning, "driver-calls"), nullptr);
  // Other calls of the driver are not the allocator's.
  const Analysis both = analysed({.mallocNs = 3'000'000, .allocationChurn = true, .driverCall = "cudaEventCreate"});
  ASSERT_NE(find(both, "allocation-churn"), nullptr);
  EXPECT_EQ(find(both, "allocation-churn")->costNsPerStep, 0);
  ASSERT_NE(find(both, "driver-calls"), nullptr);
  EXPECT_EQ(find(both, "driver-calls")->costNsPerStep, both.meanStepLedger()[Cause::DriverCall]);
  EXPECT_THAT(find(both, "driver-calls")->advice, testing::StartsWith("cudaEventCreate takes the most"));
}

TEST(Findings, IdleTimeBetweenSmallLaunchesIsPricedOnce) {
  const Analysis analysis = analysed({.operators = 200, .kernelNs = 3'000});
  const Finding* launches = find(analysis, "launch-bound");
  const Finding* batch = find(analysis, "small-batch");
  ASSERT_NE(launches, nullptr);
  ASSERT_NE(batch, nullptr);
  const Ledger step = analysis.meanStepLedger();
  EXPECT_LE(launches->costNsPerStep + batch->costNsPerStep, step[Cause::HostWork] + step[Cause::Launch]);
}

TEST(Findings, WaitsOfABlockingMemsetArePricedOnce) {
  RunPlan plan{.operators = 10, .kernelNs = 20'000, .blockingMemsetNs = 3'000'000};
  const Analysis alone = analysed(plan);
  EXPECT_NE(find(alone, "blocking-memset"), nullptr);
  EXPECT_GT(alone.meanStepLedger()[Cause::Synchronisation], 2'000'000);
  EXPECT_EQ(find(alone, "sync-in-step"), nullptr);
  plan.stuckSyncNs = 2'000'000;
  const Analysis both = analysed(plan);
  const Finding* memset = find(both, "blocking-memset");
  const Finding* sync = find(both, "sync-in-step");
  ASSERT_NE(memset, nullptr);
  ASSERT_NE(sync, nullptr);
  EXPECT_THAT(sync->advice, testing::StartsWith("avoid cudaStreamSynchronize"));
  EXPECT_GT(sync->costNsPerStep, 1'500'000);
  EXPECT_LT(static_cast<double>(sync->costNsPerStep + memset->costNsPerStep),
            1.2 * static_cast<double>(both.meanStepLedger()[Cause::Synchronisation]));
}

TEST(Findings, AWaitInFrontOfTheMarkedStepIsFound) {
  RunPlan plan{.steps = 30, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true, .waitIsMarked = false};
  const Analysis analysis = analysed(plan);
  EXPECT_EQ(analysis.meanStepLedger()[Cause::LoaderWait], 0);
  const Finding* finding = find(analysis, "loader-wait");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep), 12e6, 0.05 * 12e6);
  EXPECT_GT(finding->predictedGainNsPerStep, 10'000'000);
  EXPECT_THAT(finding->title, testing::HasSubstr(" (7"));  // of 16 ms, not of the 4 ms that are marked
  EXPECT_NE(analysis.loaderVerdict.bound, LoaderBound::None);
  EXPECT_EQ(find(analysis, "sync-in-step"), nullptr);
  // Markers without gaps have nothing between them.
  plan.waitIsMarked = true;
  EXPECT_EQ(analysed(plan).betweenSteps().loaderWaitNs, 0);
}

TEST(Findings, SlowStepsAreThoseOfTheStepsThatWereAskedFor) {
  const RunPlan plan{.steps = 40, .slowStepNs = 20'000'000};
  const Analysis whole = analysed(plan);
  const Finding* slow = find(whole, "slow-steps");
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->evidence.size(), slow->count);
  AnalysisOptions between;
  between.steps = {10, 19};  // every tenth is slow: 9, 19, …
  EXPECT_EQ(find(analysed(plan, between), "slow-steps"), nullptr);
}

TEST(Findings, AStepInWhichAHostThatRunsAheadIsHeldBackIsNotSlow) {
  Analysis analysis = analysed({.steps = 40});
  ASSERT_GT(analysis.launches.meanQueueDepth, 41) << "as many launches as a step has";
  for (std::size_t i = 9; i < analysis.steps.all.size(); i += 10) analysis.steps.all[i].endNs += 20'000'000;
  const auto isSlow = [&] {
    const std::vector<Finding> findings = findFindings(analysis, nullptr);
    return std::ranges::find(findings, "slow-steps", &Finding::id) != findings.end();
  };
  EXPECT_FALSE(isSlow());
  EXPECT_THAT(describeRun(analysis), testing::HasSubstr("40 steps of 3.95 ms on average"));
  // What the device waits for in them is lost also then.
  for (std::size_t i = 9; i < analysis.steps.all.size(); i += 10)
    analysis.stepLedgers[i].add(Cause::HostWork, 20'000'000);
  EXPECT_TRUE(isSlow());
  analysis.launches.meanQueueDepth = 1;
  EXPECT_TRUE(isSlow());
}

TEST(Findings, AGainInPercentIsOfTheReplayedStep) {
  const Analysis analysis = analysed(
      {.steps = 30, .operators = 200, .kernelNs = 3'000, .batchNs = 3'000'000, .workers = 0, .waitIsMarked = false});
  const auto found = std::find_if(analysis.findings.begin(), analysis.findings.end(),
                                  [](const Finding& finding) { return finding.id == "launch-bound"; });
  ASSERT_NE(found, analysis.findings.end());
  const Prediction prediction = Simulator::create(analysis)->play(found->knob);
  EXPECT_GT(found->predictedGainNsPerStep, 0);
  EXPECT_EQ(found->baseNsPerStep, prediction.baseNsPerStep);
  EXPECT_EQ(found->gainShare(), prediction.gainShare());
  // The marked part of the step is half of it.
  EXPECT_GT(found->baseNsPerStep, analysis.meanStepNs() * 3 / 2);
  EXPECT_LT(found->gainShare(), 0.6);
  const std::string share = fmt::format(" ({:.1f} % of {:.2f} ms), confidence", 100 * prediction.gainShare(),
                                        static_cast<double>(found->baseNsPerStep) / 1e6);
  EXPECT_THAT(renderText(analysis, {{"findings"}, 200, false}), testing::HasSubstr(share));
}

TEST(Findings, TheFirstIsTheCostliestAndNoneGainsMoreThanItCosts) {
  for (const RunPlan& plan :
       {RunPlan{.batchNs = 20'000'000, .workers = 0, .pageableCopyNs = 2'000'000}, RunPlan{.zeroGradNs = 1'000'000},
        RunPlan{.operators = 200, .kernelNs = 3'000}, RunPlan{.operatorNs = 60'000, .syncEveryOperators = 4},
        RunPlan{.hostPauseNs = 3'000'000, .biasBeforeNorm = true, .biasGradientNs = 900'000},
        RunPlan{.ranks = 2, .collectiveNs = 3'000'000}}) {
    std::int64_t most = INT64_MAX;
    for (const Finding& finding : analysed(plan).findings) {
      const bool isFault = finding.kind == FindingKind::Fault;
      if (isFault || finding.costNsPerStep > 0) {
        EXPECT_LE(finding.predictedGainNsPerStep, finding.costNsPerStep) << finding.id;
        EXPECT_LE(finding.gainHighNsPerStep, finding.costNsPerStep) << finding.id;
      }
      if (!isFault) continue;
      EXPECT_LE(finding.costNsPerStep, most) << finding.id;
      most = finding.costNsPerStep;
    }
  }
}

TEST(Findings, AGainThatNobodyPlayedIsNotNothing) {
  const Analysis analysis = deviceAlone(150'000);
  const Finding* finding = find(analysis, "under-utilised");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gainBasis, GainBasis::None);
  EXPECT_EQ(finding->baseNsPerStep, 0);
  EXPECT_EQ(finding->notPredicted, "nothing in the trace says what the device waits for");
  EXPECT_THAT(renderText(analysis, {{"findings"}, 200, false}),
              testing::HasSubstr("gain  not predicted: nothing in the trace says what the device waits for"));
  EXPECT_THAT(renderJson(analysis), testing::HasSubstr("\"gain_basis\": \"none\""));
  EXPECT_THAT(renderHtml(analysis), testing::HasSubstr("gain: not predicted: nothing in the trace"));
}

/// A run with some of the faults that can be planted, and of some size, by chance.
RunPlan anyPlan(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto chance = [&](std::uint32_t oneIn) { return random() % oneIn == 0; };
  const auto upTo = [&](std::int64_t most) { return static_cast<std::int64_t>(random()) % most + 1; };
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

class AnyFindings : public testing::TestWithParam<std::uint32_t> {};

TEST_P(AnyFindings, CostWhatTheyGainOrMoreAsSharesOfOneStep) {
  const Analysis analysis = analysed(anyPlan(GetParam()));
  for (const Finding& finding : analysis.findings) {
    SCOPED_TRACE(finding.id);
    EXPECT_LE(finding.accountedNsPerStep, finding.costNsPerStep);
    EXPECT_LE(finding.gainLowNsPerStep, finding.predictedGainNsPerStep);
    EXPECT_LE(finding.predictedGainNsPerStep, finding.gainHighNsPerStep);
    if (finding.predictedGainNsPerStep > 0) {
      EXPECT_LE(finding.gainShare(), 1);
      EXPECT_GE(finding.wholeStepNs, std::max(analysis.meanStepNs(), finding.baseNsPerStep));
    }
    if (finding.kind == FindingKind::Opportunity && finding.costNsPerStep == 0) continue;
    EXPECT_LE(finding.gainHighNsPerStep, finding.costNsPerStep);
    EXPECT_LE(finding.gainShare(), finding.costShare());
    EXPECT_LE(finding.costShare(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyFindings, testing::Range(0U, 100U));

TEST(Findings, OneThatCostsWhatItGainsSaysWhatTheTraceHoldsOfIt) {
  Finding finding;
  finding.gainBasis = GainBasis::Replay;
  finding.costNsPerStep = finding.predictedGainNsPerStep = finding.gainHighNsPerStep = 200'000;
  finding.accountedNsPerStep = 150'000;
  finding.baseNsPerStep = 1'000'000;
  finding.wholeStepNs = 1'250'000;
  EXPECT_THAT(describeGain(finding, "a step"), testing::StartsWith("200.0 µs a step (16.0 %), "));
  EXPECT_THAT(describeGain(finding, "a step"), testing::EndsWith("; the step's account holds 150.0 µs of it"));
  finding.accountedNsPerStep = 199'000;
  EXPECT_THAT(describeGain(finding, "a step"), testing::Not(testing::HasSubstr("account")));
}

/// What a change of the program gains, worked out on paper from what was planted.
struct Gain {
  const char* name;
  RunPlan plan;
  const char* id;
  double gainNs;
  GainBasis basis = GainBasis::Replay;
};

class PredictedGain : public testing::TestWithParam<Gain> {};

TEST_P(PredictedGain, IsWhatWasPlanted) {
  const Gain& wanted = GetParam();
  const Analysis analysis = analysed(wanted.plan);
  const Finding* finding = find(analysis, wanted.id);
  ASSERT_NE(finding, nullptr) << testing::PrintToString(faults(wanted.plan));
  EXPECT_EQ(finding->gainBasis, wanted.basis);
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), wanted.gainNs, 0.05 * wanted.gainNs);
  EXPECT_LE(finding->predictedGainNsPerStep, finding->gainHighNsPerStep);
  EXPECT_GE(finding->predictedGainNsPerStep, finding->gainLowNsPerStep);
  EXPECT_GT(finding->confidence, 0);
  EXPECT_LT(finding->confidence, 1);
  if (finding->kind == FindingKind::Fault) {
    EXPECT_GE(finding->costNsPerStep, finding->predictedGainNsPerStep);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Planted, PredictedGain,
    testing::Values(
        Gain{"BlockingMemset", with(kHostBound, [](RunPlan& p) { p.blockingMemsetNs = 3'000'000; }), "blocking-memset",
             3e6},
        // The copy is work of the queue as before, which the host no longer waits for, nor for that of the steps.
        Gain{"SyncsBesideABlockingMemset",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.blockingMemsetNs = 3'000'000;
                    p.stuckSyncNs = 2'000'000;
                  }),
             "sync-in-step", 2e6},
        // The copy itself goes on: 51 launches of 40 µs hide behind it, and 51 kernels of 1 µs, 1 µs apart, are left.
        Gain{"BlockingCopy",
             RunPlan{.steps = 20,
                     .operators = 10,
                     .operatorNs = 45'000,
                     .kernelNs = 1'000,
                     .batchNs = 1'000,
                     .syncEachStep = true,
                     .blockingCopyNs = 3'000'000,
                     .optimizerKernels = 50,
                     .launchNs = 40'000},
             "blocking-copy", 51 * (40e3 - 2e3)},
        // In every other step, which is no synchronisation in each.
        Gain{"UnderUtilised",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.stuckSyncNs = 6'000'000;
                    p.syncEverySteps = 2;
                  }),
             "under-utilised", 3e6, GainBasis::UpperBound},
        Gain{"DriverCalls",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.mallocNs = 3'000'000;
                    p.driverCall = "cudaEventCreate";
                  }),
             "driver-calls", 3e6},
        Gain{"Churn",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.mallocNs = 3'000'000;
                    p.allocationChurn = true;
                  }),
             "allocation-churn", 3e6},
        Gain{"Asleep", with(kHostBound, [](RunPlan& p) { p.asleepNs = 3'000'000; }), "host-not-running", 3e6,
             GainBasis::UpperBound},
        Gain{"HostWork",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.operatorNs = 5'001;
                    p.hostPauseNs = 3'000'000;
                  }),
             "host-work", 3e6, GainBasis::UpperBound},
        Gain{"LateStarts", with(kHostBound, [](RunPlan& p) { p.startDelayNs = 3'000'000; }), "late-starts", 3e6,
             GainBasis::UpperBound},
        // 400 launches of 4 µs become two, behind which 260 µs of device work are left to wait for.
        Gain{"TinyKernels", with(kHostBound, [](RunPlan& p) { p.tinyRepeats = 200; }), "tiny-kernels",
             398 * 4e3 - 260e3},
        Gain{"RoundTrips",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.roundTrips = 10;
                    p.hostOperatorNs = 50'000;
                  }),
             "dtype-round-trip", 10 * 50e3},
        Gain{"Replicas",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.ranks = 2;
                    p.dataParallel = true;
                    p.hostOperatorNs = 1'000'000;
                  }),
             "data-parallel", 1e6, GainBasis::UpperBound},
        Gain{"ThroughTheHost",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.gloo = true;
                    p.hostOperatorNs = 1'000'000;
                  }),
             "slow-backend", 1e6, GainBasis::UpperBound},
        // Every tenth step.
        Gain{"SlowSteps", RunPlan{.steps = 40, .syncEachStep = true, .slowStepNs = 20'000'000}, "slow-steps", 2e6,
             GainBasis::Trace},
        // 46 % of the 4.1 ms of kernels, each 1 / 0.54 as long.
        Gain{"CoresTaken", kDisplaced, "cores-taken", 0.46 / 0.54 * 41 * 100e3}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Findings, AThreadThatWakesUpLateIsNoLateStart) {
  RunPlan plan = kHostBound;
  plan.startDelayNs = 3'000'000;
  plan.cpuDevice = true;
  EXPECT_EQ(find(analysed(plan), "late-starts"), nullptr);
}

TEST(Findings, ALargerBatchIsPricedInSamples) {
  // 120 of 480 MiB are used, so three times the batch fits. Its 1.8 ms of kernels hide behind 3 ms of launching them.
  const Analysis analysis = analysed({.steps = 20,
                                      .operators = 200,
                                      .kernelNs = 3'000,
                                      .batchNs = 1'000,
                                      .deviceBytes = 480u << 20,
                                      .knob = "batch",
                                      .knobValue = "64"});
  const Finding* finding = find(analysis, "small-batch");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gainBasis, GainBasis::Replay);
  EXPECT_NEAR(finding->gainShare(), 2.0 / 3, 0.01);
  EXPECT_EQ(finding->knob, "batch*3") << "which can be played";
  EXPECT_NEAR(finding->samplesPerSecond, 64 / 3e-3, 0.02 * 64 / 3e-3);
  EXPECT_NEAR(finding->predictedSamplesPerSecond, 3 * finding->samplesPerSecond, 0.02 * 3 * finding->samplesPerSecond);
  EXPECT_THAT(finding->advice, testing::StartsWith("try 3 times the batch: "));
  EXPECT_THAT(finding->advice, testing::HasSubstr("samples a second instead of 2"));
}

TEST(Findings, MemoryIsGainedInBytes) {
  constexpr std::uint64_t kMiB = 1u << 20;
  const Analysis leaking = analysed({.leakBytes = 2 << 20});
  const Finding* leak = find(leaking, "memory-leak");
  ASSERT_NE(leak, nullptr);
  EXPECT_EQ(leak->gainBasis, GainBasis::Bytes);
  // The peak is in the last of twelve steps, in front of what that leaves behind.
  EXPECT_EQ(leak->predictedGainBytes, 11 * 2 * kMiB);
  EXPECT_EQ(leak->predictedGainNsPerStep, 0);
  EXPECT_THAT(renderText(leaking, {{"findings"}, 200, false}),
              testing::HasSubstr("gain  frees 22.0 MiB, confidence 85 %"));
  EXPECT_THAT(renderJson(leaking), testing::HasSubstr("\"predicted_gain_bytes\": 23068672"));
  const Analysis spiking = analysed({.memorySpike = true});
  ASSERT_NE(find(spiking, "memory-spike"), nullptr);
  EXPECT_EQ(find(spiking, "memory-spike")->predictedGainBytes, 300 * kMiB);
  // 80 MiB of parameters and 40 of activations are there beside one tensor of 200 in each step.
  const Analysis large = analysed({.largeBytes = 200 * kMiB});
  ASSERT_NE(find(large, "memory-spike"), nullptr);
  EXPECT_THAT(find(large, "memory-spike")->title, testing::StartsWith("one tensor is 62.5 % of the 320.0 MiB peak"));
  EXPECT_EQ(find(large, "memory-spike")->predictedGainBytes, 200 * kMiB);
}

TEST(Findings, MemoryThatIsShortIsGainedByTheBestEditOfThePeak) {
  constexpr std::uint64_t kMiB = 1u << 20;
  // Of the peak of 120 MiB 80 are parameters, and 40 are of one operator that can be computed again.
  const Analysis full = analysed({.deviceBytes = 125 * kMiB});
  ASSERT_NE(find(full, "memory-nearly-full"), nullptr);
  EXPECT_EQ(find(full, "memory-nearly-full")->gainBasis, GainBasis::Bytes);
  EXPECT_EQ(find(full, "memory-nearly-full")->predictedGainBytes, 40 * kMiB);
  EXPECT_THAT(find(full, "memory-nearly-full")->advice, testing::HasSubstr("most helps to recompute aten::block"));
  // With a tensor of 30 MiB that is there for a moment the peak is 150, which saves less than the 40.
  const Analysis out = analysed({.largeBytes = 30 * kMiB, .runsOut = true});
  ASSERT_NE(find(out, "out-of-memory"), nullptr);
  EXPECT_EQ(find(out, "out-of-memory")->predictedGainBytes, 40 * kMiB);
  EXPECT_THAT(find(out, "out-of-memory")->advice, testing::HasSubstr("most helps to recompute aten::block"));
  const Analysis larger = analysed({.largeBytes = 50 * kMiB, .runsOut = true});
  EXPECT_EQ(find(larger, "out-of-memory")->predictedGainBytes, 50 * kMiB);
}

TEST(Findings, EveryFindingHasAGainOrSaysWhyNot) {
  for (const RunPlan& plan :
       {RunPlan{.batchNs = 20'000'000, .workers = 0, .pageableCopyNs = 2'000'000}, RunPlan{.zeroGradNs = 1'000'000},
        RunPlan{.operators = 200, .kernelNs = 3'000}, RunPlan{.operatorNs = 60'000, .syncEveryOperators = 4},
        RunPlan{.leakBytes = 2 << 20, .memorySpike = true, .allocationChurn = true},
        RunPlan{.ranks = 2, .collectiveNs = 3'000'000, .lateNs = 2'000'000}, RunPlan{.profilerNs = 20'000'000},
        RunPlan{.cpuDevice = true}, RunPlan{.deviceBytes = 125u << 20}, kDisplaced}) {
    for (const Finding& finding : analysed(plan).findings) {
      EXPECT_EQ(finding.gainBasis == GainBasis::None, !finding.notPredicted.empty()) << finding.id;
      EXPECT_EQ(finding.gainBasis == GainBasis::Bytes, finding.predictedGainBytes > 0) << finding.id;
      EXPECT_GT(finding.confidence, 0) << finding.id;
      EXPECT_THAT(finding.title, testing::Not(testing::HasSubstr("{"))) << finding.id;
    }
  }
}

TEST(Findings, APercentageIsOfWhatItSaysAndNoMoreThanAll) {
  const Analysis analysis =
      analysed({.steps = 30, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true, .waitIsMarked = false});
  const Finding* finding = find(analysis, "loader-wait");
  ASSERT_NE(finding, nullptr);
  EXPECT_GT(finding->costNsPerStep, analysis.meanStepNs());
  EXPECT_TRUE(finding->coversGaps);
  EXPECT_THAT(finding->title, testing::EndsWith("12.00 ms a step (74.2 % of the 16.16 ms from one step to the next)"));
  EXPECT_THAT(describeGain(*finding, "a step"), testing::HasSubstr("12.00 ms a step (74.2 % of 16.16 ms), "));
  EXPECT_THAT(describeRun(analysis), testing::HasSubstr("30 steps of 4.17 ms (± 0 ns), one every 16.16 ms"));
  // Markers that follow each other have no gaps to tell of.
  const Analysis whole = analysed({.steps = 30, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true});
  EXPECT_FALSE(find(whole, "loader-wait")->coversGaps);
  EXPECT_THAT(describeRun(whole), testing::Not(testing::HasSubstr("one every")));
}

TEST(Findings, NoneCostsMoreThanAStepTakes) {
  // The launches of a loop run ahead of the device, from the first to the last longer than a step.
  for (const RunPlan& plan :
       {RunPlan{.tinyRepeats = 300}, RunPlan{.steps = 60, .stepsPerEpoch = 20, .restartNs = 80'000'000},
        RunPlan{.operators = 200, .kernelNs = 3'000, .tinyRepeats = 300}}) {
    const Analysis analysis = analysed(plan);
    for (const Finding& finding : analysis.findings) {
      EXPECT_LE(finding.costNsPerStep, std::max(analysis.meanStepNs(), finding.baseNsPerStep)) << finding.id;
      EXPECT_LE(finding.gainShare(), 1) << finding.id;
    }
  }
}

TEST(Findings, ATitleTellsTheCostOfItsFinding) {
  // Quickening the host takes what lies between the markers too, which is in no step's ledger.
  const Analysis analysis =
      analysed({.steps = 30, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true, .waitIsMarked = false});
  const Finding* finding = find(analysis, "loader-wait");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title,
              testing::HasSubstr(fmt::format(" {:.2f} ms a step", static_cast<double>(finding->costNsPerStep) / 1e6)));
}

/// An allocator with two segments of 64 bytes, 40 of each in use, that then takes another of 48 for a tensor; or fails.
Analysis allocated(std::uint64_t secondInUse, bool fails) {
  StoreBuilder builder;
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  prof::TimeNs at = 0;
  const auto add = [&](prof::MemoryAction action, std::uint64_t address, std::uint64_t bytes) {
    builder.append(prof::Allocation{
        .timeNs = ++at, .device = prof::DeviceId(1), .action = action, .address = address, .bytes = bytes});
  };
  for (const auto& [address, inUse] : {std::pair<std::uint64_t, std::uint64_t>{1000, 40}, {2000, secondInUse}}) {
    add(prof::MemoryAction::Reserve, address, 64);
    if (inUse > 0) add(prof::MemoryAction::Allocate, address, inUse);
  }
  if (fails) {
    builder.append(
        prof::LogLine{.timeNs = ++at,
                      .level = prof::LogLevel::Error,
                      .text = builder.intern("out of memory on cuda:0: 48 bytes wanted, 8 free on the device")});
  } else {
    add(prof::MemoryAction::Reserve, 3000, 48);
    add(prof::MemoryAction::Allocate, 3000, 48);
  }
  auto analysis = analyse(builder.build());
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

TEST(Findings, FreeMemoryInPiecesTooSmallIsFragmented) {
  const Finding* finding = nullptr;
  const Analysis pieces = allocated(40, false);
  finding = find(pieces, "fragmentation");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the allocator took 48 B more though 48 B were free: the largest piece was 24 B");
  EXPECT_EQ(finding->predictedGainBytes, 48U);
  EXPECT_EQ(find(allocated(60, false), "fragmentation"), nullptr) << "28 bytes were free in all";
  EXPECT_EQ(find(pieces, "out-of-memory"), nullptr);
}

TEST(Findings, MemoryThatRanOutIsAFault) {
  const Analysis analysis = allocated(40, true);
  const Finding* finding = find(analysis, "out-of-memory");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::High);
  EXPECT_EQ(finding->title, "out of memory on cuda:0: 48 bytes wanted, 8 free on the device");
  ASSERT_EQ(finding->evidence.size(), 1U);
  EXPECT_EQ(finding->evidence[0].startNs, 5);
}

TEST(Findings, EveryFaultHasAdviceAndConfidence) {
  for (const Finding& finding :
       analysed({.batchNs = 20'000'000, .workers = 0, .pageableCopyNs = 2'000'000, .leakBytes = 2 << 20}).findings) {
    EXPECT_FALSE(finding.advice.empty()) << finding.id;
    EXPECT_GT(finding.confidence, 0) << finding.id;
    EXPECT_LE(finding.confidence, 1) << finding.id;
    EXPECT_FALSE(finding.title.empty()) << finding.id;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
