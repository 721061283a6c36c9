// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/store.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

using prof::Allocation;
using prof::MemoryAction;
using prof::MemoryRole;

class MemoryAtTest : public ::testing::Test {
 protected:
  void row(prof::TimeNs time, MemoryAction action, std::uint64_t address, std::uint64_t bytes,
           MemoryRole role = MemoryRole::Activation) {
    trace_.append(Allocation{
        .timeNs = time, .action = action, .role = role, .address = address, .bytes = bytes});
  }
  StoreBuilder trace_;
};

TEST_F(MemoryAtTest, ListsWhatIsAliveWithItsLifetime) {
  row(0, MemoryAction::Reserve, 1, 4096);
  row(10, MemoryAction::Allocate, 1, 100, MemoryRole::Parameter);
  row(20, MemoryAction::Allocate, 2, 300);
  row(30, MemoryAction::Free, 2, 300);
  row(40, MemoryAction::Allocate, 2, 50);
  const auto store = trace_.build();
  const MemoryMoment at = *memoryAt(*store, 25);
  EXPECT_EQ(at.bytes, 400u);
  EXPECT_EQ(at.unusedBytes(), 3696u);
  ASSERT_EQ(at.live.size(), 2u);
  EXPECT_EQ(at.live[0].tensor.bytes, 300u);
  EXPECT_EQ(at.live[0].lifetimeNs(), 10);
  EXPECT_FALSE(at.live[1].freed);
  EXPECT_EQ(at.byRole[static_cast<std::size_t>(MemoryRole::Parameter)], 100u);
  EXPECT_EQ(memoryAt(*store, 30)->bytes, 400u);
  EXPECT_EQ(memoryAt(*store, 31)->bytes, 100u);
  EXPECT_EQ(memoryAt(*store, 5)->bytes, 0u);
  EXPECT_EQ(memoryAt(*store, 45)->bytes, 150u);
}

TEST_F(MemoryAtTest, RolesThatNobodyKnowsCountAsOther) {
  row(10, MemoryAction::Allocate, 1, 100, static_cast<MemoryRole>(kRoleCount));
  row(20, MemoryAction::Allocate, 2, 300, static_cast<MemoryRole>(255));
  const auto store = trace_.build();
  const MemoryMoment at = *memoryAt(*store, 25);
  ASSERT_EQ(at.live.size(), 2u);
  for (const LiveBlock& block : at.live)
    EXPECT_EQ(block.tensor.role, MemoryRole::Other) << block.tensor.bytes;
  EXPECT_EQ(at.byRole[static_cast<std::size_t>(MemoryRole::Other)], 400u);
  const auto analysis = analyse(store);
  ASSERT_TRUE(analysis) << analysis.error().message;
  ASSERT_EQ(analysis->of<MemoryTables>().all.live.size(), 2u);
  for (const LiveTensor& tensor : analysis->of<MemoryTables>().all.live)
    EXPECT_EQ(tensor.role, MemoryRole::Other) << tensor.bytes;
}

TEST_F(MemoryAtTest, AnAddressThatIsHandedOutAtOnceHidesNoLaterFree) {
  row(1, MemoryAction::Allocate, 1, 100);
  row(2, MemoryAction::Allocate, 2, 300);
  row(10, MemoryAction::Free, 1, 100);
  row(10, MemoryAction::Allocate, 1, 200);
  row(20, MemoryAction::Free, 1, 200);
  row(30, MemoryAction::Free, 2, 300);
  const MemoryMoment at = *memoryAt(*trace_.build(), 10);
  ASSERT_EQ(at.live.size(), 2u);
  for (const LiveBlock& block : at.live) EXPECT_TRUE(block.freed) << block.tensor.bytes;
  EXPECT_EQ(at.live[0].freedNs, 30);
  EXPECT_EQ(at.live[1].freedNs, 20);
}

TEST_F(MemoryAtTest, IsThatOfOneDeviceWhereOneIsAskedFor) {
  for (std::uint32_t device : {1U, 2U}) {
    for (const auto action : {MemoryAction::Reserve, MemoryAction::Allocate})
      trace_.append(Allocation{.timeNs = 10,
                               .device = prof::DeviceId(device),
                               .action = action,
                               .address = 1,
                               .bytes = 50});
  }
  trace_.append(Allocation{.timeNs = 20,
                           .device = prof::DeviceId(2),
                           .action = MemoryAction::Allocate,
                           .address = 2,
                           .bytes = 100});
  const auto store = trace_.build();
  EXPECT_EQ(memoryAt(*store, 30)->bytes, 200u);
  const MemoryMoment one = *memoryAt(*store, 30, {}, prof::DeviceId(2));
  EXPECT_EQ(one.bytes, 150u);
  EXPECT_EQ(one.reservedBytes, 50u);
  EXPECT_EQ(one.live.size(), 2u);
}

TEST(MemoryAt, AgreesWithThePeak) {
  const auto analysis = *analyse(test::makeRun({.memorySpike = true}));
  ASSERT_TRUE(analysis.of<MemoryTables>().all.present);
  EXPECT_EQ(memoryAt(*analysis.store, analysis.of<MemoryTables>().all.peakAtNs)->bytes,
            analysis.of<MemoryTables>().all.peakBytes);
}

}  // namespace
}  // namespace lacuna::analyzer
