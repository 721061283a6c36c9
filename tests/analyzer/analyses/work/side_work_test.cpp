// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/side_work.h"

#include <gtest/gtest.h>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

class SideWorkTest : public testing::Test {
 protected:
  static constexpr ThreadId kThread{1};

  SideWorkTest() {
    trace.append(Process{.id = ProcessId(1)});
    trace.append(Thread{.id = kThread, .process = ProcessId(1)});
  }
  void range(TimeNs start, TimeNs end, const char* category, const char* name,
             std::uint64_t correlation = 0) {
    trace.append(Range{.startNs = start,
                       .durNs = end - start,
                       .thread = kThread,
                       .category = trace.intern(category),
                       .name = trace.intern(name),
                       .correlation = correlation});
  }
  void phase(TimeNs start, TimeNs end, const char* name) { range(start, end, "phase", name); }
  void op(TimeNs start, TimeNs end, const char* name) { range(start, end, "operator", name); }
  /// A forward, a backward and an optimizer's step.
  void train(TimeNs at) {
    phase(at, at + 100, "forward");
    op(at + 10, at + 90, "aten::linear");
    phase(at + 100, at + 200, "backward");
    op(at + 110, at + 190, "AddmmBackward0");
    phase(at + 200, at + 300, "optimizer");
    op(at + 210, at + 290, "aten::_fused_adam_");
  }
  SideWork side() { return *sideWork(*trace.build(), {0, 100'000}); }

  StoreBuilder trace;
};

TEST_F(SideWorkTest, IsBehindTheOptimizerUntilTheNextForward) {
  train(0);
  op(310, 340, "aten::clone");
  op(320, 330, "aten::copy_");  // in the clone
  op(350, 360, "aten::mul_");
  train(400);
  const SideWork found = side();
  EXPECT_EQ(found.operators, 2U);
  EXPECT_EQ(found.operatorsNs, 40);
  EXPECT_EQ(found.costliest, "aten::clone");
  EXPECT_EQ(found.longest.startNs, 310);
}

TEST_F(SideWorkTest, EndsWhereABatchIsAskedFor) {
  train(0);
  op(310, 340, "aten::clone");
  phase(350, 370, "load");
  op(380, 390, "aten::to");
  train(400);
  EXPECT_EQ(side().operatorsNs, 30);
}

TEST_F(SideWorkTest, ClippingIsTraining) {
  phase(0, 100, "forward");
  phase(100, 200, "backward");
  op(210, 290, "aten::_foreach_norm");
  phase(300, 400, "optimizer");
  phase(500, 600, "forward");
  EXPECT_EQ(side().operators, 0U);
}

TEST_F(SideWorkTest, AStepThatIsSkippedIsTrainingToo) {
  phase(0, 100, "forward");
  phase(100, 200, "backward");
  op(210, 290, "unscale");
  phase(300, 400, "optimizer.skipped");
  op(410, 420, "aten::mul_");
  phase(500, 600, "forward");
  EXPECT_EQ(side().operatorsNs, 10) << "what follows it, as behind any step";
}

TEST_F(SideWorkTest, FollowsABackwardThatAccumulatesGradients) {
  phase(0, 100, "forward");
  phase(100, 200, "backward");
  op(210, 290, "aten::mul_");
  phase(300, 400, "forward");
  EXPECT_EQ(side().operatorsNs, 80);
}

TEST_F(SideWorkTest, GradientsSetToZeroAreTraining) {
  train(0);
  range(310, 350, "", "Optimizer.zero_grad#Adam.zero_grad");
  op(320, 340, "aten::zero_");
  op(360, 370, "aten::mul_");
  train(400);
  EXPECT_EQ(side().operatorsNs, 10);
}

TEST_F(SideWorkTest, ACheckpointIsAPhaseOfItsOwn) {
  train(0);
  phase(310, 350, "checkpoint");
  op(320, 340, "aten::to");
  op(360, 370, "aten::mul_");
  train(400);
  EXPECT_EQ(side().operatorsNs, 10);
}

TEST_F(SideWorkTest, FollowsTheLastStepToo) {
  train(0);
  op(310, 340, "aten::clone");
  EXPECT_EQ(side().operatorsNs, 30);
}

TEST_F(SideWorkTest, IsNotKnownWherePhasesAreNotMarked) {
  op(0, 100, "aten::linear");
  op(110, 200, "aten::clone");
  EXPECT_EQ(side().operators, 0U);
}

TEST_F(SideWorkTest, KernelsThatItLaunchesAreItsDeviceTime) {
  trace.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cuda});
  trace.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  train(0);
  op(310, 340, "aten::mul_");
  trace.append(ApiCall{.startNs = 320, .durNs = 5, .thread = kThread, .correlation = 7});
  trace.append(ApiCall{.startNs = 420, .durNs = 5, .thread = kThread, .correlation = 8});
  train(400);
  for (const std::uint64_t correlation : {7U, 8U}) {
    trace.append(Kernel{.startNs = 100 * static_cast<TimeNs>(correlation),
                        .durNs = 50,
                        .queue = QueueId(1),
                        .device = DeviceId(1),
                        .correlation = correlation});
  }
  EXPECT_EQ(side().deviceNs, 50);
}

}  // namespace
}  // namespace lacuna::analyzer
