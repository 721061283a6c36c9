// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/collective_calls.h"

#include <gtest/gtest.h>

#include <string_view>

namespace lacuna::collector::torch {
namespace {

class CollectiveCallsTest : public testing::Test {
 protected:
  void begin(std::string_view name) {
    calls_.put(prof::kindOfCollective(name), {.correlation = ++begun_, .startNs = 0, .thread = 0});
  }
  /// The number of the call that an execution is of, 0 for none.
  std::uint64_t execute(std::string_view name) {
    const auto call = calls_.take(prof::kindOfCollective(name));
    return call ? call->correlation : 0;
  }

  CollectiveCalls calls_;
  std::uint64_t begun_ = 0;
};

TEST_F(CollectiveCallsTest, ThoseOfOneKindAreTakenInTheOrderInWhichTheyBegan) {
  begin("c10d::allreduce_");
  begin("c10d::broadcast_");
  begin("c10d::allreduce_coalesced_");
  EXPECT_EQ(execute("gloo:broadcast"), 2U);
  EXPECT_EQ(execute("gloo:all_reduce"), 1U);
  EXPECT_EQ(execute("gloo:all_reduce"), 3U);
  EXPECT_EQ(execute("gloo:all_reduce"), 0U);
}

TEST_F(CollectiveCallsTest, AnExecutionWithoutACallOfItsKindIsOfOneThatNothingExecutesByItsName) {
  begin("c10d::broadcast_");
  EXPECT_EQ(execute("gloo:broadcast"), 1U);
  begin("c10d::broadcast_");
  begin("c10d::_reduce_scatter_base_");
  EXPECT_EQ(execute("gloo:all_reduce"), 3U);
  EXPECT_EQ(execute("gloo:all_reduce"), 0U);
  EXPECT_EQ(execute("gloo:broadcast"), 2U);
}

TEST_F(CollectiveCallsTest, WhatIsNoCollectiveIsNotWaitedFor) {
  begin("c10d::something_else");
  EXPECT_EQ(execute("gloo:all_reduce"), 0U);
}

TEST_F(CollectiveCallsTest, OfTooManyThatWaitTheLatestAreKept) {
  for (std::size_t i = 0; i < CollectiveCalls::kMost + 2; ++i) begin("c10d::barrier");
  EXPECT_EQ(execute("gloo:barrier"), 3U);
}

TEST(CollectiveKinds, ANameThatHoldsAShorterOneIsNotTakenForIt) {
  EXPECT_EQ(prof::kindOfCollective("c10d::_allgather_base_"),
            prof::kindOfCollective("gloo:all_gather"));
  EXPECT_NE(prof::kindOfCollective("gloo:gather"), prof::kindOfCollective("gloo:all_gather"));
  EXPECT_NE(prof::kindOfCollective("gloo:reduce"), prof::kindOfCollective("gloo:all_reduce"));
  EXPECT_EQ(prof::kindOfCollective("c10d::recv_any_source_"),
            prof::kindOfCollective("gloo:recvAnySource"));
  EXPECT_EQ(prof::kindOfCollective("c10d::alltoall_base_"),
            prof::kindOfCollective("gloo:all_to_all"));
  EXPECT_EQ(prof::kindOfCollective("gloo:"), kNoCollective);
}

}  // namespace
}  // namespace lacuna::collector::torch
