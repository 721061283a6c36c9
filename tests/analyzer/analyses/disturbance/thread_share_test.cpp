// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/disturbance/thread_share.h"

#include <gtest/gtest.h>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

class ThreadShareTest : public testing::Test {
 protected:
  void counter(std::uint32_t id, std::uint32_t thread, const char* name) {
    trace.append(
        CounterTrack{.id = TrackId(id), .thread = ThreadId(thread), .name = trace.intern(name)});
  }
  void value(std::uint32_t id, TimeNs at, double percent) {
    trace.append(CounterSample{.timeNs = at, .track = TrackId(id), .value = percent});
  }

  StoreBuilder trace;
};

TEST_F(ThreadShareTest, IsTheMeanOverTime) {
  counter(1, 1, "thread CPU");
  counter(2, 2, "thread CPU");
  for (const auto& [at, percent] : {std::pair(100, 100.0), {200, 50.0}, {400, 0.0}})
    value(1, at, percent);
  value(2, 400, 77);
  const auto store = trace.build();
  EXPECT_DOUBLE_EQ(*threadShare(*store, ThreadId(1), kThreadCpu, {0, 400}), 150.0 / 400);
  EXPECT_DOUBLE_EQ(*threadShare(*store, ThreadId(1), kThreadCpu, {100, 200}), 0.5);
  EXPECT_DOUBLE_EQ(*threadShare(*store, ThreadId(2), kThreadCpu, {0, 400}), 0.77);
}

TEST_F(ThreadShareTest, IsUnknownWithoutTheCounterOrItsValues) {
  counter(1, 1, "thread CPU");
  value(1, 500, 30);
  const auto store = trace.build();
  EXPECT_EQ(*threadShare(*store, ThreadId(1), kWaitingForCore, {0, 1'000}), -1);
  EXPECT_EQ(*threadShare(*store, ThreadId(3), kThreadCpu, {0, 1'000}), -1);
  EXPECT_EQ(*threadShare(*store, ThreadId(1), kThreadCpu, {0, 400}), -1);
}

TEST_F(ThreadShareTest, OfTheStepsIsOfTheSteadyOnes) {
  constexpr TimeNs kMs = 1'000'000;
  trace.append(Process{.id = ProcessId(1)});
  trace.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  trace.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  trace.append(Kernel{.startNs = 5, .durNs = 5, .queue = QueueId(1), .device = DeviceId(1)});
  for (TimeNs step = 0; step < 10; ++step) {
    trace.append(Range{.startNs = step * 100 * kMs,
                       .durNs = 100 * kMs,
                       .thread = ThreadId(1),
                       .name = trace.intern("step")});
  }
  counter(1, 1, "thread CPU");
  for (TimeNs at = 100; at <= 1'000; at += 100) value(1, at * kMs, 40);
  value(1, 2'000 * kMs, 100);  // after the steps
  const Analysis analysis = *analyse(trace.build());
  EXPECT_DOUBLE_EQ(analysis.of<StepThread>().ranShare, 0.4);
  EXPECT_EQ(analysis.of<StepThread>().waitedShare, -1);
}

}  // namespace
}  // namespace lacuna::analyzer
