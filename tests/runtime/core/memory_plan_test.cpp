// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/memory_plan.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"

namespace lacuna::rt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const Options kFloats{DType::F32, kMeta};

RecordedBuffer buffer(std::size_t bytes, std::uint64_t born, std::uint64_t lastUse,
                      std::uint64_t freed, bool forward = false) {
  RecordedBuffer out;
  out.bytes = bytes;
  out.born = born;
  out.lastUse = lastUse;
  out.freed = freed;
  out.forward = forward;
  return out;
}

OperatorList listOf(std::vector<RecordedBuffer> buffers) {
  OperatorList list;
  list.operators.assign(6, "op");
  list.buffers = std::move(buffers);
  list.backwardEnd = 5;
  list.heldBefore = 1000;
  return list;
}

TEST(LastUseBound, CountsFromBirthToLastUseHoweverLateABufferIsFreed) {
  // 10 lives at 1-2, 20 at 2-3, 40 at 3-4: the most is 60, at 3.
  const OperatorList list = listOf({buffer(10, 1, 2, 6), buffer(20, 2, 3, 6), buffer(40, 3, 4, 6)});
  EXPECT_EQ(lastUseBound(list), 1060U);
}

TEST(LastUseBound, CountsWhatIsStillHeldToTheEnd) {
  const OperatorList list = listOf({buffer(10, 1, 1, 0), buffer(20, 5, 5, 6)});
  EXPECT_EQ(lastUseBound(list), 1030U);
}

TEST(KeepAllBound, KeepsForwardResultsToTheEndOfTheBackward) {
  OperatorList list =
      listOf({buffer(10, 1, 2, 3, true), buffer(20, 2, 3, 4, true), buffer(40, 5, 5, 6)});
  EXPECT_EQ(lastUseBound(list), 1040U);
  EXPECT_EQ(keepAllBound(list), 1070U);
  list.buffers.push_back(buffer(5, 2, 2, 0, true));
  list.buffers.back().takenOver = true;
  EXPECT_EQ(lastUseBound(list), 1040U) << "a result in its input's memory takes none";
  EXPECT_EQ(keepAllBound(list), 1075U);
}

TEST(RecordOperators, ListsOperatorsBuffersAndTheirLastUses) {
  const Tensor input = empty({1000}, kFloats);
  const OperatorList list = recordOperators(
      [&] {
        const Tensor a = input + input;
        const Tensor b = a * a;
        const Tensor c = b * b;
      },
      kMeta);
  EXPECT_THAT(std::vector<std::string>(list.operators.begin(), list.operators.end()),
              ElementsAre("add", "mul", "mul"));
  ASSERT_EQ(list.buffers.size(), 3U);
  EXPECT_EQ(list.buffers[0].born, 1U);
  EXPECT_EQ(list.buffers[0].lastUse, 2U);
  EXPECT_EQ(list.buffers[0].freed, 3U) << "handles keep all three to the end";
  EXPECT_EQ(list.peak - list.heldBefore, 12000U);
  EXPECT_EQ(lastUseBound(list) - list.heldBefore, 8000U);
}

TEST(RecordOperators, FollowsSavedTensorsIntoTheBackward) {
  const Tensor w = empty({1000}, kFloats).setRequiresGrad();
  const OperatorList list = recordOperators(
      [&] {
        Tensor y = tanh(w * 2.0);
        sum(exp(std::move(y))).backward();
        w.setGrad({});
      },
      kMeta);
  const auto tanhResult =
      std::find_if(list.buffers.begin(), list.buffers.end(),
                   [](const RecordedBuffer& b) { return std::string(b.op) == "mul"; });
  ASSERT_NE(tanhResult, list.buffers.end());
  ASSERT_GT(tanhResult->lastUse, 3U);
  EXPECT_STREQ(list.operators[tanhResult->lastUse - 2], "tanh.backward")
      << "tanh works in its input's memory and needs its result in the backward";
  EXPECT_GT(list.backwardEnd, tanhResult->lastUse);
  EXPECT_GE(list.peak, lastUseBound(list));
}

TEST(RecordOperators, ThatAreRefusedLeaveThePeakOfTheOther) {
  const OperatorList list = recordOperators(
      [] {
        { const Tensor large = empty({1000}, kFloats); }
        EXPECT_THROW((void)recordOperators([] {}, kMeta), Error);
      },
      kMeta);
  EXPECT_EQ(list.peak - list.heldBefore, 4000U);
}

TEST(RecordOperators, AreOneAtATime) {
  EXPECT_THAT([] { (void)recordOperators([] { (void)recordOperators([] {}); }); },
              ThrowsMessage<Error>(HasSubstr("another recording is running")));
  EXPECT_TRUE(recordOperators([] {}, kMeta).buffers.empty())
      << "the failed one left nothing running";
}

}  // namespace
}  // namespace lacuna::rt
