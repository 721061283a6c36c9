// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/snapshot/memory_roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::MemoryAction;
using prof::MemoryRole;
using testing::Each;
using testing::ElementsAre;

constexpr std::string_view kBackwardOf = "autograd::engine::evaluate_function: ";

/// Two processes of a thread each; a step of the first has a batch at 0, operators from 10, the
/// backward pass from 50 and the optimizer from 80.
class MemoryRolesTest : public testing::Test {
 protected:
  MemoryRolesTest() {
    for (std::uint32_t id = 1; id <= 2; ++id) {
      builder_.append(prof::Thread{.id = prof::ThreadId(id), .process = prof::ProcessId(id)});
    }
    range(0, 9, "user_annotation", "enumerate(DataLoader)#_Iter.__next__");
    range(10, 20, "cpu_op", "aten::linear");
    range(12, 18, "cpu_op", "aten::mm");
    range(30, 40, "user_annotation", "forward");
    range(50, 60, "cpu_op", std::string(kBackwardOf) + "MmBackward0");
    range(51, 55, "cpu_op", "MmBackward0");
    range(62, 70, "cpu_op", std::string(kBackwardOf) + "CheckpointFunctionBackward");
    range(80, 90, "user_annotation", "Optimizer.step#SGD.step");
    range(81, 85, "cpu_op", "aten::add_");
    range(110, 120, "Operator", "aten::old");
  }
  void range(prof::TimeNs startNs, prof::TimeNs endNs, std::string_view category,
             std::string_view name) {
    builder_.append(prof::Range{.startNs = startNs,
                                .durNs = endNs - startNs,
                                .thread = prof::ThreadId(1),
                                .category = builder_.intern(category),
                                .name = builder_.intern(name)});
  }
  void event(prof::TimeNs timeNs, MemoryAction action, std::uint64_t address,
             std::uint32_t thread = 1, std::uint32_t device = 1) {
    prof::Allocation row;
    row.timeNs = timeNs;
    row.action = action;
    row.address = address;
    row.thread.value = thread;
    row.device.value = device;
    builder_.append(row);
  }
  /// The role of memory that lives so long; until 0 it lives on.
  MemoryRole roleOf(prof::TimeNs fromNs, prof::TimeNs untilNs, std::uint32_t thread = 1) {
    roles().clear();
    builder_.columns<prof::Allocation>().clear();
    event(fromNs, MemoryAction::Allocate, 64, thread);
    if (untilNs != 0) event(untilNs, MemoryAction::Free, 64, thread);
    addMemoryRoles(builder_);
    return roles().at(0);
  }
  std::vector<MemoryRole>& roles() { return builder_.columns<prof::Allocation>().role; }

  StoreBuilder builder_;
};

TEST_F(MemoryRolesTest, FollowFromWhereMemoryIsAskedForAndUntilWhenItLives) {
  struct Case {
    prof::TimeNs fromNs, untilNs;
    MemoryRole role;
  };
  const Case cases[] = {
      {25, 0, MemoryRole::Other},        // between all
      {35, 45, MemoryRole::Other},       // in a range of no meaning here
      {5, 7, MemoryRole::Input},         // also when it is short
      {9, 0, MemoryRole::Input},         // at the end of the range
      {11, 15, MemoryRole::Workspace},   // within the operator
      {13, 19, MemoryRole::Workspace},   // after the inner one, within the outer
      {13, 20, MemoryRole::Workspace},   // gone when it ends
      {13, 21, MemoryRole::Activation},  // and not before
      {11, 80, MemoryRole::Activation},  // until the optimizer begins
      {11, 81, MemoryRole::Other},
      {11, 0, MemoryRole::Other},  // it may be a parameter
      {50, 60, MemoryRole::Workspace},
      {52, 58, MemoryRole::Workspace},  // the engine's range counts, not the operator's in it
      {52, 85, MemoryRole::Gradient},
      {52, 0, MemoryRole::Gradient},
      {65, 66, MemoryRole::Other},  // computes the forward again
      {65, 0, MemoryRole::Other},
      {82, 88, MemoryRole::Workspace},
      {82, 0, MemoryRole::Optimizer},
      {112, 130, MemoryRole::Other},       // no backward pass follows
      {112, 115, MemoryRole::Workspace}};  // an operator of an older version
  for (const Case& one : cases)
    EXPECT_EQ(roleOf(one.fromNs, one.untilNs), one.role) << one.fromNs << "-" << one.untilNs;
}

TEST_F(MemoryRolesTest, RangesOfAnotherThreadAreNotAroundIt) {
  EXPECT_EQ(roleOf(11, 15, 2), MemoryRole::Other);
  EXPECT_EQ(roleOf(82, 0, 2), MemoryRole::Other);
}

TEST_F(MemoryRolesTest, PassesOfAnotherProcessDoNotCount) {
  builder_.columns<prof::Range>().thread[1] = prof::ThreadId(2);
  EXPECT_EQ(roleOf(11, 70, 2), MemoryRole::Other) << "the backward pass is of process 1";
  builder_.columns<prof::Thread>().process[1] = prof::ProcessId(1);
  EXPECT_EQ(roleOf(11, 70, 2), MemoryRole::Activation);
}

TEST_F(MemoryRolesTest, AnAddressIsHandedOutAnewAndIsOfItsDevice) {
  event(11, MemoryAction::Allocate, 64);
  event(13, MemoryAction::Allocate, 64);  // the first one's end was not seen
  event(14, MemoryAction::Allocate, 64, 1, 2);
  event(70, MemoryAction::Free, 64);
  addMemoryRoles(builder_);
  EXPECT_THAT(roles(), ElementsAre(MemoryRole::Workspace, MemoryRole::Activation, MemoryRole::Other,
                                   MemoryRole::Other));
}

TEST_F(MemoryRolesTest, EventsAreFollowedInTheOrderOfTime) {
  event(70, MemoryAction::Free, 64);
  event(52, MemoryAction::Allocate, 32);
  event(11, MemoryAction::Allocate, 64);
  addMemoryRoles(builder_);
  EXPECT_THAT(roles(),
              ElementsAre(MemoryRole::Other, MemoryRole::Gradient, MemoryRole::Activation));
}

TEST_F(MemoryRolesTest, OtherActionsAndMemoryWithoutAThreadHaveNoRole) {
  for (const auto action :
       {MemoryAction::ExternalAllocate, MemoryAction::Reserve, MemoryAction::Release}) {
    event(82, action, 64);
  }
  event(82, MemoryAction::Allocate, 128, 0);
  addMemoryRoles(builder_);
  EXPECT_THAT(roles(), Each(MemoryRole::Other));
}

TEST_F(MemoryRolesTest, ATraceThatGivesRolesKeepsThem) {
  event(82, MemoryAction::Allocate, 64);
  event(83, MemoryAction::Allocate, 96);
  roles()[1] = MemoryRole::Parameter;
  addMemoryRoles(builder_);
  EXPECT_THAT(roles(), ElementsAre(MemoryRole::Other, MemoryRole::Parameter));
  roles()[1] = MemoryRole::Cached;
  addMemoryRoles(builder_);
  EXPECT_EQ(roles()[0], MemoryRole::Optimizer) << "segments alone are no roles";
}

}  // namespace
}  // namespace lacuna::analyzer
