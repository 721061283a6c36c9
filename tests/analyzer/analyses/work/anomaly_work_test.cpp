// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/anomaly_work.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

class AnomalyWork : public testing::Test {
 protected:
  AnomalyWork() { trace.append(Thread{.id = ThreadId(1), .process = ProcessId(1)}); }
  void op(TimeNs start, TimeNs dur, const char* name, std::uint64_t sequence = 0) {
    trace.append(Range{.startNs = start,
                       .durNs = dur,
                       .thread = ThreadId(1),
                       .category = trace.intern("operator"),
                       .name = trace.intern(name),
                       .payloadType = sequence == 0 ? PayloadType::None : PayloadType::U64,
                       .payload = sequence});
  }
  IntervalSet work(std::int64_t stackNs = 0) {
    IntervalSet times;
    EXPECT_TRUE(addAnomalyWork(*trace.build(), {}, {}, stackNs, times));
    times.join();
    return times;
  }

  StoreBuilder trace;
};

TEST_F(AnomalyWork, ACheckLastsUntilItsAnswerIsRead) {
  op(0, 100, "AddmmBackward0");
  op(10, 40, "aten::mm");
  op(60, 10, "aten::isnan");
  op(62, 5, "aten::ne");
  op(72, 8, "aten::any");
  op(85, 5, "aten::item");
  const IntervalSet times = work();
  EXPECT_EQ(times.coveredNs({0, 1'000}), 30);
  EXPECT_EQ(times.coveredNs({60, 90}), 30);
}

TEST_F(AnomalyWork, ACheckWhoseAnswerNobodyReadsInTheOperatorIsNone) {
  op(0, 100, "AddmmBackward0");
  op(60, 10, "aten::isnan");
  op(100, 50, "MulBackward0");
  op(110, 5, "aten::item");
  EXPECT_TRUE(work().empty());
}

TEST_F(AnomalyWork, ReadingANumberOfAnotherSortIsNoCheck) {
  op(0, 100, "aten::clip_grad_norm_");
  op(10, 40, "aten::norm");
  op(60, 10, "aten::item");
  EXPECT_TRUE(work().empty());
}

TEST_F(AnomalyWork, StacksAreKeptForEachNodeThatAnOperatorAdds) {
  op(0, 1'000, "aten::linear", 7);  // two nodes: the next operator has the number 9
  op(10, 300, "aten::addmm", 7);
  op(2'000, 1'000, "aten::relu", 9);
  op(4'000, 1'000, "aten::sum", 10);
  op(6'000, 100, "SumBackward0", 10);
  op(7'000, 100, "ReluBackward0", 9);
  op(8'000, 100, "AddmmBackward0", 7);
  op(20'000, 1'000, "aten::linear", 11);  // the next step shows that aten::sum added one
  const IntervalSet times = work(200);
  EXPECT_EQ(times.coveredNs({0, 1'000}), 400);
  EXPECT_EQ(times.coveredNs({2'000, 3'000}), 200);
  EXPECT_EQ(times.coveredNs({4'000, 5'000}), 200);
  EXPECT_EQ(times.coveredNs({0, 100'000}), 800);
}

TEST_F(AnomalyWork, StacksTakeNoLongerThanTheirOperator) {
  op(0, 100, "aten::view", 7);
  op(200, 100, "aten::view", 1'000'000'000'000);
  EXPECT_EQ(work(1'000'000'000'000).coveredNs({0, 300}), 100);
}

TEST_F(AnomalyWork, WithoutTheirTimeStacksAreNotCounted) {
  op(0, 100, "aten::view", 7);
  op(200, 100, "aten::view", 8);
  EXPECT_TRUE(work(0).empty());
}

}  // namespace
}  // namespace lacuna::analyzer
