// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

/// A training on a machine of two cores whose team has `more` threads besides the one that trains;
/// each runs and waits for so much of the time.
Analysis withTeam(std::uint32_t more, double ranPercent, double waitedPercent,
                  const char* category = "") {
  CpuTraining training(60);
  training.work(0, 8 * CpuTraining::kMs, "aten::linear").ran(ranPercent, waitedPercent);
  StoreBuilder& out = training.out;
  out.append(prof::Environment{.key = out.intern("host.cores"), .value = out.intern("2")});
  for (std::uint32_t i = 0; i < more; ++i) {
    const prof::ThreadId thread(10 + i);
    out.append(prof::Thread{.id = thread, .process = prof::ProcessId(1)});
    out.append(prof::Range{.startNs = 0,
                           .durNs = 5,
                           .thread = thread,
                           .category = out.intern(category),
                           .name = out.intern("fetch")});
    training.ran(ranPercent, waitedPercent, thread);
  }
  return training.analysed();
}

TEST(TooManyThreadsFinding, ATeamLargerThanTheMachineIsFound) {
  const Analysis analysis = withTeam(7, 20, 30);
  const Finding* finding = find(analysis, FindingId::TooManyThreads);
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title,
              testing::HasSubstr("8 threads of the program want 2 cores, and 2.0 of them wait"));
  EXPECT_THAT(finding->advice, testing::HasSubstr("torch.set_num_threads(2)"));
  EXPECT_FALSE(finding->notPredicted.empty());
}

TEST(TooManyThreadsFinding, ATeamThatFitsTheMachineIsNone) {
  EXPECT_EQ(find(withTeam(1, 60, 40), FindingId::TooManyThreads), nullptr);
}

TEST(TooManyThreadsFinding, ThreadsThatHardlyWaitAreNone) {
  EXPECT_EQ(find(withTeam(7, 20, 3), FindingId::TooManyThreads), nullptr);
}

TEST(TooManyThreadsFinding, ThreadsThatNowAndThenWaitToBeWokenHideNoSleep) {
  // The thread that trains runs for 6 of 10 ms; two others want a core for a tenth of the time.
  CpuTraining training(60);
  training.work(0, 6 * CpuTraining::kMs, "aten::linear").ran(62);
  StoreBuilder& out = training.out;
  out.append(prof::Environment{.key = out.intern("host.cores"), .value = out.intern("2")});
  for (std::uint32_t i = 0; i < 2; ++i) {
    const prof::ThreadId thread(10 + i);
    out.append(prof::Thread{.id = thread, .process = prof::ProcessId(1)});
    training.ran(1, 9, thread);
  }
  const Analysis analysis = training.analysed();
  EXPECT_NE(find(analysis, FindingId::HostNotRunning), nullptr);
  EXPECT_EQ(find(analysis, FindingId::TooManyThreads), nullptr);
}

TEST(TooManyThreadsFinding, WorkersOfALoaderAreNoTeam) {
  EXPECT_EQ(find(withTeam(7, 20, 30, "loader"), FindingId::TooManyThreads), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
