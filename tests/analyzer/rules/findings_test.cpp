// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyses/loader/loader.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/whatif.h"
#include "lacuna/prof/amounts.h"
#include "support/planted_runs.h"
#include "support/seeds.h"

namespace lacuna::analyzer {
namespace {

using test::anyPlan;

struct Planted {
  const char* name;
  RunPlan plan;
  FindingId id;
};

class PlantedFault : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, IsTheTopFinding) {
  const auto found = faults(GetParam().plan);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), GetParam().id) << testing::PrintToString(found);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, PlantedFault,
    testing::Values(
        Planted{"SlowLoader",
                {.batchNs = 20'000'000, .workers = 0, .syncEachStep = true},
                FindingId::LoaderWait},
        Planted{
            "SlowLoaderWithoutSyncs", {.batchNs = 20'000'000, .workers = 0}, FindingId::LoaderWait},
        Planted{"StarvedWorkers", {.batchNs = 30'000'000, .workers = 1}, FindingId::LoaderWait},
        Planted{
            "SyncInStep", {.operatorNs = 60'000, .syncEveryOperators = 4}, FindingId::SyncInStep},
        Planted{"DebugMode", {.operatorNs = 60'000, .syncEveryOperators = 1}, FindingId::DebugMode},
        Planted{"TinyKernels", {.operators = 200, .kernelNs = 3'000}, FindingId::LaunchBound},
        Planted{"ZeroGrad", {.zeroGradNs = 1'000'000}, FindingId::ZeroGrad},
        Planted{"HostPause", {.hostPauseNs = 3'000'000}, FindingId::HostWork},
        Planted{"Asleep", {.asleepNs = 3'000'000}, FindingId::HostNotRunning},
        Planted{"Leak", {.leakBytes = 2 << 20}, FindingId::MemoryLeak},
        Planted{"MemorySpike", {.memorySpike = true}, FindingId::MemorySpike},
        Planted{"AllocationChurn", {.allocationChurn = true}, FindingId::AllocationChurn},
        Planted{"BiasBeforeNorm", {.biasBeforeNorm = true}, FindingId::BiasBeforeNorm},
        Planted{"BlockingCopy", {.blockingCopyNs = 600'000}, FindingId::BlockingCopy},
        Planted{"BlockingMemset", {.blockingMemsetNs = 600'000}, FindingId::BlockingMemset},
        Planted{"HostCollectives", {.gloo = true}, FindingId::SlowBackend},
        Planted{"LateRank",
                {.ranks = 2, .collectiveNs = 100'000, .lateNs = 2'000'000},
                FindingId::LateRank}),
    [](const auto& info) { return info.param.name; });

TEST(Findings, OpportunitiesAreNamed) {
  EXPECT_THAT(opportunities(with(kHostBound, [](RunPlan& p) { p.roundTrips = 3; })),
              testing::Contains(FindingId::DtypeRoundTrip));
  EXPECT_THAT(opportunities(with(kHostBound, [](RunPlan& p) { p.optimizerKernels = 12; })),
              testing::Contains(FindingId::OptimizerFused));
}

TEST(Findings, WhatCostsAndGainsNextToNothingIsNone) {
  // Half a percent of a step is worth acting on, of a fault a tenth: 3 conversions of 2 µs in 0.2
  // ms are, in 4 ms not.
  const RunPlan longSteps{.syncEachStep = true, .roundTrips = 3};
  EXPECT_THAT(opportunities(longSteps), testing::Not(testing::Contains(FindingId::DtypeRoundTrip)));
  EXPECT_THAT(faults({.operators = 400, .zeroGradNs = 100}),
              testing::Not(testing::Contains(FindingId::ZeroGrad)));
  EXPECT_THAT(faults({.zeroGradNs = 100'000}), testing::Contains(FindingId::ZeroGrad));
  for (const RunPlan& plan :
       {RunPlan{.biasGradientNs = 10'000}, RunPlan{.syncEachStep = true, .optimizerKernels = 12},
        RunPlan{.operators = 400, .zeroGradNs = 100}, longSteps}) {
    const Analysis analysis = analysed(plan);
    for (const Finding& finding : analysis.of<Findings>()) {
      const std::int64_t weight = std::max(finding.costNsPerStep, finding.predictedGainNsPerStep);
      const int oneIn = finding.kind == FindingKind::Fault ? 1000 : 200;
      EXPECT_TRUE(weight * oneIn >= analysis.meanStepNs() || finding.gainBasis == GainBasis::None ||
                  finding.gainBasis == GainBasis::Bytes)
          << finding.id;
    }
  }
}

TEST(Findings, CpuDevicesGetNoAdviceForGpus) {
  const RunPlan slow{.kernelNs = 3'000, .kernelName = "sgemm", .batchNs = 20'000'000, .workers = 0};
  EXPECT_THAT(opportunities(slow), testing::Contains(FindingId::SmallBatch));
  RunPlan onHost = slow;
  onHost.cpuDevice = true;
  EXPECT_THAT(opportunities(onHost), testing::Not(testing::Contains(FindingId::SmallBatch)));
}

TEST(Findings, CleanRunsHaveNoFault) {
  EXPECT_THAT(faults({}), testing::IsEmpty());
  EXPECT_THAT(faults({.syncEachStep = true}), testing::IsEmpty());
  EXPECT_THAT(faults({.ranks = 2, .collectiveNs = 100'000}), testing::IsEmpty());
  EXPECT_THAT(faults({.operators = 10, .kernelNs = 900'000}), testing::IsEmpty());
}

TEST(Findings, SettingUpMakesNoWorkerIdle) {
  const Analysis quick = analysed({.batchNs = 30'000'000, .workers = 1});
  const Analysis late =
      analysed({.batchNs = 30'000'000, .workers = 1, .setupCopyNs = 5'000'000'000});
  EXPECT_EQ(quick.of<LoaderVerdict>().bound, LoaderBound::Computing);
  EXPECT_EQ(late.of<LoaderVerdict>().bound, quick.of<LoaderVerdict>().bound);
  EXPECT_DOUBLE_EQ(late.of<LoaderStats>().utilisation(), quick.of<LoaderStats>().utilisation());
}

TEST(Findings, SeveralDevicesAreNoReasonForOthers) {
  for (const RunPlan& plan :
       {RunPlan{.syncEachStep = true}, RunPlan{.zeroGradNs = 40'000}, RunPlan{.tinyRepeats = 40},
        RunPlan{.operators = 30, .kernelNs = 900'000, .roundTrips = 1}}) {
    RunPlan four = plan;
    four.ranks = 4;
    EXPECT_EQ(faults(four), faults(plan));
  }
}

TEST(Findings, CountsOfSeveralDevicesAreOfOne) {
  const Analysis fills = analysed({.ranks = 4, .zeroGradNs = 1'000'000});
  ASSERT_NE(find(fills, FindingId::ZeroGrad), nullptr);
  EXPECT_THAT(find(fills, FindingId::ZeroGrad)->title, testing::HasSubstr(": 10 fills"));
}

TEST(Findings, MemoryOfEachDeviceIsItsOwn) {
  // 120 MiB at the peak of each.
  const RunPlan roomy{.ranks = 4, .deviceBytes = 480u << 20};
  EXPECT_EQ(find(analysed(roomy), FindingId::MemoryNearlyFull), nullptr);
  const RunPlan full{.ranks = 4, .deviceBytes = 125u << 20};
  EXPECT_NE(find(analysed(full), FindingId::MemoryNearlyFull), nullptr);
  const Analysis leaking = analysed({.steps = 40, .ranks = 2, .leakBytes = 16 << 20});
  ASSERT_NE(find(leaking, FindingId::MemoryLeak), nullptr);
  EXPECT_THAT(find(leaking, FindingId::MemoryLeak)->title, testing::HasSubstr("grows by 16.0 MiB"));
}

TEST(Findings, SetUpCostsNoStepAnything) {
  EXPECT_THAT(
      faults({.steps = 10, .syncEachStep = true, .setupKernels = 400, .setupCopyNs = 300'000'000}),
      testing::IsEmpty());
}

TEST(Findings, ACallOfTheSetUpIsNotBlamedForTheSteps) {
  const Analysis syncs = analysed({.operatorNs = 60'000,
                                   .syncEveryOperators = 4,
                                   .setupCallNs = 900'000'000,
                                   .setupCall = "cudaDeviceSynchronize"});
  ASSERT_NE(find(syncs, FindingId::SyncInStep), nullptr);
  EXPECT_THAT(find(syncs, FindingId::SyncInStep)->advice,
              testing::StartsWith("avoid cudaStreamSynchronize"));
}

TEST(Findings, WhatNothingHidesHasEvidence) {
  const std::pair<RunPlan, FindingId> cases[] = {
      {{.ranks = 2, .collectiveNs = 3'000'000}, FindingId::ExposedCommunication},
      {{.blockingCopyNs = 2'000'000}, FindingId::ExposedCopy},
      {{.pageableCopyNs = 2'000'000}, FindingId::PageableCopy}};
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

TEST(Findings, EvidenceNamesItsRank) {
  const auto first = [](const Analysis& analysis, FindingId id) {
    const Finding* finding = find(analysis, id);
    return finding != nullptr && !finding->evidence.empty() ? finding->evidence[0] : Evidence{};
  };
  const Analysis loader = analysed({.batchNs = 20'000'000, .workers = 0});
  EXPECT_EQ(first(loader, FindingId::LoaderWait).device, loader.devices.at(0).id);
  EXPECT_NE(first(loader, FindingId::LoaderWait).thread, prof::ThreadId());
  const Analysis ranks = analysed({.ranks = 2, .collectiveNs = 100'000, .lateNs = 2'000'000});
  const Evidence late = first(ranks, FindingId::LateRank);
  const auto device = std::ranges::find(ranks.devices, late.device, &DeviceAccount::id);
  ASSERT_NE(device, ranks.devices.end());
  EXPECT_TRUE(std::ranges::count(device->queues, late.queue, &QueueAccount::id));
  const Analysis leak = analysed({.steps = 40, .leakBytes = 16 << 20, .givesAllBack = true});
  EXPECT_EQ(first(leak, FindingId::MemoryLeak).device,
            leak.of<MemoryTables>().devices.at(0).device);
  EXPECT_NE(first(leak, FindingId::MemoryLeak).device, prof::DeviceId());
}

TEST(Findings, TwoFaultsAreBothFound) {
  EXPECT_THAT(faults({.batchNs = 20'000'000, .workers = 0, .leakBytes = 2 << 20}),
              testing::IsSupersetOf({FindingId::LoaderWait, FindingId::MemoryLeak}));
  EXPECT_THAT(faults({.pageableCopyNs = 2'000'000, .zeroGradNs = 1'000'000}),
              testing::IsSupersetOf({FindingId::PageableCopy, FindingId::ZeroGrad}));
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
       {Case{with([](RunPlan& p) { p.batchNs = 20'000'000, p.workers = 0; }), Cause::LoaderWait,
             20e6},
        Case{{.asleepNs = 3'000'000}, Cause::OffCpu, 3e6},
        Case{{.mallocNs = 3'000'000}, Cause::DriverCall, 3e6},
        Case{{.hostPauseNs = 3'000'000}, Cause::HostWork, 3e6},
        Case{{.stuckSyncNs = 3'000'000}, Cause::Synchronisation, 3e6},
        Case{{.startDelayNs = 3'000'000}, Cause::Launch, 3e6},
        Case{{.profilerNs = 3'000'000}, Cause::Profiler, 3e6},
        Case{with([](RunPlan& p) { p.ranks = 2, p.collectiveNs = 3'000'000; }),
             Cause::ExposedCommunication, 3e6},
        Case{synced, Cause::Compute, 41 * 1e5},
        Case{{.pageableCopyNs = 2'000'000}, Cause::ExposedCopy, 2e6}}) {
    const auto measured =
        static_cast<double>(analysed(planted.plan).meanStepLedger()[planted.cause]);
    EXPECT_NEAR(measured, planted.plantedNs, 0.05 * planted.plantedNs) << causeKey(planted.cause);
  }
}

TEST(Findings, AQueueWaitsForAnotherAsLongAsWasPlanted) {
  // For a device with both queues it is exposed communication; for the compute queue alone it is a
  // dependency.
  const Analysis analysis = analysed({.collectiveNs = 3'050'000, .earlyNs = 52'000});
  const auto& queues = analysis.devices.at(0).queues;
  const auto steps = static_cast<double>(analysis.steps.all.size());
  const auto worked = std::max_element(queues.begin(), queues.end(),
                                       [](const QueueAccount& a, const QueueAccount& b) {
                                         return a.ledger[Cause::Compute] < b.ledger[Cause::Compute];
                                       });
  EXPECT_NEAR(static_cast<double>(worked->ledger[Cause::Dependency]) / steps, 3e6, 0.05 * 3e6);
}

TEST(Findings, UnknownStaysSmall) {
  for (const RunPlan& plan : {RunPlan{}, RunPlan{.batchNs = 20'000'000, .workers = 0},
                              RunPlan{.operators = 200, .kernelNs = 3'000}}) {
    const Ledger ledger = analysed(plan).ledgers.run;
    EXPECT_LE(ledger[Cause::Unknown] * 50, ledger.totalNs());
  }
}

TEST(Findings, NothingIsCalledFaultlessThatTheTraceCannotShow) {
  EXPECT_THAT(verdict(analysed({})), testing::EndsWith(" No fault found."));
  const Analysis some = deviceAlone(900'000);
  EXPECT_THAT(
      verdict(some),
      testing::EndsWith(" No fault is named, but 10.0 % of the time has no cause in the trace."));
}

TEST(Findings, TheFirstIsTheCostliestAndNoneGainsMoreThanItCosts) {
  for (const RunPlan& plan :
       {RunPlan{.batchNs = 20'000'000, .workers = 0, .pageableCopyNs = 2'000'000},
        RunPlan{.zeroGradNs = 1'000'000}, RunPlan{.operators = 200, .kernelNs = 3'000},
        RunPlan{.operatorNs = 60'000, .syncEveryOperators = 4},
        RunPlan{.hostPauseNs = 3'000'000, .biasBeforeNorm = true, .biasGradientNs = 900'000},
        RunPlan{.ranks = 2, .collectiveNs = 3'000'000}}) {
    std::int64_t most = INT64_MAX;
    for (const Finding& finding : analysed(plan).of<Findings>()) {
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
  const Finding* finding = find(analysis, FindingId::UnderUtilised);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gainBasis, GainBasis::None);
  EXPECT_EQ(finding->baseNsPerStep, 0);
  EXPECT_EQ(finding->notPredicted, "the trace does not show why the device waits");
  EXPECT_THAT(
      renderText(analysis, {{"findings"}, 200, false}),
      testing::HasSubstr("gain  not predicted: the trace does not show why the device waits"));
  EXPECT_THAT(renderJson(analysis), testing::HasSubstr("\"gain_basis\": \"none\""));
  EXPECT_THAT(renderHtml(analysis),
              testing::HasSubstr("gain: not predicted: the trace does not show"));
}

class AnyFindings : public testing::TestWithParam<std::uint32_t> {};

TEST_P(AnyFindings, CostWhatTheyGainOrMoreAsSharesOfOneStep) {
  const Analysis analysis = analysed(anyPlan(GetParam()));
  for (const Finding& finding : analysis.of<Findings>()) {
    SCOPED_TRACE(finding.id);
    EXPECT_LE(finding.accountedNsPerStep, finding.costNsPerStep);
    EXPECT_LE(finding.gainLowNsPerStep, finding.predictedGainNsPerStep);
    EXPECT_LE(finding.predictedGainNsPerStep, finding.gainHighNsPerStep);
    if (finding.predictedGainNsPerStep > 0) {
      EXPECT_LE(finding.gainShare(), 1);
      EXPECT_GE(finding.fullStepNs, std::max(analysis.meanStepNs(), finding.baseNsPerStep));
    }
    if (finding.kind == FindingKind::Opportunity && finding.costNsPerStep == 0) continue;
    EXPECT_LE(finding.gainHighNsPerStep, finding.costNsPerStep);
    EXPECT_LE(finding.gainShare(), finding.costShare());
    EXPECT_LE(finding.costShare(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyFindings, testing::Range(0U, test::seeds(100)));

TEST(Findings, OneThatCostsWhatItGainsShowsItsPlaceInTheTrace) {
  Finding finding;
  finding.gainBasis = GainBasis::Replay;
  finding.costNsPerStep = finding.predictedGainNsPerStep = finding.gainHighNsPerStep = 200'000;
  finding.accountedNsPerStep = 150'000;
  finding.baseNsPerStep = 1'000'000;
  finding.fullStepNs = 1'250'000;
  EXPECT_THAT(describeGain(finding, "a step"), testing::StartsWith("200 µs a step (16.0 %), "));
  EXPECT_THAT(describeGain(finding, "a step"),
              testing::EndsWith("; the step's account holds 150 µs of it"));
  finding.accountedNsPerStep = 199'000;
  EXPECT_THAT(describeGain(finding, "a step"), testing::Not(testing::HasSubstr("account")));
}

/// The gain of a change of the program, worked out on paper from what was planted.
struct Gain {
  const char* name;
  RunPlan plan;
  FindingId id;
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
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), wanted.gainNs,
              0.05 * wanted.gainNs);
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
        Gain{"BlockingMemset", with(kHostBound, [](RunPlan& p) { p.blockingMemsetNs = 3'000'000; }),
             FindingId::BlockingMemset, 3e6},
        // The copy is work of the queue as before, which the host no longer waits for, nor for that
        // of the steps.
        Gain{"SyncsBesideABlockingMemset",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.blockingMemsetNs = 3'000'000;
                    p.stuckSyncNs = 2'000'000;
                  }),
             FindingId::SyncInStep, 2e6},
        // The copy itself goes on: 51 launches of 40 µs hide behind it, and 51 kernels of 1 µs, 1
        // µs apart, are left.
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
             FindingId::BlockingCopy, 51 * (40e3 - 2e3)},
        // In every other step, which is no synchronisation in each.
        Gain{"UnderUtilised",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.stuckSyncNs = 6'000'000;
                    p.syncEverySteps = 2;
                  }),
             FindingId::UnderUtilised, 3e6, GainBasis::UpperBound},
        Gain{"Churn",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.mallocNs = 3'000'000;
                    p.allocationChurn = true;
                  }),
             FindingId::AllocationChurn, 3e6},
        Gain{"Asleep", with(kHostBound, [](RunPlan& p) { p.asleepNs = 3'000'000; }),
             FindingId::HostNotRunning, 3e6, GainBasis::UpperBound},
        Gain{"HostWork",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.operatorNs = 5'001;
                    p.hostPauseNs = 3'000'000;
                  }),
             FindingId::HostWork, 3e6, GainBasis::UpperBound},
        Gain{"LateStarts", with(kHostBound, [](RunPlan& p) { p.startDelayNs = 3'000'000; }),
             FindingId::LateStarts, 3e6, GainBasis::UpperBound},
        Gain{"RoundTrips",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.roundTrips = 10;
                    p.hostOperatorNs = 50'000;
                  }),
             FindingId::DtypeRoundTrip, 10 * 50e3},
        Gain{"ThroughTheHost",
             with(kHostBound,
                  [](RunPlan& p) {
                    p.gloo = true;
                    p.hostOperatorNs = 1'000'000;
                  }),
             FindingId::SlowBackend, 1e6, GainBasis::UpperBound},
        // Every tenth step.
        Gain{"SlowSteps", RunPlan{.steps = 40, .syncEachStep = true, .slowStepNs = 20'000'000},
             FindingId::SlowSteps, 2e6, GainBasis::Trace},
        // 46 % of the 4.1 ms of kernels, each 1 / 0.54 as long.
        Gain{"CoresTaken", kDisplaced, FindingId::CoresTaken, 0.46 / 0.54 * 41 * 100e3}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Findings, EveryFindingHasAGainOrAReasonForNone) {
  for (const RunPlan& plan :
       {RunPlan{.batchNs = 20'000'000, .workers = 0, .pageableCopyNs = 2'000'000},
        RunPlan{.zeroGradNs = 1'000'000}, RunPlan{.operators = 200, .kernelNs = 3'000},
        RunPlan{.operatorNs = 60'000, .syncEveryOperators = 4},
        RunPlan{.leakBytes = 2 << 20, .memorySpike = true, .allocationChurn = true},
        RunPlan{.ranks = 2, .collectiveNs = 3'000'000, .lateNs = 2'000'000},
        RunPlan{.profilerNs = 20'000'000}, RunPlan{.cpuDevice = true},
        RunPlan{.deviceBytes = 125u << 20}, kDisplaced}) {
    for (const Finding& finding : analysed(plan).of<Findings>()) {
      EXPECT_EQ(finding.gainBasis == GainBasis::None, !finding.notPredicted.empty()) << finding.id;
      EXPECT_EQ(finding.gainBasis == GainBasis::Bytes, finding.predictedGainBytes > 0)
          << finding.id;
      EXPECT_GT(finding.confidence, 0) << finding.id;
      EXPECT_THAT(finding.title, testing::Not(testing::HasSubstr("{"))) << finding.id;
    }
  }
}

TEST(Findings, APercentageIsOfItsNamedBasisAndAtMostAll) {
  const Analysis analysis = analysed({.steps = 30,
                                      .batchNs = 12'000'000,
                                      .workers = 0,
                                      .syncEachStep = true,
                                      .waitIsMarked = false});
  const Finding* finding = find(analysis, FindingId::LoaderWait);
  ASSERT_NE(finding, nullptr);
  EXPECT_LE(finding->costNsPerStep, analysis.meanStepNs());
  EXPECT_FALSE(finding->coversGaps);
  EXPECT_THAT(finding->title, testing::HasSubstr("12.0 ms a step"));
  EXPECT_THAT(describeRun(analysis), testing::HasSubstr("30 steps of 16.2 ms (± 0 ns)"));
  EXPECT_THAT(describeRun(analysis), testing::Not(testing::HasSubstr("one every")));
}

TEST(Findings, NoneCostsMoreThanAStepTakes) {
  // The launches of a loop run ahead of the device, from the first to the last longer than a step.
  for (const RunPlan& plan : {RunPlan{.tinyRepeats = 300},
                              RunPlan{.steps = 60, .stepsPerEpoch = 20, .restartNs = 80'000'000},
                              RunPlan{.operators = 200, .kernelNs = 3'000, .tinyRepeats = 300}}) {
    const Analysis analysis = analysed(plan);
    for (const Finding& finding : analysis.of<Findings>()) {
      EXPECT_LE(finding.costNsPerStep, std::max(analysis.meanStepNs(), finding.baseNsPerStep))
          << finding.id;
      EXPECT_LE(finding.gainShare(), 1) << finding.id;
    }
  }
}

TEST(Findings, ATitleNamesTheCostOfItsFinding) {
  // Quickening the host takes what lies between the markers too, which is in no step's ledger.
  const Analysis analysis = analysed({.steps = 30,
                                      .batchNs = 12'000'000,
                                      .workers = 0,
                                      .syncEachStep = true,
                                      .waitIsMarked = false});
  const Finding* finding = find(analysis, FindingId::LoaderWait);
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, testing::HasSubstr(fmt::format(
                                  " {} a step", prof::timeText(finding->costNsPerStep))));
}

TEST(Findings, EveryFaultHasAdviceAndConfidence) {
  for (const Finding& finding :
       analysed(
           {.batchNs = 20'000'000, .workers = 0, .pageableCopyNs = 2'000'000, .leakBytes = 2 << 20})
           .of<Findings>()) {
    EXPECT_FALSE(finding.advice.empty()) << finding.id;
    EXPECT_GT(finding.confidence, 0) << finding.id;
    EXPECT_LE(finding.confidence, 1) << finding.id;
    EXPECT_FALSE(finding.title.empty()) << finding.id;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
