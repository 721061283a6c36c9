// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"
#include "runtime/instrument/tool.h"

const bool tool::kTakesWhole = true;

/// The events at a tool that takes small operators whole.
namespace lacuna::rt {
namespace {

/// The forms of what this thread reports while `body` runs: "whole", "open 1" (reported before it was over, with so
/// many ranges open), "push", "pop", "mark".
template <class Body>
std::vector<std::string> said(const Body& body) {
  synchronize();
  tool::forget();
  body();
  std::vector<std::string> forms;
  for (const tool::Event& event : tool::mine()) {
    const LacunaRtWhole& whole = event.whole;
    const bool open = event.form == "whole" && whole.endStamp == 0;
    const int ranges = 1 + (whole.startStamp != 0 ? 1 : 0) - (whole.stopStamp != 0 ? 1 : 0);
    forms.push_back(open ? "open " + std::to_string(ranges) : event.form);
  }
  return forms;
}

using Forms = std::vector<std::string>;

class Whole : public testing::Test {
 protected:
  Tensor a_ = ones({1});
  Tensor b_ = ones({1});
  Tensor c_;
};

TEST_F(Whole, ASmallOperatorIsOneCall) {
  EXPECT_EQ(said([&] { c_ = add(a_, b_); }), Forms{"whole"});
  const LacunaRtWhole whole = tool::mine().at(0).whole;
  EXPECT_EQ(tool::mine()[0].message, "add");
  EXPECT_LT(whole.beginStamp, whole.startStamp);
  EXPECT_LT(whole.startStamp, whole.stopStamp);
  EXPECT_LE(whole.stopStamp, whole.endStamp);
  EXPECT_EQ(whole.op.correlation, whole.execution.correlation);
  EXPECT_EQ(whole.hasMemory, 1U);
  EXPECT_EQ(whole.memory.bytes, 4U);
  EXPECT_EQ(whole.execution.sequence, whole.memory.sequence + 1);
}

TEST_F(Whole, FreedMemoryIsTold) {
  c_ = add(a_, b_);
  EXPECT_EQ(said([&] { c_ = {}; }), Forms{"mark"});
}

TEST_F(Whole, ADifferentiatedOperatorEndsAfterItsNodeIsMade) {
  a_.setRequiresGrad();
  EXPECT_EQ(said([&] { c_ = add(a_, b_); }), Forms{"whole"});
  const LacunaRtWhole whole = tool::mine().at(0).whole;
  EXPECT_NE(whole.op.sequence, 0U);
  EXPECT_LT(whole.stopStamp, whole.endStamp);
}

TEST_F(Whole, AnOperatorOfManyElementsIsARange) {
  const Tensor many = ones({1000});
  EXPECT_EQ(said([&] { c_ = add(many, many); }), (Forms{"push", "mark", "pop"}));
}

TEST_F(Whole, AnOperatorBehindABusyQueueIsToldWhileItIsOpen) {
  Tensor big = ones({1 << 22});
  const Forms forms = said([&] {
    for (int i = 0; i < 8; ++i) big = sqrt(big);
    c_ = add(a_, b_);
  });
  // The queue may be idle again on a machine with time on its hands.
  const Forms last(forms.end() - 2, forms.end());
  EXPECT_TRUE(last == (Forms{"open 1", "pop"}) || last.back() == "whole") << last[0] << " " << last[1];
}

TEST_F(Whole, OnMetaTheRangeIsToldAtItsEnd) {
  const Tensor shape = empty({1}, {DType::F32, kMeta});
  EXPECT_EQ(said([&] { c_ = add(shape, shape); }), (Forms{"open 1", "pop"}));
}

TEST_F(Whole, RangesAreBalanced) {
  a_.setRequiresGrad();
  const Forms forms = said([&] {
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
  EXPECT_GE(std::count(forms.begin(), forms.end(), "whole"), 200);
}

}  // namespace
}  // namespace lacuna::rt
