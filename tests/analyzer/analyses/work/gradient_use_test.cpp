// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/gradient_use.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

class GradientUseTest : public testing::Test {
 protected:
  GradientUseTest() {
    for (const std::uint32_t id : {1U, 2U})
      trace.append(Thread{.id = ThreadId(id), .process = ProcessId(1)});
  }
  void op(TimeNs start, TimeNs dur, const char* name, std::uint64_t sequence,
          std::uint32_t thread = 1) {
    trace.append(Range{.startNs = start,
                       .durNs = dur,
                       .thread = ThreadId(thread),
                       .category = trace.intern("operator"),
                       .name = trace.intern(name),
                       .payloadType = sequence == 0 ? PayloadType::None : PayloadType::U64,
                       .payload = sequence});
  }
  GradientUse use(TimeWindow window = {0, 10'000}) { return *gradientUse(*trace.build(), window); }

  StoreBuilder trace;
};

TEST_F(GradientUseTest, AForwardIsUsedWhenItsNumberComesAgain) {
  op(0, 50, "aten::linear", 7);
  op(10, 20, "aten::addmm", 7);
  op(60, 30, "aten::relu", 8);
  op(200, 40, "ReluBackward0", 8);
  op(300, 40, "AddmmBackward0", 7);
  const GradientUse found = use();
  EXPECT_EQ(found.used, 2u);
  EXPECT_EQ(found.unused, 0u);
  EXPECT_EQ(found.unusedShare(), 0);
}

TEST_F(GradientUseTest, OperatorsInsideOfAnotherAreNoUseOfIt) {
  op(0, 50, "aten::linear", 7);
  op(10, 20, "aten::addmm", 7);
  op(100, 70, "aten::linear", 9);
  op(110, 20, "aten::addmm", 9);
  op(300, 40, "AddmmBackward0", 7);
  const GradientUse found = use();
  EXPECT_EQ(found.used, 1u);
  EXPECT_EQ(found.unused, 1u);
  EXPECT_EQ(found.unusedNs, 70);
  EXPECT_EQ(found.costliest, "aten::linear");
  EXPECT_EQ(found.longest.startNs, 100);
  EXPECT_EQ(found.unusedShare(), 0.5);
}

TEST_F(GradientUseTest, OperatorsInsideOfOneWithoutANumberHaveTheirOwn) {
  op(0, 100, "gru", 0);
  op(10, 20, "linear", 7);
  op(40, 20, "sigmoid", 8);
  op(200, 40, "linear.backward", 7);
  const GradientUse found = use();
  EXPECT_EQ(found.used, 1u);
  EXPECT_EQ(found.unused, 1u);
  EXPECT_EQ(found.costliest, "sigmoid");
}

TEST_F(GradientUseTest, AnExecutionsNumberIsNoneInTheGraph) {
  op(0, 50, "aten::linear", 7);
  op(60, 40, "aten::_fused_sgd_", 0);
  trace.append(Range{.startNs = 61,
                     .durNs = 38,
                     .thread = ThreadId(1),
                     .category = trace.intern("execution"),
                     .name = trace.intern("aten::_fused_sgd_"),
                     .payloadType = PayloadType::U64,
                     .payload = 462});
  op(200, 40, "AddmmBackward0", 7);
  EXPECT_EQ(use().unused, 0u);
}

TEST_F(GradientUseTest, KernelsThatUnusedOperatorsLaunchAreTheirDeviceTime) {
  trace.append(Queue{.id = QueueId(1), .process = ProcessId(1)});
  op(0, 50, "aten::linear", 7);
  op(100, 70, "aten::linear", 9);
  op(300, 40, "AddmmBackward0", 7);
  for (const auto& [at, correlation] :
       {std::pair<TimeNs, std::uint64_t>(10, 1), {120, 2}, {180, 3}}) {
    trace.append(
        ApiCall{.startNs = at, .durNs = 5, .thread = ThreadId(1), .correlation = correlation});
    trace.append(Kernel{
        .startNs = 1'000 * at, .durNs = 1'000, .queue = QueueId(1), .correlation = correlation});
  }
  EXPECT_EQ(use({0, 1'000'000}).unusedDeviceNs, 1'000) << "the one launched at 120";
}

TEST_F(GradientUseTest, OperatorsThatShareTheNumberOfTheNextOneAreUsedWithIt) {
  // Without inputs that need gradients an operator has the number that the next one takes.
  op(0, 10, "aten::randn", 7);
  op(20, 10, "aten::mul", 7);
  op(100, 10, "MulBackward0", 7);
  EXPECT_EQ(use().unused, 0u);
}

TEST_F(GradientUseTest, TheBackwardMayRunOnAnotherThread) {
  op(0, 50, "aten::linear", 7);
  op(300, 40, "AddmmBackward0", 7, 2);
  EXPECT_EQ(use().used, 1u);
}

TEST_F(GradientUseTest, ABackwardAloneIsNoForward) {
  op(0, 50, "AddmmBackward0", 6);
  op(100, 50, "aten::linear", 0);
  const GradientUse found = use();
  EXPECT_EQ(found.used + found.unused, 0u);
  EXPECT_EQ(found.unusedShare(), 0) << "nothing is known of a source without numbers";
}

TEST_F(GradientUseTest, OnlyTheWindowCounts) {
  op(0, 50, "aten::linear", 7);
  op(100, 50, "aten::linear", 8);
  op(200, 50, "AddmmBackward0", 8);
  op(1'000, 50, "aten::linear", 9);
  const GradientUse found = use({90, 900});
  EXPECT_EQ(found.used, 1u);
  EXPECT_EQ(found.unused, 0u);
}

}  // namespace
}  // namespace lacuna::analyzer
