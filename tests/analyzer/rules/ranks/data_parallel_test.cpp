// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

/// One process that copies its model to so many devices, which takes the host so long in each step.
RunPlan replicated(int devices, std::int64_t copyNs) {
  return with(kHostBound, [&](RunPlan& plan) {
    plan.ranks = devices;
    plan.dataParallel = true;
    plan.hostOperatorNs = copyNs;
  });
}

TEST(DataParallelFinding, GainsAtMostWhatCopyingTheModelTakes) {
  const Analysis analysis = analysed(replicated(2, 1'000'000));
  const Finding* finding = find(analysis, FindingId::DataParallel);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->kind, FindingKind::Fault);
  EXPECT_EQ(finding->gainBasis, GainBasis::UpperBound);
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), 1e6, 0.05e6);
  EXPECT_GE(finding->costNsPerStep, finding->predictedGainNsPerStep);
  EXPECT_EQ(finding->gainLowNsPerStep, 0);
  EXPECT_THAT(finding->title,
              testing::StartsWith("one process drives 2 devices with DataParallel"));
  EXPECT_THAT(finding->advice,
              testing::StartsWith("use DistributedDataParallel: one process a device"));
  EXPECT_EQ(finding->knob, "") << "only code starts other processes";
}

TEST(DataParallelFinding, IsTheFirstFaultAlsoWhereTheCopiesHardlyHoldTheHost) {
  const Analysis analysis = analysed({.ranks = 2, .dataParallel = true});
  ASSERT_FALSE(analysis.of<Findings>().empty());
  const Finding& finding = analysis.of<Findings>().front();
  ASSERT_EQ(finding.id, FindingId::DataParallel);
  EXPECT_EQ(finding.gainBasis, GainBasis::None);
  EXPECT_THAT(finding.notPredicted, testing::HasSubstr("hardly holds up the threads that launch"));
}

TEST(DataParallelFinding, BeginsAtItsNumberOfDevices) {
  const int least = static_cast<int>(thresholdOf(FindingId::DataParallel, "devices"));
  EXPECT_EQ(find(analysed(replicated(least - 1, 1'000'000)), FindingId::DataParallel), nullptr);
  EXPECT_NE(find(analysed(replicated(least, 1'000'000)), FindingId::DataParallel), nullptr);
}

TEST(DataParallelFinding, AProcessForEachDeviceIsNone) {
  EXPECT_EQ(find(analysed({.ranks = 2}), FindingId::DataParallel), nullptr);
}

/// A process with two devices, on whose thread these operators run.
Analysis operatorsOfOneProcess(std::initializer_list<const char*> names) {
  StoreBuilder builder;
  builder.append(prof::Process{.id = prof::ProcessId(1), .osPid = 7});
  builder.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
  for (const std::uint32_t id : {1U, 2U}) {
    builder.append(
        prof::Device{.id = prof::DeviceId(id), .kind = prof::DeviceKind::Cuda, .index = id - 1});
    builder.append(prof::Queue{
        .id = prof::QueueId(id), .device = prof::DeviceId(id), .process = prof::ProcessId(1)});
    builder.append(prof::Kernel{.startNs = 1'000'000,
                                .durNs = 1'000'000,
                                .queue = prof::QueueId(id),
                                .device = prof::DeviceId(id),
                                .name = builder.intern("softmax_row")});
  }
  prof::TimeNs at = 0;
  for (const char* name : names) {
    builder.append(prof::Range{.startNs = at,
                               .durNs = 100'000,
                               .thread = prof::ThreadId(1),
                               .category = builder.intern("cpu_op"),
                               .name = builder.intern(name)});
    at += 200'000;
  }
  auto analysis = analyse(builder.build());
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

TEST(DataParallelFinding, IsKnownByEachOfTheNamesOfReplication) {
  for (const char* name : {"broadcast_coalesced", "BroadcastBackward", "DataParallel.forward"})
    EXPECT_NE(find(operatorsOfOneProcess({name}), FindingId::DataParallel), nullptr) << name;
  EXPECT_EQ(find(operatorsOfOneProcess({"aten::linear"}), FindingId::DataParallel), nullptr);
}

TEST(DataParallelFinding, DistributedDataParallelBroadcastsAtItsStartToo) {
  EXPECT_EQ(find(operatorsOfOneProcess({"broadcast_coalesced", "DistributedDataParallel.forward"}),
                 FindingId::DataParallel),
            nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
