// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"
#include "runtime/instrument/tool.h"

const bool tool::kTakesCompleteOperators = true;

/// The events at a tool that takes small operators complete.
namespace lacuna::rt {
namespace {

/// The forms of what this thread reports while `body` runs: "complete", "open 1" (reported before
/// it was over, with so many ranges open), "push", "pop", "mark".
template <class Body>
std::vector<std::string> formsOf(const Body& body) {
  synchronize();
  tool::forget();
  body();
  std::vector<std::string> forms;
  for (const tool::Event& event : tool::mine()) {
    const LacunaRtComplete& complete = event.complete;
    const bool open = event.form == "complete" && complete.endStamp == 0;
    const int ranges = 1 + (complete.startStamp != 0 ? 1 : 0) - (complete.stopStamp != 0 ? 1 : 0);
    forms.push_back(open ? "open " + std::to_string(ranges) : event.form);
  }
  return forms;
}

using Forms = std::vector<std::string>;

class OperatorReport : public testing::Test {
 protected:
  Tensor a_ = ones({1});
  Tensor b_ = ones({1});
  Tensor c_;
};

TEST_F(OperatorReport, ASmallOperatorIsOneCall) {
  EXPECT_EQ(formsOf([&] { c_ = add(a_, b_); }), Forms{"complete"});
  const LacunaRtComplete complete = tool::mine().at(0).complete;
  EXPECT_EQ(tool::mine()[0].message, "add");
  EXPECT_LT(complete.beginStamp, complete.startStamp);
  EXPECT_LT(complete.startStamp, complete.stopStamp);
  EXPECT_LE(complete.stopStamp, complete.endStamp);
  EXPECT_EQ(complete.op.correlation, complete.execution.correlation);
  EXPECT_EQ(complete.hasMemory, 1U);
  EXPECT_EQ(complete.memory.bytes, 4U);
  EXPECT_EQ(complete.execution.sequence, complete.memory.sequence + 1);
}

TEST_F(OperatorReport, FreedMemoryIsReported) {
  c_ = add(a_, b_);
  EXPECT_EQ(formsOf([&] { c_ = {}; }), Forms{"mark"});
}

TEST_F(OperatorReport, ADifferentiatedOperatorEndsAfterItsNodeIsMade) {
  a_.setRequiresGrad();
  EXPECT_EQ(formsOf([&] { c_ = add(a_, b_); }), Forms{"complete"});
  const LacunaRtComplete complete = tool::mine().at(0).complete;
  EXPECT_NE(complete.op.sequence, 0U);
  EXPECT_LT(complete.stopStamp, complete.endStamp);
}

TEST_F(OperatorReport, AnOperatorOfManyElementsIsARange) {
  const Tensor many = ones({1000});
  EXPECT_EQ(formsOf([&] { c_ = add(many, many); }), (Forms{"push", "mark", "pop"}));
}

TEST_F(OperatorReport, AnOperatorBehindABusyQueueIsReportedWhileItIsOpen) {
  Tensor big = ones({1 << 22});
  const Forms forms = formsOf([&] {
    for (int i = 0; i < 8; ++i) big = sqrt(big);
    c_ = add(a_, b_);
  });
  // The queue may be idle again on a machine with time on its hands.
  const Forms last(forms.end() - 2, forms.end());
  EXPECT_TRUE(last == (Forms{"open 1", "pop"}) || last.back() == "complete")
      << last[0] << " " << last[1];
}

TEST_F(OperatorReport, OnMetaTheRangeIsReportedAtItsEnd) {
  const Tensor shape = empty({1}, {DType::F32, kMeta});
  EXPECT_EQ(formsOf([&] { c_ = add(shape, shape); }), (Forms{"open 1", "pop"}));
}

TEST_F(OperatorReport, RangesAreBalanced) {
  a_.setRequiresGrad();
  const Forms forms = formsOf([&] {
    const StepScope step(0);
    Tensor y = a_;
    for (int i = 0; i < 100; ++i) y = y * a_ + b_;
    y.backward();
  });
  int open = 0;
  for (const std::string& form : forms) {
    open += form == "push" || form == "open 1" ? 1 : form == "open 2" ? 2 : form == "pop" ? -1 : 0;
    ASSERT_GE(open, 0);
  }
  EXPECT_EQ(open, 0);
  EXPECT_GE(std::count(forms.begin(), forms.end(), "complete"), 200);
}

}  // namespace
}  // namespace lacuna::rt
