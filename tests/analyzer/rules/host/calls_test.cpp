// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/host/calls.h"

#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

CallRow calledIn(const char* name, Activity activity, std::uint64_t stepCount,
                 std::int64_t stepNs) {
  CallRow row;
  row.name = name;
  row.stepCount = stepCount;
  row.stepNs = stepNs;
  row.activity = activity;
  return row;
}

CallRow called(const char* name) {
  return calledIn(name, Activity::None, 1, 1);
}

/// Calls of a run, and what other rules have claimed of them.
struct CalledRun {
  Analysis analysis;
  Reported reported;
  Facts facts{analysis, nullptr, reported, ruleOf(FindingId::DriverCalls)};
};

TEST(Calls, CopiesAndMemsetsAreKnownByTheirNames) {
  for (const char* name : {"cudaMemcpy", "cuMemcpyHtoD_v2", "hipMemcpyAsync"}) {
    EXPECT_TRUE(isCopyCall(called(name))) << name;
    EXPECT_FALSE(isMemsetCall(called(name))) << name;
  }
  EXPECT_TRUE(isMemsetCall(called("cudaMemset")));
  EXPECT_FALSE(isCopyCall(called("cudaStreamSynchronize")));
}

TEST(Calls, SynchronisationsAreCountedWithOrWithoutCopiesThatWait) {
  Analysis analysis;
  analysis.of<CallTable>() = {calledIn("cudaStreamSynchronize", Activity::Sync, 3, 10),
                              calledIn("cudaMemcpy", Activity::Sync, 5, 10),
                              calledIn("cudaMemset", Activity::Sync, 7, 10),
                              calledIn("cudaMalloc", Activity::Driver, 11, 10)};
  EXPECT_EQ(syncCalls(analysis, false), 3U);
  EXPECT_EQ(syncCalls(analysis, true), 15U);
}

TEST(Calls, TheCostliestIsTheUnclaimedOneThatTakesMostOfTheSteps) {
  CalledRun run;
  run.analysis.of<CallTable>() = {calledIn("cudaMalloc", Activity::Driver, 1, 500),
                                  calledIn("cudaEventCreate", Activity::Driver, 90, 300),
                                  calledIn("cudaFree", Activity::Driver, 1, 200),
                                  calledIn("cudaMemcpy", Activity::Sync, 1, 900)};
  ASSERT_NE(costliestCall(run.facts, Activity::Driver), nullptr);
  EXPECT_EQ(costliestCall(run.facts, Activity::Driver)->name, "cudaMalloc");
  run.reported.claims.push_back({.call = "cudaMalloc", .activity = Activity::Driver});
  EXPECT_EQ(costliestCall(run.facts, Activity::Driver)->name, "cudaEventCreate");
  EXPECT_EQ(costliestCall(run.facts, Activity::Launch), nullptr);
}

TEST(Calls, TheLongestWaitIsTheUnclaimedNamedOneOfItsCause) {
  CalledRun run;
  run.analysis.of<IdleCauses>().details = {
      {.cause = Cause::DriverCall, .name = "", .ns = 900},
      {.cause = Cause::Synchronisation, .name = "cudaMemcpy", .ns = 800},
      {.cause = Cause::DriverCall, .name = "cudaMalloc", .ns = 700},
      {.cause = Cause::DriverCall, .name = "cudaFree", .ns = 100}};
  ASSERT_NE(longestWait(run.facts, Cause::DriverCall), nullptr);
  EXPECT_EQ(longestWait(run.facts, Cause::DriverCall)->name, "cudaMalloc");
  run.reported.claims.push_back({.call = "cudaMalloc", .activity = Activity::Driver});
  EXPECT_EQ(longestWait(run.facts, Cause::DriverCall)->name, "cudaFree");
  EXPECT_EQ(longestWait(run.facts, Cause::LoaderWait), nullptr);
}

TEST(Calls, ABlockingCopyClaimsTheShareOfItsCallThatMovesMuch) {
  const Analysis analysis = analysed({.operatorNs = 60'000,
                                      .syncEveryOperators = 4,
                                      .blockingCopyNs = 600'000,
                                      .readsByCopy = true});
  Reported reported;
  const Facts facts(analysis, nullptr, reported, ruleOf(FindingId::BlockingCopy));
  Outcome out(facts, reported);
  findBlockingCalls(facts, out, isCopyCall, {.name = "least", .value = 0.02}, {.value = 0.9},
                    "copy later");
  ASSERT_EQ(reported.findings.size(), 1U);
  EXPECT_EQ(reported.findings[0].advice, "copy later");
  EXPECT_EQ(reported.findings[0].count, 12U) << "those of four bytes are somebody else's";
  ASSERT_EQ(reported.claims.size(), 1U);
  EXPECT_EQ(reported.claims[0].call, "cudaMemcpy");
  EXPECT_GT(reported.claims[0].share, 0);
  EXPECT_LT(reported.claims[0].share, 1);
  EXPECT_EQ(reported.claims[0].nsPerStep, reported.findings[0].costNsPerStep);
}

}  // namespace
}  // namespace lacuna::analyzer
