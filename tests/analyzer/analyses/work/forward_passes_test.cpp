// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/forward_passes.h"

#include <gtest/gtest.h>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

class ForwardPassesTest : public testing::Test {
 protected:
  static constexpr ThreadId kThread{1};

  ForwardPassesTest() {
    trace.append(Process{.id = ProcessId(1)});
    trace.append(Thread{.id = kThread, .process = ProcessId(1)});
  }
  void range(TimeNs start, TimeNs end, const char* category, const char* name,
             const char* text = "") {
    trace.append(Range{.startNs = start,
                       .durNs = end - start,
                       .thread = kThread,
                       .category = trace.intern(category),
                       .name = trace.intern(name),
                       .text = trace.intern(text)});
  }
  /// A pass of 100 with its operators.
  void forward(TimeNs at, const char* shapes) {
    range(at, at + 100, "phase", "forward");
    range(at + 10, at + 20, "operator", "aten::detach");
    range(at + 20, at + 80, "operator", "aten::linear", shapes);
    range(at + 30, at + 70, "operator", "aten::addmm", "f32[9] f32[1,1]");
  }
  void backward(TimeNs at, TimeNs end) { range(at, end, "phase", "backward"); }
  ForwardPasses passes() { return *forwardPasses(*trace.build(), {0, 10'000}); }

  StoreBuilder trace;
};

TEST_F(ForwardPassesTest, ThoseBeforeOneBackwardAreCountedWithIt) {
  for (TimeNs at = 0; at < 400; at += 100) forward(at, "f32[2,8] f32[4,8]");
  backward(400, 1'000);
  forward(1'000, "f32[2,8] f32[4,8]");
  forward(1'100, "f32[2,8] f32[4,8]");
  backward(1'200, 1'500);
  const ForwardPasses found = passes();
  EXPECT_EQ(found.backwards, 2U);
  EXPECT_EQ(found.alike, 6U);
  EXPECT_EQ(found.perBackward(), 3);
  EXPECT_EQ(found.input, "f32[2,8]");
  EXPECT_EQ(found.inputRows, 2);
  EXPECT_EQ(found.ns, 6 * 100 + 600 + 300);
  EXPECT_EQ(found.longest.startNs, 0);
  EXPECT_EQ(found.longest.endNs, 1'000);
}

TEST_F(ForwardPassesTest, OnlyThoseOfOneSizeAreAlike) {
  forward(0, "f32[2,8] f32[4,8]");
  forward(100, "f32[2,8] f32[4,8]");
  forward(200, "f32[3,8] f32[4,8]");
  backward(300, 600);
  const ForwardPasses found = passes();
  EXPECT_EQ(found.alike, 2U);
  EXPECT_EQ(found.ns, 2 * 100 + 200) << "two of three passes have two thirds of the backward";
}

TEST_F(ForwardPassesTest, AModuleWithinAPassIsNoPass) {
  forward(0, "f32[2,8]");
  range(20, 60, "phase", "forward");
  backward(100, 200);
  EXPECT_EQ(passes().alike, 1U);
}

TEST_F(ForwardPassesTest, PassesThatNoBackwardAnswersAndThoseWithoutShapesAreNone) {
  forward(0, "");
  range(35, 60, "operator", "aten::view");
  backward(100, 200);
  forward(200, "f32[2,8]");
  const ForwardPasses found = passes();
  EXPECT_EQ(found.alike, 1U);
  EXPECT_EQ(found.inputRows, 9) << "addmm is the first operator with shapes";
  StoreBuilder empty;
  EXPECT_EQ(forwardPasses(*empty.build(), {0, 10'000})->backwards, 0U);
}

TEST(FirstTensor, IsReadFromOurShapesAndFromKineto) {
  struct Case {
    const char* shapes;
    const char* text;
    std::int64_t rows;
  };
  for (const Case& one :
       {Case{"f32[8,4] f32[2,4] (1,1)", "f32[8,4]", 8}, Case{"f32[] i64[3]", "i64[3]", 3},
        Case{"{f32[5,3] f32[2,3]} f32[7]", "f32[5,3]", 5}, Case{"[[8, 4], [2, 4]]", "[8, 4]", 8},
        Case{"[[], [12], []]", "[12]", 12}, Case{"[[[6, 4], [2, 4]]]", "[6, 4]", 6}}) {
    const FirstTensor first = firstTensorOf(one.shapes);
    EXPECT_EQ(first.text, one.text) << one.shapes;
    EXPECT_EQ(first.rows, one.rows) << one.shapes;
  }
  for (const char* none : {"", "f32[]", "[[], []]", "(1,1)", "[", "f32[", "f32[8,4", "[[8"}) {
    EXPECT_EQ(firstTensorOf(none).rows, 0) << none;
    EXPECT_EQ(firstTensorOf(none).text, "") << none;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
